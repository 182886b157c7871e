"""How good predictions are: accuracy, areas under curves, Brier score, and the rates of the classes."""

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.benchmark.datasets import Metric
from sfumato.lab.benchmark.errors import BenchmarkError


def utility(metric: Metric, probabilities: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """The protocol's number for a dataset.

    `accuracy`: the share of rows whose likeliest class is theirs. `auc`: the area under the ROC curve of the second
    class. `auc_ovo`: the mean over pairs of classes of the area for telling one from the other.

    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]])
    >>> utility("accuracy", p, np.array([0, 1, 1])), utility("auc", p, np.array([0, 1, 1]))
    (0.6666666666666666, 1.0)
    """
    from sklearn.metrics import roc_auc_score

    if metric == "accuracy":
        return float(np.mean(probabilities.argmax(axis=1) == truth))
    if len(np.unique(truth)) < 2:
        raise BenchmarkError("the test rows are all of one class, so there is no area under a curve.")
    if metric == "auc":
        return float(roc_auc_score(truth == 1, probabilities[:, 1]))
    return _one_against_one(probabilities, truth)


def _one_against_one(probabilities: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """Hand and Till's measure: for each pair, both classes take a turn as the positive one."""
    from sklearn.metrics import roc_auc_score

    present = np.unique(truth)
    areas = []
    for positive in present:
        for negative in present[present != positive]:
            pair = (truth == positive) | (truth == negative)
            areas.append(roc_auc_score(truth[pair] == positive, probabilities[pair, positive]))
    return float(np.mean(areas))


def brier(probabilities: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """The mean squared error of the probabilities: of the second class where there are two, else summed over all.

    >>> brier(np.array([[0.5, 0.5], [0.75, 0.25]]), np.array([0, 1]))
    0.40625
    """
    errors = (probabilities - np.eye(probabilities.shape[1])[truth]) ** 2
    return float(errors.sum(axis=1).mean() if probabilities.shape[1] > 2 else errors[:, 1].mean())


def class_rate_error(real: NDArray[np.int64], synthetic: NDArray[np.int64], *, n_classes: int) -> float:
    """The largest absolute error of a class rate.

    >>> class_rate_error(np.array([0, 0, 0, 1]), np.array([0, 1]), n_classes=2)
    0.25
    """
    rates = [np.bincount(label, minlength=n_classes) / max(1, len(label)) for label in (real, synthetic)]
    return float(np.abs(rates[0] - rates[1]).max())
