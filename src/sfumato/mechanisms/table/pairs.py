"""Coarse tables of all pairs of columns, and what sets the two halves of the classes apart in them: kept where they
depart from the population so far.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.layout import Layout, codes_in
from sfumato.public.doors import Measured

LEVELS = 6

#: A table counts when its squared excess is this many standard deviations above what noise alone would give.
_SURE = 3.0


def all_pairs(n_columns: int) -> list[tuple[int, int]]:
    """Every pair of columns, the left one first."""
    return list(combinations(range(n_columns), 2))


@dataclass(frozen=True)
class Levels:
    """The level of each bin of every column, and the half of each class."""

    of_bin: list[NDArray[np.int64]]
    of_class: NDArray[np.int64]

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

    def codes(
        self, bins: NDArray[np.int64], labels: NDArray[np.int64], groups: Sequence[tuple[int, ...]]
    ) -> NDArray[np.int64]:
        """For each row its place in the table of every group."""
        return codes_in(self.layout(groups), [self.code(bins, labels, group) for group in groups])

    def code(self, bins: NDArray[np.int64], labels: NDArray[np.int64], group: tuple[int, ...]) -> NDArray[np.int64]:
        """For each row its place in one table."""
        code = self.of_class[labels]
        for j in group:
            code = code * self.sizes[j] + self.of_bin[j][bins[:, j]]
        return code


@dataclass(frozen=True)
class Goal:
    """What the population is to hold: for a group of columns the probability of every entry of its table."""

    columns: tuple[int, ...]
    table: NDArray[np.float64]
    strength: float

    @property
    def pair(self) -> tuple[int, int]:
        """The columns of a table of two."""
        left, right = self.columns
        return left, right


@dataclass(frozen=True)
class Sums:
    """Noisy tables of groups, one after another: both halves together, and the second less the first where there are two."""

    together: Measured
    apart: Measured | None

    @staticmethod
    def of_halves(levels: Levels, groups: Sequence[tuple[int, ...]], counted: Measured) -> "Sums":
        """From counts of each half."""
        if levels.n_halves == 1:
            return Sums(counted, None)
        tables = [flat.reshape(2, -1) for flat in levels.layout(groups).split(counted.values)]
        stddev = counted.stddev * float(np.sqrt(2.0))
        together, apart = (np.concatenate([sign @ table for table in tables]) for sign in _SIGNS)
        return Sums(Measured(together, stddev), Measured(apart, stddev))


_SIGNS = np.array([[1.0, 1.0], [-1.0, 1.0]])


def departures(
    levels: Levels,
    groups: Sequence[tuple[int, ...]],
    sums: Sums,
    expected: Sequence[NDArray[np.float64]],
    *,
    total: float,
) -> list[Goal]:
    """The tables that stand out, the strongest first: expectation plus what is sure of the difference.

    What both halves have in common and what tells them apart are judged each by itself (James and Stein).

    Args:
        levels: Of columns and classes.
        groups: Columns of each table.
        sums: What was counted.
        expected: The tables by half in the population, as probabilities.
        total: Rows in all.
    """
    measured = [one for one in (sums.together, sums.apart) if one is not None]
    tables = [levels.layout(groups, halves=1).split(one.values) for one in measured]
    goals = []
    for i, (group, share) in enumerate(zip(groups, expected, strict=True)):
        before = total * share.reshape(levels.n_halves, -1)
        kept, excess = np.zeros_like(before), 0.0
        for sign, one, of_groups in zip(_SIGNS[:, -levels.n_halves :], measured, tables, strict=False):
            sure, size = _sure_part(of_groups[i] - sign @ before, noise=one.stddev)
            kept += np.outer(sign, sure) / levels.n_halves
            excess += size
        if excess > 0:
            goal = np.maximum(before + kept, 1e-3 * before + 1e-9) / total
            goals.append(Goal(group, goal.ravel() / goal.sum(), float(np.sqrt(excess * before.size)) / total))
    return sorted(goals, key=lambda goal: -goal.strength)


def _sure_part(apart: NDArray[np.float64], *, noise: float) -> tuple[NDArray[np.float64], float]:
    """A difference without what noise explains, and its squared size; nothing where noise may be all of it."""
    square = float((apart**2).sum())
    excess = square - apart.size * noise**2
    if excess <= _SURE * np.sqrt(2.0 * apart.size) * noise**2:
        return np.zeros_like(apart), 0.0
    return apart * (excess / square), excess
