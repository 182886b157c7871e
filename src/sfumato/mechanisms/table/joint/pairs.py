"""Coarse tables of all pairs of columns, and how the two halves of the classes differ in them.

What stands out of the noise is kept: the residual from what the population holds so far.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numba
import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.compiled import looked_up
from sfumato.mechanisms.common.layout import Layout, side_by_side
from sfumato.mechanisms.table.settings.joint import JointSettings
from sfumato.public.plan.measured import Measured


def all_pairs(n_columns: int) -> list[tuple[int, int]]:
    """Every pair of columns, the left one first."""
    return list(combinations(range(n_columns), 2))


@dataclass(frozen=True)
class Levels:
    """The level of each bin of every column, and the half of each class."""

    of_bin: list[Integers]
    of_class: Integers

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Levels of each column."""
        return tuple(int(level.max()) + 1 for level in self.of_bin)

    @property
    def n_halves(self) -> int:
        """Groups of classes."""
        return int(self.of_class.max()) + 1

    def layout(self, groups: Sequence[tuple[int, ...]], *, halves: int | None = None) -> Layout:
        """Tables for groups of columns, each for every half."""
        n_halves, sizes = halves or self.n_halves, self.sizes
        return Layout(tuple(n_halves * int(np.prod([sizes[j] for j in group])) for group in groups))

    def of_all(self) -> "Levels":
        """The same levels, with all classes in one half."""
        return Levels(self.of_bin, np.zeros_like(self.of_class))

    def of_every_bin(self) -> "Levels":
        """Every bin a level of its own, with all classes in one half."""
        return Levels([np.arange(len(level)) for level in self.of_bin], np.zeros_like(self.of_class))

    def coder(self, groups: Sequence[tuple[int, ...]]) -> "LevelCoder":
        """For each row its place in the table of every group, all of one length: what no row changes is worked out once."""
        small = np.int32  # hundreds of codes a row: half the memory is half the time
        columns = np.array(groups)
        sizes, starts = np.array(self.sizes, dtype=small)[columns.T], self.layout(groups).starts.astype(small)
        # An entry's place in its table: so many steps for each level of a column, and for each half before all of them.
        steps = np.cumprod(np.append(sizes, np.ones_like(sizes[:1]), axis=0)[::-1], axis=0, dtype=small)[::-1].copy()
        ends = _ends_of_runs(columns)
        firsts = np.append(0, ends[:-1])
        # Compiled loops look at a signed index twice, because it may be below 0; a difference of unsigned ones comes round.
        runs = (firsts, ends, columns[firsts, :-1], columns[firsts, -1] - firsts)
        return LevelCoder(
            side_by_side(self.of_bin).astype(small),
            self.of_class.astype(small),
            tuple(part.astype(np.uint64) for part in runs),
            steps,
            starts,
        )

    def of_rows(self, bins: Integers, labels: Integers) -> "Levelled":
        """Rows as levels."""
        columns = [level.astype(np.int32)[column] for level, column in zip(self.of_bin, bins.T, strict=True)]
        return Levelled(self.sizes, columns, self.of_class.astype(np.int32)[labels])


@dataclass(frozen=True)
class LevelCoder:
    """From rows of bins and their classes to the place of each in the tables of some groups of columns."""

    of_bin: NDArray[np.int32]
    of_class: NDArray[np.int32]
    runs: tuple[NDArray[np.uint64], ...]
    steps: NDArray[np.int32]
    starts: NDArray[np.int32]

    def __call__(self, bins: Integers, labels: Integers) -> NDArray[np.int32]:
        """By row and group."""
        levels = looked_up(self.of_bin, bins)
        first, end, same, shift = self.runs
        codes = _places(levels, self.of_class[labels], first, end, same, shift, self.steps, self.starts)
        return np.asarray(codes)


@dataclass(frozen=True)
class Levelled:
    """Rows, column by column: the level in each, and the half of the class."""

    sizes: tuple[int, ...]
    columns: list[NDArray[np.int32]]
    half: NDArray[np.int32]

    def code(self, group: tuple[int, ...]) -> NDArray[np.int32]:
        """For each row its place in the table of one group."""
        code = self.half
        for j in group:
            code = code * np.int32(self.sizes[j]) + self.columns[j]
        return code


def _ends_of_runs(columns: Integers) -> Integers:
    """Groups in runs: along one, only the last column changes, to the one beside it.

    >>> _ends_of_runs(np.array(all_pairs(4))).tolist()
    [3, 5, 6]
    """
    goes_on = (columns[1:, :-1] == columns[:-1, :-1]).all(axis=1) & (columns[1:, -1] == columns[:-1, -1] + 1)
    return np.append(1 + np.flatnonzero(~goes_on), len(columns))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def _places(
    levels: NDArray[np.int32],
    halves: NDArray[np.int32],
    firsts: NDArray[np.uint64],
    ends: NDArray[np.uint64],
    same: NDArray[np.uint64],
    shifts: NDArray[np.uint64],
    steps: NDArray[np.int32],
    starts: NDArray[np.int32],
) -> NDArray[np.int32]:
    """For each row its place in the table of every group, many of a run at once.

    A run goes from its first group to its end; all its groups share the columns `same`, and the last column of a group
    is its number plus the shift. `steps` says for the half and then for each column of a group how many places lie
    between two levels of it.
    """
    out = np.empty((len(levels), len(starts)), dtype=np.int32)
    of_half, of_first = steps[0], steps[1]
    for i in range(len(levels)):
        row, half, codes = levels[i], halves[i], out[i]
        for r in range(len(firsts)):
            level, shift = row[same[r, 0]], shifts[r]
            for g in range(firsts[r], ends[r]):
                codes[g] = starts[g] + half * of_half[g] + level * of_first[g] + row[g + shift]
            for p in range(1, same.shape[1]):
                level, step = row[same[r, p]], steps[p + 1]
                for g in range(firsts[r], ends[r]):
                    codes[g] += level * step[g]
    return out


@dataclass(frozen=True)
class Goal:
    """What the population is to hold: for a group of columns the probability of every entry of its table."""

    columns: tuple[int, ...]
    table: Floats
    strength: float


@dataclass(frozen=True)
class PairSums:
    """Noisy tables of groups, one after another: both halves together, and the second less the first where there are two."""

    together: Measured
    contrast: Measured | None

    @staticmethod
    def of_halves(levels: Levels, groups: Sequence[tuple[int, ...]], counted: Measured) -> "PairSums":
        """From counts of each half."""
        if levels.n_halves == 1:
            return PairSums(counted, None)
        tables = [flat.reshape(2, -1) for flat in levels.layout(groups).split(counted.values)]
        stddev = counted.stddev * float(np.sqrt(2.0))
        signs = np.array([[1.0, 1.0], [-1.0, 1.0]])
        together, contrast = (np.concatenate([sign @ table for table in tables]) for sign in signs)
        return PairSums(Measured(together, stddev), Measured(contrast, stddev))


def residual_goals(
    levels: Levels,
    groups: Sequence[tuple[int, ...]],
    sums: PairSums,
    expected: Sequence[Floats],
    settings: JointSettings,
    *,
    total: float,
) -> list[Goal]:
    """The tables that stand out, the strongest first: expectation plus what is sure of the difference.

    What both halves have in common is taken first, then how they differ beyond that (empirical Bayes). `expected` are
    the tables by half in the population, as probabilities.
    """
    together = levels.layout(groups, halves=1).split(sums.together.values)
    contrast = None if sums.contrast is None else levels.layout(groups, halves=1).split(sums.contrast.values)
    least = math.log(max(len(groups), 1))  # as many false tables as one would expect of one (Bonferroni)
    goals, factors = [], np.geomspace(*settings.pair_factors, settings.n_pair_factors)
    for i, (group, share) in enumerate(zip(groups, expected, strict=True)):
        before = total * share.reshape(levels.n_halves, -1)
        sizes = [levels.sizes[j] for j in group]
        known = before.sum(axis=0)
        sure = _sure_part(together[i] - known, _scale(known, sizes), factors, noise=sums.together.stddev, least=least)
        shared = _part_of_half(before, some=settings.pair_some)
        after, kept = before + shared * sure, float((sure**2).sum())
        if contrast is not None and sums.contrast is not None:
            scale = 2 * np.minimum(*(_scale(half, sizes) for half in after))
            residual = contrast[i] - (after[1] - after[0])
            sure = _sure_part(residual, scale, factors, noise=sums.contrast.stddev, least=least)
            after, kept = after + np.outer([-0.5, 0.5], sure), kept + float((sure**2).sum())
        if kept > 0:
            goal = np.maximum(after, settings.pair_left * before + 1e-9) / total
            goals.append(Goal(group, goal.ravel() / goal.sum(), float(np.sqrt(kept * before.size)) / total))
    return sorted(goals, key=lambda goal: -goal.strength)


def _part_of_half(rows: Floats, *, some: float) -> Floats:
    """Whose the rows of every entry are: as they lie there, and where few lie, as all of them.

    What is known of both halves together says nothing of how they differ: a rare class gets no more of it than its part.
    """
    with_some = rows + rows.sum(axis=1, keepdims=True) / rows.shape[1] * some
    return np.asarray(with_some / np.maximum(with_some.sum(axis=0), 1e-300))


def _scale(rows: Floats, sizes: Sequence[int]) -> Floats:
    """By how many rows each entry may depart, up to a factor for the whole table: as a correlation moves rows."""
    table = np.maximum(rows, 0.0).reshape(tuple(sizes))
    total = max(float(table.sum()), 1e-9)
    product = np.ones(())
    for axis in range(table.ndim):
        product = product[..., None] * (table.sum(axis=tuple(a for a in range(table.ndim) if a != axis)) / total)
    return np.asarray(total * np.sqrt(product)).ravel()


def _sure_part(residual: Floats, scale: Floats, factors: Floats, *, noise: float, least: float) -> Floats:
    """A residual without what noise explains; nothing where noise may be all of it.

    Residuals are taken for Gaussian, each of its own scale, all times one factor: the likeliest. Nothing is kept where
    that factor's log-likelihood is not above that of none by `least`.
    """
    signal = (factors[:, None] * scale / noise) ** 2
    seen = (residual / noise) ** 2
    gain = 0.5 * (seen * signal / (1 + signal) - np.log1p(signal)).sum(axis=1)
    best = int(np.argmax(gain))
    if gain[best] <= least:
        return np.zeros_like(residual)
    return np.asarray(residual * signal[best] / (1 + signal[best]))
