"""Noise taken out of reports as far as all of them together allow: the best linear guess of each row.

A learner that is given x + noise learns slopes that are too flat. Given the linear guess of x from the report, it learns
the right ones for rows without noise: regression calibration (Carroll, Ruppert, Stefanski and Crainiceanu, "Measurement
error in nonlinear models", 2006, chapter 4).
"""

import numpy as np
from numpy.typing import NDArray


def calibrated(reports: NDArray[np.float64], *, stddev: float) -> NDArray[np.float64]:
    """Each report drawn towards their mean, along every principal axis by the part of its variance that is noise.

    Axes along which noise alone could vary as much (Marchenko and Pastur's edge) keep nothing of a row.

    >>> calibrated(np.array([[5.0], [-5.0], [5.0], [-5.0]]), stddev=1.0).ravel()
    array([ 4.8, -4.8,  4.8, -4.8])
    """
    mean = reports.mean(axis=0)
    centred = reports - mean
    variances, axes = np.linalg.eigh(centred.T @ centred / len(reports))
    edge = stddev**2 * (1 + np.sqrt(reports.shape[1] / len(reports))) ** 2
    kept = np.where(variances > edge, 1 - stddev**2 / np.maximum(variances, edge), 0.0)
    return np.asarray(mean + centred @ (axes * kept) @ axes.T)
