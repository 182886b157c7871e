"""Fine tables for a tree of the strongest pairs: columns that determine each other keep doing so."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.common.simplex import fit_margins
from sfumato.mechanisms.table.joint.pairs import Goal, Levels
from sfumato.mechanisms.table.settings.joint import JointSettings


@dataclass(frozen=True)
class Link:
    """Two columns, and the probability of every pair of their bins."""

    left: int
    right: int
    table: Floats

    def given(self, parent: int) -> Floats:
        """The table with the parent's bins as its rows."""
        return self.table if self.left == parent else self.table.T


def strongest_tree(pairs: Sequence[tuple[int, int]], *, n_columns: int) -> list[tuple[int, int]]:
    """Pairs that form no circle: greedily, in the order given.

    >>> strongest_tree([(0, 1), (1, 2), (0, 2), (2, 3)], n_columns=4)
    [(0, 1), (1, 2), (2, 3)]
    """
    root = list(range(n_columns))

    def find(at: int) -> int:
        while root[at] != at:
            at = root[at]
        return at

    kept = []
    for left, right in pairs:
        if find(left) != find(right):
            root[find(left)] = find(right)
            kept.append((left, right))
    return kept


def fine_link(
    goal: Goal,
    levels: Levels,
    counted: Floats,
    population: Floats,
    margins: Sequence[Floats],
    settings: JointSettings,
    *,
    total: float,
    stddev: float,
) -> Link:
    """A fine table: cells that stand out count, the others follow the population, brought to the coarse table, the goal.

    `counted` are noisy counts of pairs of bins, and `population` has the same as probabilities.
    """
    i, j = goal.columns
    left, right = levels.of_bin[i], levels.of_bin[j]
    shape = levels.sizes[i], levels.sizes[j]
    coarse = goal.table.reshape(levels.n_halves, *shape).sum(axis=0)
    own = settings.tree_population
    expected = own * population + (1 - own) * np.outer(margins[0], margins[1])
    level_mass = np.zeros(shape)
    np.add.at(level_mass, (left[:, None], right[None]), expected)
    expected = total * expected * (coarse / np.maximum(level_mass, 1e-12))[np.ix_(left, right)]
    residual = counted - expected
    sure = np.where(np.abs(residual) > settings.tree_sure * stddev, residual, 0.0)
    kept = np.maximum(expected + sure, 1e-3 * expected)
    return Link(i, j, fit_margins(kept / total, margins[0], margins[1]))
