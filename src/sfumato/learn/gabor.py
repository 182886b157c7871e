"""Gabor filters of eight orientations, as products of waves along rows and columns.

A wave in a round bell, bell(x) bell(y) cos(a x + b y), is cos cos - sin sin of one-dimensional waves, and the slanted
directions share them: so filtering an image takes a few sums along its rows and a few along its columns.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ORIENTATIONS = 8
#: Frequencies between lying and upright: as many waves serve all orientations.
FREQUENCIES = ORIENTATIONS // 2 + 1
STRIDE = 2  # magnitudes vary slowly: every second place is enough


@dataclass(frozen=True)
class Scale:
    """A filter: its odd size in pixels, the width of its bell, and its frequency."""

    size: int
    envelope: float
    frequency: float


class FilterBank(NamedTuple):
    """A scale, ready for maps of one side: cosine and sine in the bell for each frequency, (5, 2, place, pixel).

    Of every orientation, what part of a `bell` its even filter has to lose, so that it has no mean; and one over the
    norms of its `even` filter without that mean and of its `odd` one.
    """

    waves: NDArray[np.float32]
    reach: int
    bell: NDArray[np.float32]
    even: NDArray[np.float32]
    odd: NDArray[np.float32]


@cache
def filter_bank(scale: Scale, side: int) -> FilterBank:
    """The filters of a scale for maps of a side, at every second place."""
    x, y, bell = _bell(scale)
    angles = np.pi * np.arange(ORIENTATIONS) / ORIENTATIONS
    phases = [scale.frequency * (x * math.cos(angle) + y * math.sin(angle)) for angle in angles]
    means = [float((bell * np.cos(phase)).sum() / bell.sum()) for phase in phases]
    even = [np.linalg.norm(bell * (np.cos(phase) - mean)) for phase, mean in zip(phases, means, strict=True)]
    odd = [np.linalg.norm(bell * np.sin(phase)) for phase in phases]
    of_each = (np.array(values, dtype=np.float32) for values in (means, np.divide(1, even), np.divide(1, odd)))
    return FilterBank(_waves(scale, side), scale.size // 2, *of_each)


def filters(scale: Scale) -> NDArray[np.float32]:
    """The same filters whole, as (filter, height, width): the even ones of all orientations, then the odd ones."""
    x, y, bell = _bell(scale)
    angle = np.pi * np.arange(ORIENTATIONS)[:, None, None] / ORIENTATIONS
    phase = scale.frequency * (x * np.cos(angle) + y * np.sin(angle))
    mean = (bell * np.cos(phase)).sum(axis=(1, 2), keepdims=True) / bell.sum()
    whole = np.concatenate([bell * (np.cos(phase) - mean), bell * np.sin(phase)])
    whole /= np.linalg.norm(whole, axis=(1, 2), keepdims=True)
    return whole.astype(np.float32)


def _bell(scale: Scale) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    place = np.arange(scale.size) - scale.size // 2
    x, y = np.meshgrid(place, place)
    return x, y, np.exp(-(x**2 + y**2) / (2 * scale.envelope**2))


def _waves(scale: Scale, side: int) -> NDArray[np.float32]:
    offset = np.arange(side)[None, :] - np.arange(0, side, STRIDE)[:, None]
    bell = np.exp(-(offset**2) / (2 * scale.envelope**2)) * (np.abs(offset) <= scale.size // 2)
    frequencies = [scale.frequency * math.cos(math.pi * i / ORIENTATIONS) for i in range(FREQUENCIES - 1)] + [0.0]
    return np.array([[bell * np.cos(f * offset), bell * np.sin(f * offset)] for f in frequencies], dtype=np.float32)
