"""Take noise out of noisy means and covariances, knowing how much of it there is; and a basis that no library chooses."""

import numpy as np

from sfumato.mechanisms.common.arrays import Floats

_BAND = 24
_FEWEST = 50.0  # rows of a class, however few its noisy count says
_LEAST_VARIANCE = 1e-6
_DOUBT = 0.5  # how far the variance of a class may lie from that of all, as a part of it


def shrunk_means(noisy_sums: Floats, noisy_counts: Floats, *, stddev: float) -> Floats:
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


def class_covariances(noisy_moments: Floats, noisy_counts: Floats, *, stddev: float) -> Floats:
    """For each class loadings L with L L^T its covariance.

    Directions in which a class varies more than noise does are its own. In all others it has the shape that the classes
    share, by as much as its own trace says, which is hardly noisy. So a class of many rows follows its own moments, and one
    of few rows those of all. L is symmetric: unlike eigenvectors, whose signs and, among nearly equal values, directions are
    the library's choice, it depends on the moments alone, and smoothly.
    """
    counts = np.maximum(noisy_counts, _FEWEST)
    total, k = float(counts.sum()), noisy_moments.shape[1]
    own, out = _standing_out(noisy_moments.sum(axis=0) / total, stddev=stddev * len(counts) ** 0.5 / total)
    level = max(float(np.trace(noisy_moments.sum(axis=0))) / total - float(np.trace(own)), 0.0) / k
    shared = own + level * (np.eye(k) - out)
    return np.stack([_loadings(m / n, shared, stddev=stddev / n) for m, n in zip(noisy_moments, counts, strict=True)])


def _loadings(moment: Floats, shared: Floats, *, stddev: float) -> Floats:
    own, out = _standing_out(moment, stddev=stddev)
    elsewhere = np.eye(len(moment)) - out
    rest = elsewhere @ shared @ elsewhere
    expected, seen = float(np.trace(rest)), float(np.sum(elsewhere * moment))
    if expected > 0:
        # Two guesses at the variance that is left: that of all classes, give or take half of it, and the class's own.
        trust = (_DOUBT * expected) ** 2 / ((_DOUBT * expected) ** 2 + len(moment) * stddev**2)
        rest *= max(trust * seen + (1 - trust) * expected, 0.0) / expected
    values, vectors = np.linalg.eigh(own + rest)
    return np.asarray((vectors * np.sqrt(np.maximum(values, _LEAST_VARIANCE))) @ vectors.T)


def _standing_out(moment: Floats, *, stddev: float) -> tuple[Floats, Floats]:
    """The part of a noisy moment whose eigenvalues stand out of the noise, and the projection on their directions.

    Symmetric noise of deviation s has eigenvalues up to 2 s sqrt(k) (Wigner's semicircle), and lifts an eigenvalue l that
    stands out to l + s^2 k / l, which is undone.
    """
    values, vectors = np.linalg.eigh((moment + moment.T) / 2)
    edge = 2 * (stddev / np.sqrt(2)) * np.sqrt(len(values))
    out = values > edge
    lifted = (values + np.sqrt(np.maximum(values**2 - edge**2, 0.0))) / 2
    kept = vectors[:, out]
    return np.asarray((kept * lifted[out]) @ kept.T), np.asarray(kept @ kept.T)


def orthonormal(matrix: Floats) -> Floats:
    """The basis that Gram and Schmidt give, a smooth function of the matrix: whatever signs the library takes, the triangle's
    diagonal is positive.
    """
    basis, triangle = np.linalg.qr(matrix)
    return np.asarray(basis * np.where(np.diag(triangle) < 0, -1.0, 1.0))
