"""How a linear teacher's scores are spread over the rows, from a noisy histogram. Post-processing only."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sfumato.mechanisms.parts.gauss import Gauss
from sfumato.mechanisms.parts.smooth import to_simplex

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

    def edges(self, n_slices: int) -> NDArray[np.float64]:
        """Scores that cut the rows into about equally many."""
        return np.asarray(self.mean + self.deviation * stats.norm.ppf(np.arange(1, n_slices) / n_slices))

    def middles(self, n_slices: int) -> NDArray[np.float64]:
        """The mean score of each slice."""
        cuts = stats.norm.pdf(stats.norm.ppf(np.arange(n_slices + 1) / n_slices))
        return np.asarray(self.mean - self.deviation * np.diff(cuts) * n_slices)

    def spread(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of the Gaussian, moved so that they are spread as the measured ones."""
        return np.asarray(self.mean + scores * (self.deviation / self.predicted))


def _predicted(gauss: Gauss, weights: NDArray[np.float64]) -> float:
    return float(np.sqrt(max(float(weights @ gauss.times(weights)), 1e-12)))


def score_cells(scores: NDArray[np.float64], gauss: Gauss, weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """The cell of each score."""
    part = scores / (2 * _RANGE * _predicted(gauss, weights)) + 0.5
    return np.clip(part * CELLS, 0, CELLS - 1).astype(np.int64)


def read_scores(counts: NDArray[np.float64], gauss: Gauss, weights: NDArray[np.float64]) -> Scores:
    """The middle two thirds of the noisy counts: the tails are mostly noise."""
    predicted = _predicted(gauss, weights)
    below = np.r_[0.0, np.cumsum(to_simplex(counts, total=max(float(counts.sum()), 1.0)))]
    below = below / below[-1] + 1e-9 * np.arange(CELLS + 1)
    low, high = np.interp([_LOW, _HIGH], below, predicted * _RANGE * np.linspace(-1.0, 1.0, CELLS + 1))
    return Scores(float(low + high) / 2, max(float(high - low) / 2, 0.1 * predicted), predicted)
