"""From fine noisy counts to a few bins a column: the values that later sums can tell apart."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.cells import Cells
from sfumato.mechanisms.table.smooth import haar_smooth, to_simplex

#: A category joins the pool of rare ones below this many standard deviations of its count.
_SEEN = 2.0


@dataclass(frozen=True)
class Binning:
    """A column in at most `size` bins, and what the fine cells of a bin weigh."""

    cells: Cells
    size: int
    bin_of: NDArray[np.int64]
    mass: NDArray[np.float64]

    def code(self, values: NDArray[np.generic]) -> NDArray[np.int64]:
        """The bin of each value."""
        return self.bin_of[self.cells.code(values)]

    def draw(self, bins: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.generic]:
        """A value in each bin: a cell by its mass, then a value within it."""
        order = np.argsort(self.bin_of, kind="stable")
        weight = self.mass[order]
        upto = np.cumsum(weight)
        first = np.searchsorted(self.bin_of[order], np.arange(self.size), side="left")
        last = np.searchsorted(self.bin_of[order], np.arange(self.size), side="right") - 1
        below = np.where(first > 0, upto[first - 1], 0.0)
        inside = upto[np.maximum(last, 0)] - below
        at = np.searchsorted(upto, below[bins] + rng.random(len(bins)) * inside[bins], side="right")
        return self.cells.draw(order[np.clip(at, first[bins], np.maximum(last[bins], first[bins]))], rng)


def bins_of(cells: Cells, *, most: int) -> int:
    """How many bins a column gets: public, whatever the counts say."""
    return min(cells.inner, most) + int(cells.has_missing_cell)


def bin_column(cells: Cells, counts: NDArray[np.float64], *, noise: float, least: float, most: int) -> Binning:
    """Bins from the noisy counts of the cells.

    Args:
        cells: The grid.
        counts: A noisy count for each cell.
        noise: The standard deviation of each count.
        least: The smallest count that a bin of a number should hold, where that is possible.
        most: The largest number of bins.
    """
    size, inner = bins_of(cells, most=most), cells.inner
    if cells.column.is_coded:
        mass = to_simplex(counts, total=max(float(counts.sum()), noise))
        return Binning(cells, size, _common_categories(mass, noise=noise, size=size), _never_zero(mass))
    mass = haar_smooth(counts[:inner], noise=noise)
    bin_of = np.arange(inner) if inner <= most else _cut(mass, least=least, most=most)
    if cells.has_missing_cell:
        bin_of, mass = np.append(bin_of, size - 1), np.append(mass, max(counts[inner], 0.0))
    return Binning(cells, size, bin_of, _never_zero(mass))


def _never_zero(mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """A little of everything, so that a bin that seemed empty can still be drawn from."""
    return mass + 1e-9 * (1.0 + float(mass.sum()))


def _common_categories(mass: NDArray[np.float64], *, noise: float, size: int) -> NDArray[np.int64]:
    if len(mass) <= size:
        return np.arange(len(mass))
    order = np.argsort(-mass, kind="stable")
    bin_of = np.full(len(mass), size - 1)
    common = order[: size - 1][mass[order[: size - 1]] > _SEEN * noise]
    bin_of[common] = np.arange(len(common))
    return bin_of


def _cut(mass: NDArray[np.float64], *, least: float, most: int) -> NDArray[np.int64]:
    """Cut ordered cells: values that many rows share stand alone, the rest in bins that shrink towards the tails."""
    total = float(mass.sum())
    if total <= 0:
        return np.arange(len(mass)) * most // len(mass)
    least = min(max(least, 1e-6 * total), total)
    while True:
        bin_of = _cut_once(mass, least=least, most=most)
        if bin_of[-1] < most:
            return bin_of
        least *= 1.25


def _cut_once(mass: NDArray[np.float64], *, least: float, most: int) -> NDArray[np.int64]:
    alone = mass >= max(least, float(mass.sum()) / most)
    rest = float(mass[~alone].sum())
    even = rest / min(max(rest / least, 1.0), most)
    alone |= mass >= max(2 * even, least)
    rest = float(mass[~alone].sum())
    starts = np.zeros(len(mass), dtype=bool)
    seen = held = 0.0
    for at, here in enumerate(mass):
        if alone[at]:
            starts[at] = True
            starts[at + 1 : at + 2] = True
            held = 0.0
            continue
        seen, held = seen + here, held + here
        tail = max(least, 0.7 * min(seen, rest - seen))
        if held >= min(even, tail):
            starts[at + 1 : at + 2] = True
            held = 0.0
    starts[0] = False
    bin_of = np.cumsum(starts)
    # A bin with next to nothing in it joins its left neighbour.
    held_by = np.bincount(bin_of, weights=mass)
    small = held_by < 0.2 * min(even, least)
    small[0] = False
    return np.asarray((np.cumsum(~small) - 1)[bin_of])
