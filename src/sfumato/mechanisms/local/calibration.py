"""Noise taken out of reports as far as all of them together allow: the best linear guess of each row, given its label.

A learner that is given x + noise learns slopes that are too flat. A guess of x from the report *and* the label that stands
beside it, with the spread put back that the guess lacks, has the slopes of x itself: regression calibration and imputation
(Carroll, Ruppert, Stefanski and Crainiceanu, "Measurement error in nonlinear models", 2006, chapters 2 and 4).
"""

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers

#: Standard errors of a variance.
_SURE = 2.0


def calibrated(reports: Floats, labels: Integers | None, *, stddev: float) -> tuple[Floats, Floats]:
    """Each report drawn towards the mean of its label, and the variance that every entry then lacks.

    Along every principal axis a report moves by the part of the variance that is noise; axes along which noise alone could vary
    as much (Marchenko and Pastur's edge) keep nothing of a row.

    >>> guess, lacking = calibrated(np.array([[5.0], [-5.0], [5.0], [-5.0]]), None, stddev=1.0)
    >>> guess.ravel(), lacking
    (array([ 4.8, -4.8,  4.8, -4.8]), array([0.96]))
    """
    mean = _means(reports, labels, variance=stddev**2)
    centred = reports - mean
    covariance = centred.T @ centred / len(reports)
    variances, axes = np.linalg.eigh(covariance)
    edge = stddev**2 * (1 + np.sqrt(reports.shape[1] / len(reports))) ** 2
    kept = np.where(variances > edge, 1 - stddev**2 / np.maximum(variances, edge), 0.0)
    explained = (axes**2) @ (kept**2 * variances)
    lacking = np.maximum(np.diag(covariance) - stddev**2 - explained, 0.0)
    return np.asarray(mean + centred @ (axes * kept) @ axes.T), lacking


def sure(lacking: Floats, *, n_rows: int, stddev: float) -> Floats:
    """Variances that entries lack, where they are more than noise alone would often seem to have.

    >>> sure(np.array([0.02, 0.5]), n_rows=800, stddev=1.0)
    array([0. , 0.5])
    """
    return np.where(lacking > _SURE * stddev**2 * np.sqrt(2 / n_rows), lacking, 0.0)


def _means(reports: Floats, labels: Integers | None, *, variance: float) -> Floats:
    """The mean report of each row's label, every entry drawn towards that of all by the part that noise would explain."""
    everyone = reports.mean(axis=0)
    means = np.tile(everyone, (len(reports), 1))
    for label in () if labels is None else np.unique(labels):
        own = labels == label
        offset = reports[own].mean(axis=0) - everyone
        noise = variance / np.count_nonzero(own)
        means[own] += offset * (1 - noise / np.maximum(offset**2, noise))
    return means
