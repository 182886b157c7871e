"""What an attack proves: a lower bound on epsilon from scores with and without the canary."""

import math

import numpy as np
from scipy import stats

DELTA = 1e-3


def epsilon_lower_bound(present: np.ndarray, absent: np.ndarray, *, confidence: float = 1 - 1e-5) -> float:
    """Clopper-Pearson at thresholds chosen on one half of the scores and evaluated on the other half."""
    half = len(present) // 2
    best = 0.0
    tails = np.array([0.001, 0.002, 0.005, 0.01, 0.02])
    candidates = np.quantile(absent[:half], np.concatenate([tails, np.linspace(0.05, 0.95, 19), 1 - tails, [1.0]]))
    threshold = max(candidates, key=lambda t: _bound(present[:half] > t, absent[:half] > t, confidence))
    for hits, alarms in (
        (present[half:] > threshold, absent[half:] > threshold),
        (absent[half:] <= threshold, present[half:] <= threshold),
    ):
        best = max(best, _bound(hits, alarms, confidence))
    return best


def _bound(hits: np.ndarray, alarms: np.ndarray, confidence: float) -> float:
    n = len(hits)
    low = stats.beta.ppf((1 - confidence) / 4, hits.sum(), n - hits.sum() + 1) if hits.sum() else 0.0
    high = stats.beta.ppf(1 - (1 - confidence) / 4, alarms.sum() + 1, n - alarms.sum()) if alarms.sum() < n else 1.0
    return math.log((low - DELTA) / high) if low > DELTA else 0.0
