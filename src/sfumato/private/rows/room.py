"""Room for packed rows: memory as far as it goes, and behind that encrypted scratch."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.private.rows.scratch import Place, Scratch
from sfumato.public.schema.schema import Batch

#: What one process keeps in memory. Whatever is more goes to scratch, so that memory stays flat whatever the data's size.
MOST_BYTES = 896 << 20


class Room:
    """Columns that are kept for later passes, each where there is room for it."""

    def __init__(self, most_bytes: int | None = None) -> None:
        """Nothing is written to any disk while `most_bytes` suffice."""
        self._left = MOST_BYTES if most_bytes is None else most_bytes
        self._scratch: Scratch | None = None

    def keep(self, batch: Batch) -> "KeptBatch":
        """A batch that can be read for as long as this object lives."""
        return KeptBatch(self, {name: self._put(private_values) for name, private_values in batch.items()})

    def joined(self, batch: Batch, name: str, column: NDArray[Any]) -> "KeptBatch":
        """A kept batch with one column more, or another in its place."""
        kept = batch if isinstance(batch, KeptBatch) else self.keep(batch)
        replaced = kept.places.get(name)
        if isinstance(replaced, np.ndarray) and self._scratch is None:
            self._left += replaced.nbytes
        return KeptBatch(self, {**kept.places, name: self._put(column)})

    def _put(self, private_values: NDArray[Any]) -> NDArray[Any] | Place:
        if private_values.nbytes <= self._left:
            self._left -= private_values.nbytes
            return private_values
        self._left = 0  # from here on all goes to one place
        if self._scratch is None:
            self._scratch = Scratch()
        return self._scratch.put(private_values)

    def get(self, kept: NDArray[Any] | Place) -> NDArray[Any]:
        """The values themselves."""
        return self._scratch.get(kept) if isinstance(kept, Place) and self._scratch is not None else np.asarray(kept)

    def close(self) -> None:
        """Give back what lies on a disk."""
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None


class KeptBatch(Mapping[str, NDArray[Any]]):
    """A batch in a room: a column on a disk is read when it is asked for, and most maps ask for few."""

    def __init__(self, room: Room, kept: Mapping[str, NDArray[Any] | Place]) -> None:
        """Take where each column is."""
        self._room, self.places = room, kept

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._room.get(self.places[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)
