"""The generator's own rule for the classes, learned from its rows: free, because these rows are public.

An additive part, one weight for every bin; and what boosted trees learn beyond it: interactions, also of three columns,
and differences of columns. Noisy gradients of private rows may then correct the rule.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.boosted_trees import BoostedTrees
from sfumato.mechanisms.common.compiled import looked_up
from sfumato.mechanisms.common.layout import BinCodes, added, side_by_side
from sfumato.mechanisms.table.joint.whole_table import WholeScores
from sfumato.mechanisms.table.settings.target import TargetSettings


@dataclass(frozen=True)
class GeneratorRule:
    """Scores of rows: one for two classes, else one for each class."""

    bins: BinCodes
    orders: Sequence[Integers]
    additive: Floats
    trees: BoostedTrees | None
    classes: Integers
    farthest: float
    impossible: float
    whole: WholeScores | None = None

    def scores(self, rows: Integers) -> tuple[Floats, Floats]:
        """What single columns say, with the columns that were counted whole; and what the trees say beyond single columns."""
        additive = self.additive_scores(rows)
        more = 0.0 if self.whole is None else self.whole.of_rows(rows)
        return additive + more, self.beyond(rows, additive)

    def additive_scores(self, rows: Integers) -> Floats:
        """What single columns say."""
        return added(self.additive, self.bins.codes(rows))

    def beyond(self, rows: Integers, additive: Floats) -> Floats:
        """What the trees say beyond that, in [-1, 1]."""
        if self.trees is None:
            return np.zeros_like(additive)
        scores = self.trees.scores(np.concatenate([self.ranked(rows), additive], axis=1))
        if additive.shape[1] > 1:
            if scores.shape[1] == 1:
                scores = np.concatenate([-scores / 2, scores / 2], axis=1)
            of_all = np.full(additive.shape, self.impossible)
            of_all[:, self.classes] = scores
            known = np.isin(np.arange(additive.shape[1]), self.classes)
            more = np.where(known, of_all - additive, 0.0)
            more -= more.sum(axis=1, keepdims=True) / max(int(known.sum()), 1) * known
        else:
            more = scores - additive
        return np.asarray(np.clip(more, -self.farthest, self.farthest) / self.farthest)

    def ranked(self, rows: Integers) -> Floats:
        """Every bin by its place in the order of its column: so that a tree can cut categories too."""
        return np.asarray(looked_up(self._ranks, rows))

    @cached_property
    def _ranks(self) -> Floats:
        return side_by_side([np.argsort(order).astype(np.float64) for order in self.orders])


def learn_rule(
    rows: Integers,
    labels: Integers,
    orders: Sequence[Integers],
    bins: BinCodes,
    settings: TargetSettings,
    *,
    n_classes: int,
    with_trees: bool = True,
    trust: float = 1.0,
) -> GeneratorRule | None:
    """From rows of the generator; None where they hold one class alone.

    `trust` is what a row weighs, beside a prior of weights of size one. Where the tables behind the rows are noisy,
    columns that hang together would have large weights of opposite signs for what is only noise in their difference.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    classes = np.unique(labels)
    if len(classes) < 2:
        return None
    model = LogisticRegression(C=trust, max_iter=100, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a hundred steps are near enough
        model.fit(bins.one_hot(rows), labels)
    if n_classes == 2:
        additive = np.asarray(model.coef_, dtype=np.float64)
        if trust < 1.0:
            additive = _as_steep(additive, rows, labels, bins, ridge=settings.steep_ridge)
    else:
        coefficients = model.coef_ if len(classes) > 2 else np.concatenate([-model.coef_ / 2, model.coef_ / 2])
        additive = np.zeros((n_classes, bins.width))
        additive[:, -1] = settings.impossible
        additive[classes] = coefficients
    plain = GeneratorRule(bins, orders, additive, None, classes, settings.tree_farthest, settings.impossible)
    if not with_trees or len(classes) > settings.tree_classes:
        return plain
    seen = np.concatenate([plain.ranked(rows), plain.additive_scores(rows)], axis=1)
    rounds = int(np.clip(settings.most_trees // (1 if len(classes) == 2 else len(classes)), 5, settings.tree_rounds))
    trees = HistGradientBoostingClassifier(
        max_iter=rounds,
        max_leaf_nodes=settings.tree_leaves,
        learning_rate=settings.tree_rate,
        min_samples_leaf=settings.tree_leaf_rows,
        l2_regularization=settings.tree_ridge,
        early_stopping=False,
        random_state=0,
    )
    return replace(plain, trees=BoostedTrees.of(trees.fit(seen, labels)))


def _as_steep(additive: Floats, rows: Integers, labels: Integers, bins: BinCodes, *, ridge: float) -> Floats:
    """The weights times what makes their scores as steep as the labels are: a prior turns them, and must not flatten them."""
    from sklearn.linear_model import LogisticRegression

    along = LogisticRegression(C=ridge).fit(added(additive, bins.codes(rows)), labels)
    steep = additive * float(along.coef_[0, 0])
    steep[:, -1] += float(along.intercept_[0])
    return steep
