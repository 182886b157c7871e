"""Oriented-edge features: a fixed, public description of an image on which a linear teacher does well.

Gabor filters at two scales and eight orientations, their magnitude averaged over a grid of 8 x 8 cells, beside the
averaged image itself: a first-order scattering transform (Bruna and Mallat, "Invariant scattering convolution
networks", 2013; Tramer and Boneh, "Differentially private learning needs better features", 2021). Each image alone
decides its features.
"""

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_SIDE = 28  # images are brought to this side, so that one filter bank serves all
_CELLS = 8
_ORIENTATIONS = 8
_SCALES = ((7, 1.3, 1.7), (11, 2.4, 0.85))  # filter size, width of its envelope, frequency
_STRIDE = 2  # responses vary slowly: every second place is enough
_GROUP = _CELLS * _CELLS


def n_features(n_channels: int) -> int:
    """How many features an image has."""
    return _GROUP * (n_channels + len(_SCALES) * _ORIENTATIONS)


def oriented_features(images: NDArray[Any]) -> NDArray[np.float32]:
    """Features of images in the unit box, of shape (n, height, width) or (n, height, width, channels).

    Each group of features (brightness, every scale) has the same norm, and the whole has norm 1.
    """
    pictures = images[..., None] if images.ndim == 3 else images
    out = np.empty((len(images), n_features(pictures.shape[3])), dtype=np.float32)
    for start in range(0, len(images), 256):
        out[start : start + 256] = _features(_resized(pictures[start : start + 256]))
    return out


def _features(pictures: NDArray[np.float32]) -> NDArray[np.float32]:
    groups = [_pooled(pictures, cell=4)]
    grey = pictures.mean(axis=3)
    for size, envelope, frequency in _SCALES:
        waves = _patches(grey, size) @ _gabor(size, envelope, frequency)
        even, odd = waves[..., :_ORIENTATIONS], waves[..., _ORIENTATIONS:]
        groups.append(_pooled(np.sqrt(even**2 + odd**2 + 1e-8), cell=2))
    normed = [group / (np.linalg.norm(group, axis=1, keepdims=True) + 1e-3) for group in groups]
    return (np.concatenate(normed, axis=1) / math.sqrt(len(groups))).astype(np.float32)


def _resized(pictures: NDArray[Any]) -> NDArray[np.float32]:
    if pictures.shape[1:3] == (_SIDE, _SIDE):
        return pictures.astype(np.float32)
    out = np.empty((len(pictures), _SIDE, _SIDE, pictures.shape[3]), dtype=np.float32)
    for i, j in np.ndindex(len(pictures), pictures.shape[3]):
        plane = Image.fromarray(np.ascontiguousarray(pictures[i, :, :, j], dtype=np.float32))
        out[i, :, :, j] = np.asarray(plane.resize((_SIDE, _SIDE), Image.Resampling.BOX))
    return out


def _patches(grey: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """The surroundings of every second pixel, as rows."""
    padded = np.pad(grey, ((0, 0), (size // 2, size // 2), (size // 2, size // 2)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(1, 2))[:, ::_STRIDE, ::_STRIDE]
    return windows.reshape(*windows.shape[:3], size * size)


def _pooled(maps: NDArray[np.float32], *, cell: int) -> NDArray[np.float32]:
    """Averages over an 8 x 8 grid; the maps are widened by half a cell of nothing on every side."""
    widened = np.pad(maps, ((0, 0), (cell // 2, cell // 2), (cell // 2, cell // 2), (0, 0)))
    n, _, _, channels = widened.shape
    means: NDArray[np.float32] = widened.reshape(n, _CELLS, cell, _CELLS, cell, channels).mean(axis=(2, 4))
    return means.reshape(n, -1)


@cache
def _gabor(size: int, envelope: float, frequency: float) -> NDArray[np.float32]:
    """Even filters of all orientations, then the odd ones, without a mean and of norm 1, one a column."""
    place = np.arange(size) - (size - 1) / 2
    x, y = np.meshgrid(place, place)
    bell = np.exp(-(x**2 + y**2) / (2 * envelope**2))
    even, odd = [], []
    for turn in range(_ORIENTATIONS):
        along = x * math.cos(math.pi * turn / _ORIENTATIONS) + y * math.sin(math.pi * turn / _ORIENTATIONS)
        wave = bell * np.cos(frequency * along)
        even.append(wave - bell * (wave.sum() / bell.sum()))
        odd.append(bell * np.sin(frequency * along))
    filters = [wave / np.sqrt((wave**2).sum()) for wave in (*even, *odd)]
    return np.stack([wave.ravel() for wave in filters], axis=1).astype(np.float32)
