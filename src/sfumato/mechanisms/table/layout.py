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


def codes_in(layout: Layout, columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """For each row its place in every table."""
    return np.stack(columns, axis=1) + layout.starts
