"""A linear map of features, found on synthetic images: their leading directions, each scaled to about the same variance.

Gradient steps, and noise that is the same in all directions, suit features whose covariance is about the identity. The
directions come from the range of the covariance and not from its eigenvectors, whose signs and, among nearly equal values,
directions are a library's choice: noisy gradients that were asked for in one basis must mean the same on any processor that
builds the release again. An orthonormal basis by Gram and Schmidt is a smooth function of what it is made from, and so is
a symmetric root.

Halko, Martinsson and Tropp, "Finding structure with randomness" (2011).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_PASSES = 2  # products with the covariance: each brings the range closer to the leading directions
_RIDGE = 0.003  # of the largest variance: directions with less than this are not blown up to it


@dataclass(frozen=True)
class Whitening:
    """Features less `mean`, times `matrix`, have about the same variance in all directions that vary much."""

    mean: NDArray[np.float32]
    matrix: NDArray[np.float64]


def whitening_of(features: NDArray[np.float32], *, width: int) -> Whitening:
    """The map to `width` directions, or to as many as there are features."""
    mean = features.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred = features - mean
    width = min(width, features.shape[1])
    basis = np.random.default_rng(6).normal(size=(features.shape[1], width))
    for _ in range(_PASSES):
        narrow = (centred @ basis.astype(np.float32)) / np.float32(len(features))
        basis = _orthonormal((centred.T @ narrow).astype(np.float64))
    inside = (centred @ basis.astype(np.float32)).astype(np.float64)
    values, vectors = np.linalg.eigh(inside.T @ inside / len(features))
    ridge = _RIDGE * max(float(values[-1]), 1e-12)
    root = (vectors / np.sqrt(np.maximum(values, 0.0) + ridge)) @ vectors.T
    return Whitening(mean, basis @ root)


def _orthonormal(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The basis that Gram and Schmidt give: the triangle's diagonal is positive, whatever signs the library takes."""
    basis, triangle = np.linalg.qr(matrix)
    return np.asarray(basis * np.where(np.diag(triangle) < 0, -1.0, 1.0))
