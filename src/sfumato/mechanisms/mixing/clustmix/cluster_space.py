"""Rows as vectors about the middle of the unit box, and their places in the few public directions in which they are clustered."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.dct import cosine_basis
from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.classed_rows import ClassedRows
from sfumato.mechanisms.common.pictures import cosine_coefficients, n_channels
from sfumato.mechanisms.mixing.clustmix.tilt import CELLS
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Batch, Column

_BAND = 24  # cosine coefficients that are shrunk together


@dataclass(frozen=True)
class ClusterSpace(ClassedRows):
    """What a schema's rows become.

    Tables: the encoded row less the middle of the box (of a one-hot code: equal odds). Images: all cosine coefficients,
    lowest frequencies first, which is the image itself in another orthonormal basis. A target without classes is one
    column among the others.
    """

    @property
    def width(self) -> int:
        """Entries of a vector."""
        return Encoder(self.columns).width

    @property
    def longest(self) -> float:
        """No vector is longer than this: a public bound."""
        return max(Encoder(self.columns).reach, 0.5)

    @property
    def bands(self) -> list[slice]:
        """Entries that belong together: those of a column, or neighbouring frequencies."""
        if self.image is not None:
            return [slice(at, min(at + _BAND, self.width)) for at in range(0, self.width, _BAND)]
        stops = Encoder(self.columns).ends
        return [slice(start, stop) for start, stop in zip([0, *stops[:-1]], stops, strict=True)]

    @property
    def numbers(self) -> tuple[Column, ...]:
        """Columns of bounded numbers."""
        return tuple(column for column in self.columns if column.is_number)

    def vectors(self, batch: Batch) -> Floats:
        """Rows as vectors, each from its row alone."""
        if self.image is None:
            return Encoder(self.columns)(batch) - Encoder(self.columns).middle
        images = batch[self.image.name]
        turned = cosine_coefficients(images, self.image, self.width // n_channels(self.image), about=0.5)
        return turned.transpose(0, 2, 1).reshape(len(images), -1)

    def box(self, vectors: Floats) -> Floats:
        """Vectors back in the unit box, as encoded rows; what lies outside of it stays there."""
        if self.image is None:
            return vectors + Encoder(self.columns).middle
        channels, (height, width) = n_channels(self.image), self.image.shape[:2]
        turned = vectors.reshape(-1, self.width // channels, channels).transpose(0, 2, 1)
        pixels = turned @ cosine_basis(height, width, height * width).T
        return np.asarray(pixels.transpose(0, 2, 1).reshape(len(vectors), -1) + 0.5)

    def cells(self, batch: Batch) -> Integers:
        """For each row and number, which cell of its class's histogram it lies in; -1 where it is missing."""
        starts = self.labels(batch) * len(self.numbers) * CELLS
        out = np.full((len(starts), len(self.numbers)), -1, dtype=np.int64)
        for at, column in enumerate(self.numbers):
            place = (batch[column.name].astype(np.float64) - column.low) / (column.high - column.low)
            there = ~np.isnan(place)
            cell = np.clip(place[there] * CELLS, 0, CELLS - 1).astype(np.int64)
            out[there, at] = starts[there] + at * CELLS + cell
        return out

    def frame(self, size: int) -> NDArray[Any]:
        """Orthonormal public directions, one a column: the lowest frequencies, or random ones where a row is wider."""
        size = min(size, self.width)
        return np.eye(self.width, size) if self._is_plain(size) else _random_frame(self.width, size)

    def places(self, vectors: NDArray[Any], size: int) -> NDArray[Any]:
        """Where vectors lie along the directions of `frame`, each from its row alone."""
        return vectors[:, :size] if self._is_plain(size) else exact_products(vectors, self.frame(size))

    def _is_plain(self, size: int) -> bool:
        """Whether the first entries of a vector are its place."""
        return self.image is not None or size >= self.width


@cache
def _random_frame(width: int, size: int) -> Floats:
    return np.asarray(np.linalg.qr(np.random.default_rng(5).normal(size=(width, size)))[0])
