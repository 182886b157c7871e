"""Encoded rows that are read more than once: kept in memory where they fit, with the columns prepared from them."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.private.sensitive import Sensitive, open_batches
from sfumato.public.schema import Batch, Column

#: Rows that take more than this are read anew on every pass: memory stays flat whatever the data's size.
MOST_BYTES = 1280 << 20
_ROWS = 4096


class PreparedRows:
    """Batches of private rows, each with the prepared columns beside its own."""

    def __init__(self, data: Sensitive, *, keep: bool) -> None:
        """Nothing is read yet. With `keep`, rows stay in memory for the passes that follow."""
        self._data = data
        self._most_bytes = MOST_BYTES if keep else 0
        self._maps: list[tuple[str, Callable[[Batch], NDArray[Any]]]] = []
        self._small = {column.name: kind for column in data.schema.columns if (kind := _smallest(column)) is not None}
        self._private_kept: list[dict[str, NDArray[Any]]] | None = None

    def prepare(self, name: str, per_record: Callable[[Batch], NDArray[Any]]) -> None:
        """Add a column, or work on from one of that name. Rows that are kept get it at once."""
        self._maps.append((name, per_record))
        for private_rows in self._private_kept or ():
            private_rows[name] = _computed(per_record, self._unpacked(private_rows))

    def completed(self, batch: Batch) -> Batch:
        """A batch with the prepared columns."""
        complete = dict(batch)
        for name, per_record in self._maps:
            complete[name] = _computed(per_record, complete)
        return complete

    def __iter__(self) -> Iterator[Batch]:
        """All batches, from memory if an earlier pass could keep them there."""
        if self._private_kept is not None:
            for private_packed in self._private_kept:
                yield self._unpacked(private_packed)
            return
        private_kept: list[dict[str, NDArray[Any]]] = []
        n_bytes = 0
        for private_batch in open_batches(self._data, rows=_ROWS):
            private_rows = self.completed(private_batch)
            if n_bytes <= self._most_bytes:
                private_packed = self._packed(private_rows)
                n_bytes += sum(values.nbytes for values in private_packed.values())
                private_kept.append(private_packed)
            else:
                private_kept.clear()
            yield private_rows
        if 0 < n_bytes <= self._most_bytes:
            self._private_kept = private_kept

    def _packed(self, private_rows: Batch) -> dict[str, NDArray[Any]]:
        return {name: values.astype(self._small.get(name, values.dtype)) for name, values in private_rows.items()}

    def _unpacked(self, private_packed: Batch) -> Batch:
        """As they were: a mechanism sees the same types on every pass."""
        kinds = {name: np.int64 if kind.kind == "u" else np.float64 for name, kind in self._small.items()}
        return {
            name: values.astype(kinds.get(name, values.dtype), copy=False) for name, values in private_packed.items()
        }


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


def _computed(per_record: Callable[[Batch], NDArray[Any]], private_batch: Batch) -> NDArray[np.float32]:
    with np.errstate(all="ignore"):
        return np.asarray(per_record(private_batch), dtype=np.float32)
