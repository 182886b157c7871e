"""Random Fourier features of mixed rows, and their exact mean over what a generator leaves to chance.

A wave is exp(2 pi i t), where t adds up turns over some columns: frequency times number, or a random angle for each code.
Over Gaussian frequencies and even angles, products of waves average to a Gaussian kernel of the numbers times the equality of
the codes (Rahimi and Recht, "Random features for large-scale kernel machines", 2007). Where a generator leaves numbers to
Gaussian and codes to independent draws, the mean of a wave is a product of known factors: it needs no relaxed draws.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.public.machine.exact_arithmetic import grid_products, on_grid, rounded_matrix
from sfumato.public.schema.schema import Batch

_SEED = 23
#: Angles are counted in parts of a turn: these add up exactly, and a cosine is looked up.
_TURN = 1 << 16
_COSINES = np.cos(2 * math.pi * np.arange(_TURN) / _TURN)
#: Kernels of several widths stand side by side. In distances of two rows of even numbers, sqrt(1/6) for each: a public rule.
_WIDTHS_OF_FEW, _WIDTHS_OF_ALL = (0.125, 0.5, 2.0), (0.25, 0.5, 1.0)
#: The part of the waves that sees all numbers together, where there are several; of the others, what sees one number alone.
_ALL, _ALONE = 0.25, 0.2


@dataclass(frozen=True)
class Waves:
    """Public waves, one a column.

    Attributes:
        frequencies: Turns for each number, such that products with rows are exact: (number, wave).
        angles: Parts of a turn for each code: (code of any column, wave). 0 where the wave does not look at the column.
        looks: Which columns of codes a wave looks at, two at most: (column, wave).
        sizes: Codes of each column.
    """

    frequencies: Floats = field(repr=False)
    angles: Integers = field(repr=False)
    looks: Flags = field(repr=False)
    sizes: tuple[int, ...]

    @property
    def width(self) -> int:
        """A cosine and a sine for each wave."""
        return 2 * int(self.frequencies.shape[1])

    def of_rows(self, rows: MixedRows, batch: Batch) -> Floats:
        """Cosines, then sines, of length 1 together. Each row alone decides its own, to the last bit."""
        products = grid_products(on_grid(rows.numbers(batch)), self.frequencies)
        turned = np.rint(products * _TURN).astype(np.int64)
        for start, code in zip(self.starts, rows.codes(batch).T, strict=True):
            turned += self.angles[start + code]
        places = np.concatenate([turned, turned - _TURN // 4], axis=1) & (_TURN - 1)
        return np.asarray(_COSINES[places] / math.sqrt(self.width / 2))

    @property
    def starts(self) -> Integers:
        """Where the codes of each column begin."""
        return np.cumsum([0, *self.sizes])[: len(self.sizes)]

    def layers(self) -> list["Layer"]:
        """Factors by code, such that the means over the codes of each layer, multiplied, are the mean over all codes.

        A layer holds one column of codes for each wave that has so many.
        """
        nth = np.cumsum(self.looks, axis=0) * self.looks
        return [self._layer(nth == layer) for layer in range(1, int(nth.max(initial=0)) + 1)]

    def _layer(self, seen: Flags) -> "Layer":
        by_column = np.split(self.angles, self.starts[1:])
        return tuple(
            Factors(column, waves, np.exp(2j * math.pi / _TURN * by_column[column][:, waves]))
            for column, waves in enumerate(map(np.flatnonzero, seen))
            if len(waves)
        )


class Factors(NamedTuple):
    """What some waves see of one column: a factor for each of its codes. (code, wave)."""

    column: int
    waves: Integers
    factors: NDArray[np.complex128]


#: Each wave has a place in one part at most: most columns are left out of most products.
Layer = tuple[Factors, ...]


def draw_waves(rows: MixedRows, n_waves: int) -> Waves:
    """Waves that anyone can draw again: from the columns and a fixed seed."""
    rng = np.random.default_rng(_SEED)
    numbers, sizes = rows.n_numbers, rows.code_sizes
    n_all = n_waves if rows.image is not None else round(_ALL * n_waves) if numbers > 2 else 0
    looks = np.zeros((numbers + len(sizes), n_waves), dtype=bool)
    looks[:numbers, :n_all] = True
    looks[:, n_all:] = _few(rng, numbers, len(sizes), n_waves - n_all)
    widths = [rng.choice(_WIDTHS_OF_ALL, size=n_all), rng.choice(_WIDTHS_OF_FEW, size=n_waves - n_all)]
    width = np.concatenate(widths) * np.sqrt(np.maximum(looks[:numbers].sum(axis=0), 1) / 6)
    frequencies = looks[:numbers] * rng.normal(size=(numbers, n_waves)) / (2 * math.pi * width)
    angles = rng.integers(_TURN, size=(sum(sizes), n_waves)) * np.repeat(looks[numbers:], sizes, axis=0)
    return Waves(rounded_matrix(frequencies), angles, looks[numbers:], sizes)


def _few(rng: np.random.Generator, numbers: int, coded: int, n_waves: int) -> Flags:
    """Two columns for each wave; some see a number alone, of which no count tells, as it does of codes."""
    looks = np.zeros((numbers + coded, n_waves), dtype=bool)
    first, second = rng.random((numbers + coded, n_waves)).argsort(axis=0)[[0, -1]]
    alone = (first < numbers) & (rng.random(n_waves) < _ALONE)
    looks[first, np.arange(n_waves)] = True
    looks[second[~alone], np.flatnonzero(~alone)] = True
    return looks


class ExpectedWaves:
    """Means of waves as torch computes them, for training."""

    def __init__(self, torch: Any, waves: Waves) -> None:
        self._torch = torch
        self._scale = 1 / math.sqrt(waves.width / 2)
        self._radians = torch.from_numpy(2 * math.pi * waves.frequencies)
        self._sizes = list(waves.sizes)
        self._layers = [_ExpectedLayer(torch, layer, waves.width // 2) for layer in waves.layers()]

    def __call__(self, numbers: Any, spreads: Any | None, probabilities: Any) -> Any:
        """Features for each row: Gaussian numbers of these means and deviations (none: exact ones), independent codes."""
        angle = numbers @ self._radians
        real, imaginary = self._torch.cos(angle), self._torch.sin(angle)
        if spreads is not None:
            damping = self._torch.exp(-0.5 * (spreads.square() @ self._radians.square()))
            real, imaginary = real * damping, imaginary * damping
        # At once: gradients of single slices would each be as wide as all columns together.
        by_column = probabilities.split(self._sizes, dim=1)
        for layer in self._layers:
            a, b = layer(by_column)
            real, imaginary = real * a - imaginary * b, real * b + imaginary * a
        return self._scale * self._torch.cat([real, imaginary], dim=1)


class _ExpectedLayer:
    """The mean factor of each wave over the codes of its column; 1 where it looks at none."""

    def __init__(self, torch: Any, layer: Layer, n_waves: int) -> None:
        self._torch = torch
        self._parts = [
            (part.column, torch.from_numpy(np.concatenate([part.factors.real, part.factors.imag], axis=1)))
            for part in layer
        ]
        seen = np.concatenate([part.waves for part in layer])
        # Parts stand side by side, then the waves that look at nothing: this puts every wave back into its place.
        blind = np.setdiff1d(np.arange(n_waves), seen)
        self._place, self._blind = torch.from_numpy(np.argsort(np.concatenate([seen, blind]))), len(blind)

    def __call__(self, by_column: Sequence[Any]) -> tuple[Any, Any]:
        """Real and imaginary parts: (row, wave). Handed the probabilities of each column's codes."""
        torch = self._torch
        halves = [(by_column[column] @ factors).tensor_split(2, dim=1) for column, factors in self._parts]
        real, imaginary = (list(parts) for parts in zip(*halves, strict=True))
        one = torch.ones((len(real[0]), self._blind), dtype=real[0].dtype)
        return torch.cat([*real, one], dim=1)[:, self._place], torch.cat([*imaginary, 0 * one], dim=1)[:, self._place]
