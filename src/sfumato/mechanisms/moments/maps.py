"""What a row adds to each sum: partial functions of public facts and earlier noisy answers, which can be pickled."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Values
from sfumato.mechanisms.common.classed_rows import labels_of
from sfumato.mechanisms.common.logistic import errors, probabilities
from sfumato.mechanisms.moments.points import Points
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Batch

Blocks = dict[str, Values]


def distance_cells(
    batch: Batch, step: str, encoder: Encoder, centre: Floats | float, longest: float, cells: int
) -> Blocks:
    """The cell of a row's distance from a point, up to `longest`."""
    distance = np.linalg.norm(encoder(batch) - centre, axis=1)
    return {step: np.clip(distance / longest * cells, 0, cells - 1).astype(np.int64)}


def with_class(batch: Batch, blocks: Callable[[Batch], Blocks], target: str | None) -> Blocks:
    """What another map gives, and the class of a row."""
    return blocks(batch) | {"classes": labels_of(batch, target)}


def point_about_middle(batch: Batch, encoder: Encoder, radius: float) -> Blocks:
    """The point about the middle of the box, in units of a radius."""
    return {"mean": (encoder(batch) - 0.5) / radius}


def squares_of(batch: Batch, points: Points) -> Blocks:
    """The squares of a row's vector."""
    return {"squares": points(batch) ** 2}


def products_of(batch: Batch, points: Points) -> Blocks:
    """The products of a row's vector, as an outer block is given them."""
    return {"moments": np.tile(points(batch), 2)}


def vector_by_class(batch: Batch, points: Points, target: str | None) -> Blocks:
    """A row's vector in the copy of its class."""
    vectors = points(batch)
    return {"means": np.column_stack([np.ones(len(vectors)), vectors, labels_of(batch, target)])}


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


def gradient_of(batch: Batch, scores: Scores, target: str | None) -> Blocks:
    """How wrong the classifier is about the row, times its vector."""
    vectors, of_rows = scores(batch)
    wrong_by = errors(probabilities(of_rows), labels_of(batch, target))
    return {"gradient": np.column_stack([wrong_by, vectors])}


def score_cells(batch: Batch, points: Points, weights: Floats, cell_width: float, cells: int) -> Blocks:
    """The cell of a row's score without the intercept, on both sides of 0."""
    scores = exact_products(points(batch), weights[:, None])[:, 0]
    return {"scores": np.clip(scores / cell_width + cells / 2, 0, cells - 1).astype(np.int64)}


def with_intercept(vectors: Floats, intercept: float) -> Floats:
    """Vectors with one constant entry more."""
    return np.column_stack([vectors, np.full(len(vectors), intercept)])
