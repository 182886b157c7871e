"""A linear map of features, found on synthetic images: their leading directions, each scaled to about the same variance.

Gradient steps, and noise that is the same in all directions, suit features whose covariance is about the identity. The
directions come from the range of the covariance and not from its eigenvectors, whose signs and, among nearly equal values,
directions are a library's choice: noisy gradients that were asked for in one basis must mean the same on any processor that
builds the release again. An orthonormal basis by Gram and Schmidt is a smooth function of what it is made from, and so is
a symmetric root.

Halko, Martinsson and Tropp, "Finding structure with randomness" (2011).
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.gram_schmidt import orthonormal

_PASSES = 2  # products with the covariance: each brings the range closer to the leading directions
_RIDGE = 0.003  # of the largest variance: directions with less than this are not blown up to it


def whitening_of(centred: NDArray[np.float32], *, width: int) -> NDArray[np.float64]:
    """The matrix to `width` directions, or to as many as there are features, for features less their mean."""
    n_rows, n_features = centred.shape
    basis = np.random.default_rng(6).normal(size=(n_features, min(width, n_features)))
    covariance = (centred.T @ centred).astype(np.float64) / n_rows  # once: every pass over the rows costs half as much
    for _ in range(_PASSES):
        basis = orthonormal(covariance @ basis)
    values, vectors = np.linalg.eigh(basis.T @ covariance @ basis)
    ridge = _RIDGE * max(float(values[-1]), 1e-12)
    root = (vectors / np.sqrt(np.maximum(values, 0.0) + ridge)) @ vectors.T
    return np.asarray(basis @ root)
