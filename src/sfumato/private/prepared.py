"""Encoded rows that are read more than once: kept in memory where they fit, with the columns prepared from them."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.private.sensitive import Sensitive, open_batches
from sfumato.public.schema import Batch

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
        self._private_kept: list[dict[str, NDArray[Any]]] | None = None

    def prepare(self, name: str, per_record: Callable[[Batch], NDArray[Any]]) -> None:
        """Add a column, or work on from one of that name. Rows that are kept get it at once."""
        self._maps.append((name, per_record))
        for private_rows in self._private_kept or ():
            private_rows[name] = _computed(per_record, private_rows)

    def completed(self, batch: Batch) -> Batch:
        """A batch with the prepared columns."""
        complete = dict(batch)
        for name, per_record in self._maps:
            complete[name] = _computed(per_record, complete)
        return complete

    def __iter__(self) -> Iterator[Batch]:
        """All batches, from memory if an earlier pass could keep them there."""
        if self._private_kept is not None:
            yield from self._private_kept
            return
        private_kept: list[dict[str, NDArray[Any]]] = []
        n_bytes = 0
        for private_batch in open_batches(self._data, rows=_ROWS):
            private_rows = dict(self.completed(private_batch))
            n_bytes += sum(values.nbytes for values in private_rows.values())
            if n_bytes <= self._most_bytes:
                private_kept.append(private_rows)
            else:
                private_kept.clear()
            yield private_rows
        if 0 < n_bytes <= self._most_bytes:
            self._private_kept = private_kept


def _computed(per_record: Callable[[Batch], NDArray[Any]], private_batch: Batch) -> NDArray[np.float32]:
    with np.errstate(all="ignore"):
        return np.asarray(per_record(private_batch), dtype=np.float32)
