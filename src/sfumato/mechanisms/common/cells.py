"""A fine public grid for every column: the finest thing that rows are counted on.

Categories have one cell each. Whole numbers of a short range have one cell each. Other numbers lie on a grid that is
even in asinh: narrow cells where numbers are small, wide ones far out, so that generous bounds cost little. Zero and the
bounds are cells of their own, because many tables have spikes there. Where rows are seen to lie in a few parts of the grid,
these may get most of its cells.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers, Values
from sfumato.public.schema.schema import Column


@dataclass(frozen=True)
class Cells:
    """The cells of one column. A missing number has a cell of its own, the last.

    >>> Cells(Column(name="age", kind="integer", bounds=(0, 100))).count
    101
    >>> grid = Cells(Column(name="gain", kind="numeric", bounds=(-1000, 1000)))
    >>> grid.count, grid.code(np.array([-1000.0, -1e-9, 0.0, 1e-9, 1000.0])).tolist()
    (1027, [0, 512, 513, 514, 1026])
    """

    column: Column
    bend: float = 2000.0  # the grid turns from even to logarithmic at one part in so many of the range
    #: How many cells each of some even parts of the grid has got; of the grid that follows, the next; and so on.
    turns: tuple[tuple[int, ...], ...] = ()
    n_places: int = 1024  # cells of a number that has no short list of values

    def __post_init__(self) -> None:
        """Work out at once what is kept: a release must hold the same whatever was asked of its cells before."""
        _ = self.whole, self.inner, self.grid
        if not (self.column.is_coded or self.whole):
            _ = self._range, self._edges, self._atoms, self._after_atoms

    @property
    def is_ordered(self) -> bool:
        """Whether neighbouring cells are alike."""
        return self.column.is_number or self.column.kind == "ordinal"

    @cached_property
    def whole(self) -> bool:
        """Whether every whole number of the range has its own cell."""
        c = self.column
        return c.kind == "integer" and 0 <= math.floor(c.high) - math.ceil(c.low) < self.n_places

    @property
    def on_grid(self) -> bool:
        """Whether a column lies on a grid: numbers that have no short list of values do, and most cells hold many values."""
        return self.column.is_number and not self.whole

    @cached_property
    def inner(self) -> int:
        """Cells without the one for missing numbers."""
        if self.column.is_coded:
            return self.column.size
        if self.whole:
            return math.floor(self.column.high) - math.ceil(self.column.low) + 1
        return self.n_places + len(self._atoms)

    @property
    def count(self) -> int:
        """All cells."""
        return self.inner + int(self.has_missing_cell)

    @property
    def has_missing_cell(self) -> bool:
        """Whether the last cell stands for a missing number."""
        return not self.column.is_coded and self.column.missing

    @cached_property
    def grid(self) -> Integers:
        """For each cell of a number its place on the grid, or -1 for one that is a single value."""
        if self.column.is_coded or self.whole:
            return np.full(self.inner, -1)
        places = np.arange(self.n_places)
        for at in self._atoms:
            places = np.insert(places, at, -1)
        return places

    def code(self, values: Values) -> Integers:
        """The cell of each value; each value alone decides."""
        if self.column.is_coded:
            return values.astype(np.int64)
        numbers = values.astype(np.float64)
        absent = np.isnan(numbers)
        numbers = np.where(absent, self.column.centre, numbers)
        if self.whole:
            cell = np.clip(np.round(numbers) - math.ceil(self.column.low), 0, self.inner - 1).astype(np.int64)
        else:
            cell = self._after_atoms[self._place_of(numbers)]
            for at, value in self._atoms.items():
                cell = np.where(numbers == value, at, cell)
        return np.where(absent, self.inner, cell) if self.has_missing_cell else cell

    def draw(self, cells: Integers, rng: np.random.Generator) -> Values:
        """A value in each cell: evenly within it, in the bent scale."""
        if self.column.is_coded:
            return cells
        if self.whole:
            values = cells + float(math.ceil(self.column.low))
        else:
            at = np.minimum(cells, self.inner - 1)
            values = self._value_at(self.grid[at] + rng.random(len(cells)))
            for atom, value in self._atoms.items():
                values[cells == atom] = value
        values[cells >= self.inner] = np.nan
        return values

    def middles(self) -> Floats:
        """The value in the middle of each cell of a number."""
        if self.whole:
            return math.ceil(self.column.low) + np.arange(self.inner, dtype=np.float64)
        values = self._value_at(self.grid.astype(np.float64) + 0.5)
        values[list(self._atoms)] = list(self._atoms.values())
        return values

    def ends(self) -> tuple[Floats, Floats]:
        """The values at which each cell of a number begins and ends: the same one for a single value."""
        if self.whole:
            return self.middles() - 0.5, self.middles() + 0.5
        low, high = (self._value_at(self.grid.astype(np.float64) + end) for end in (0.0, 1.0))
        for atom, value in self._atoms.items():
            low[atom] = high[atom] = value
        return low, high

    def edges(self, cell: int) -> tuple[float, float]:
        """The values between which a cell of the grid lies."""
        low, high = self._value_at(self.grid[cell] + np.array([0.0, 1.0]))
        return float(low), float(high)

    @cached_property
    def _atoms(self) -> dict[int, float]:
        """Cells that are a single value: the bounds, and zero where it lies between."""
        low, high = self.column.low, self.column.high
        atoms = {0: low}
        if low < 0 < high:
            atoms[int(self._place_of(np.zeros(1))[0]) + 1] = 0.0
        return atoms | {self.n_places + len(atoms): high}

    @cached_property
    def _after_atoms(self) -> Integers:
        return np.flatnonzero(self.grid >= 0)

    @property
    def _scale(self) -> float:
        # A date has no natural origin: its grid is even.
        bend = 1e-3 if self.column.kind in ("datetime", "time") else self.bend
        return self.column.high / bend - self.column.low / bend

    @property
    def _origin(self) -> float:
        return min(max(0.0, self.column.low), self.column.high)

    def _bend(self, values: Floats) -> Floats:
        bent: Floats = np.arcsinh((values - self._origin) / self._scale)
        return bent

    def _place_of(self, values: Floats) -> Integers:
        """Where on the grid each value lies."""
        low, high = self._range
        even = (self._bend(values) - low) / (high - low)
        place = np.searchsorted(self._edges, even, side="right") - 1 if self.turns else np.floor(even * self.n_places)
        return np.clip(place, 0, self.n_places - 1).astype(np.int64)

    def _value_at(self, place: Floats) -> Floats:
        low, high = self._range
        even = np.interp(place, np.arange(self.n_places + 1), self._edges) if self.turns else place / self.n_places
        values: Floats = self._origin + self._scale * np.sinh(low + even * (high - low))
        return np.clip(values, self.column.low, self.column.high)

    @cached_property
    def _edges(self) -> Floats:
        """Where the cells of the grid begin and end on the even one, as parts of it."""
        edges = np.arange(self.n_places + 1) / self.n_places
        for counts in reversed(self.turns):
            edges = np.interp(
                edges, np.append(0, np.cumsum(counts)) / self.n_places, np.linspace(0.0, 1.0, len(counts) + 1)
            )
        return np.asarray(edges)

    @cached_property
    def _range(self) -> tuple[float, float]:
        low, high = self._bend(np.array([self.column.low, self.column.high]))
        return float(low), float(high)


def coarse_parts(cells: Cells, *, n_parts: int) -> Integers:
    """The coarse part of each cell: single values, categories and missing ones alone, the grid in even parts."""
    if cells.column.is_coded:
        return np.arange(cells.inner)
    if cells.whole:
        part = np.arange(cells.inner) * min(n_parts, cells.inner) // cells.inner
    else:
        alone = cells.grid < 0
        starts = alone | np.append(False, alone[:-1])
        starts |= np.append(-1, np.diff(np.maximum(cells.grid, 0) * n_parts // cells.n_places)) != 0
        part = np.unique(np.cumsum(starts), return_inverse=True)[1]
    return np.append(part, part.max() + 1) if cells.has_missing_cell else part
