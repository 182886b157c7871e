"""Whether what is written is what a file holds already: to the byte, and without a second file."""

import io
import os
from pathlib import Path
from typing import Any

_AT_ONCE = 1 << 20


class SameFile(io.RawIOBase):
    """Takes what a writer writes, keeps none of it, and remembers which parts of a file it differs from.

    What is written twice, such as the head of an archive's member, counts as it is written last.
    """

    def __init__(self, path: Path) -> None:
        """Compare with the file at this path."""
        self._path, self._at, self._end = path, 0, 0
        self._others: set[tuple[int, int]] = set()

    @property
    def is_same(self) -> bool:
        """Whether the file holds all that was written, and nothing else."""
        return not self._others and self._end == self._path.stat().st_size

    def writable(self) -> bool:
        """It is for writing alone."""
        return True

    def seekable(self) -> bool:
        """As archives need it."""
        return True

    def write(self, data: Any) -> int:
        """Compare some bytes."""
        view = memoryview(data).cast("B")
        part = self._at, self._at + view.nbytes
        with self._path.open("rb") as file:
            file.seek(self._at)
            parts = (view[at : at + _AT_ONCE] for at in range(0, view.nbytes, _AT_ONCE))
            is_same = all(file.read(some.nbytes) == some for some in parts)
        (self._others.discard if is_same else self._others.add)(part)
        self._at = part[1]
        self._end = max(self._end, self._at)
        return view.nbytes

    def seek(self, at: int, whence: int = os.SEEK_SET) -> int:
        """Where to compare next."""
        self._at = at + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        return self._at

    def tell(self) -> int:
        """Where the next byte goes."""
        return self._at
