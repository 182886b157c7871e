"""Batches of one public shape: how private rows are put into them, filled up with public ones, and kept small."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.private.rows.row_alone import Columns, RowMap, frozen
from sfumato.public.plan.doors import GroupOf, PerRecord
from sfumato.public.plan.probe import random_batch, take
from sfumato.public.schema.schema import Batch, Column, Schema, n_rows_of

_MOST_ROWS, _LEAST_ROWS = 1024, 16
_CELLS = 1 << 19
_MOST_READ, _CELLS_READ = 16_384, 1 << 22


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

    @property
    def n_bytes(self) -> int:
        """What it takes in memory."""
        return sum(values.nbytes for values in self.batch.values()) + (
            0 if self.numbers is None else self.numbers.nbytes
        )


def batch_rows(schema: Schema) -> int:
    """How many rows a batch holds: a power of 2 that follows from the width of a row, and from nothing else.

    >>> batch_rows(Schema(columns=(Column(name="age", kind="integer", bounds=(0, 9)),)))
    1024
    >>> batch_rows(Schema(columns=(Column(name="photo", kind="image", shape=(28, 28)),)))
    512
    """
    return _rows_of(schema, cells=_CELLS, most=_MOST_ROWS)


def rows_at_once(schema: Schema) -> int:
    """How many rows are read and encoded together: of narrow tables many, because each step over a column costs something.

    >>> rows_at_once(Schema(columns=(Column(name="age", kind="integer", bounds=(0, 9)),)))
    16384
    """
    return _rows_of(schema, cells=_CELLS_READ, most=_MOST_READ)


def _rows_of(schema: Schema, *, cells: int, most: int) -> int:
    width = sum(math.prod(slot.column.shape) * math.prod(slot.places) for slot in schema.slots)
    return int(min(most, max(_LEAST_ROWS, 2 ** math.floor(math.log2(cells / width)))))


class Batches:
    """What is public about batches: their size, rows made up from the schema, and the maps of prepared columns."""

    def __init__(self, schema: Schema) -> None:
        """Follow from the schema alone, so that every process that has it makes the same batches."""
        self.schema, self.rows = schema, batch_rows(schema)
        #: Made up from the schema: to try maps on, and to fill up the last batch.
        self.public = frozen(random_batch(schema, n_rows=2 * self.rows, seed=20))
        #: The prepared columns, in their order.
        self.maps: list[tuple[str, RowMap]] = []
        self._prepared_names = set[str]()
        #: Sentences about how rows are kept, for whoever called the door.
        self.remarks = list[str]()
        self._small = {slot.name: kind for slot in schema.slots if (kind := _smallest(slot.column)) is not None}

    def row_map(self, per_record: PerRecord, *, most_rows: int = _MOST_ROWS) -> RowMap:
        """A map, tried on public rows."""
        return RowMap(per_record, public_rows=self.public, rows=min(self.rows, most_rows))

    def prepare(self, name: str, per_record: GroupOf) -> RowMap:
        """Add a column to the public rows, or work on from one of that name; batches that come later have it too."""
        row_map = self.row_map(partial(_as_floats, name, per_record))
        halves = (np.arange(self.rows), np.arange(self.rows, 2 * self.rows))
        prepared = [_prepared(row_map, name, take(self.public, half), self.rows) for half in halves]
        self.public = frozen({**self.public, name: np.concatenate(prepared)})
        self.maps.append((name, row_map))
        self._prepared_names.add(name)
        return row_map

    def completed(self, private_rows: Batch, *, first: int) -> Piece:
        """Filled up with public rows, and with the prepared columns. Whose rows they are, no map is told."""
        n_rows = n_rows_of(private_rows)
        person = self.schema.unit.person
        numbers = None if person is None else private_rows[person]
        private_rows = {name: values for name, values in private_rows.items() if name != person}
        if n_rows < self.rows:
            private_rows = {n: _filled(v, self.public[n][n_rows : self.rows]) for n, v in private_rows.items()}
        return self.with_prepared(Piece(frozen(private_rows), n_rows, first, numbers))

    def with_prepared(self, private_piece: Piece) -> Piece:
        """A full batch with the prepared columns, which it does not have yet."""
        for name, row_map in self.maps:
            private_column = self.column(private_piece, name, row_map)
            private_piece = replace(private_piece, batch=frozen({**private_piece.batch, name: private_column}))
        return private_piece

    def column(self, piece: Piece, name: str, row_map: RowMap) -> NDArray[np.float32]:
        """A prepared column of a batch, filled up like the others."""
        private_column = _prepared(row_map, name, self.unpacked(piece).batch, piece.n_rows)
        return _filled(private_column, self.public[name][piece.n_rows : self.rows])

    def packed_column(self, piece: Piece, name: str, row_map: RowMap) -> NDArray[Any]:
        """The same in the smallest type that holds its values."""
        return _in_few_bits(self.column(piece, name, row_map))

    def packed(self, piece: Piece) -> Piece:
        """In the smallest types that hold every value."""

        def column(name: str, values: NDArray[Any]) -> NDArray[Any]:
            return (
                _in_few_bits(values)
                if name in self._prepared_names
                else values.astype(self._small.get(name, values.dtype))
            )

        return replace(piece, batch=frozen({name: column(name, values) for name, values in piece.batch.items()}))

    def unpacked(self, piece: Piece) -> Piece:
        """As they were: a mechanism sees the same types on every pass."""

        def column(name: str) -> NDArray[Any]:
            private_values = piece.batch[name]
            small = self._small.get(name)
            if name in self._prepared_names:
                private_values = private_values.astype(np.float32, copy=False)
            elif small is not None:
                private_values = private_values.astype(np.int64 if small.kind == "u" else np.float64, copy=False)
            private_values.flags.writeable = False
            return private_values

        return replace(piece, batch=Columns(piece.batch, column))


def _as_floats(name: str, per_record: GroupOf, batch: Batch) -> Batch:
    return {name: np.asarray(per_record(batch), dtype=np.float32)}


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


def _in_few_bits(private_values: NDArray[np.float32]) -> NDArray[Any]:
    """Whole numbers from 0 on, as most prepared columns are, in 8 or 16 bits; all others as they are.

    Those that are read again are the same to the last bit, and which type they had meanwhile, no map sees.

    >>> _in_few_bits(np.float32([[3.0, 200.0]])).dtype, _in_few_bits(np.float32([[-0.0]])).dtype
    (dtype('uint8'), dtype('float32'))
    """
    for kind in (np.uint8, np.uint16):
        with np.errstate(invalid="ignore"):
            small = private_values.astype(kind)
        if np.array_equal(small.astype(np.float32).view(np.uint32), private_values.view(np.uint32)):
            return small
    return private_values


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
