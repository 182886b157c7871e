"""What an attacker learns about members: one column from all else that is known of a person, or a picture of a class.

Attribute inference: whoever learns from synthetic rows guesses some things right about anybody: that is what the rows are for. A leak
is what is guessed better about those who are in the data than about others like them. Model inversion: the attacker climbs a learner's
probability of a class from a grey picture (Fredrikson, Jha and Ristenpart 2015; He, Zhang and Lee 2019). What comes out is the class as
the learner sees it; it is a leak where it lies nearer to members than to others of the class. Reads real rows WITHOUT privacy.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.attacks.membership import MOST_ROWS, MOST_SYNTHETIC
from sfumato.lab.attacks.roc import Attack, Interval, clopper_pearson, measure
from sfumato.lab.attacks.sheets import Comparison
from sfumato.lab.benchmark.examples import Examples
from sfumato.learn.boosted_trees import boosting

#: A number is guessed as one of so many ranges of the synthetic rows, a category as one of so many frequent ones.
_RANGES, _FREQUENT = 8, 20


@dataclass(frozen=True)
class AttributeAttack:
    """How often a column is guessed right. `membership` has the probability of the true value as its score."""

    column: str
    of_members: Interval
    of_others: Interval
    membership: Attack


def attribute_inference(found: Comparison, *, column: str) -> AttributeAttack | None:
    """Train on synthetic rows to guess the column, and guess it for members and for others."""
    some = found.at_most(MOST_ROWS, synthetic=MOST_SYNTHETIC)
    if column not in some.names or some.holdout is None or not len(some.holdout) or len(some.names) < 2:
        return None
    at = some.names.index(column)
    values = [sheet.values[:, at] for sheet in some.sheets]
    real, synthetic, holdout = _ranges(values) if some.is_number[at] else _frequent(values)
    rest = [j for j in range(len(some.names)) if j != at]
    coded = [place for place, j in enumerate(rest) if not some.is_number[j]]
    classes, label = np.unique(synthetic, return_inverse=True)
    if len(classes) < 2:
        return None
    trained = boosting(coded).fit(some.synthetic.values[:, rest], label.astype(np.int64))

    def guessed(rows: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of the true value, and in a second column whether it is the likeliest."""
        chance = np.asarray(trained.predict_proba(rows[:, rest]))
        place = np.searchsorted(classes, truth).clip(0, len(classes) - 1)
        known = classes[place] == truth  # a value that no synthetic row has cannot be guessed
        own = np.where(known, chance[np.arange(len(rows)), place], 0.0)
        return np.stack([own, known & (chance.argmax(axis=1) == place)], axis=1)

    members, others = guessed(some.real.values, real), guessed(some.holdout.values, holdout)
    of_members, of_others = (clopper_pearson(int(part[:, 1].sum()), len(part)) for part in (members, others))
    how = "Rows whose true value a learner on synthetic rows finds likely are taken for members."
    membership = measure(f"attribute {column}", members[:, 0], others[:, 0], how=how)
    return AttributeAttack(column, of_members, of_others, membership)


def _ranges(values: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    synthetic = values[1][~np.isnan(values[1])]
    edges = np.unique(np.quantile(synthetic, np.arange(1, _RANGES) / _RANGES)) if len(synthetic) else np.zeros(1)
    return [np.where(np.isnan(v), -1.0, np.searchsorted(edges, v, "right").astype(np.float64)) for v in values]


def _frequent(values: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Codes, with one for all that are not among the frequent ones of the synthetic rows."""
    kinds, counts = np.unique(values[1], return_counts=True)
    kept = kinds[np.argsort(-counts, kind="stable")[:_FREQUENT]]
    return [np.where(np.isin(v, kept), v, -2.0) for v in values]


_STEPS, _RATE, _DECAY = 200, 0.5, 0.02
_MOST_ROWS = 4_000


def invert(released: Examples, pixels: str, *, n_classes: int) -> NDArray[np.float32]:
    """A flat picture for each class, in the unit box; a class that the release lacks stays grey."""
    import warnings

    from sklearn.linear_model import LogisticRegression

    x = released.batch[pixels].reshape(len(released), -1)[:_MOST_ROWS]
    y = released.label[:_MOST_ROWS]
    pictures = np.full((n_classes, x.shape[1]), 0.5)
    if len(np.unique(y)) < 2:
        return pictures.astype(np.float32)
    with warnings.catch_warnings(action="ignore"):  # the last digits of its optimum do not matter here
        learner = LogisticRegression(max_iter=100).fit(x, y)
    weights = learner.coef_ if len(learner.classes_) > 2 else np.concatenate([-learner.coef_, learner.coef_]) / 2
    for at, code in enumerate(learner.classes_):
        picture = pictures[code]
        for _ in range(_STEPS):
            scores = weights @ picture
            chance = np.exp(scores - scores.max())
            slope = weights[at] - (chance / chance.sum()) @ weights
            picture = np.clip(picture + _RATE * (slope - _DECAY * (picture - 0.5)), 0, 1)
        pictures[code] = picture
    return pictures.astype(np.float32)


def given_away(pictures: NDArray[np.float32], members: Examples, others: Examples, pixels: str) -> Attack:
    """Whether pictures of members lie nearer to what was read off for their class than pictures of others do."""

    def near(rows: Examples) -> NDArray[np.float64]:
        flat = rows.batch[pixels].reshape(len(rows), -1).astype(np.float64)
        return -np.asarray(np.linalg.norm(flat - pictures[rows.label], axis=1))

    how = "Pictures near what a learner on the release holds for their class are taken for members."
    return measure("model inversion", near(members), near(others), how=how)
