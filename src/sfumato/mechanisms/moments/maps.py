"""What a row adds to each sum: partial functions of public facts and earlier noisy answers, which can be pickled."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers, Values
from sfumato.mechanisms.common.classed_rows import labels_of
from sfumato.mechanisms.common.logistic import errors, probabilities
from sfumato.mechanisms.moments.evidence import Evidence
from sfumato.mechanisms.moments.lengths import LengthScale
from sfumato.mechanisms.moments.margins import Yardstick
from sfumato.mechanisms.moments.points import Points, directions, number_values, shortened
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Batch, Schema

Blocks = dict[str, Values]

#: The cell of each row.
Cells = Callable[[Batch], Integers]


def length_cells(batch: Batch, encoder: Encoder, centre: Floats | float, scale: LengthScale) -> Integers:
    """The cell of a row's distance from a point."""
    return scale.cells_of(np.linalg.norm(encoder(batch) - centre, axis=1))


def lengths_and_classes(batch: Batch, cells: Cells, target: str | None) -> Blocks:
    """The cell of a row's length, and its class."""
    return {"lengths": cells(batch), "classes": labels_of(batch, target)}


def lengths_by_class(batch: Batch, cells: Cells, n_cells: int, by: str | None) -> Blocks:
    """The cell of a row's length in the line of its class."""
    return {"spreads": cells(batch) + n_cells * labels_of(batch, by)}


def point_about_middle(batch: Batch, encoder: Encoder, radius: float) -> Blocks:
    """The point about the middle of the box, in units of a radius."""
    return {"mean": (encoder(batch) - 0.5) / radius}


def squares_of(batch: Batch, points: Points, n_groups: int, by: str | None) -> Blocks:
    """The squares of a row's direction, in the place of its class."""
    squares = directions(points(batch)) ** 2
    if n_groups == 1:
        return {"squares": squares}
    is_of = labels_of(batch, by)[:, None] == np.arange(n_groups)
    return {"squares": (is_of[:, :, None] * squares[:, None, :]).reshape(len(squares), -1)}


def products_of(batch: Batch, points: Points, n_groups: int, by: str | None) -> Blocks:
    """The products of a row's direction, as an outer block is given them; in the copy of its class."""
    twice = np.tile(directions(points(batch)), 2)
    return {"moments": twice if n_groups == 1 else np.column_stack([twice, labels_of(batch, by)])}


def vector_by_class(batch: Batch, points: Points, target: str | None) -> Blocks:
    """A row's vector in the copy of its class."""
    vectors = shortened(points(batch))
    return {"means": np.column_stack([np.ones(len(vectors)), vectors, labels_of(batch, target)])}


@dataclass(frozen=True, eq=False)
class Scores:
    """What linear classifiers say of each row: its vector with an intercept, times their weights."""

    points: Points
    intercept: float
    weights: Floats

    def __call__(self, batch: Batch) -> tuple[Floats, Floats]:
        """The vectors with their intercept, and the scores."""
        vectors = with_intercept(shortened(self.points(batch)), self.intercept)
        return vectors, exact_products(vectors, self.weights.T)


def gradient_of(batch: Batch, scores: Scores, target: str | None) -> Blocks:
    """How wrong the classifier is about the row, times its vector."""
    vectors, of_rows = scores(batch)
    wrong_by = errors(probabilities(of_rows), labels_of(batch, target))
    return {"gradient": np.column_stack([wrong_by, vectors])}


def evidence_of(batch: Batch, points: Points, evidence: Evidence, by: str | None) -> Blocks:
    """The products of what a row says of its class, in the copy of that class."""
    half = with_intercept(evidence.of(points(batch)), 1.0) / math.sqrt(2)
    return {"evidence": np.column_stack([half, half, labels_of(batch, by)])}


def departures_of(batch: Batch, schema: Schema, yardstick: Yardstick) -> Blocks:
    """How the parts of the generator's rows below a row's numbers depart from even ones."""
    return {"margins": yardstick.of(number_values(batch, schema))}


def with_intercept(vectors: Floats, intercept: float) -> Floats:
    """Vectors with one constant entry more."""
    return np.column_stack([vectors, np.full(len(vectors), intercept)])
