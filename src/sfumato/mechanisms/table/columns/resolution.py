"""Coarse cells first, then finer ones where noisy mass supports them: how finely a column is counted follows evidence.

Every cell of the grid belongs to a coarse part; a second count splits a part into as many leaves as its mass is in
standard deviations of that count. What the noise explains stays flat, and parts far from all mass are emptied.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.cells import CELLS, Cells
from sfumato.mechanisms.common.simplex import haar_within, to_simplex
from sfumato.mechanisms.table.columns.density import Told, find_density
from sfumato.mechanisms.table.columns.humps import Stretches, shapes_of
from sfumato.public.plan.doors import Measured

#: Coarse parts of a number: as many as whole standard deviations in all rows, within this range.
_PARTS = (8, 32)

#: A part by itself holds something from this many standard deviations on, of so many parts in all columns; one beside
#: such a part from fewer on. The others are emptied.
_LIT = 4.0
_SOME = 0.7
#: What is left has to hold this part of all rows.
_MOST = 0.8

#: Up to so many leaves are smoothed by a Gaussian process.
_SMOOTHED = 64
#: A leaf may lie where the shape has nothing: then its cells are alike.
_NOTHING = 1e-12


def number_of_parts(rows_over_noise: float) -> int:
    """Coarse parts of a number, a power of two."""
    fewest, most = _PARTS
    return int(np.clip(2 ** np.floor(np.log2(max(rows_over_noise, 1.0))), fewest, most))


def coarse_parts(cells: Cells, *, n_parts: int) -> NDArray[np.int64]:
    """The coarse part of each cell: single values, categories and missing ones alone, the grid in even parts."""
    if cells.column.is_coded:
        return np.arange(cells.inner)
    if cells.whole:
        part = np.arange(cells.inner) * min(n_parts, cells.inner) // cells.inner
    else:
        alone = cells.grid < 0
        starts = alone | np.append(False, alone[:-1])
        starts |= np.append(-1, np.diff(np.maximum(cells.grid, 0) * n_parts // CELLS)) != 0
        part = np.unique(np.cumsum(starts), return_inverse=True)[1]
    return np.append(part, part.max() + 1) if cells.has_missing_cell else part


def fine_leaves(
    cells: Cells, part: NDArray[np.int64], counts: NDArray[np.float64], *, stddev: float
) -> NDArray[np.int64]:
    """The leaf of each cell: a part of noisy mass m is split into about m / stddev leaves, a power of two."""
    if cells.column.is_coded:
        return part
    leaf, next_leaf = np.zeros(cells.inner, dtype=np.int64), 0
    for p in range(int(part[cells.inner - 1]) + 1):
        at = np.flatnonzero(part[: cells.inner] == p)
        n_leaves = int(np.clip(2 ** np.floor(np.log2(max(counts[p] / stddev, 1.0))), 1, len(at)))
        leaf[at] = next_leaf + np.arange(len(at)) * n_leaves // len(at)
        next_leaf += n_leaves
    return np.append(leaf, next_leaf) if cells.has_missing_cell else leaf


@dataclass(frozen=True)
class Counted:
    """A column's two noisy counts: of the coarse parts, and of the leaves that these were split into."""

    cells: Cells
    part: NDArray[np.int64]
    part_counts: NDArray[np.float64]
    part_stddev: float
    leaf: NDArray[np.int64]
    leaf_counts: NDArray[np.float64]
    leaf_stddev: float

    def with_another(self, again: Measured) -> "Counted":
        """With one more count of every category."""
        first, second = self.part_stddev**-2, again.stddev**-2
        counts = (first * self.part_counts + second * again.values) / (first + second)
        return replace(self, part_counts=counts, part_stddev=(first + second) ** -0.5)

    def mass(self, *, total: float) -> NDArray[np.float64]:
        """How many rows each cell holds, of so many in all."""
        part_of_leaf = np.zeros(len(self.leaf_counts), dtype=np.int64)
        part_of_leaf[self.leaf] = self.part
        n_leaves = np.bincount(part_of_leaf)
        first, second = self.part_stddev**-2, 1 / (n_leaves * self.leaf_stddev**2)
        held = (self.part_counts * first + np.bincount(part_of_leaf, weights=self.leaf_counts) * second) / (
            first + second
        )
        stddev = (first + second) ** -0.5
        if self.cells.column.is_coded:
            return _categories(held, stddev=float(stddev[0]), total=total)
        if len(part_of_leaf) <= _SMOOTHED:
            return self._smoothed(part_of_leaf, total=total)
        held = to_simplex(self._without_far_noise(held, stddev, self._single(self.part)), total=total)
        in_leaf = np.zeros(len(part_of_leaf))
        for p in range(len(held)):
            at = np.flatnonzero(part_of_leaf == p)
            in_leaf[at] = haar_within(self.leaf_counts[at], noise=self.leaf_stddev, total=float(held[p]))
        return np.asarray((in_leaf / np.bincount(self.leaf))[self.leaf])

    def _smoothed(self, part_of_leaf: NDArray[np.int64], *, total: float) -> NDArray[np.float64]:
        """Rows in each cell of a number that few leaves are supported for, from both counts at once."""
        inner, n_leaves, n_parts = self.cells.inner, len(part_of_leaf), len(self.part_counts)
        size = np.bincount(self.leaf, minlength=n_leaves)
        place = np.bincount(self.leaf[:inner], weights=np.arange(inner), minlength=n_leaves) / size / inner
        single = self._single(self.leaf)
        told = Told(
            np.concatenate([np.eye(n_leaves), np.arange(n_parts)[:, None] == part_of_leaf]),
            np.concatenate([self.leaf_counts, self.part_counts]),
            np.repeat([self.leaf_stddev**2, self.part_stddev**2], [n_leaves, n_parts]),
        )
        leaves = Stretches.of(self.cells, self.leaf)
        found = find_density(shapes_of(self.cells), leaves, place, single, told, total=total)
        unclear = single & (found.held < _LIT * found.stddev)
        unclear[-1] &= not self.cells.has_missing_cell
        held = np.where(unclear, -np.inf, self._without_far_noise(found.held, found.stddev, single))
        in_leaf = to_simplex(held, total=total)
        within = np.ones(self.cells.count)
        of_shape = found.shape.parts(Stretches.of(self.cells, np.arange(inner)))
        within[:inner] = np.where(single[self.leaf[:inner]], 1.0, of_shape + _NOTHING)
        return np.asarray(in_leaf[self.leaf] * within / np.bincount(self.leaf, weights=within)[self.leaf])

    def _single(self, place: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which places stand for one value, or for missing ones, and so have no neighbours."""
        single = np.zeros(int(place.max()) + 1, dtype=bool)
        if not self.cells.whole:
            single[place[: self.cells.inner][self.cells.grid < 0]] = True
        single[-1] |= self.cells.has_missing_cell
        return single

    def _without_far_noise(
        self, held: NDArray[np.float64], stddev: NDArray[np.float64], single: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Generous bounds leave many parts empty; a little noise in each would lie far out."""
        lit = held > _LIT * stddev
        if not lit.any():
            return held
        near = lit.copy()
        # Single values lie between neighbours that touch: what spreads along the grid passes them by.
        along = np.flatnonzero(~single)
        spread, some = lit[along], held[along] > _SOME * stddev[along]
        for _ in range(len(along)):  # from what is sure outwards, as long as there is something
            beside = np.append(spread[1:], False) | np.append(False, spread[:-1])
            if not (more := beside & some & ~spread).any():
                break
            spread |= more
        near[along] = spread
        near[-1] |= self.cells.has_missing_cell
        # Where what is sure does not hold most rows, they lie too thin to be seen, and nothing is cut away.
        return np.where(near, held, -np.inf) if float(held[near].sum()) > _MOST * float(held.sum()) else held


def _categories(counts: NDArray[np.float64], *, stddev: float, total: float) -> NDArray[np.float64]:
    """Categories that stand out of the noise by their counts, the others alike: noise would favour some of them."""
    clear = counts > stddev * np.sqrt(2 * np.log(max(len(counts), 2)))
    if clear.all() or len(counts) < 8:
        return to_simplex(counts, total=total)
    left, small = max(total - float(counts[clear].sum()), 0.0), counts[~clear]
    # The mean of the small ones is sure, each one is not: between the two by the spread beyond that of the noise.
    spread = max(float(np.var(small)) - stddev**2, 0.0)
    own = spread / (spread + stddev**2)
    small = np.maximum(own * small + (1 - own) * small.mean(), 0.0) + 1e-9
    small /= small.sum()
    out = np.empty_like(counts)
    out[clear], out[~clear] = counts[clear], left * small
    return out * (total / max(float(out.sum()), 1e-12))
