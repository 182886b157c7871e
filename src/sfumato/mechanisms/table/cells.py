"""A fine public grid for every column: the first thing that rows are counted on.

Categories have one cell each. Whole numbers of a short range have one cell each. Other numbers lie on a grid that is
even in asinh: narrow cells where numbers are small, wide ones far out, so that generous bounds cost nothing.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.public.schema import Column

#: Cells of a number that has no short list of values: a power of two, for the wavelet that smooths them.
CELLS = 1024

#: The grid turns from even to logarithmic at this part of the range: three decades lie above it.
_DECADES = 2000.0


@dataclass(frozen=True)
class Cells:
    """The cells of one column. A missing number has a cell of its own, the last.

    >>> Cells(Column(name="age", kind="integer", bounds=(0, 100))).count
    101
    >>> grid = Cells(Column(name="gain", kind="numeric", bounds=(-1000, 1000)))
    >>> grid.count, grid.code(np.array([-1000.0, 0.0, 1000.0]))
    (1024, array([   0,  512, 1023]))
    """

    column: Column

    @property
    def whole(self) -> bool:
        """Whether every whole number of the range has its own cell."""
        c = self.column
        return c.kind == "integer" and 0 <= math.floor(c.high) - math.ceil(c.low) < CELLS

    @property
    def inner(self) -> int:
        """Cells without the one for missing numbers."""
        if self.column.is_coded:
            return self.column.size
        return math.floor(self.column.high) - math.ceil(self.column.low) + 1 if self.whole else CELLS

    @property
    def count(self) -> int:
        """All cells."""
        return self.inner + int(self.has_missing_cell)

    @property
    def has_missing_cell(self) -> bool:
        """Whether the last cell stands for a missing number."""
        return not self.column.is_coded and self.column.missing

    def code(self, values: NDArray[np.generic]) -> NDArray[np.int64]:
        """The cell of each value; each value alone decides."""
        if self.column.is_coded:
            return values.astype(np.int64)
        numbers = values.astype(np.float64)
        if self.whole:
            place = np.round(numbers) - math.ceil(self.column.low)
        else:
            low, high = self._range()
            place = np.floor((self._bend(numbers) - low) / (high - low) * CELLS)
        absent = np.isnan(place)
        cell = np.clip(np.where(absent, self.inner // 2, place), 0, self.inner - 1).astype(np.int64)
        return np.where(absent, self.inner, cell) if self.has_missing_cell else cell

    def draw(self, cells: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.generic]:
        """A value in each cell: evenly within it, in the bent scale."""
        if self.column.is_coded:
            return cells
        if self.whole:
            values = cells + float(math.ceil(self.column.low))
        else:
            low, high = self._range()
            values = self._unbend(low + (cells + rng.random(len(cells))) / CELLS * (high - low))
        return np.where(cells >= self.inner, np.nan, values)

    def middles(self) -> NDArray[np.float64]:
        """The value in the middle of each cell of a number."""
        if self.whole:
            return math.ceil(self.column.low) + np.arange(self.inner, dtype=np.float64)
        low, high = self._range()
        return self._unbend(low + (np.arange(CELLS) + 0.5) / CELLS * (high - low))

    def _scale(self) -> float:
        return self.column.high / _DECADES - self.column.low / _DECADES

    def _origin(self) -> float:
        return min(max(0.0, self.column.low), self.column.high)

    def _bend(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        bent: NDArray[np.float64] = np.arcsinh((values - self._origin()) / self._scale())
        return bent

    def _unbend(self, bent: NDArray[np.float64]) -> NDArray[np.float64]:
        values: NDArray[np.float64] = self._origin() + self._scale() * np.sinh(bent)
        return values

    def _range(self) -> tuple[float, float]:
        low, high = self._bend(np.array([self.column.low, self.column.high]))
        return float(low), float(high)
