"""Noisy tables of pairs of columns: which of them say something, and what they say once the noise is taken out."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.population import Edge
from sfumato.mechanisms.table.smooth import fit_margins

#: A table counts when its squared excess is this many standard deviations above what noise alone would give.
_SURE = 3.0

#: In a fine table, a cell counts when it is this many standard deviations from what the coarse table predicts.
_CELL_SURE = 2.0


def all_pairs(n_columns: int) -> list[tuple[int, int]]:
    """Every pair of columns, the left one first."""
    return list(combinations(range(n_columns), 2))


def levels_of(mass: NDArray[np.float64], *, order: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Bins joined to at most `most` levels of about equal mass, along an order. A heavy bin is a level of its own.

    >>> levels_of(np.array([1.0, 1.0, 6.0, 1.0, 1.0]), order=np.arange(5.0), most=3)
    array([0, 0, 1, 2, 2])
    """
    if len(mass) <= most:
        return np.arange(len(mass))
    by = np.argsort(order, kind="stable")
    weight = np.maximum(mass[by], 0.0) + 1e-12
    middle = np.cumsum(weight) - weight / 2
    level = np.empty(len(mass), dtype=np.int64)
    level[by] = np.minimum((middle / weight.sum() * most).astype(np.int64), most - 1)
    return np.unique(level, return_inverse=True)[1].astype(np.int64)


def excess_of(table: NDArray[np.float64], expected: NDArray[np.float64], *, noise: float) -> tuple[float, bool]:
    """The squared distance from what was expected, less what noise adds to it; and whether it is sure to be real."""
    square = float(((table - expected) ** 2).sum())
    excess = square - table.size * noise**2
    return excess, excess > _SURE * np.sqrt(2.0 * table.size) * noise**2


def coarse_edge(
    pair: tuple[int, int],
    table: NDArray[np.float64],
    margins: tuple[NDArray[np.float64], NDArray[np.float64]],
    levels: tuple[NDArray[np.int64], NDArray[np.int64]],
    *,
    total: float,
    noise: float,
) -> tuple[Edge, float] | None:
    """An edge from a coarse noisy table, shrunk towards independence (James-Stein), and how strong it is."""
    rows, columns = (_by_level(m, lv, n) for m, lv, n in zip(margins, levels, table.shape, strict=True))
    expected = np.asarray(total * np.outer(rows, columns), dtype=np.float64)
    excess, sure = excess_of(table, expected, noise=noise)
    if not sure:
        return None
    kept = excess / float(((table - expected) ** 2).sum())
    shrunk = np.maximum(expected + kept * (table - expected), 1e-3 * expected) / max(total, 1.0)
    edge = Edge(pair[0], pair[1], levels[0], levels[1], fit_margins(shrunk, rows, columns))
    return edge, float(np.sqrt(excess * table.size)) / max(total, 1.0)


def fine_edge(
    coarse: Edge,
    table: NDArray[np.float64],
    margins: tuple[NDArray[np.float64], NDArray[np.float64]],
    *,
    total: float,
    noise: float,
) -> Edge:
    """A coarse edge made finer by a noisy table of bins: cells that stand out count, the others follow the coarse one."""
    levels = coarse.left_level, coarse.right_level
    rows, columns = (_by_level(m, lv, n) for m, lv, n in zip(margins, levels, coarse.target.shape, strict=True))
    ratio = coarse.target / np.maximum(np.outer(rows, columns), 1e-12)
    expected = total * np.outer(margins[0], margins[1]) * ratio[np.ix_(*levels)]
    apart = table - expected
    kept = np.maximum(expected + np.where(np.abs(apart) > _CELL_SURE * noise, apart, 0.0), 1e-3 * expected)
    target = fit_margins(kept / max(total, 1.0), margins[0], margins[1])
    identity = np.arange(len(margins[0])), np.arange(len(margins[1]))
    return Edge(coarse.left, coarse.right, identity[0], identity[1], target)


def spanning_tree(edges: Sequence[Edge], *, n_columns: int) -> list[int]:
    """Which edges to keep so that no circle is left: greedily, in the order given."""
    root = list(range(n_columns))

    def find(at: int) -> int:
        while root[at] != at:
            at = root[at]
        return at

    kept = []
    for index, edge in enumerate(edges):
        left, right = find(edge.left), find(edge.right)
        if left != right:
            root[left] = right
            kept.append(index)
    return kept


def _by_level(mass: NDArray[np.float64], level: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    return np.bincount(level, weights=mass, minlength=size).astype(np.float64)
