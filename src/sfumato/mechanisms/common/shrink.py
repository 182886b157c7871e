"""Take noise out of noisy means and covariances, knowing how much of it there is."""

import numpy as np
from numpy.typing import NDArray

_BAND = 24


def shrunk_means(
    noisy_sums: NDArray[np.float64], noisy_counts: NDArray[np.float64], *, stddev: float
) -> NDArray[np.float64]:
    """Group means, each band of coefficients drawn towards 0 by the part of its energy that is noise.

    James and Stein, "Estimation with quadratic loss" (1961), with the positive part.
    """
    counts = np.maximum(noisy_counts, 30.0)[:, None]
    means, noise = noisy_sums / counts, stddev / counts
    for start in range(0, means.shape[1], _BAND):
        band = means[:, start : start + _BAND]
        energy = (band**2).sum(axis=1, keepdims=True)
        band *= np.clip(1 - band.shape[1] * noise**2 / np.maximum(energy, 1e-300), 0, 1)
    return means


def shrunk_covariance(noisy_moment: NDArray[np.float64], *, count: float, stddev: float) -> NDArray[np.float64]:
    """Loadings L with L L^T the covariance: eigenvalues that stand out of the noise, and one level for the rest.

    Symmetric noise of deviation s has eigenvalues up to 2 s sqrt(k) (Wigner's semicircle), and lifts an eigenvalue l
    that stands out to l + s^2 k / l, which is undone. L is symmetric: unlike eigenvectors, whose signs and, among nearly
    equal values, directions are the library's choice, it depends on the moment alone, and smoothly.
    """
    count = max(count, 50.0)
    symmetric = (noisy_moment + noisy_moment.T) / (2 * count)
    values, vectors = np.linalg.eigh(symmetric)
    edge = 2 * (stddev / np.sqrt(2)) * np.sqrt(len(values)) / count
    out = values > edge
    lifted = (values + np.sqrt(np.maximum(values**2 - edge**2, 0.0))) / 2
    rest = max(float(values[~out].mean()), 1e-6) if (~out).any() else 1e-6
    loadings: NDArray[np.float64] = (vectors * np.sqrt(np.where(out, lifted, rest))) @ vectors.T
    return loadings
