"""A Gaussian with a few factors from noisy second moments. Post-processing only.

What the factors leave over has a size of its own in every column, and columns that follow each other are alike: in spectra,
series and scans a column resembles those some places on. How much, by their distance, is an average over all columns, so little
noise is left in it; where the order of the columns means nothing, nothing stands above the noise.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sfumato.mechanisms.table.wide_path.teacher import DenseHessian

#: An eigenvalue counts from this multiple of the largest one that noise alone would have.
_ABOVE_NOISE = 1.02
#: The entry for the intercept: small, because it takes from the bound that rows of norm 1 share with it.
INTERCEPT = 0.3

#: An entry's variance is at least this part of the mean one, and its factors have at most this part of its variance.
_LEAST = 0.1
_MOST = 0.9

#: A correlation at some distance counts above this many standard deviations; only a quarter of all distances have
#: enough pairs of columns to be averaged over.
_SURE = 4.0
_DISTANCES = 4

_HESSIAN_ROWS = 4_000
_SCORE_STDDEV = 3.0  # log-odds are of this order


@dataclass(frozen=True)
class Gauss:
    """A few factors, and what they leave over: a deviation for each entry, and correlations.

    `left` is a root of the correlations of what is left, or None where there are none.
    """

    factors: NDArray[np.float64]
    deviations: NDArray[np.float64]
    left: NDArray[np.float64] | None
    total: float

    @property
    def width(self) -> int:
        """Entries of a row."""
        return len(self.factors)

    @property
    def variances(self) -> NDArray[np.float64]:
        """Of each entry."""
        return np.asarray((self.factors**2).sum(axis=1) + self.deviations**2)

    @property
    def weight_stddev(self) -> float:
        """The prior of a teacher's weight: scores of a few units from entries of this variance."""
        return float(_SCORE_STDDEV / np.sqrt(max(float(self.variances.sum()), 1e-12)))

    def times(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """The covariance times a vector."""
        left = self.deviations * vector
        left = left if self.left is None else self.left @ (self.left.T @ left)
        return np.asarray(self.deviations * left + self.factors @ (self.factors.T @ vector))

    def draw(self, n_rows: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Rows about 0."""
        rows = rng.standard_normal((n_rows, self.width))
        rows = self.deviations * (rows if self.left is None else rows @ self.left.T)
        return np.asarray(rows + rng.standard_normal((n_rows, self.factors.shape[1])) @ self.factors.T)


def fit_gauss(moments: NDArray[np.float64], squares: NDArray[np.float64], *, noise: float, total: float) -> Gauss:
    """Keep the eigenvalues that stand above the edge of the noise, corrected for what noise adds to them.

    The noise in a factor is the same for all entries. For an entry that varies little it would be all that is left, and
    a learner would take the entry for an exact copy of the factor: so each entry keeps what stands above the noise.

    Args:
        moments: The noisy mean of a a^T; off-diagonal entries have 1 / sqrt(2) of the noise of the diagonal ones.
        squares: The mean of each entry's square, with little noise but perhaps all too small by a common factor.
        noise: The standard deviation of a diagonal entry of the moments.
        total: The noisy number of rows.
    """
    d = len(moments)
    values, vectors = np.linalg.eigh(moments)
    edge = float(np.sqrt(2.0 * d) * noise)
    kept = values > _ABOVE_NOISE * edge
    above = values[kept]
    variances = (above + np.sqrt(np.maximum(above**2 - edge**2, 0.0))) / 2
    trace = min(max(float(np.trace(moments)), 0.05), 1.0)
    squares = np.maximum(squares, _LEAST * max(float(squares.mean()), 1e-12))
    squares = squares * (trace / float(squares.sum()))
    factors = vectors[:, kept] * np.sqrt(variances)
    # The part of an eigenvector that is noise, by the theory of spiked matrices, spread evenly over its entries.
    in_each = float(np.sum(np.minimum(variances, (edge / 2) ** 2 / np.maximum(variances, 1e-12)))) / d
    size = np.maximum((factors**2).sum(axis=1), 1e-12)
    factors = factors * np.minimum(np.maximum(1 - in_each / size, 0.0), np.sqrt(_MOST * squares / size))[:, None]
    deviations = np.sqrt(squares - (factors**2).sum(axis=1))
    left = _root_of_left(moments - factors @ factors.T, deviations, noise=noise)
    return Gauss(factors, deviations, left, total)


def _root_of_left(
    left: NDArray[np.float64], deviations: NDArray[np.float64], *, noise: float
) -> NDArray[np.float64] | None:
    d = len(left)
    by_distance = np.zeros(d)
    for k in range(1, d // _DISTANCES):
        covariance = float(np.diagonal(left, k).sum())
        if abs(covariance) > _SURE * noise * np.sqrt((d - k) / 2):
            by_distance[k] = covariance / float(deviations[:-k] @ deviations[k:])
    if not by_distance.any():
        return None
    by_distance[0] = 1.0
    values, vectors = np.linalg.eigh(linalg.toeplitz(np.clip(by_distance, -1.0, 1.0)))
    root = vectors * np.sqrt(np.maximum(values, 1e-3))  # noisy correlations need not fit together
    return np.asarray(root / np.linalg.norm(root, axis=1, keepdims=True))


def dense_hessian(gauss: Gauss) -> DenseHessian:
    """The Hessian on rows of the Gaussian, with the intercept as the last entry.

    What the factors leave over counts as alike everywhere: a Hessian that is too small somewhere lets noise in there.
    """
    even = np.full(gauss.width, np.sqrt(np.mean(gauss.deviations**2)))
    rows = replace(gauss, deviations=even, left=None).draw(_HESSIAN_ROWS, np.random.default_rng(0))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    return DenseHessian(with_intercept(rows), gauss.total)


def with_intercept(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows with one constant entry more."""
    return np.column_stack([rows, np.full(len(rows), INTERCEPT)])


def quantile_of(counts: NDArray[np.float64], part: float) -> float:
    """Where this part of the noisy counts lies below, as a fraction of the range; never zero."""
    upto = np.maximum.accumulate(np.cumsum(counts))
    total = max(float(upto[-1]), 1e-9)
    return float(np.searchsorted(upto, part * total) + 1) / len(counts) if upto[-1] > 0 else 1.0
