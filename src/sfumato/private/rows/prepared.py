"""Private rows as the doors read them: in batches of one public shape, kept in memory where they fit."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.private.intake.sensitive import Sensitive, open_persons
from sfumato.private.rows.row_alone import Columns, RowMap, frozen
from sfumato.public.plan.doors import GroupOf, PerRecord
from sfumato.public.plan.probe import random_batch, take
from sfumato.public.schema.schema import Batch, Column, Schema, n_rows_of

#: Rows that take more than this are read anew on every pass: memory stays flat whatever the data's size.
MOST_BYTES = 1280 << 20
_READ_AT_ONCE = 4096
_MOST_ROWS, _LEAST_ROWS = 1024, 16
_CELLS = 1 << 19


@dataclass(frozen=True)
class Piece:
    """A full batch: `n_rows` private rows from place `first` of the data on, then public rows to its end.

    `numbers` are those of the rows' persons, where the unit is a person.
    """

    batch: Batch
    n_rows: int
    first: int
    numbers: NDArray[np.int64] | None

    @property
    def units(self) -> NDArray[np.int64]:
        """The number of each private row's unit: ascending, so that the rows of a person stand side by side."""
        return np.arange(self.first, self.first + self.n_rows) if self.numbers is None else self.numbers


def batch_rows(schema: Schema) -> int:
    """How many rows a batch holds: a power of 2 that follows from the width of a row, and from nothing else.

    >>> batch_rows(Schema(columns=(Column(name="age", kind="integer", bounds=(0, 9)),)))
    1024
    >>> batch_rows(Schema(columns=(Column(name="photo", kind="image", shape=(28, 28)),)))
    512
    """
    width = sum(math.prod(column.shape) for column in schema.columns)
    return int(min(_MOST_ROWS, max(_LEAST_ROWS, 2 ** math.floor(math.log2(_CELLS / width)))))


class PreparedRows:
    """Batches of private rows, each with the prepared columns beside its own."""

    def __init__(self, data: Sensitive, *, schema: Schema, keep: bool) -> None:
        """Nothing is read yet. With `keep`, rows stay in memory for the passes that follow."""
        self._data = data
        self._most_bytes = MOST_BYTES if keep else 0
        self.rows = batch_rows(schema)
        #: Made up from the schema: to try maps on, and to fill up the last batch.
        self.public = frozen(random_batch(schema, n_rows=2 * self.rows, seed=20))
        self._maps: list[tuple[str, RowMap]] = []
        self._small = {column.name: kind for column in data.schema.columns if (kind := _smallest(column)) is not None}
        self._private_kept: list[Piece] | None = None

    def row_map(self, per_record: PerRecord, *, most_rows: int = _MOST_ROWS) -> RowMap:
        """A map, tried on public rows."""
        return RowMap(per_record, public_rows=self.public, rows=min(self.rows, most_rows))

    def prepare(self, name: str, per_record: GroupOf) -> None:
        """Add a column, or work on from one of that name. Rows that are kept get it at once."""
        row_map = self.row_map(lambda batch: {name: np.asarray(per_record(batch), dtype=np.float32)})
        halves = (np.arange(self.rows), np.arange(self.rows, 2 * self.rows))
        prepared = [_prepared(row_map, name, take(self.public, half), self.rows) for half in halves]
        self.public = frozen({**self.public, name: np.concatenate(prepared)})
        self._maps.append((name, row_map))
        for at, private_piece in enumerate(self._private_kept or ()):
            private_column = _prepared(row_map, name, self._unpacked(private_piece).batch, private_piece.n_rows)
            self._private_kept[at] = self._joined(private_piece, name, private_column)  # type: ignore[index]

    def __iter__(self) -> Iterator[Piece]:
        """All batches, from memory if an earlier pass could keep them there."""
        if self._private_kept is not None:
            yield from map(self._unpacked, self._private_kept)
            return
        private_kept, n_bytes, first = list[Piece](), 0, 0
        for private_rows in regrouped(open_persons(self._data, rows=_READ_AT_ONCE), rows=self.rows):
            private_piece = self._completed(private_rows, first=first)
            first += private_piece.n_rows
            if n_bytes <= self._most_bytes:
                private_packed = self._packed(private_piece)
                held = (*private_packed.batch.values(), private_packed.numbers)
                n_bytes += sum(values.nbytes for values in held if values is not None)
                private_kept.append(private_packed)
            else:
                private_kept.clear()
            yield private_piece
        if 0 < n_bytes <= self._most_bytes:
            self._private_kept = private_kept

    def _completed(self, private_rows: Batch, *, first: int) -> Piece:
        """Filled up with public rows, and with the prepared columns. Whose rows they are, no map is told."""
        n_rows = n_rows_of(private_rows)
        person = self._data.schema.unit.person
        numbers = None if person is None else private_rows[person]
        private_rows = {name: values for name, values in private_rows.items() if name != person}
        if n_rows < self.rows:
            private_rows = {n: _filled(v, self.public[n][n_rows : self.rows]) for n, v in private_rows.items()}
        private_piece = Piece(frozen(private_rows), n_rows, first, numbers)
        for name, row_map in self._maps:
            private_column = _prepared(row_map, name, private_piece.batch, n_rows)
            private_piece = self._joined(private_piece, name, private_column)
        return private_piece

    def _joined(self, piece: Piece, name: str, private_column: NDArray[Any]) -> Piece:
        filled = _filled(private_column, self.public[name][piece.n_rows : self.rows])
        return replace(piece, batch=frozen({**piece.batch, name: filled}))

    def _packed(self, piece: Piece) -> Piece:
        small = {name: values.astype(self._small.get(name, values.dtype)) for name, values in piece.batch.items()}
        return replace(piece, batch=frozen(small))

    def _unpacked(self, piece: Piece) -> Piece:
        """As they were: a mechanism sees the same types on every pass."""
        kinds = {name: np.dtype(np.int64 if kind.kind == "u" else np.float64) for name, kind in self._small.items()}

        def column(name: str) -> NDArray[Any]:
            private_values = piece.batch[name]
            private_values = private_values.astype(kinds.get(name, private_values.dtype), copy=False)
            private_values.flags.writeable = False
            return private_values

        return replace(piece, batch=Columns(piece.batch, column))


def regrouped(batches: Iterable[Batch], *, rows: int) -> Iterator[Batch]:
    """The same rows in the same order, `rows` at a time and the rest at the end; none where there are none.

    >>> [len(b["x"]) for b in regrouped([{"x": np.arange(3)}, {"x": np.arange(4)}], rows=5)]
    [5, 2]
    """
    held, n_held = list[Batch](), 0
    for batch in batches:
        held.append(batch)
        n_held += n_rows_of(batch)
        if n_held >= rows:
            joined = {name: np.concatenate([part[name] for part in held]) for name in batch}
            full = n_held - n_held % rows
            for start in range(0, full, rows):
                yield {name: values[start : start + rows] for name, values in joined.items()}
            held, n_held = [{name: values[full:] for name, values in joined.items()}], n_held - full
    if n_held:
        yield {name: np.concatenate([part[name] for part in held]) for name in held[0]}


def _prepared(row_map: RowMap, name: str, batch: Batch, n_rows: int) -> NDArray[np.float32]:
    """A prepared column; a row over which its map stumbles holds nothing there."""
    private_values, counts = row_map(batch, n_rows=n_rows)
    column: NDArray[np.float32] = private_values[name]
    return column if counts.all() else np.where(counts[:, None], column, np.float32(np.nan))


def _filled(private_values: NDArray[Any], public_values: NDArray[Any]) -> NDArray[Any]:
    if not len(public_values):
        return private_values
    return np.concatenate([private_values, public_values.astype(private_values.dtype, copy=False)])


def _smallest(column: Column) -> np.dtype[Any] | None:
    """A small type that holds every value that the schema allows, exactly; None if the encoded one is it already."""
    if column.discover:
        return None
    if column.is_coded:
        return np.min_scalar_type(max(0, column.size - 1))
    if column.kind == "integer" and not column.missing:  # a missing number is a NaN, which whole numbers lack
        farthest = math.ceil(max(abs(column.low), abs(column.high)))
        return np.min_scalar_type(-farthest - 1) if farthest < 2**31 else None
    return None
