"""From the mass of fine cells to a few bins a column: the values that later sums can tell apart."""

from dataclasses import dataclass

import numba
import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers, Values
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.common.compiled import drawn_within
from sfumato.mechanisms.table.columns.point_masses import PointMasses


@dataclass(frozen=True)
class Binning:
    """A column in `size` bins, what the fine cells of a bin weigh, and the point masses within cells."""

    cells: Cells
    size: int
    bin_of: Integers
    mass: Floats
    points: PointMasses

    @property
    def margin(self) -> Floats:
        """The mass of each bin."""
        return np.bincount(self.bin_of, weights=self.mass, minlength=self.size).astype(np.float64)

    @property
    def ordered(self) -> int:
        """How many bins lie along a line: all but the one for missing values, or none."""
        return self.size - int(self.has_missing_bin) if self.cells.is_ordered else 0

    @property
    def has_missing_bin(self) -> bool:
        """Whether the last bin is of missing values and the others lie along a line."""
        return self.cells.is_ordered and self.cells.column.missing

    def cells_in(self, bins: Integers, rng: np.random.Generator) -> Integers:
        """A cell in each bin, by its mass."""
        seems_empty = self.margin[self.bin_of] <= 0  # and can be drawn from all the same, evenly
        mass = np.where(seems_empty, 1.0, self.mass)
        order = np.flatnonzero(mass > 0)  # among a million rows some would lie in cells of next to no mass, far out
        order = order[np.argsort(self.bin_of[order], kind="stable")]
        small = order.astype(np.min_scalar_type(-len(self.bin_of) - 1))  # a million rows have a cell in every column
        upto = np.cumsum(mass[order])
        first = np.searchsorted(self.bin_of[order], np.arange(self.size), side="left")
        last = np.searchsorted(self.bin_of[order], np.arange(self.size), side="right") - 1
        below = np.where(first > 0, upto[first - 1], 0.0)
        inside = upto[np.maximum(last, 0)] - below
        return np.asarray(
            small[drawn_within(upto, first, np.maximum(last, first), below, inside, bins, rng.random(len(bins)))]
        )

    def values_in(self, cells: Integers, rng: np.random.Generator) -> Values:
        """A value in each cell: a point mass by its part, else evenly."""
        values = self.cells.draw(cells, rng)
        if self.points.decimals is not None:
            values = np.round(values.astype(np.float64), self.points.decimals)
        for cell, point in self.points.of_cell.items():
            at = np.flatnonzero(cells == cell)
            values[at[rng.random(len(at)) < point.part]] = point.value
        return values


def bin_column(
    cells: Cells, mass: Floats, points: PointMasses, *, least: float, most: int, category_kept: float
) -> Binning:
    """Bins of at least so much mass where that is possible, at most so many; the one for missing numbers is not counted.

    A category joins the pool of rare ones below the part `category_kept` of that mass: what noise hides of one is taken
    out later, what is pooled is lost.
    """
    inner = cells.inner
    if cells.column.is_coded:
        bin_of = _common_categories(mass, least=category_kept * least, most=most)
    elif inner <= min(most, float(mass[:inner].sum()) / max(least, 1e-9)):
        bin_of = np.arange(inner)
    else:
        bin_of = _cut(mass[:inner], least=least, most=most)
    if cells.has_missing_cell:
        bin_of = np.append(bin_of, bin_of.max() + 1)
    return Binning(cells, int(bin_of.max()) + 1, bin_of, mass, points)


def _common_categories(mass: Floats, *, least: float, most: int) -> Integers:
    if len(mass) <= most:
        return np.arange(len(mass))
    order = np.argsort(-mass, kind="stable")[: most - 1]
    common = order[mass[order] > least]
    bin_of = np.full(len(mass), len(common))
    bin_of[common] = np.arange(len(common))
    return bin_of


def _cut(mass: Floats, *, least: float, most: int) -> Integers:
    """Cut ordered cells: values that many rows share stand alone, the rest in bins that shrink towards the tails."""
    total = float(mass.sum())
    if total <= 0:
        return np.arange(len(mass)) * min(most, 2) // len(mass)
    least = min(max(least, 1e-6 * total), total / 2)
    while True:
        bin_of = _cut_once(mass, least=least, most=most)
        if bin_of[-1] < most:
            return bin_of
        least *= 1.25


def _cut_once(mass: Floats, *, least: float, most: int) -> Integers:
    alone = mass >= max(least, float(mass.sum()) / most)
    rest = float(mass[~alone].sum())
    even = rest / min(max(rest / least, 1.0), most)
    alone |= mass >= max(2 * even, least)
    bin_of = np.cumsum(_starts_of_bins(mass, alone, least, even, float(mass[~alone].sum())))
    # A bin with next to nothing in it joins its left neighbour.
    mass_of = np.bincount(bin_of, weights=mass)
    small = mass_of < 0.2 * min(even, least)
    small[0] = False
    return np.asarray((np.cumsum(~small) - 1)[bin_of])


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def _starts_of_bins(mass: Floats, alone: Flags, least: float, even: float, rest: float) -> Flags:
    """Where a bin begins, but the first: at and after what stands alone, and wherever enough of the `rest` lies before."""
    starts = np.zeros(len(mass) + 1, dtype=np.bool_)
    seen = inside = 0.0
    for at in range(len(mass)):
        if alone[at]:
            starts[at] = starts[at + 1] = True
            inside = 0.0
            continue
        seen, inside = seen + mass[at], inside + mass[at]
        tail = max(least, 0.7 * min(seen, rest - seen))
        if inside >= min(even, tail) * (1 - 1e-9):
            starts[at + 1] = True
            inside = 0.0
    starts[0] = False
    return starts[:-1]


def level_cut(cells: Cells, mass: Floats, *, most: int, least: float) -> Integers:
    """Levels of a numeric target: cut so that values within a level differ little (Lloyd and Max, by density^(1/3))."""
    middles = cells.middles()
    width = np.gradient(middles) if len(middles) > 1 else np.ones(1)
    width = np.maximum(width, 1e-12 * (cells.column.high - cells.column.low))
    size = np.cbrt(np.maximum(mass, 0.0) * width**2)  # (mass / width)^(1/3) width
    at = (np.cumsum(size) - size / 2) / max(float(size.sum()), 1e-300)
    level = np.minimum((at * most).astype(np.int64), most - 1)
    # Levels with too few rows join the one below; the lowest joins the one above.
    level = np.unique(level, return_inverse=True)[1]
    rows = np.bincount(level, weights=mass)
    starts, kept = np.zeros(len(rows), dtype=bool), 0.0
    for i in range(len(rows) - 1):
        kept += float(rows[i])
        if kept >= least and float(rows[i + 1 :].sum()) >= least:
            starts[i + 1], kept = True, 0.0
    return np.asarray(np.cumsum(starts)[level])
