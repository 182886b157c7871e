"""In which directions the teacher looks, by synthetic images: those in which their features vary, each about as much as the others.

Gradient steps, and noise that is the same in all directions, suit features whose covariance is about the identity. The
directions come from the range of the covariance (Halko, Martinsson and Tropp, "Finding structure with randomness", 2011)
and not from its eigenvectors, whose signs and, among nearly equal values, directions are a library's choice: noisy
gradients that were asked for in one basis must mean the same on any processor that builds the release again. A basis by
Gram and Schmidt is a smooth function of what it is made from, and so is a symmetric root.
"""

import math

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers, Singles
from sfumato.mechanisms.common.shrink import orthonormal

_PASSES = 2  # products with the covariance: each brings the range closer to the leading directions
_RIDGE = 0.003  # of the largest variance: directions with less than this are not blown up to it
#: What part of the directions of photographs tell left from right, and how much these count.
_SIDES, _OF_SIDES = 1 / 4, 0.75


def whitening_of(centred: Singles, *, width: int) -> Floats:
    """The matrix to `width` leading directions of features less their mean, each scaled to about the same variance."""
    return _whitening(_covariance(centred), width)


def whitening_of_photographs(centred: Singles, mirror: Integers, *, width: int) -> Floats:
    """The same of features of which a mirror image has each at another place.

    Photographs hardly ever change their class in a mirror. So most directions are such that do not change there: less noise for the
    same knowledge. The others change their sign, and count less: where left and right do decide, as in signs and letters, rows can
    say so.
    """
    covariance = _covariance(centred)
    turned = covariance[mirror]
    both = covariance + turned[:, mirror]
    across = turned + covariance[:, mirror]
    n_sides = math.ceil(_SIDES * (width - 1))
    alike = _whitening((both + across) / 4, width - n_sides)
    if not n_sides:
        return alike
    return np.concatenate([alike, _OF_SIDES * _whitening((both - across) / 4, n_sides)], axis=1)


def _covariance(centred: Singles) -> Floats:
    """Once: every pass over the rows costs half as much."""
    return np.asarray((centred.T @ centred).astype(np.float64) / len(centred))


def _whitening(covariance: Floats, width: int) -> Floats:
    basis = np.random.default_rng(6).normal(size=(len(covariance), min(width, len(covariance))))
    for _ in range(_PASSES):
        basis = orthonormal(covariance @ basis)
    values, vectors = np.linalg.eigh(basis.T @ covariance @ basis)
    ridge = _RIDGE * max(float(values[-1]), 1e-12)
    root = (vectors / np.sqrt(np.maximum(values, 0.0) + ridge)) @ vectors.T
    return np.asarray(basis @ root)
