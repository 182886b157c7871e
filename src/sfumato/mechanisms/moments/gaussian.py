"""A Gaussian with a few factors from noisy second moments, and class means. No doors: noisy numbers alone.

What the factors leave over has a variance of its own in every column, and neighbouring columns are correlated: in spectra,
series and scans a column resembles those some places on. How much, by their distance, is an average over all columns, so
little noise is left in it. Where the order of the columns means nothing, nothing stands above the noise.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.moments.settings import MomentsSettings
from sfumato.public.plan.doors import Measured


@dataclass(frozen=True)
class Gaussian:
    """A few factors, and residuals: a standard deviation for each entry, and correlations.

    `residual_root` is a root of the correlations of the residuals, or None where there are none.
    """

    factors: Floats
    deviations: Floats
    residual_root: Floats | None

    @property
    def variances(self) -> Floats:
        """Of each entry."""
        return np.asarray((self.factors**2).sum(axis=1) + self.deviations**2)

    @property
    def covariance(self) -> Floats:
        """Of all entries."""
        root = np.eye(len(self.deviations)) if self.residual_root is None else self.residual_root
        residual = self.deviations[:, None] * root
        return np.asarray(self.factors @ self.factors.T + residual @ residual.T)

    def draw(self, n_rows: int, rng: np.random.Generator) -> Floats:
        """Vectors about 0."""
        rows = rng.standard_normal((n_rows, len(self.factors)))
        rows = self.deviations * (rows if self.residual_root is None else rows @ self.residual_root.T)
        return np.asarray(rows + rng.standard_normal((n_rows, self.factors.shape[1])) @ self.factors.T)

    def draw_even(self, n_rows: int, rng: np.random.Generator) -> Floats:
        """Vectors about 0 with residuals of one size everywhere."""
        even = np.full(len(self.deviations), np.sqrt(np.mean(self.deviations**2)))
        return replace(self, deviations=even, residual_root=None).draw(n_rows, rng)


def fit_gaussian(moments: Floats, squares: Floats, *, noise: float, settings: MomentsSettings) -> Gaussian:
    """Keep the eigenvalues that stand above the edge of the noise, corrected for what noise adds to them.

    The noise in a factor is the same for all entries. For an entry that varies little it would be all that is left, and
    a learner would take the entry for an exact copy of the factor: so each entry keeps what stands above the noise.

    `moments` are the noisy mean of a a^T for vectors of norm 1: diagonal entries have the given noise, others
    1 / sqrt(2) of it. `squares` are the mean of each entry's square, with little noise but perhaps all too small by a
    common factor.
    """
    d = len(moments)
    values, vectors = np.linalg.eigh(moments)
    edge = float(np.sqrt(2.0 * d) * noise)
    kept = values > settings.above_noise * edge
    above = values[kept]
    variances = (above + np.sqrt(np.maximum(above**2 - edge**2, 0.0))) / 2
    squares = np.maximum(squares, settings.least_variance * max(float(squares.mean()), 1e-12))
    squares = squares / float(squares.sum())
    factors = vectors[:, kept] * np.sqrt(variances)
    # The part of an eigenvector that is noise, by the theory of spiked matrices, spread evenly over its entries.
    in_each = float(np.sum(np.minimum(variances, (edge / 2) ** 2 / np.maximum(variances, 1e-12)))) / d
    size = np.maximum((factors**2).sum(axis=1), 1e-12)
    most = np.sqrt(settings.most_explained * squares / size)
    factors = factors * np.minimum(np.maximum(1 - in_each / size, 0.0), most)[:, None]
    deviations = np.sqrt(squares - (factors**2).sum(axis=1))
    root = _residual_root(moments - factors @ factors.T, deviations, noise=noise, settings=settings)
    return Gaussian(factors, deviations, root)


def by_distance(residual: Floats, deviations: Floats, *, noise: float, settings: MomentsSettings) -> Floats:
    """The correlation of two columns by their distance, as far as it stands above the noise; 0 at no distance."""
    d = len(residual)
    found = np.zeros(d)
    for k in range(1, d // settings.least_pairs):
        covariance = float(np.diagonal(residual, k).sum())
        if abs(covariance) > settings.sure_correlation * noise * np.sqrt((d - k) / 2):
            found[k] = covariance / float(deviations[:-k] @ deviations[k:])
    return np.clip(found, -1.0, 1.0)


def _residual_root(residual: Floats, deviations: Floats, *, noise: float, settings: MomentsSettings) -> Floats | None:
    """A root of the residuals' correlations, which depend on the distance of two columns alone."""
    correlations = by_distance(residual, deviations, noise=noise, settings=settings)
    if not correlations.any():
        return None
    correlations[0] = 1.0
    values, vectors = np.linalg.eigh(linalg.toeplitz(correlations))
    root = vectors * np.sqrt(np.maximum(values, 1e-3))  # noisy correlations need not fit together
    return np.asarray(root / np.linalg.norm(root, axis=1, keepdims=True))


def class_means(sums: Measured, counts: Floats, *, n_rows: float) -> Floats:
    """The classes' means without most of the noise: a few common directions, as far as they stand above it."""
    sizes = np.maximum(counts, 0.05 * n_rows / len(counts))
    # In these units every entry has the same noise.
    u, s, v = np.linalg.svd(sums.values / np.sqrt(sizes)[:, None], full_matrices=False)
    edge = sums.stddev / np.sqrt(sizes.mean()) * (np.sqrt(sums.values.shape[1]) + np.sqrt(len(sizes)))
    means: Floats = (u * np.sqrt(np.maximum(s**2 - edge**2, 0.0))) @ v / np.sqrt(sizes)[:, None]
    return means
