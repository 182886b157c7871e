"""The generator's own rule for the classes, learned from its rows: free, because these rows are public.

An additive part, one weight for every bin; and what boosted trees find beyond it: interactions, also of three columns, and
differences of columns. A teacher may then correct the rule by noisy gradients of private rows.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sfumato.mechanisms.common.compiled import sums_at
from sfumato.mechanisms.common.layout import Layout

#: What the trees say beyond the additive part is cut here, on the scale of log-odds; and half of it is believed at first.
FARTHEST = 3.0
BELIEVED = 0.5

_TREES = {"max_leaf_nodes": 8, "learning_rate": 0.15, "min_samples_leaf": 200, "l2_regularization": 20.0}
_ROUNDS = 50
#: Trees of all classes together: more classes get fewer rounds, and very many none.
_MOST_TREES = 400
MOST_CLASSES = 32
_IMPOSSIBLE = -9.0
_FREE = 1e6  # next to no prior


@dataclass(frozen=True)
class Bins:
    """Rows of bins as places in one vector of weights, with the place of the intercept at the end."""

    layout: Layout

    @property
    def width(self) -> int:
        """Weights of a class."""
        return self.layout.width + 1

    def codes(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of each row."""
        return np.concatenate([rows + self.layout.starts, np.full((len(rows), 1), self.layout.width)], axis=1)

    def one_hot(self, rows: NDArray[np.int64]) -> Any:
        """A sparse matrix with a one at each place."""
        codes = self.codes(rows)
        where = np.repeat(np.arange(len(codes)), codes.shape[1]), codes.ravel()
        return sparse.csr_matrix((np.ones(codes.size), where), shape=(len(codes), self.width))


def added(weights: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum of the weights at each row's codes, for each row of weights."""
    return np.asarray(sums_at(np.ascontiguousarray(weights), codes))


@dataclass(frozen=True)
class GeneratorRule:
    """Scores of rows: one for two classes, else one for each class."""

    bins: Bins
    orders: Sequence[NDArray[np.int64]]
    additive: NDArray[np.float64]
    trees: Any
    classes: NDArray[np.int64]

    def additive_scores(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """What single columns say."""
        return added(self.additive, self.bins.codes(rows))

    def beyond(self, rows: NDArray[np.int64], additive: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the trees say beyond that, in [-1, 1]."""
        if self.trees is None:
            return np.zeros_like(additive)
        found = self.trees.decision_function(np.concatenate([self._ranked(rows), additive], axis=1))
        found = found.reshape(len(rows), -1)
        if additive.shape[1] > 1:
            found = spread_over(found, self.classes, additive.shape[1])
            known = np.isin(np.arange(additive.shape[1]), self.classes)
            apart = np.where(known, found - additive, 0.0)
            apart -= apart.sum(axis=1, keepdims=True) / max(int(known.sum()), 1) * known
        else:
            apart = found - additive
        return np.asarray(np.clip(apart, -FARTHEST, FARTHEST) / FARTHEST)

    def _ranked(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Every bin by its place in the order of its column: so that a tree can cut categories too."""
        return np.stack([rank[column] for rank, column in zip(self._ranks, rows.T, strict=True)], axis=1)

    @cached_property
    def _ranks(self) -> list[NDArray[np.float64]]:
        return [np.argsort(order).astype(np.float64) for order in self.orders]


def spread_over(scores: NDArray[np.float64], classes: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
    """Scores of the classes that were seen, in a table of all."""
    if scores.shape[1] == 1:
        scores = np.concatenate([-scores / 2, scores / 2], axis=1)
    out = np.full((len(scores), n_classes), _IMPOSSIBLE)
    out[:, classes] = scores
    return out


def learn_rule(
    rows: NDArray[np.int64],
    labels: NDArray[np.int64],
    orders: Sequence[NDArray[np.int64]],
    bins: Bins,
    *,
    n_classes: int,
    with_trees: bool = True,
    trust: float = 1.0,
) -> GeneratorRule | None:
    """From rows of the generator; None where they hold one class alone.

    Args:
        rows: Their bins.
        labels: Their classes.
        orders: The order of each column's bins.
        bins: Where each bin has its weight.
        n_classes: Classes that a row can have.
        with_trees: Whether trees are learned too.
        trust: What a row weighs, beside a prior of weights of size one. Where the tables behind the rows are noisy, columns
            that hang together would have large weights of opposite signs for what is only noise in their difference.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    classes = np.unique(labels)
    if len(classes) < 2:
        return None
    model = LogisticRegression(C=trust, max_iter=100, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # a hundred steps are near enough, and nobody could do anything
        model.fit(bins.one_hot(rows), labels)
    if n_classes == 2:
        additive = np.asarray(model.coef_, dtype=np.float64)
        if trust < 1.0:
            additive = _as_steep(additive, rows, labels, bins)
    else:
        coefficients = model.coef_ if len(classes) > 2 else np.concatenate([-model.coef_ / 2, model.coef_ / 2])
        additive = np.zeros((n_classes, bins.width))
        additive[:, -1] = _IMPOSSIBLE
        additive[classes] = coefficients
    plain = GeneratorRule(bins, orders, additive, None, classes)
    if not with_trees or len(classes) > MOST_CLASSES:
        return plain
    seen = np.concatenate([plain._ranked(rows), plain.additive_scores(rows)], axis=1)
    rounds = int(np.clip(_MOST_TREES // (1 if len(classes) == 2 else len(classes)), 5, _ROUNDS))
    trees = HistGradientBoostingClassifier(max_iter=rounds, early_stopping=False, random_state=0, **_TREES)
    return GeneratorRule(bins, orders, additive, trees.fit(seen, labels), classes)


def _as_steep(
    additive: NDArray[np.float64], rows: NDArray[np.int64], labels: NDArray[np.int64], bins: Bins
) -> NDArray[np.float64]:
    """The weights times what makes their scores as steep as the labels are: a prior turns them, and must not flatten them."""
    from sklearn.linear_model import LogisticRegression

    along = LogisticRegression(C=_FREE).fit(added(additive, bins.codes(rows)), labels)
    steep = additive * float(along.coef_[0, 0])
    steep[:, -1] += float(along.intercept_[0])
    return steep
