"""Closer to where the rows are: where a few coarse parts of a grid hold nearly all of them, these get most of its cells.

Bounds that are far too wide, or numbers that differ little beside their own size (a pH, a time in seconds, a pressure), leave
all rows in one cell of a grid that was laid out before anybody looked. Two noisy counts of coarse parts, one after the other,
each lead to a grid that is finer where rows lie; the parts in which none are seen keep some cells.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.cells import CELLS, Cells
from sfumato.mechanisms.table.columns.features import Feature

#: How often coarse parts are counted.
COARSE_LOOKS = 2

#: A part holds rows from so many standard deviations on; one beside it from fewer on.
_LIT, _SOME = 4.0, 1.0
#: At most so many parts may hold rows, and they must hold so much of all: a grid that was finer beside more of them would be
#: smoothed across its seams.
_FEW, _MOST = 3, 0.8
#: They get this part of the cells; and must hold so many standard deviations for each part that these will be counted in, or
#: a second count would see nothing where the first saw something.
_CELLS = 0.75
_VISIBLE = 2.0


def can_turn(cells: Cells) -> bool:
    """Whether a column lies on a grid: numbers that have no short list of values do."""
    return cells.column.is_number and not cells.whole


def turned(feature: Feature, held: NDArray[np.float64], *, stddev: float) -> Feature:
    """The same column with most of its cells where its rows are seen; as it is where they are not in few parts.

    Args:
        feature: The column.
        held: Noisy counts of even parts of its grid, without single values and missing ones.
        stddev: The noise of each.
    """
    lit = held > _LIT * stddev
    beside = np.append(lit[1:], False) | np.append(False, lit[:-1])
    kept = lit | (beside & (held > _SOME * stddev))
    least = max(_MOST * float(held.sum()), _VISIBLE * stddev * _CELLS * len(held))
    if not lit.any() or kept.sum() > min(_FEW, len(held) // 4) or held[kept].sum() < least:
        return feature
    weight = np.where(kept, _CELLS / kept.sum(), (1 - _CELLS) / (~kept).sum())
    counts = np.diff(np.round(np.append(0.0, np.cumsum(weight)) * CELLS)).astype(int)
    cells = replace(feature.cells, turns=(*feature.cells.turns, tuple(counts.tolist())))
    return replace(feature, cells=cells)


def even_parts(n_parts: int) -> NDArray[np.int64]:
    """The part of each place of a grid, in even parts."""
    return np.arange(CELLS) * n_parts // CELLS


def labels(cells: Cells, of_place: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each cell that names what is counted together: a part of the grid on one side of zero, or a single value.

    The two sides of a part differ in the last bit.
    """
    singles = np.cumsum(cells.grid < 0)
    on_grid = 2 * of_place[np.maximum(cells.grid, 0)] + (singles > 1)
    named = np.where(cells.grid < 0, -2 * singles, on_grid)
    return np.append(named, 4 * CELLS) if cells.has_missing_cell else named


def carried(
    before: Cells, part: NDArray[np.int64], counts: NDArray[np.float64], after: Cells
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The parts of a grid that was turned once more, and their counts.

    A part that zero divides may have all its cells on one side of it now: what was counted on the other side is added there.
    """
    n_parts = len(after.turns[-1])
    old = np.zeros(len(counts), dtype=np.int64)
    old[part] = labels(before, even_parts(n_parts))
    new = labels(after, np.repeat(np.arange(n_parts), after.turns[-1]))
    old = np.where(np.isin(old, new), old, old ^ 1)
    new = np.where(np.isin(new, old), new, new ^ 1)
    first = np.sort(np.unique(new, return_index=True)[1])
    place = {int(name): at for at, name in enumerate(new[first])}
    held = np.bincount([place[int(name)] for name in old], weights=counts, minlength=len(first))
    return np.array([place[int(name)] for name in new]), held.astype(np.float64)


def held_by_grid(
    cells: Cells, part: NDArray[np.int64], counts: NDArray[np.float64], n_parts: int
) -> NDArray[np.float64]:
    """The counts of even parts of a grid, both sides of zero together."""
    of_part = np.full(len(counts), -1)
    on_grid = cells.grid >= 0
    of_part[part[: cells.inner][on_grid]] = even_parts(n_parts)[cells.grid[on_grid]]
    known = of_part >= 0
    return np.bincount(of_part[known], weights=counts[known], minlength=n_parts).astype(np.float64)


@dataclass(frozen=True)
class Coarse:
    """A column, the part of each of its cells, and the noisy counts of the parts."""

    feature: Feature
    part: NDArray[np.int64]
    counts: NDArray[np.float64]
    stddev: float

    def closer(self, n_parts: int) -> Feature:
        """The column on a grid that is finer where its rows are."""
        cells = self.feature.cells
        if not can_turn(cells):
            return self.feature
        return turned(self.feature, held_by_grid(cells, self.part, self.counts, n_parts), stddev=self.stddev)

    def with_another(self, other: "Coarse") -> "Coarse":
        """With a second count: the mean of both where they are of the same parts, else the second, which is closer."""
        if other.feature != self.feature:
            return other
        return replace(self, counts=(self.counts + other.counts) / 2, stddev=self.stddev / math.sqrt(COARSE_LOOKS))

    def turned(self, n_parts: int) -> "Coarse":
        """On a grid that is closer still; what was counted stays with its parts."""
        feature = self.closer(n_parts)
        if feature is self.feature:
            return self
        part, counts = carried(self.feature.cells, self.part, self.counts, feature.cells)
        return Coarse(feature, part, counts, self.stddev)
