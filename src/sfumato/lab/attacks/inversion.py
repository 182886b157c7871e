"""Model inversion: read a picture of each class off a learner that was trained on the release.

The attacker climbs the learner's probability of a class from a grey picture (Fredrikson, Jha and Ristenpart 2015; He, Zhang and
Lee 2019). What comes out is the class as the learner sees it; it is a leak where it lies nearer to members than to others of the
class. Reads real pictures WITHOUT privacy.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.attacks.roc import Attack, measure
from sfumato.lab.benchmark.examples import Examples

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
