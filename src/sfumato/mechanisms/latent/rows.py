"""Rows as vectors that are encoded and decoded: bins of tables as one-hot, cosine coefficients of images."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from sfumato.errors import SchemaError
from sfumato.learn.dct import cosine_basis
from sfumato.mechanisms.common.layout import Layout
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.common.pictures import cosine_coefficients, n_channels
from sfumato.mechanisms.common.simplex import to_simplex
from sfumato.mechanisms.marginals.binned import Binned
from sfumato.model import Synthetic
from sfumato.public.plan.doors import Tensor
from sfumato.public.schema.schema import Batch, Column, Schema

Vectors = NDArray[np.float64]

#: Products of all pairs of entries are summed, so there must not be too many of them.
_MOST_ENTRIES = 3000
#: Odds of a bin that seems empty; and the middle of the unit box.
_LEAST_ODDS, _GREY = 1e-5, 0.5


@dataclass(frozen=True)
class TableRows:
    """Every column in public bins; a vector holds a 1 for the bin of each column. A decoder says the odds of bins."""

    schema: Schema

    def __post_init__(self) -> None:
        """Refuse tables whose pairs of bins are too many."""
        if self.width > _MOST_ENTRIES:
            raise SchemaError(
                f"the columns have {self.width} bins in all, more than the {_MOST_ENTRIES} whose products can be summed. "
                "Leave out columns of many categories, or use the mechanism 3a-table."
            )

    @cached_property
    def mixed(self) -> MixedRows:
        """Classes, and what a row is made of."""
        return MixedRows(self.schema)

    @cached_property
    def binned(self) -> Binned:
        """The bins of all columns but the class."""
        return Binned(replace(self.schema.without_rules(), columns=self.mixed.columns, target=None))

    @cached_property
    def layout(self) -> Layout:
        """Where the bins of each column lie in a vector."""
        return Layout(self.binned.sizes)

    @property
    def width(self) -> int:
        """Bins of all columns."""
        return self.layout.width

    @property
    def longest(self) -> float:
        """A one for each column."""
        return math.sqrt(len(self.binned.sizes))

    def vectors(self, batch: Batch) -> Vectors:
        """One-hot codes, column by column."""
        codes = self.binned.bins(batch) + self.layout.starts
        vectors = np.zeros((len(codes), self.width))
        np.put_along_axis(vectors, codes, 1.0, axis=1)
        return vectors

    def mean_of(self, noisy_mean: Vectors) -> Vectors:
        """Odds of the bins of each column."""
        return np.concatenate([to_simplex(part) for part in self.layout.split(noisy_mean)])

    def scores_of(self, means: Vectors) -> Vectors:
        """Logarithms of odds."""
        return np.log(np.maximum(means, _LEAST_ODDS))

    def expected(self, scores: Vectors) -> Vectors:
        """Odds of the bins of each column."""
        return np.concatenate([softmax(part, axis=1) for part in self.layout.split(scores)], axis=1)

    def loss(self, scores: Tensor, vector: Tensor) -> Tensor:
        """The cross-entropies of all columns."""
        parts = scores.split(list(self.layout.sizes), dim=-1)
        return sum(part.logsumexp(dim=-1) for part in parts) - (vector * scores).sum(dim=-1)

    def synthetic(self, expected: Vectors, labels: NDArray[np.int64], rng: np.random.Generator) -> Synthetic:
        """A bin of each column by its odds, and a value in it."""
        parts = self.layout.split(expected)
        drawn = [(rng.random((len(part), 1)) > np.cumsum(part, axis=1)[:, :-1]).sum(axis=1) for part in parts]
        batch = self.binned.values(np.stack(drawn, axis=1), rng)
        if self.mixed.target is not None:
            batch[self.mixed.target.name] = labels
        return Synthetic(table=self.schema.decode(batch))


@dataclass(frozen=True)
class PictureRows:
    """Images by their first cosine coefficients about grey; what is decoded are coefficients again."""

    schema: Schema
    coefficients: int

    @cached_property
    def mixed(self) -> MixedRows:
        """Classes, and what a row is made of."""
        return MixedRows(self.schema)

    @property
    def width(self) -> int:
        """Coefficients of all channels."""
        return self._per_channel * n_channels(self._image)

    @property
    def longest(self) -> float:
        """Pixels are at most 1/2 from grey, and the cosine basis is orthonormal."""
        return math.sqrt(self.mixed.n_numbers) / 2

    def vectors(self, batch: Batch) -> Vectors:
        """Coefficients, channel by channel."""
        cosines = cosine_coefficients(batch[self._image.name], self._image, self._per_channel, about=_GREY)
        return cosines.reshape(len(cosines), self.width)

    def mean_of(self, noisy_mean: Vectors) -> Vectors:
        """Any vector can be."""
        return noisy_mean

    def scores_of(self, means: Vectors) -> Vectors:
        """The means themselves."""
        return means

    def expected(self, scores: Vectors) -> Vectors:
        """Scores are coefficients."""
        return scores

    def loss(self, scores: Tensor, vector: Tensor) -> Tensor:
        """Half the squared distance."""
        return 0.5 * (scores - vector).square().sum(dim=-1)

    def synthetic(self, expected: Vectors, labels: NDArray[np.int64], rng: np.random.Generator) -> Synthetic:
        """The images of these coefficients."""
        pixels = _GREY + self._by_channel(expected).transpose(0, 2, 1).reshape(len(expected), -1)
        return self.mixed.synthetic(pixels, np.zeros((len(pixels), 0), dtype=np.int64), labels)

    def cut_off(self, scores: Vectors) -> Vectors:
        """What is left of coefficients when the image is cut off at black and white."""
        seen = np.clip(self._by_channel(scores), -_GREY, _GREY) @ self._basis
        return seen.reshape(len(scores), self.width)

    def _by_channel(self, scores: Vectors) -> Vectors:
        """Pixels from grey, as (image, channel, pixel)."""
        by_channel: Vectors = scores.reshape(len(scores), n_channels(self._image), -1) @ self._basis.T
        return by_channel

    @property
    def _basis(self) -> Vectors:
        height, width = self._image.shape[:2]
        return cosine_basis(height, width, self._per_channel).astype(np.float64)

    @property
    def _image(self) -> Column:
        return self.schema.images[0]

    @property
    def _per_channel(self) -> int:
        return min(self.coefficients, math.prod(self._image.shape[:2]))


#: What encoders see of rows, and how rows are made of what decoders say.
LatentRows = TableRows | PictureRows


def rows_of(schema: Schema, *, coefficients: int) -> LatentRows:
    """By what the schema holds."""
    return PictureRows(schema, coefficients) if schema.images else TableRows(schema)
