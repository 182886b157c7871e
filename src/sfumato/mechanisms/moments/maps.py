"""What a row adds to each sum: small frozen maps of public facts and earlier noisy answers, which can be pickled."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers, Values
from sfumato.mechanisms.common.logistic import errors, probabilities
from sfumato.mechanisms.moments.points import Points
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Batch, n_rows_of

Blocks = dict[str, Values]


@dataclass(frozen=True, eq=False)
class DistanceMap:
    """The cell of a row's distance from a point, up to `longest`; in the first step, with its class."""

    step: Literal["lengths", "spreads"]
    encoder: Encoder
    centre: Floats | float
    longest: float
    cells: int
    target: str | None

    def __call__(self, batch: Batch) -> Blocks:
        """A code for each row, or two."""
        distance = np.linalg.norm(self.encoder(batch) - self.centre, axis=1)
        cell = np.clip(distance / self.longest * self.cells, 0, self.cells - 1).astype(np.int64)
        return {self.step: cell} | ({"classes": labels_of(batch, self.target)} if self.step == "lengths" else {})


@dataclass(frozen=True)
class MeanMap:
    """The point about the middle of the box, in units of a radius."""

    encoder: Encoder
    radius: float

    def __call__(self, batch: Batch) -> Blocks:
        """A vector for each row."""
        return {"mean": (self.encoder(batch) - 0.5) / self.radius}


@dataclass(frozen=True, eq=False)
class VectorMap:
    """The squares of a row's vector; its products, as an outer block is given them; or itself in the copy of its class."""

    step: Literal["squares", "moments", "means"]
    points: Points
    target: str | None

    def __call__(self, batch: Batch) -> Blocks:
        """One or two vectors for each row."""
        vectors = self.points(batch)
        if self.step == "squares":
            return {self.step: vectors**2}
        if self.step == "moments":
            return {self.step: np.tile(vectors, 2)}
        return {self.step: np.column_stack([np.ones(len(vectors)), vectors, labels_of(batch, self.target)])}


@dataclass(frozen=True, eq=False)
class Scores:
    """What linear classifiers say of each row: its vector with an intercept, times their weights."""

    points: Points
    intercept: float
    weights: Floats

    def __call__(self, batch: Batch) -> tuple[Floats, Floats]:
        """The vectors with their intercept, and the scores."""
        vectors = with_intercept(self.points(batch), self.intercept)
        return vectors, exact_products(vectors, self.weights.T)


@dataclass(frozen=True, eq=False)
class GradientMap:
    """How wrong the classifier is about the row, times its vector."""

    scores: Scores
    target: str | None

    def __call__(self, batch: Batch) -> Blocks:
        """Two vectors for each row."""
        vectors, scores = self.scores(batch)
        wrong_by = errors(probabilities(scores), labels_of(batch, self.target))
        return {"gradient": np.column_stack([wrong_by, vectors])}


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """The cell of a row's score without the intercept, on both sides of 0."""

    points: Points
    weights: Floats
    cell_width: float
    cells: int

    def __call__(self, batch: Batch) -> Blocks:
        """A code for each row."""
        scores = exact_products(self.points(batch), self.weights[:, None])[:, 0]
        return {"scores": np.clip(scores / self.cell_width + self.cells / 2, 0, self.cells - 1).astype(np.int64)}


def labels_of(batch: Batch, target: str | None) -> Integers:
    """The class of each row; 0 where there is no target."""
    return np.zeros(n_rows_of(batch), dtype=np.int64) if target is None else batch[target].astype(np.int64)


def with_intercept(vectors: Floats, intercept: float) -> Floats:
    """Vectors with one constant entry more."""
    return np.column_stack([vectors, np.full(len(vectors), intercept)])
