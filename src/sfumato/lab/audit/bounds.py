"""What a number of right guesses proves. Every threshold is fixed before a score is drawn. Proofs: docs/proofs/audits.md."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Scores = NDArray[np.float64]

#: Thresholds of the direct bound, in parts of the claimed epsilon: an attacker who is surer is right more often.
_RUNGS = (0.0, 0.25, 0.5, 0.75, 1.0)


def least_rate(hits: int, trials: int, *, confidence: float) -> float:
    """Clopper and Pearson (1934): a rate that the true one is above, but for the chance that confidence leaves.

    >>> round(least_rate(90, 100, confidence=0.95), 3)
    0.836
    """
    return float(stats.beta.ppf(1 - confidence, hits, trials - hits + 1)) if hits else 0.0


def most_rate(hits: int, trials: int, *, confidence: float) -> float:
    """The same from above."""
    return 1.0 - least_rate(trials - hits, trials, confidence=confidence)


def advantage(present: Scores, absent: Scores, *, confidence: float) -> float:
    """The distance in variation between both worlds, from below, by guesses at the threshold 0.

    Right guesses of either world are counted together: their number has tails no heavier than a binomial one
    (Hoeffding, 1956), so that one interval serves for both.
    """
    right, trials = int((present > 0).sum() + (absent <= 0).sum()), len(present) + len(absent)
    return max(0.0, 2 * least_rate(right, trials, confidence=confidence) - 1)


def direct_epsilon(present: Scores, absent: Scores, *, claimed: float, delta: float, confidence: float) -> float:
    """The epsilon that both error rates prove, whatever made the scores: log((hits - delta) / false alarms).

    The confidence is divided among all thresholds, both rates and both directions.
    """
    each, best = 1 - (1 - confidence) / (4 * len(_RUNGS)), 0.0
    for rung in _RUNGS:
        for one, other in ((present, absent), (-absent, -present)):
            hits, alarms = int((one > rung * claimed).sum()), int((other > rung * claimed).sum())
            low = least_rate(hits, len(one), confidence=each) - delta
            high = most_rate(alarms, len(other), confidence=each)
            if low > 0:
                best = max(best, math.log(low / high))
    return best
