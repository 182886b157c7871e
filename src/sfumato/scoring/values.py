"""From noisy counts to a score and its interval: the delta method, for noise and for the sample that the tested rows are.

A function of the noisy numbers and public facts alone, so that anybody can compute it again from a release.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sfumato.public.certificate.score import RANGES, Metric
from sfumato.public.plan.measured import Measured
from sfumato.scoring.step import BINS

Floats = NDArray[np.float64]
_Z = float(-ndtri(0.025))


def score_of(metric: Metric, noisy: Measured, *, max_rows: int) -> tuple[float, float, float]:
    """The score, and an interval that holds it with a probability of 95 %; rows of a person, at most so many, are alike."""
    least, most = RANGES[metric]
    found = {"AUC": _auc, "accuracy": _accuracy, "R2": _r2}[metric](noisy.values, noisy.stddev)
    if found is None:
        return (least + most) / 2, least, most
    value, by_noise, by_sample = found
    error = _Z * math.sqrt(max(by_noise + max_rows * by_sample, 0.0))
    bounded = (min(max(number, least), most) for number in (value, value - error, value + error))
    value, low, high = bounded
    return float(value), float(low), float(high)


def _auc(counts: Floats, stddev: float) -> tuple[float, float, float] | None:
    """Rows of either class by the learner's score: a pair counts if the second class has the higher one, half if both are alike."""
    negative, positive = counts.reshape(2, BINS)
    n, p = float(negative.sum()), float(positive.sum())
    if min(n, p) < 2 * _Z * stddev * math.sqrt(BINS):
        return None
    below = np.cumsum(negative) - negative / 2
    above = p - np.cumsum(positive) + positive / 2
    auc = float(positive @ below) / (n * p)
    slopes = np.concatenate([above / (n * p) - auc / n, below / (n * p) - auc / p])
    # Noisy counts as they are: cut at nothing, empty parts would seem to hold rows.
    return auc, stddev**2 * float(slopes @ slopes), float(counts @ slopes**2)


def _accuracy(counts: Floats, stddev: float) -> tuple[float, float, float] | None:
    wrong, right = map(float, counts)
    n = wrong + right
    if n < 2 * _Z * stddev * math.sqrt(2):
        return None
    accuracy = right / n
    slopes = np.array([-right, wrong]) / n**2
    return accuracy, stddev**2 * float(slopes @ slopes), max(accuracy * (1 - accuracy), 0.0) / n


def _r2(sums: Floats, stddev: float) -> tuple[float, float, float] | None:
    n = float(sums[0])
    if n < 2 * _Z * stddev:
        return None
    y, yy, ee, eeee, eey, eeyy, yyy, yyyy = (float(entry) / n for entry in sums[1:])
    spread = yy - y * y
    if spread * n < 4 * _Z * stddev:
        return None
    missed = ee / spread
    # How each row, and each noisy number, moves 1 - ee / spread.
    slopes = np.zeros(len(sums))
    slopes[:4] = np.array([missed * y * y, -2 * missed * y, missed, -1.0]) / (n * spread)
    about = yyyy - 4 * y * yyy + 6 * y * y * yy - 3 * y**4
    across = eeyy - 2 * y * eey + y * y * ee
    square = max(eeee - 2 * missed * across + missed**2 * about, 0.0)
    return 1 - missed, stddev**2 * float(slopes @ slopes), square / (n * spread**2)
