"""Gabor filters of eight orientations, as products of waves along rows and columns.

A wave in a round bell, bell(x) bell(y) cos(a x + b y), is cos cos - sin sin of one-dimensional waves, and the slanted
directions share them. So filtering is a few matrix products with all images at once, several times faster than sliding
windows. Maps lie with their rows first, (height, n, width), so that no axis has to be moved between the two products.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.public.exact_arithmetic import GRID, on_grid, rounded_matrix

Maps = NDArray[np.floating[Any]]

ORIENTATIONS = 8
_QUARTER = ORIENTATIONS // 2
_LARGEST_ANSWER = 8.0  # a wave's entries add up to less, so no answer of a row of pixels is larger


@dataclass(frozen=True)
class Scale:
    """A filter: its odd size in pixels, the width of its bell, and its frequency."""

    size: int
    envelope: float
    frequency: float


def magnitudes(maps: Maps, scale: Scale, *, stride: int, largest: float = 1.0) -> Maps:
    """How strongly each orientation answers at every `stride`-th place: (orientation, height, n, width).

    Even filters have no mean, all have norm 1, and outside of a map there is nothing. Works in the type of the maps. In
    float64 every product is exact (`public/exact_arithmetic.py`), so what a map answers does not depend on the others.

    Args:
        maps: As (height, n, width).
        scale: The filter.
        stride: Distance between the places, in pixels.
        largest: Entries beyond are cut off. A power of two.
    """
    height, n, width = maps.shape
    down, across = (_waves(scale, length, stride).astype(maps.dtype) for length in (height, width))
    norm_even, norm_odd, mean_even = _constants(scale)
    unit = largest * _LARGEST_ANSWER / GRID
    flat = on_grid(maps / largest).reshape(height * n, width)
    flat *= GRID / _LARGEST_ANSWER
    out = np.empty((ORIENTATIONS, down.shape[3], n * across.shape[3]), dtype=maps.dtype)
    # The bell alone is the wave of frequency 0 in both directions: its two factors are taken from the two ends.
    bell = _along_columns(_along_rows(flat, across[_QUARTER, :1]), down[_QUARTER, :1])[0, 0]
    for i in range(_QUARTER + 1):
        cosine, sine = _along_columns(_along_rows(flat, across[i]), down[_QUARTER - i])
        for t in sorted({i, ORIENTATIONS - i} - {ORIENTATIONS}):
            # Beyond upright, the wave along the row runs backwards.
            even = cosine[0] - sine[1] if t <= _QUARTER else cosine[0] + sine[1]
            odd = cosine[1] + sine[0] if t <= _QUARTER else cosine[1] - sine[0]
            even -= mean_even[t] * bell
            even *= unit / norm_even[t]
            odd *= unit / norm_odd[t]
            even *= even
            odd *= odd
            even += odd
            even += 1e-8
            np.sqrt(even, out=out[t])
    return out.reshape(*out.shape[:2], n, -1)


def _along_rows(flat: Maps, waves: Maps) -> Maps:
    """Rows of pixels times waves, as (wave, row, place), in whole multiples of the grid again."""
    answers: Maps = np.matmul(flat, waves)
    np.rint(answers, out=answers)
    return answers


def _along_columns(answers: Maps, waves: Maps) -> Maps:
    """Columns of these times waves, as (wave along the rows, wave along the columns, place, n * place)."""
    n_waves, length, places = waves.shape
    turned = np.ascontiguousarray(waves.transpose(0, 2, 1)).reshape(n_waves * places, length)
    both: Maps = np.matmul(turned, answers.reshape(len(answers), length, -1))
    return both.reshape(len(answers), n_waves, places, -1)


@cache
def _waves(scale: Scale, length: int, stride: int) -> Maps:
    """For each of the five frequencies between lying and upright: cosine and sine in the bell, (5, 2, length, places)."""
    centres = np.arange(0, length, stride)
    offset = np.arange(length)[:, None] - centres[None, :]
    bell = np.exp(-(offset**2) / (2 * scale.envelope**2)) * (np.abs(offset) <= scale.size // 2)
    if bell.sum(axis=0).max() > _LARGEST_ANSWER:
        raise ValueError(f"a bell of {scale.envelope} pixels is too wide: its answers would not fit the grid.")
    phases = [_frequency(scale, i) * offset for i in range(_QUARTER + 1)]
    waves = np.array([[bell * np.cos(phase), bell * np.sin(phase)] for phase in phases])
    return np.stack([rounded_matrix(wave) for wave in waves.reshape(-1, length, len(centres))]).reshape(waves.shape)


def _frequency(scale: Scale, i: int) -> float:
    return scale.frequency * math.cos(math.pi * i / ORIENTATIONS) if i < _QUARTER else 0.0


@cache
def _constants(scale: Scale) -> tuple[list[float], list[float], list[float]]:
    """Norms of the even filters without their mean, norms of the odd ones, and what part of a bell that mean is."""
    place = np.arange(scale.size) - scale.size // 2
    x, y = np.meshgrid(place, place)
    bell = np.exp(-(x**2 + y**2) / (2 * scale.envelope**2))
    angles = np.pi * np.arange(ORIENTATIONS) / ORIENTATIONS
    phases = [scale.frequency * (x * math.cos(angle) + y * math.sin(angle)) for angle in angles]
    means = [float((bell * np.cos(phase)).sum() / bell.sum()) for phase in phases]
    even = [float(np.linalg.norm(bell * (np.cos(phase) - mean))) for phase, mean in zip(phases, means, strict=True)]
    odd = [float(np.linalg.norm(bell * np.sin(phase))) for phase in phases]
    return even, odd, means
