"""Boosted trees as plain arrays: what scikit-learn has learned, in a form that is fast for few rows and travels well."""

from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.arrays import Floats, Integers

#: Compiled loops look at a signed index twice, because it may be below 0.
Places = NDArray[np.uint64]


@dataclass(frozen=True)
class BoostedTrees:
    """Nodes of all trees one after another, and where each tree begins. The trees of an iteration are one for each score.

    A leaf has itself for both children, so that all rows walk as many steps.
    """

    first: Floats
    depths: Integers = field(repr=False)
    starts: Places = field(repr=False)
    columns: Places = field(repr=False)
    thresholds: Floats = field(repr=False)
    children: Places = field(repr=False)  # of each node that for larger numbers, then the other
    values: Floats = field(repr=False)

    @staticmethod
    def of(model: Any) -> "BoostedTrees":
        """From a fitted `HistGradientBoosting*` that has seen numbers alone, none of them missing."""
        trees = [tree.nodes for of_iteration in model._predictors for tree in of_iteration]
        starts = np.cumsum([0, *map(len, trees)], dtype=np.int64)
        nodes, own = np.concatenate(trees), np.arange(starts[-1])
        begins, is_leaf = np.repeat(starts[:-1], np.diff(starts)), nodes["is_leaf"] == 1
        children = np.stack([np.where(is_leaf, own, begins + nodes[side]) for side in ("right", "left")], axis=1)
        return BoostedTrees(
            np.ravel(model._baseline_prediction).astype(np.float64),
            np.array([int(tree["depth"].max()) for tree in trees]),
            starts[:-1].astype(np.uint64),
            np.where(is_leaf, 0, nodes["feature_idx"]).astype(np.uint64),
            np.where(is_leaf, 0.0, nodes["num_threshold"]),
            children.ravel().astype(np.uint64),
            nodes["value"].astype(np.float64),
        )

    def scores(self, rows: Floats) -> Floats:
        """What `decision_function` or `predict` gives, to the last bit: by row and score."""
        nodes = self.starts, self.columns, self.thresholds, self.children, self.values
        return np.asarray(_scores(np.ascontiguousarray(rows), self.first, self.depths, *nodes))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def _scores(
    rows: Floats,
    first: Floats,
    depths: Integers,
    starts: Places,
    columns: Places,
    thresholds: Floats,
    children: Places,
    values: Floats,
) -> Floats:
    out, n_scores = np.empty((len(rows), len(first))), len(first)
    for i in range(len(rows)):
        row = rows[i]
        for c in range(n_scores):
            score = first[c]
            for t in range(c, len(starts), n_scores):
                at = starts[t]
                for _ in range(depths[t]):
                    at = children[2 * at + np.uint64(row[columns[at]] <= thresholds[at])]
                score += values[at]
            out[i, c] = score
    return out
