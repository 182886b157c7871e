"""Fine tables for a tree of the strongest pairs: columns that determine each other keep doing so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.layout import Layout
from sfumato.mechanisms.common.simplex import fit_margins
from sfumato.mechanisms.table.joint.pairs import Goal, Levels

#: A cell counts when it is this many standard deviations from what is expected.
_CELL_SURE = 3.5
#: What is expected of a cell: mostly what the population has, and something of independence.
_POPULATION = 0.9


@dataclass(frozen=True)
class Link:
    """Two columns, and the probability of every pair of their bins."""

    left: int
    right: int
    table: NDArray[np.float64]

    def given(self, parent: int) -> NDArray[np.float64]:
        """The table with the parent's bins as its rows."""
        return self.table if self.left == parent else self.table.T


def spanning_tree(pairs: Sequence[tuple[int, int]], *, n_columns: int) -> list[tuple[int, int]]:
    """Pairs that form no circle: greedily, in the order given.

    >>> spanning_tree([(0, 1), (1, 2), (0, 2), (2, 3)], n_columns=4)
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


def link_layout(pairs: Sequence[tuple[int, int]], sizes: Sequence[int]) -> Layout:
    """A table for each pair."""
    return Layout(tuple(sizes[i] * sizes[j] for i, j in pairs))


def link_coder(
    pairs: Sequence[tuple[int, int]], sizes: Sequence[int]
) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """For each row of bins its place in every table."""
    left, right = np.array(pairs).T
    widths, starts = np.array(sizes)[right], link_layout(pairs, sizes).starts
    return lambda bins: bins.take(left, axis=1) * widths + bins.take(right, axis=1) + starts


def fine_link(
    goal: Goal,
    levels: Levels,
    counted: NDArray[np.float64],
    population: NDArray[np.float64],
    margins: Sequence[NDArray[np.float64]],
    *,
    total: float,
    stddev: float,
) -> Link:
    """A fine table: cells that stand out count, the others follow the population, brought to the coarse table.

    Args:
        goal: The coarse table.
        levels: Of its columns.
        counted: Noisy counts of pairs of bins.
        population: The same in the population, as probabilities.
        margins: The probability of each bin of both columns.
        total: Rows in all.
        stddev: The noise of a count.
    """
    i, j = goal.columns
    left, right = levels.of_bin[i], levels.of_bin[j]
    shape = levels.sizes[i], levels.sizes[j]
    coarse = goal.table.reshape(levels.n_halves, *shape).sum(axis=0)
    expected = _POPULATION * population + (1 - _POPULATION) * np.outer(margins[0], margins[1])
    held = np.zeros(shape)
    np.add.at(held, (left[:, None], right[None]), expected)
    expected = total * expected * (coarse / np.maximum(held, 1e-12))[np.ix_(left, right)]
    apart = counted - expected
    kept = np.maximum(expected + np.where(np.abs(apart) > _CELL_SURE * stddev, apart, 0.0), 1e-3 * expected)
    return Link(i, j, fit_margins(kept / total, margins[0], margins[1]))
