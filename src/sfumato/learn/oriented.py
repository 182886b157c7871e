"""Oriented-edge features: a fixed, public description of an image on which a linear teacher does well.

Gabor filters at two scales and eight orientations, their magnitude averaged over a grid of 8 x 8 cells; the magnitudes
of the fine scale filtered once more and averaged over 4 x 4 cells; and the averaged image itself, its brightness and its opponent
colours, which would be lost beside brightness, as waves across channels: a scattering transform
(Bruna and Mallat, "Invariant scattering convolution networks", 2013; Tramer and Boneh, "Differentially private learning
needs better features", 2021). Each image alone decides its features, to the last bit: see `oriented_loops.py`.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.dct import cosines
from sfumato.learn.gabor import ORIENTATIONS, STRIDE, Scale, filter_bank
from sfumato.learn.oriented_loops import CELLS, SECOND_CELLS, describe
from sfumato.public.machine.exact_arithmetic import on_grid, rounded_matrix
from sfumato.public.machine.threads import in_threads

SIDE = 28  # images are brought to this side, so that one filter bank serves all
FINE, COARSE = Scale(7, 1.3, 1.7), Scale(11, 2.4, 0.85)
AGAIN = Scale(7, 1.2, 1.7)  # the coarse filter as it looks on every second pixel
_ROWS_AT_ONCE = 64  # in one thread: what a door asks for at once goes to several, and fewer would be filled up to it


def n_features(n_channels: int) -> int:
    """How many features an image has."""
    return CELLS**2 * (n_channels + 2 * ORIENTATIONS) + SECOND_CELLS**2 * ORIENTATIONS**2


def oriented_features(images: NDArray[Any]) -> NDArray[np.float32]:
    """Features of images in the unit box, of shape (n, height, width) or (n, height, width, channels).

    Each group of features (brightness, colours where there are any, either scale, the second order) has the same norm, and the
    whole has norm 1.
    """
    pictures = images[..., None] if images.ndim == 3 else images
    out = np.empty((len(images), n_features(pictures.shape[3])), dtype=np.float32)
    across = cosines(pictures.shape[3]).astype(np.float32)
    banks = filter_bank(FINE, SIDE), filter_bank(COARSE, SIDE), filter_bank(AGAIN, SIDE // STRIDE)

    def describe_some(start: int) -> None:
        some = resized(pictures[start : start + _ROWS_AT_ONCE]).astype(np.float32)
        describe(some, across, *banks, out[start : start + _ROWS_AT_ONCE])

    in_threads(describe_some, range(0, len(images), _ROWS_AT_ONCE))
    return out


def mirrored_places(n_channels: int) -> NDArray[np.int64]:
    """Where each feature lies among those of a picture's mirror image, up to a pixel: filters look at every second place."""
    turned, at, places = -np.arange(ORIENTATIONS) % ORIENTATIONS, 0, []
    twice = (ORIENTATIONS * turned[:, None] + turned).ravel()
    for maps, cells in ((np.arange(n_channels), CELLS), (turned, CELLS), (turned, CELLS), (twice, SECOND_CELLS)):
        here = at + np.arange(len(maps) * cells**2).reshape(-1, cells, cells)
        places.append(here[maps, :, ::-1].ravel())
        at += here.size
    return np.concatenate(places)


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
