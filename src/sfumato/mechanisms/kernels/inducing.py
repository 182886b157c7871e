"""Rows as vectors for kernel mechanisms, what is measured of them first, and labelled points as a release."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.learn.dct import cosine_basis
from sfumato.mechanisms.common.classed_rows import ClassedRows
from sfumato.mechanisms.common.mixtures import mixtures_as_synthetic
from sfumato.mechanisms.common.pictures import cosine_coefficients, n_channels
from sfumato.mechanisms.common.prepared import VECTOR
from sfumato.model import FixedModel
from sfumato.public.plan.block import Dense, Hot, Outer
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.encoding import Encoder, one_hot
from sfumato.public.schema.schema import Batch, Schema

Vectors = NDArray[np.float64]

#: Points are released on this grid: exact in float32, and finer than a picture's grey levels.
_GRID_STEP = 2.0**-12


@dataclass(frozen=True)
class Space(ClassedRows):
    """Where points live: cosine coefficients of images, or encoded features of tables, about the middle of the box."""

    coefficients: int

    def __post_init__(self) -> None:
        """Refuse what has no features or no classes."""
        if not self.schema.features:
            raise SchemaError("kernel mechanisms need a column besides the target.")
        self.schema.require_coded_target()

    @property
    def width(self) -> int:
        """Entries of a vector."""
        if not self.schema.images:
            return Encoder(self.schema.features).width
        image = self.schema.images[0]
        return min(self.coefficients, image.shape[0] * image.shape[1]) * n_channels(image)

    @property
    def radius(self) -> float:
        """No vector is longer than half the diagonal of the box."""
        return math.sqrt(Encoder(self.schema.features).width) / 2

    def vectors(self, batch: Batch) -> NDArray[np.float32]:
        """Each row's vector, from the row alone."""
        if not self.schema.images:
            return (Encoder(self.schema.features)(batch) - 0.5).astype(np.float32)
        image = self.schema.images[0]
        coefficients = cosine_coefficients(batch[image.name], image, self.width // n_channels(image), about=0.5)
        return coefficients.reshape(len(coefficients), self.width).astype(np.float32)

    def features(self, vectors: NDArray[Any]) -> NDArray[np.float32]:
        """Back into the unit box, as `mixtures_as_synthetic` takes them."""
        return (np.round(self._boxed(vectors) / _GRID_STEP) * _GRID_STEP).astype(np.float32)

    def inside(self, vectors: NDArray[Any]) -> Vectors:
        """The vectors of what lies in the box where these vectors leave it."""
        boxed = self._boxed(vectors) - 0.5
        if not self.schema.images:
            return boxed
        by_channel = boxed.reshape(len(vectors), -1, n_channels(self.schema.images[0])).transpose(0, 2, 1)
        return np.asarray((by_channel @ self._basis()).reshape(len(vectors), self.width), dtype=np.float64)

    def _boxed(self, vectors: NDArray[Any]) -> Vectors:
        if self.schema.images:
            by_channel = vectors.reshape(len(vectors), n_channels(self.schema.images[0]), -1) @ self._basis().T
            vectors = by_channel.transpose(0, 2, 1).reshape(len(vectors), -1)
        boxed: Vectors = np.clip(vectors + 0.5, 0, 1)
        return boxed

    def _basis(self) -> NDArray[np.float32]:
        image = self.schema.images[0]
        return cosine_basis(image.shape[0], image.shape[1], self.width // n_channels(image))

    def as_model(self, vectors: NDArray[Any], labels: NDArray[np.int64]) -> FixedModel:
        """Labelled points as all there is to release."""
        soft = one_hot(labels, size=self.n_classes)
        return FixedModel(mixtures_as_synthetic(self.features(vectors), soft, schema=self.schema, soft=False))


class FixedPoints:
    """What mechanisms that release labelled points, and nothing else, have in common."""

    points: int
    coefficients: int

    def held_rows(self, schema: Schema) -> int:
        """The points, and no more."""
        return self._space(schema).n_classes * self.points

    def _space(self, schema: Schema) -> Space:
        return Space(schema, self.coefficients)


@dataclass(frozen=True)
class Middle:
    """Noisy facts that every later map may use: where the rows lie, and how far from there."""

    counts: Vectors
    mean: Vectors
    class_means: Vectors
    distance: float


def means_step(space: Space, *, share: float) -> Step:
    """Rows, vectors and squared lengths, class by class."""
    classes, width = space.n_classes, space.width
    return Step(
        name="means",
        blocks=(
            Hot(name="counts", width=classes, share=0.1),
            Outer(name="sums", shape=(classes, width), l2_bound=1.0, share=0.85),
            Dense(name="square", width=1, l2_bound=1.0, nonnegative=True, share=0.05),
        ),
        share=share,
    )


def measure_means(view: Doors, space: Space) -> Middle:
    """Ask for the means, and leave the column VECTOR with every row's vector about the mean of all."""
    view.prepare(VECTOR, space.vectors)

    def contribution(batch: Batch) -> dict[str, NDArray[Any]]:
        label, scaled = space.labels(batch), batch[VECTOR] / space.radius
        sums = np.concatenate([one_hot(label, size=space.n_classes), scaled], axis=1)
        return {"counts": label, "sums": sums, "square": (scaled**2).sum(axis=1)}

    noisy = view.noisy_sum("means", contribution)
    counts = np.maximum(noisy["counts"].values, 1.0)
    sums = space.radius * noisy["sums"].values.reshape(space.n_classes, space.width)
    mean = sums.sum(axis=0) / counts.sum()
    square = space.radius**2 * noisy["square"].values[0] / counts.sum() - (mean**2).sum()
    distance = math.sqrt(float(np.clip(square, (0.01 * space.radius) ** 2, space.radius**2)))
    view.prepare(VECTOR, lambda batch: (batch[VECTOR] - mean).astype(np.float32))
    return Middle(counts, mean, sums / counts[:, None] - mean, distance)
