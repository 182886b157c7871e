"""A population: weighted rows of bins that agree with noisy tables. Post-processing only.

Rows are first drawn from a tree: the class, then each column given its parent column and the class. That gets the
strong pairs right, even those that determine each other. Then the rows are raked: their weights are scaled until
every table comes out right, which is the smallest change (in relative entropy) that does so.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Rows to draw, rounds of raking, and how far a row's weight may go from the others'.
ROWS = 100_000
ROUNDS = 10
_LARGEST_WEIGHT = 30.0


@dataclass(frozen=True)
class Edge:
    """A table of two columns, on levels that their bins fall into: how often two levels should meet."""

    left: int
    right: int
    left_level: NDArray[np.int64]
    right_level: NDArray[np.int64]
    target: NDArray[np.float64]

    def met(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cell of the table that each row is in."""
        right = self.right_level[rows[:, self.right]]
        return np.asarray(self.left_level[rows[:, self.left]] * self.target.shape[1] + right)


@dataclass(frozen=True)
class Population:
    """Rows of bins, the class of each, and how much each weighs."""

    labels: NDArray[np.int64]
    rows: NDArray[np.int64]
    weights: NDArray[np.float64]

    def draw(self, n_rows: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows by their weights, as evenly as whole rows allow (systematic sampling), in random order."""
        upto = np.cumsum(self.weights)
        places = (np.arange(n_rows) + rng.random()) / n_rows * upto[-1]
        chosen = rng.permutation(np.minimum(np.searchsorted(upto, places), len(upto) - 1))
        return self.labels[chosen], self.rows[chosen]


def draw_each(table: NDArray[np.float64], at: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """One column of the table for each row, with the probabilities of the table's row `at`."""
    upto = np.cumsum(table, axis=1)
    # Rows of the table one after another on one line, so that one sorted search serves all.
    line = (upto / np.maximum(upto[:, -1:], 1e-300) + np.arange(len(table))[:, None]).ravel()
    drawn = np.searchsorted(line, at + rng.random(len(at)), side="right") - at * table.shape[1]
    return np.asarray(np.clip(drawn, 0, table.shape[1] - 1))


def make_population(
    classes: NDArray[np.float64],
    joints: Sequence[NDArray[np.float64]],
    tree: Sequence[Edge],
    edges: Sequence[Edge],
    *,
    seed: int,
    rare: int | None = None,
) -> Population:
    """Rows that agree with all tables as far as these agree among themselves.

    Args:
        classes: The probability of each class.
        joints: For each column the probabilities of (class, bin) together.
        tree: Tables of bins that form no circle.
        edges: Further tables.
        seed: Of the draws.
        rare: A class with too few rows to say how its columns hang together: they are drawn one by one.
    """
    n_rows = ROWS
    rng = np.random.default_rng(seed)
    # Half of the rows are spread evenly over the classes and weigh less: a rare class needs rows to choose from.
    odds = np.where(classes > 0, 0.5 * classes + 0.5 / len(classes), 0.0)
    labels = draw_each(odds[None], np.zeros(n_rows, dtype=np.int64), rng)
    weights = (classes / np.maximum(odds, 1e-300))[labels]
    rows = np.zeros((n_rows, len(joints)), dtype=np.int64)
    for j, parent, edge in _from_the_roots(len(joints), tree):
        if edge is None:
            rows[:, j] = draw_each(joints[j], labels, rng)
            continue
        table = edge.target if edge.left == parent else edge.target.T
        lift = joints[j] / np.maximum(joints[j].sum(axis=0) * classes[:, None], 1e-300)
        given = (lift[:, None, :] * table).reshape(-1, table.shape[1])
        rows[:, j] = draw_each(given, labels * len(table) + rows[:, parent], rng)
    if rare is not None:
        few = np.flatnonzero(labels == rare)
        rows[few] = np.stack([draw_each(joint, labels[few], rng) for joint in joints], axis=1)
    weights = _rake(weights, labels, rows, joints, [*edges, *tree], free=labels != rare)
    # Noisy tables and the limit on weights may have moved the classes.
    weights *= (classes / np.maximum(np.bincount(labels, weights=weights, minlength=len(classes)), 1e-300))[labels]
    return Population(labels, rows, weights)


def _from_the_roots(n_columns: int, tree: Sequence[Edge]) -> list[tuple[int, int, Edge | None]]:
    """Columns in an order in which each comes after its parent."""
    order: list[tuple[int, int, Edge | None]] = []
    seen: set[int] = set()
    for root in range(n_columns):
        waiting: list[tuple[int, int, Edge | None]] = [] if root in seen else [(root, -1, None)]
        while waiting:
            at = waiting.pop()
            order.append(at)
            seen.add(at[0])
            for edge in tree:
                for near, far in ((edge.left, edge.right), (edge.right, edge.left)):
                    if near == at[0] and far not in seen and far not in {w[0] for w in waiting}:
                        waiting.append((far, near, edge))
    return order


def _rake(
    start: NDArray[np.float64],
    labels: NDArray[np.int64],
    rows: NDArray[np.int64],
    joints: Sequence[NDArray[np.float64]],
    edges: Sequence[Edge],
    *,
    free: NDArray[np.bool_],
) -> NDArray[np.float64]:
    n_rows = len(rows)
    start = start / start.sum()
    weights = start.copy()
    tables = [(edge.met(rows).astype(np.int32), edge.target) for edge in edges]
    tables += [((labels * joint.shape[1] + rows[:, j]).astype(np.int32), joint) for j, joint in enumerate(joints)]
    tiny = 1e-2 / n_rows
    for turn in range(ROUNDS):
        # Noisy tables contradict each other a little: smaller and smaller steps settle between them.
        power = 1.0 if turn < ROUNDS // 2 else 0.5
        for met, target in tables:
            reached = np.bincount(met, weights=weights, minlength=target.size)
            scale = ((target.ravel() + tiny) / (reached + tiny)) ** power
            weights *= scale[met]
        weights = np.where(free, np.minimum(weights / weights.sum(), _LARGEST_WEIGHT * start), start)
    return np.asarray(weights / weights.sum())
