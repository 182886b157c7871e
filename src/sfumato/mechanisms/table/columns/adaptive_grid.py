"""How finely a column is counted follows what noisy counts support.

Coarse parts of a grid are counted first, twice. Where a few of them hold nearly all rows, these get most of the grid's cells:
bounds that are far too wide, or numbers that differ little beside their own size (a pH, a pressure), would otherwise leave all rows
in one cell. A last count splits each part into as many leaves as its mass is in standard deviations of that count. What the
noise explains stays flat, and parts far from all mass are emptied.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers, Values
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.common.simplex import haar_within, to_simplex
from sfumato.mechanisms.table.columns.density import Intervals, NoisySums, find_density, shapes_of
from sfumato.mechanisms.table.columns.features import Feature
from sfumato.mechanisms.table.settings.columns import ColumnSettings
from sfumato.public.plan.measured import Measured


def part_names(cells: Cells, of_place: Integers) -> Integers:
    """A number for each cell that names what is counted together: a part of the grid on one side of zero, or a single value.

    The two sides of a part differ in the last bit.
    """
    singles = np.cumsum(cells.grid < 0)
    on_grid = 2 * of_place[np.maximum(cells.grid, 0)] + (singles > 1)
    named = np.where(cells.grid < 0, -2 * singles, on_grid)
    return np.append(named, 4 * cells.n_places) if cells.has_missing_cell else named


def carried(before: Cells, part: Integers, counts: Floats, after: Cells) -> tuple[Integers, Floats]:
    """The parts of a grid that was turned once more, and their counts.

    A part that zero divides may have all its cells on one side of it now: what was counted on the other side is added there.
    """
    n_parts = len(after.turns[-1])
    old = np.zeros(len(counts), dtype=np.int64)
    old[part] = part_names(before, np.arange(before.n_places) * n_parts // before.n_places)
    new = part_names(after, np.repeat(np.arange(n_parts), after.turns[-1]))
    old = np.where(np.isin(old, new), old, old ^ 1)
    new = np.where(np.isin(new, old), new, new ^ 1)
    first = np.sort(np.unique(new, return_index=True)[1])
    place = {int(name): at for at, name in enumerate(new[first])}
    moved = np.bincount([place[int(name)] for name in old], weights=counts, minlength=len(first))
    return np.array([place[int(name)] for name in new]), moved.astype(np.float64)


def counts_of_grid(cells: Cells, part: Integers, counts: Floats, n_parts: int) -> Floats:
    """The counts of even parts of a grid, both sides of zero together."""
    of_part = np.full(len(counts), -1)
    on_grid = cells.grid >= 0
    of_part[part[: cells.inner][on_grid]] = cells.grid[on_grid] * n_parts // cells.n_places
    known = of_part >= 0
    return np.bincount(of_part[known], weights=counts[known], minlength=n_parts).astype(np.float64)


@dataclass(frozen=True)
class Coarse:
    """A column, the part of each of its cells, and the noisy counts of the parts."""

    feature: Feature
    part: Integers
    counts: Floats
    stddev: float

    def closer(self, n_parts: int, settings: ColumnSettings) -> Feature:
        """The column with most of its cells where its rows are seen; as it is where they are not in few parts."""
        cells, stddev = self.feature.cells, self.stddev
        if not (settings.turns_grids and cells.on_grid):
            return self.feature
        counts = counts_of_grid(cells, self.part, self.counts, n_parts)
        lit = counts > settings.turn_seen * stddev
        beside = np.append(lit[1:], False) | np.append(False, lit[:-1])
        kept = lit | (beside & (counts > settings.turn_beside * stddev))
        share = settings.turn_cells  # of the cells, for the parts that hold rows
        least = max(settings.turn_most * float(counts.sum()), settings.turn_visible * stddev * share * len(counts))
        if not lit.any() or kept.sum() > min(settings.turn_parts, len(counts) // 4) or counts[kept].sum() < least:
            return self.feature
        weight = np.where(kept, share / kept.sum(), (1 - share) / (~kept).sum())
        n_cells = np.diff(np.round(np.append(0.0, np.cumsum(weight)) * cells.n_places)).astype(int)
        return replace(self.feature, cells=replace(cells, turns=(*cells.turns, tuple(n_cells.tolist()))))

    def with_another(self, other: "Coarse") -> "Coarse":
        """With a second count: the mean of both where they are of the same parts, else the second, which is closer."""
        if other.feature != self.feature:
            return other
        return replace(self, counts=(self.counts + other.counts) / 2, stddev=self.stddev / math.sqrt(2))

    def turned(self, n_parts: int, settings: ColumnSettings) -> "Coarse":
        """On a grid that is closer still; what was counted stays with its parts."""
        feature = self.closer(n_parts, settings)
        if feature is self.feature:
            return self
        part, counts = carried(self.feature.cells, self.part, self.counts, feature.cells)
        return Coarse(feature, part, counts, self.stddev)


def number_of_parts(rows_over_noise: float, within: tuple[int, int]) -> int:
    """Coarse parts of a number: about as many as whole standard deviations in all rows, a power of two within a range."""
    return int(np.clip(2 ** np.floor(np.log2(max(rows_over_noise, 1.0))), *within))


def fine_leaves(cells: Cells, part: Integers, counts: Floats, *, stddev: float) -> Integers:
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
    part: Integers
    part_counts: Floats
    part_stddev: float
    leaf: Integers
    leaf_counts: Floats
    leaf_stddev: float

    def with_another(self, again: Measured) -> "Counted":
        """With one more count of every category."""
        first, second = self.part_stddev**-2, again.stddev**-2
        counts = (first * self.part_counts + second * again.values) / (first + second)
        return replace(self, part_counts=counts, part_stddev=(first + second) ** -0.5)

    def with_values(self, values: Values, rows: Floats, variances: Floats) -> "Counted":
        """With one more count of every value, each with noise of its own; the noise that is left is taken for the same in all."""
        leaf, n_leaves = self.leaf[self.cells.code(values)], len(self.leaf_counts)
        counted, noise = (np.bincount(leaf, weights=x, minlength=n_leaves) for x in (rows, variances))
        first = self.leaf_stddev**-2
        second = np.where(noise > 0, 1 / np.maximum(noise, 1e-300), 0.0)
        both = (first * self.leaf_counts + second * counted) / (first + second)
        return replace(self, leaf_counts=both, leaf_stddev=math.sqrt(float(np.mean(1 / (first + second)))))

    def mass(self, settings: ColumnSettings, *, total: float) -> Floats:
        """How many rows each cell holds, of so many in all."""
        part_of_leaf = np.zeros(len(self.leaf_counts), dtype=np.int64)
        part_of_leaf[self.leaf] = self.part
        n_leaves = np.bincount(part_of_leaf)
        first, second = self.part_stddev**-2, 1 / (n_leaves * self.leaf_stddev**2)
        rows = (self.part_counts * first + np.bincount(part_of_leaf, weights=self.leaf_counts) * second) / (
            first + second
        )
        stddev = (first + second) ** -0.5
        if self.cells.column.is_coded:
            return _categories(rows, stddev=float(stddev[0]), total=total)
        size = len(part_of_leaf)
        is_thin = total < settings.smooth_thin * size * self.leaf_stddev
        if size <= (settings.smoothed_leaves if is_thin else settings.always_smoothed):
            smooth, farthest = self._smoothed(part_of_leaf, settings, total=total)
            # Few leaves have no noise to tell a spike by; of many, halves find what no curve has.
            if size <= settings.always_smoothed or farthest < settings.smooth_farthest:
                return smooth
        rows = to_simplex(self._without_far_noise(rows, stddev, self._single(self.part), settings), total=total)
        in_leaf = np.zeros(len(part_of_leaf))
        for p in range(len(rows)):
            at = np.flatnonzero(part_of_leaf == p)
            in_leaf[at] = haar_within(
                self.leaf_counts[at], noise=self.leaf_stddev, total=float(rows[p]), kept=settings.wavelet_kept
            )
        return np.asarray((in_leaf / np.bincount(self.leaf))[self.leaf])

    def _smoothed(self, part_of_leaf: Integers, settings: ColumnSettings, *, total: float) -> tuple[Floats, float]:
        """Rows in each cell of a number that few leaves are supported for, from both counts at once.

        And how far any leaf's count is from that, in standard deviations of its noise.
        """
        inner, n_leaves, n_parts = self.cells.inner, len(part_of_leaf), len(self.part_counts)
        size = np.bincount(self.leaf, minlength=n_leaves)
        place = np.bincount(self.leaf[:inner], weights=np.arange(inner), minlength=n_leaves) / size / inner
        single = self._single(self.leaf)
        counted = NoisySums(
            np.concatenate([np.eye(n_leaves), np.arange(n_parts)[:, None] == part_of_leaf]),
            np.concatenate([self.leaf_counts, self.part_counts]),
            np.repeat([self.leaf_stddev**2, self.part_stddev**2], [n_leaves, n_parts]),
        )
        leaves = Intervals.of(self.cells, self.leaf)
        shapes = shapes_of(self.cells, settings)
        rows, stddev, shape = find_density(shapes, leaves, place, single, counted, settings, total=total)
        farthest = float(np.abs(self.leaf_counts - rows)[~single].max(initial=0.0)) / self.leaf_stddev
        unclear = single & (rows < settings.part_seen * stddev)
        unclear[-1] &= not self.cells.has_missing_cell
        clear = np.where(unclear, -np.inf, self._without_far_noise(rows, stddev, single, settings))
        in_leaf = to_simplex(clear, total=total)
        within = np.ones(self.cells.count)
        of_shape = shape.parts(Intervals.of(self.cells, np.arange(inner)))
        within[:inner] = np.where(
            single[self.leaf[:inner]], 1.0, of_shape + 1e-12
        )  # where the shape has nothing, cells are alike
        return np.asarray(in_leaf[self.leaf] * within / np.bincount(self.leaf, weights=within)[self.leaf]), farthest

    def _single(self, place: Integers) -> Flags:
        """Which places stand for one value, or for missing ones, and so have no neighbours."""
        single = np.zeros(int(place.max()) + 1, dtype=bool)
        if not self.cells.whole:
            single[place[: self.cells.inner][self.cells.grid < 0]] = True
        single[-1] |= self.cells.has_missing_cell
        return single

    def _without_far_noise(self, rows: Floats, stddev: Floats, single: Flags, settings: ColumnSettings) -> Floats:
        """Generous bounds leave many parts empty; a little noise in each would lie far out."""
        lit = rows > settings.part_seen * stddev
        if not lit.any():
            return rows
        near = lit.copy()
        # Single values lie between neighbours that touch: what spreads along the grid passes them by.
        along = np.flatnonzero(~single)
        spread, some = lit[along], rows[along] > settings.part_beside * stddev[along]
        for _ in range(len(along)):  # from what is sure outwards, as long as there is something
            beside = np.append(spread[1:], False) | np.append(False, spread[:-1])
            if not (more := beside & some & ~spread).any():
                break
            spread |= more
        near[along] = spread
        near[-1] |= self.cells.has_missing_cell
        # Where what is sure does not hold most rows, they lie too thin to be seen, and nothing is cut away.
        most = float(rows[near].sum()) > settings.part_most * float(rows.sum())
        return np.where(near, rows, -np.inf) if most else rows


def _categories(counts: Floats, *, stddev: float, total: float) -> Floats:
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
