"""What an attack reaches: its ROC curve, the rate at few false alarms, and what that proves of epsilon."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

#: False positives are counted at this rate: an attacker who is right about a few is dangerous to these few.
LOW = 1e-3
#: Points of a curve that are kept, evenly spaced on a logarithmic scale.
_POINTS = 120


@dataclass(frozen=True)
class Interval:
    """A figure and the interval that holds it with 95 % confidence."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Attack:
    """How well a score tells rows that were used (members) from rows that were not.

    `rate_at_low` is the share of members found where at most .1 % of the others are taken for members, and
    `least_epsilon` the epsilon that the rates prove, each with 95 % confidence; 0 is nothing.
    """

    name: str
    how: str
    n_members: int
    n_others: int
    auc: Interval
    rate_at_low: Interval
    least_epsilon: float
    false_positive_rate: tuple[float, ...]
    true_positive_rate: tuple[float, ...]


def clopper_pearson(found: int, of: int, *, confidence: float = 0.95) -> Interval:
    """The share and its exact interval.

    >>> clopper_pearson(0, 1000).high < 0.004
    True
    """
    half = (1 - confidence) / 2
    low = float(stats.beta.ppf(half, found, of - found + 1)) if found else 0.0
    high = float(stats.beta.ppf(1 - half, found + 1, of - found)) if found < of else 1.0
    return Interval(found / max(1, of), low, high)


def measure(name: str, members: NDArray[np.float64], others: NDArray[np.float64], *, how: str) -> Attack:
    """The curve of a score that is higher for whom it takes for a member."""
    auc, n, m = _area(members, others), len(members), len(others)
    one, two = auc / (2 - auc), 2 * auc**2 / (1 + auc)  # the standard error of Hanley and McNeil (1982)
    error = math.sqrt((auc * (1 - auc) + (n - 1) * (one - auc**2) + (m - 1) * (two - auc**2)) / (n * m))
    false_positive, true_positive = _curve(members, others)
    threshold = np.sort(others)[::-1][int(LOW * len(others))] if len(others) else math.inf
    hits, alarms = int((members > threshold).sum()), int((others > threshold).sum())
    high = clopper_pearson(alarms, len(others)).high
    rate = clopper_pearson(hits, len(members))
    least = math.log(rate.low / high) if rate.low > high else 0.0
    return Attack(
        name=name,
        how=how,
        n_members=n,
        n_others=m,
        auc=Interval(auc, max(0.0, auc - 1.96 * error), min(1.0, auc + 1.96 * error)),
        rate_at_low=rate,
        least_epsilon=least,
        false_positive_rate=tuple(false_positive.tolist()),
        true_positive_rate=tuple(true_positive.tolist()),
    )


def _area(members: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """The chance that a member scores above another; ties count half."""
    ranks = stats.rankdata(np.concatenate([members, others]))[: len(members)]
    return float((ranks.sum() - len(members) * (len(members) + 1) / 2) / (len(members) * len(others)))


def _curve(members: NDArray[np.float64], others: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """True positives at numbers of false ones that are spaced evenly on a logarithmic scale."""
    highest = np.sort(others)[::-1]
    allowed = np.unique(np.geomspace(1, len(others), _POINTS).astype(np.int64)) - 1
    thresholds = highest[allowed]
    sorted_members = np.sort(members)
    true = 1 - np.searchsorted(sorted_members, thresholds, "right") / len(members)
    false = 1 - np.searchsorted(highest[::-1], thresholds, "right") / len(others)
    return np.append(false, 1.0), np.append(true, 1.0)
