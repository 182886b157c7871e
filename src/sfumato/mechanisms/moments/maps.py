"""What a row adds to each sum: small frozen maps of public facts and earlier noisy answers, which can be pickled."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.moments.points import Points
from sfumato.mechanisms.table.logistic import errors, probabilities
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Batch, n_rows_of

Blocks = dict[str, NDArray[np.generic]]


@dataclass(frozen=True)
class Labels:
    """The class of each row; 0 where there is no target."""

    target: str | None

    def __call__(self, batch: Batch) -> NDArray[np.int64]:
        """One code for each row."""
        if self.target is None:
            return np.zeros(n_rows_of(batch), dtype=np.int64)
        return batch[self.target].astype(np.int64)


@dataclass(frozen=True, eq=False)
class LengthMap:
    """One of the cells of the distance from a point, up to `longest`; and the class where labels are given."""

    block: str
    encoder: Encoder
    centre: NDArray[np.float64] | float
    longest: float
    cells: int
    labels: Labels | None = None

    def __call__(self, batch: Batch) -> Blocks:
        """A code for each row."""
        distance = np.linalg.norm(self.encoder(batch) - self.centre, axis=1)
        cell = np.clip(distance / self.longest * self.cells, 0, self.cells - 1).astype(np.int64)
        return {self.block: cell} | ({} if self.labels is None else {"classes": self.labels(batch)})


@dataclass(frozen=True)
class MeanMap:
    """The point about the middle of the box, in units of a radius."""

    encoder: Encoder
    radius: float

    def __call__(self, batch: Batch) -> Blocks:
        """A vector for each row."""
        return {"mean": (self.encoder(batch) - 0.5) / self.radius}


@dataclass(frozen=True, eq=False)
class SquareMap:
    """The square of each entry of the vector."""

    points: Points

    def __call__(self, batch: Batch) -> Blocks:
        """A vector for each row."""
        return {"squares": self.points(batch) ** 2}


@dataclass(frozen=True, eq=False)
class ProductMap:
    """The products of all entries of the vector: an outer block is given both factors."""

    points: Points

    def __call__(self, batch: Batch) -> Blocks:
        """Two vectors for each row."""
        return {"moments": np.tile(self.points(batch), 2)}


@dataclass(frozen=True, eq=False)
class Scores:
    """What linear classifiers say of each row: its vector with an intercept, times their weights."""

    points: Points
    intercept: float
    weights: NDArray[np.float64]

    def __call__(self, batch: Batch) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The vectors with their intercept, and the scores."""
        vectors = with_intercept(self.points(batch), self.intercept)
        return vectors, exact_products(vectors, self.weights.T)


@dataclass(frozen=True, eq=False)
class GradientMap:
    """How wrong the classifier is about the row, times its vector."""

    scores: Scores
    labels: Labels

    def __call__(self, batch: Batch) -> Blocks:
        """Two vectors for each row."""
        vectors, scores = self.scores(batch)
        return {"gradient": np.column_stack([errors(probabilities(scores), self.labels(batch)), vectors])}


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """One of the cells of the score, on both sides of 0."""

    points: Points
    weights: NDArray[np.float64]
    cell_width: float
    cells: int

    def __call__(self, batch: Batch) -> Blocks:
        """A code for each row."""
        scores = exact_products(self.points(batch), self.weights[:, None])[:, 0]
        return {"scores": np.clip(scores / self.cell_width + self.cells / 2, 0, self.cells - 1).astype(np.int64)}


@dataclass(frozen=True, eq=False)
class ClassMap:
    """The vector, in the copy of the row's class."""

    points: Points
    labels: Labels

    def __call__(self, batch: Batch) -> Blocks:
        """A factor 1, a vector and a class for each row."""
        vectors = self.points(batch)
        return {"means": np.column_stack([np.ones(len(vectors)), vectors, self.labels(batch)])}


def with_intercept(vectors: NDArray[np.float64], intercept: float) -> NDArray[np.float64]:
    """Vectors with one constant entry more."""
    return np.column_stack([vectors, np.full(len(vectors), intercept)])
