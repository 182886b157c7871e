"""Where the entries of several tables lie in one long vector of counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Layout:
    """Tables side by side, each with its own size.

    >>> layout = Layout((2, 3))
    >>> layout.width, layout.starts.tolist()
    (5, [0, 2])
    """

    sizes: tuple[int, ...]

    @property
    def width(self) -> int:
        """All entries."""
        return sum(self.sizes)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each table begins."""
        return np.cumsum([0, *self.sizes[:-1]])

    def split(self, values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """The tables, along the last axis."""
        return np.split(values[..., : self.width], self.starts[1:], axis=-1)


def side_by_side(tables: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Tables of different lengths as the rows of one array.

    >>> side_by_side([np.array([3, 4]), np.array([5])]).tolist()
    [[3, 4], [5, 0]]
    """
    out = np.zeros((len(tables), max(map(len, tables))), dtype=np.int64)
    for row, table in zip(out, tables, strict=True):
        row[: len(table)] = table
    return out
