"""A linear model and boosted trees on mixtures: the thesis says that both kinds can be trained, and runs the network alone.

Labels of mixtures are shares, so both learn shares: one regression for each class, and the largest is the answer.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.studies.common.digits import Digits
from sfumato.lab.studies.thesis.training import Dataset
from sfumato.learn.boosted_trees import need_lightgbm

#: Penalties among which the linear model chooses by leaving each row out (generalised cross-validation).
_PENALTIES = np.logspace(-1, 4, 11)


def accuracies_of_others(dataset: Dataset, test: Digits, *, seed: int) -> Mapping[str, float]:
    """Of a linear model and of trees that learned from pictures and (soft) labels."""
    images, labels = (np.asarray(part, dtype=np.float64) for part in dataset)
    rows, shares = images.reshape(len(images), -1), labels / np.maximum(labels.sum(axis=1, keepdims=True), 1e-9)
    said = {"linear": _linear(rows, shares, test.rows), "trees": _trees(rows, shares, test.rows, seed=seed)}
    return {name: round(float(np.mean(scores.argmax(axis=1) == test.labels)), 4) for name, scores in said.items()}


def _linear(rows: NDArray[np.float64], shares: NDArray[np.float64], asked: NDArray[np.float32]) -> NDArray[np.float64]:
    from sklearn.linear_model import RidgeCV

    return np.asarray(RidgeCV(alphas=_PENALTIES).fit(rows, shares).predict(asked))


def _trees(
    rows: NDArray[np.float64], shares: NDArray[np.float64], asked: NDArray[np.float32], *, seed: int
) -> NDArray[np.float64]:
    learner = need_lightgbm().LGBMRegressor
    every = [learner(random_state=seed, verbose=-1).fit(rows, share) for share in shares.T]
    return np.stack([np.asarray(one.predict(asked)) for one in every], axis=1)
