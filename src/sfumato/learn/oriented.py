"""Oriented-edge features: a fixed, public description of an image on which a linear teacher does well.

Gabor filters at two scales and eight orientations, their magnitude averaged over a grid of 8 x 8 cells; the magnitudes
of the fine scale filtered once more and averaged over 4 x 4 cells; and the averaged image itself: a scattering transform
(Bruna and Mallat, "Invariant scattering convolution networks", 2013; Tramer and Boneh, "Differentially private learning
needs better features", 2021). Each image alone decides its features.
"""

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.gabor import ORIENTATIONS, Maps, Scale, magnitudes
from sfumato.public.exact_arithmetic import on_grid, rounded_matrix

SIDE = 28  # images are brought to this side, so that one filter bank serves all
_CELLS = 8
_FINE, _COARSE = Scale(7, 1.3, 1.7), Scale(11, 2.4, 0.85)
_AGAIN = Scale(7, 1.2, 1.7)  # the coarse filter as it looks on every second pixel
_STRIDE = 2  # magnitudes vary slowly: every second place is enough
_LARGEST_MAGNITUDE = 4.0  # of the fine scale: pixels in the unit box reach 2.1 where they follow the wave
_CHUNK = 32  # images at once: few, so that their maps stay in the processor's cache


def n_features(n_channels: int) -> int:
    """How many features an image has."""
    return _CELLS**2 * (n_channels + 2 * ORIENTATIONS) + (_CELLS // 2) ** 2 * ORIENTATIONS**2


def oriented_features(images: NDArray[Any]) -> NDArray[np.float32]:
    """Features of images in the unit box, of shape (n, height, width) or (n, height, width, channels).

    Each group of features (brightness, either scale, the second order) has the same norm, and the whole has norm 1. The
    arithmetic is that of the images' type: in float64 an image's features do not depend on how many others there are.
    """
    pictures = images[..., None] if images.ndim == 3 else images
    out = np.empty((len(images), n_features(pictures.shape[3])), dtype=np.float32)
    for start in range(0, len(images), _CHUNK):
        out[start : start + _CHUNK] = _features(resized(pictures[start : start + _CHUNK]))
    return out


def _features(pictures: NDArray[Any]) -> NDArray[np.float32]:
    n = len(pictures)
    channels = np.ascontiguousarray(pictures.transpose(3, 1, 0, 2))
    grey = channels.mean(axis=0)
    fine, coarse = (magnitudes(grey, scale, stride=_STRIDE) for scale in (_FINE, _COARSE))
    side = fine.shape[1]
    rows_first = np.ascontiguousarray(fine.transpose(1, 0, 2, 3)).reshape(side, ORIENTATIONS * n, side)
    again = magnitudes(rows_first, _AGAIN, stride=_STRIDE, largest=_LARGEST_MAGNITUDE)
    again = np.pad(again, ((0, 0), (0, 1), (0, 0), (0, 1)))
    second = _averaged(again, cell=2).reshape(ORIENTATIONS, _CELLS // 2, ORIENTATIONS, n, _CELLS // 2)
    groups = [_rows(_pooled(maps, cell)) for maps, cell in ((channels, 4), (fine, 2), (coarse, 2))]
    groups.append(_rows(second.transpose(0, 2, 1, 3, 4)))
    normed = [group / (np.linalg.norm(group, axis=1, keepdims=True) + 1e-3) for group in groups]
    return (np.concatenate(normed, axis=1) / math.sqrt(len(groups))).astype(np.float32)


def resized(pictures: NDArray[Any]) -> NDArray[Any]:
    """Pictures of shape (n, height, width, channels) at the side of the features, by means over boxes.

    In float64 both products are exact, so that what becomes of a picture does not depend on the others.
    """
    n, height, width, channels = pictures.shape
    if (height, width) == (SIDE, SIDE):
        return pictures
    rows = on_grid(pictures.transpose(0, 3, 1, 2)).reshape(-1, width)
    narrow = on_grid(rows @ _boxes(width).astype(pictures.dtype)).reshape(n, channels, height, SIDE)
    columns = np.ascontiguousarray(narrow.transpose(0, 1, 3, 2)).reshape(-1, height)
    both: NDArray[Any] = columns @ _boxes(height).astype(pictures.dtype)
    both += 0.0  # zero has two signs, and the order of a sum decides which
    return both.reshape(n, channels, SIDE, SIDE).transpose(0, 3, 2, 1)


@cache
def _boxes(length: int) -> NDArray[np.float64]:
    """What part of each box, of as many as the side has, a line's pixels fill: (pixel, box)."""
    edges = np.arange(SIDE + 1) * length / SIDE
    pixel = np.arange(length)[:, None]
    filled = np.minimum(edges[1:], pixel + 1) - np.maximum(edges[:-1], pixel)
    return rounded_matrix(np.maximum(filled, 0.0) * SIDE / length)


def _pooled(maps: Maps, cell: int) -> Maps:
    """Averages over an 8 x 8 grid; the maps are widened by half a cell of nothing on every side."""
    return _averaged(np.pad(maps, ((0, 0), (cell // 2, cell // 2), (0, 0), (cell // 2, cell // 2))), cell=cell)


def _averaged(maps: Maps, *, cell: int) -> Maps:
    """Means over square cells of maps that lie as (kind, height, n, width)."""
    means = np.zeros_like(maps[:, ::cell, :, ::cell])
    for down, across in np.ndindex(cell, cell):
        means += maps[:, down::cell, :, across::cell] / (cell * cell)
    return means


def _rows(maps: Maps) -> Maps:
    """One row for each image: the images are on the last axis but one."""
    return np.moveaxis(maps, -2, 0).reshape(maps.shape[-2], -1)
