"""A Gaussian with a few factors from noisy second moments. Post-processing only."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.parts.teacher import probabilities

#: An eigenvalue counts from this multiple of the largest one that noise alone would have.
_ABOVE_NOISE = 1.02
#: The entry for the intercept: small, because it takes from the bound that rows of norm 1 share with it.
INTERCEPT = 0.3

_CURVATURE_ROWS = 4_000
_SCORE_SPREAD = 3.0  # log-odds are of this order


@dataclass(frozen=True)
class Gauss:
    """centre + clip * a, where a has some directions of known variance and the same variance in all others."""

    centre: NDArray[np.float64]
    clip: float
    axes: NDArray[np.float64]
    variances: NDArray[np.float64]
    rest: float
    total: float

    @property
    def weight_spread(self) -> float:
        """How large a teacher's weight may be: scores of a few units from entries of this variance."""
        variance = (self.variances.sum() + self.rest * (len(self.axes) - len(self.variances))) / len(self.axes)
        return float(_SCORE_SPREAD / np.sqrt(max(variance, 1e-12) * len(self.axes)))

    def times(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """The covariance times a vector."""
        return self.rest * vector + self.axes @ ((self.variances - self.rest) * (self.axes.T @ vector))

    def draw(self, n_rows: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Rows of a."""
        rows = np.sqrt(self.rest) * rng.standard_normal((n_rows, len(self.axes)))
        extra = np.sqrt(np.maximum(self.variances - self.rest, 0.0))
        return np.asarray(rows + (rng.standard_normal((n_rows, len(extra))) * extra) @ self.axes.T)


@dataclass(frozen=True)
class DenseCurvature:
    """Rows that stand for the private ones where only the curvature is asked for."""

    rows: NDArray[np.float64]
    total: float

    def at(self, weights: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """How fast the sum of errors grows with the weights: min(p, 1 - p) for every row."""
        p = probabilities(self.rows @ weights.T)
        scale = self.total / len(self.rows)
        return [(self.rows.T * (np.minimum(q, 1 - q) * scale)) @ self.rows for q in p.T]


def fit_gauss(
    moments: NDArray[np.float64], *, noise: float, clip: float, centre: NDArray[np.float64], total: float
) -> Gauss:
    """Keep the eigenvalues that stand above the edge of the noise, corrected for what noise adds to them.

    Args:
        moments: The noisy mean of a a^T; off-diagonal entries have 1 / sqrt(2) of the noise of the diagonal ones.
        noise: The standard deviation of a diagonal entry.
        clip: The unit of a.
        centre: What a is measured from.
        total: The noisy number of rows.
    """
    d = len(moments)
    values, vectors = np.linalg.eigh(moments)
    edge = float(np.sqrt(2.0 * d) * noise)
    kept = values > _ABOVE_NOISE * edge
    above = values[kept]
    variances = (above + np.sqrt(np.maximum(above**2 - edge**2, 0.0))) / 2
    trace = min(max(float(np.trace(moments)), 0.05), 1.0)
    rest = max(trace - float(variances.sum()), 0.02 * trace) / max(d - len(variances), 1)
    return Gauss(centre, clip, vectors[:, kept], np.maximum(variances, rest), rest, total)


def dense_curvature(gauss: Gauss) -> DenseCurvature:
    """The curvature on rows of the Gaussian, with the intercept as the last entry."""
    rows = gauss.draw(_CURVATURE_ROWS, np.random.default_rng(0))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    return DenseCurvature(with_intercept(rows), gauss.total)


def with_intercept(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows with one constant entry more."""
    return np.column_stack([rows, np.full(len(rows), INTERCEPT)])


def quantile_of(counts: NDArray[np.float64], part: float) -> float:
    """Where this part of the noisy counts lies below, as a fraction of the range; never zero."""
    upto = np.maximum.accumulate(np.cumsum(counts))
    total = max(float(upto[-1]), 1e-9)
    return float(np.searchsorted(upto, part * total) + 1) / len(counts) if upto[-1] > 0 else 1.0


def slice_edges(gauss: Gauss, weights: NDArray[np.float64], *, n_slices: int) -> NDArray[np.float64]:
    """Scores that cut the Gaussian's rows into equally many."""
    scores = gauss.draw(20_000, np.random.default_rng(1)) @ weights[0, :-1]
    return np.quantile(scores, np.arange(1, n_slices) / n_slices)
