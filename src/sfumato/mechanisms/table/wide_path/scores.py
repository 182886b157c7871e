"""How a linear teacher's scores are spread over the rows, from a noisy histogram. Post-processing only."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sfumato.mechanisms.common.simplex import to_simplex
from sfumato.mechanisms.table.wide_path.gauss import Gauss

CELLS = 64
#: Scores are counted up to so many standard deviations of what the Gaussian predicts: it misses some variance.
_RANGE = 5.0
#: Of a Gaussian, these parts lie below the mean less and plus one standard deviation.
_LOW, _HIGH = float(stats.norm.cdf(-1.0)), float(stats.norm.cdf(1.0))


@dataclass(frozen=True)
class Scores:
    """The mean and standard deviation of the scores, and the deviation that the Gaussian predicts."""

    mean: float
    deviation: float
    predicted: float

    def spread(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of the Gaussian, moved so that they are spread as the measured ones."""
        return np.asarray(self.mean + scores * (self.deviation / self.predicted))


def _predicted(gauss: Gauss, weights: NDArray[np.float64]) -> float:
    return float(np.sqrt(max(float(weights @ gauss.times(weights)), 1e-12)))


def score_cells(gauss: Gauss, weights: NDArray[np.float64]) -> Callable[[NDArray[np.float64]], NDArray[np.int64]]:
    """A map from scores to their cells."""
    width = 2 * _RANGE * _predicted(gauss, weights) / CELLS
    return lambda scores: np.clip(scores / width + CELLS / 2, 0, CELLS - 1).astype(np.int64)


def read_scores(counts: NDArray[np.float64], gauss: Gauss, weights: NDArray[np.float64]) -> Scores:
    """The middle two thirds of the noisy counts: the tails are mostly noise."""
    predicted = _predicted(gauss, weights)
    below = np.r_[0.0, np.cumsum(to_simplex(counts, total=max(float(counts.sum()), 1.0)))]
    below = below / below[-1] + 1e-9 * np.arange(CELLS + 1)
    low, high = np.interp([_LOW, _HIGH], below, predicted * _RANGE * np.linspace(-1.0, 1.0, CELLS + 1))
    return Scores(float(low + high) / 2, max(float(high - low) / 2, 0.1 * predicted), predicted)
