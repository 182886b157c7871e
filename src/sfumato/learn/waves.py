"""All cosine waves of a picture, across its channels too: for three channels these are brightness and two opponent colours.

A picture's channels hang together, so most of it is in few waves of their mean; eyes and photographs need less detail in colour
than in brightness. A wave across channels therefore counts as finer than one of brightness with as many bends. The waves that
no model describes one by one have a texture: how strong they are, by frequency, direction and whether they are of colour.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from sfumato.learn.dct import cosines
from sfumato.public.machine.exact_arithmetic import grid_products, on_grid, rounded_matrix

_FINER = 2.0  # a wave of colour counts as so many times as fine as one of brightness
_STEPS, _STEPS_PER_OCTAVE, _DIRECTIONS = 6, 2, 3  # by which waves beyond the first ones are sorted into bands


@dataclass(frozen=True)
class Waves:
    """The waves of pictures of a height, a width and so many channels, lowest frequencies first."""

    height: int
    width: int
    channels: int

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> "Waves":
        """For pictures with or without a third axis."""
        return cls(shape[0], shape[1], shape[2] if len(shape) == 3 else 1)

    def __len__(self) -> int:
        return self.height * self.width * self.channels

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Where each wave lies among (vertical, lying, across channels)."""
        down, along, across = self._bends
        finer = np.where(across > 0, _FINER, 1.0)
        frequencies = finer**2 * ((down / self.height) ** 2 + (along / self.width) ** 2)
        return np.argsort(frequencies, kind="stable")

    def bands(self, first: int) -> NDArray[np.int64]:
        """For each wave from the `first` on its band: a frequency, a direction, and brightness or colour."""
        down, along, across = (bends[self.order[first:]] for bends in self._bends)
        upright, lying = down / self.height, along / self.width
        steps = np.floor(-_STEPS_PER_OCTAVE * np.log2(np.maximum(np.hypot(upright, lying), 1e-9) / np.sqrt(2)))
        direction = np.floor(np.arctan2(upright, lying) / (np.pi / 2 + 1e-9) * _DIRECTIONS)
        code = (np.minimum(steps, _STEPS - 1) * _DIRECTIONS + direction) * 2 + (across > 0)
        return np.unique(code, return_inverse=True)[1].astype(np.int64)

    def coefficients(self, pictures: NDArray[np.float32]) -> NDArray[np.float64]:
        """Every wave of pictures in the unit box, exact whatever pictures stand beside: (picture, wave)."""
        values: NDArray[np.float64] = on_grid(pictures.astype(np.float64))
        values = values.reshape(-1, self.height, self.width, self.channels)
        for axis, length in ((3, self.channels), (2, self.width), (1, self.height)):
            if length > 1:
                lines = np.ascontiguousarray(np.moveaxis(values, axis, 3))
                # Divided by the root of the length, so that what comes out is below 1 as well.
                seen = grid_products(lines.reshape(-1, length), rounded_matrix(cosines(length).T / np.sqrt(length)))
                values = np.moveaxis(on_grid(seen).reshape(lines.shape), 3, axis)
        flat = np.ascontiguousarray(values).reshape(len(pictures), len(self))
        return np.asarray(np.take(flat, self.order, axis=1) * np.sqrt(len(self)))

    def pictures(self, coefficients: NDArray[np.float32], *, side: int | None = None) -> NDArray[np.float32]:
        """Pictures of waves, brought to a `side` by leaving out what it cannot show: (picture, height, width, channel)."""
        height, width = (length if side is None else min(length, side) for length in (self.height, self.width))
        spectrum = np.zeros((len(coefficients), len(self)), dtype=np.float32)
        spectrum[:, self.order[: coefficients.shape[1]]] = coefficients
        spectrum = spectrum.reshape(-1, self.height, self.width, self.channels)[:, :height, :width]
        smaller = np.float32(np.sqrt(height * width / (self.height * self.width)))
        return np.asarray(fft.idctn(smaller * spectrum, axes=(1, 2, 3), norm="ortho"))

    @cached_property
    def _bends(self) -> list[NDArray[np.int64]]:
        return [at.ravel() for at in np.indices((self.height, self.width, self.channels))]
