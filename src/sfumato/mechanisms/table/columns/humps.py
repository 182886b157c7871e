"""Shapes that a number's density is thought to have before it is counted: even along the grid, one hump, or falling from an end.

Most numbers have one of these. Two numbers say where a hump is and how wide, and noisy counts say these much better than they
say the height of every part: where there is little else, rows far from the hump are noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sfumato.mechanisms.common.cells import Cells

#: Places of a hump along the grid; its widths as parts of the grid; and how many there are of those that are parts of the
#: range, each a fixed part of the one before. So are the lengths over which a density falls.
_PLACES = 40
_WIDTHS = (0.02, 0.03, 0.045, 0.07, 0.1, 0.15, 0.22, 0.32)
_RANGES = 0.5 * 0.7 ** np.arange(20)
#: A shape with less than this part of the largest weight is left out of a mixture.
_NOTHING = 1e-4


@dataclass(frozen=True)
class Stretches:
    """Stretches of a number's grid: where each begins and ends, on the grid (from 0 to 1) and in values.

    A single value is a stretch without a length.
    """

    begins: NDArray[np.float64]
    ends: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(cls, cells: Cells, place: NDArray[np.int64]) -> "Stretches":
        """Neighbouring cells with the same place make a stretch; missing numbers are left out."""
        low, high = cells.ends()
        length = np.ones(cells.inner) if cells.whole else (cells.grid >= 0).astype(np.float64)
        ends = np.cumsum(length) / length.sum()
        first = np.unique(place[: cells.inner], return_index=True)[1]
        last = np.append(first[1:], cells.inner) - 1
        return cls(np.append(0.0, ends)[first], ends[last], low[first], high[last])


@dataclass(frozen=True)
class Shape:
    """One of them: `part` says how much of it lies between two ends, on the grid or in values."""

    name: str
    middle: float = 0.0
    width: float = 1.0

    def parts(self, stretches: Stretches) -> NDArray[np.float64]:
        """The part of all rows in each stretch."""
        held = self._held(stretches)
        return np.asarray(held / held.sum())

    def _held(self, on: Stretches) -> NDArray[np.float64]:
        if self.name == "even":
            return on.ends - on.begins
        low, high = (on.begins, on.ends) if self.name == "hump along the grid" else (on.low, on.high)
        low, high = (low - self.middle) / self.width, (high - self.middle) / self.width
        if self.name == "rising":
            low, high = -high, -low
        if self.name in ("falling", "rising"):
            return np.asarray(np.exp(-np.maximum(low, 0.0)) - np.exp(-np.maximum(high, 0.0)))
        return np.asarray(ndtr(high) - ndtr(low))


def shapes_of(cells: Cells) -> list[Shape]:
    """All that are thought of for a number, the first of them even.

    Humps are normal along the grid, which is nearly logarithmic far from zero, or normal in the values themselves.
    """
    places = (np.arange(_PLACES) + 0.5) / _PLACES
    ends = cells.ends()
    lowest, highest = float(ends[0][0]), float(ends[1][-1])
    start = 0.0 if lowest < 0 < highest else lowest
    middles = ends[0][(places * cells.inner).astype(np.int64)]
    widths = _RANGES * (highest - lowest)
    return [
        Shape("even"),
        *(Shape("hump along the grid", place, width) for place in places for width in _WIDTHS),
        *(Shape("hump", middle, width) for middle in middles for width in widths),
        *(Shape("falling", start, width) for width in widths),
        *(Shape("rising", highest, width) for width in widths),
    ]


@dataclass(frozen=True)
class Mixture:
    """Several shapes, each by its weight."""

    shapes: Sequence[Shape]
    weights: NDArray[np.float64]

    def parts(self, stretches: Stretches) -> NDArray[np.float64]:
        """The part of all rows in each stretch; what hardly weighs anything is left out."""
        kept = np.flatnonzero(self.weights > _NOTHING * self.weights.max())
        found = np.sum([self.weights[at] * self.shapes[int(at)].parts(stretches) for at in kept], axis=0)
        return np.asarray(found / found.sum())
