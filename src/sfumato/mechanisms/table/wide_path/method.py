"""The path for tables of more than a hundred numbers: moments instead of tables, and a teacher on the numbers themselves.

Rows become points of the unit box. Steps: how long rows are (for the clips), their mean, squares and second moments, noisy
gradients of a linear teacher, and how its scores are spread (or, for more than two classes, the mean of each class).
Rows are drawn from a Gaussian with a few factors and bent to their bounds, labels from the teacher.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Measurements
from sfumato.mechanisms.common.logistic import error_bound, errors, probabilities
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.table.wide_path.frame import Frame
from sfumato.mechanisms.table.wide_path.gauss import (
    INTERCEPT,
    Gauss,
    dense_hessian,
    fit_gauss,
    quantile_of,
    with_intercept,
)
from sfumato.mechanisms.table.wide_path.model import WideModel, class_means
from sfumato.mechanisms.table.wide_path.scores import Scores, read_scores, score_cells
from sfumato.mechanisms.table.wide_path.teacher import FIXED_SCALE, GRADIENTS, NoisyGradient, teach
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.plan.block import Block, Dense, Hot, Outer
from sfumato.public.plan.doors import Doors, Measured
from sfumato.public.plan.step import Step
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Batch, Schema, n_rows_of

#: Rows about the centre, in units of the frame, none longer than 1.
Points = Callable[[Batch], NDArray[np.float64]]

SHARES = {
    "lengths": 0.04, "mean": 0.04, "spreads": 0.01, "squares": 0.18, "moments": 0.08, "teacher": 0.64, "scores": 0.01,
    "means": 0.20,
}  # fmt: skip
#: Without a target the second moments are what there is to learn.
_MOMENTS_ALONE = 0.50
CELLS = 64

#: Rows longer than this quantile of the lengths are shortened to it: less noise for all against some bias in few.
_QUANTILE = 0.5
#: The squares of a row of norm 1 have about this norm, over the root of the number of entries, where these are alike.
_SQUARES = math.sqrt(6.0)
_MORE_THAN = 100
_MOST_CLASSES = 32
#: Second moments of more entries would take too long and say too little.
_WIDEST = 2_048


def is_wide(schema: Schema) -> bool:
    """Whether moments serve better than tables: more than a hundred columns, nearly all of them numbers."""
    numbers = sum(c.is_number for c in schema.features)
    target = schema.target_column
    simple = target is None or (target.is_coded and target.size <= _MOST_CLASSES)
    mostly_numbers = numbers > _MORE_THAN and 5 * numbers >= 4 * len(schema.features)
    return simple and mostly_numbers and Encoder(schema.features).width <= _WIDEST


@dataclass(frozen=True)
class Wide:
    """All that is public about the path for one schema."""

    schema: Schema

    @property
    def encoder(self) -> Encoder:
        """Rows as points of the unit box."""
        return Encoder(self.schema.features)

    @property
    def n_classes(self) -> int:
        """Classes of the target; one where there is none."""
        target = self.schema.target_column
        return 1 if target is None else target.size

    @property
    def n_sets(self) -> int:
        """Sets of weights of the teacher."""
        return 1 if self.n_classes <= 2 else self.n_classes

    def steps(self) -> tuple[Step, ...]:
        """All sums, with what each is to have of the precision."""
        d, sets = self.encoder.width, self.n_sets

        def step(name: str, *blocks: Block, uses: int = 1) -> Step:
            alone = name == "moments" and self.n_classes == 1
            return Step(name=name, blocks=blocks, share=_MOMENTS_ALONE if alone else SHARES[name], uses=uses)

        lengths = Hot(name="lengths", width=CELLS, share=0.25)
        steps = [
            step("lengths", lengths, Hot(name="classes", width=self.n_classes, share=0.75)),
            step("mean", Dense(name="mean", width=d, l2_bound=1.0)),
            step("spreads", Hot(name="spreads", width=CELLS)),
            step("squares", Dense(name="squares", width=d, l2_bound=_SQUARES / math.sqrt(d), nonnegative=True)),
            step("moments", Outer(name="moments", shape=(d, d), l2_bound=1.0)),
        ]
        if self.n_classes > 1:
            bound = error_bound(sets) * math.sqrt(1 + INTERCEPT**2)
            gradient = Outer(name="gradient", shape=(sets, d + 1), l2_bound=bound)
            steps.append(step("teacher", gradient, uses=GRADIENTS))
        if self.n_classes == 2:
            steps.append(step("scores", Hot(name="scores", width=CELLS)))
        if self.n_classes > 2:
            steps.append(step("means", Outer(name="means", shape=(1, d), groups=self.n_classes, l2_bound=1.0)))
        return tuple(steps)

    @property
    def longest(self) -> float:
        """No point is further than this from the middle of the box."""
        return math.sqrt(self.encoder.width) / 2

    def measure(self, view: Doors) -> Measurements:
        """Ask the doors, each step with what the steps before it have shown."""
        classes, frame, gauss = self.density(view)
        measured = {"classes": classes, "frame": frame, "gauss": gauss}
        if self.n_classes == 1:
            return measured
        points = self.points_in(frame)
        weights = self.teach(view, points, gauss)
        if self.n_classes == 2:
            return {**measured, "teacher": weights, "scores": self._scores(view, points, gauss, weights[0, :-1])}
        return {**measured, "teacher": weights, "means": self._class_sums(view, points)}

    def density(self, view: Doors) -> tuple[Measured, Frame, Gauss]:
        """Rows of each class, where points are measured from, and the Gaussian behind their moments."""
        classes, radius = self._lengths(view)
        total = max(float(classes.values.sum()), 1.0)
        frame = self._frame(view, radius, total)
        return classes, frame, self._gauss(view, self.points_in(frame), total)

    def points_in(self, frame: Frame) -> Points:
        """Rows about the centre of a frame, the long ones shortened."""

        def points(batch: Batch) -> NDArray[np.float64]:
            a = frame.inward(self.encoder(batch))
            return np.asarray(a / np.maximum(np.linalg.norm(a, axis=1, keepdims=True), 1.0))

        return points

    def _lengths(self, view: Doors) -> tuple[Measured, float]:
        """Rows of each class, and the length that rows are shortened to."""

        def lengths(batch: Batch) -> dict[str, NDArray[np.int64]]:
            norm = np.linalg.norm(self.encoder(batch) - 0.5, axis=1)
            return {"lengths": _cell(norm / self.longest), "classes": self.label(batch)}

        noisy = view.noisy_sum("lengths", lengths)
        return noisy["classes"], quantile_of(noisy["lengths"].values, _QUANTILE) * self.longest

    def _frame(self, view: Doors, radius: float, total: float) -> Frame:
        """The mean of the rows, and the distance from it that rows are shortened to."""
        mean = view.noisy_sum("mean", lambda batch: {"mean": (self.encoder(batch) - 0.5) / radius})["mean"].values
        centre = np.clip(0.5 + mean * radius / total, 0.0, 1.0)

        def spreads(batch: Batch) -> dict[str, NDArray[np.int64]]:
            return {"spreads": _cell(np.linalg.norm(self.encoder(batch) - centre, axis=1) / self.longest)}

        noisy = view.noisy_sum("spreads", spreads)["spreads"]
        return Frame(centre, quantile_of(noisy.values, _QUANTILE) * self.longest)

    def _gauss(self, view: Doors, points: Points, total: float) -> Gauss:
        """The Gaussian behind the noisy moments, in units of the frame."""
        d = self.encoder.width
        squares = view.noisy_sum("squares", lambda batch: {"squares": points(batch) ** 2})["squares"]
        noisy = view.noisy_sum("moments", lambda batch: {"moments": np.tile(points(batch), 2)})["moments"]
        moments = noisy.values.reshape(d, d)
        return fit_gauss(
            (moments + moments.T) / (2 * total), squares.values / total, noise=noisy.stddev / total, total=total
        )

    def teach(
        self,
        view: Doors,
        points: Points,
        gauss: Gauss,
        *,
        watch: Callable[[NDArray[np.float64]], None] = lambda _: None,
    ) -> NDArray[np.float64]:
        """The teacher's weights. `watch` is told the weights before every gradient."""

        def ask(weights: NDArray[np.float64]) -> Measured:
            watch(weights)

            def wrong(batch: Batch) -> dict[str, NDArray[np.float64]]:
                a = with_intercept(points(batch))
                wrong_by = errors(probabilities(exact_products(a, weights.T)), self.label(batch))
                return {"gradient": np.column_stack([wrong_by, a])}

            noisy = view.noisy_sum("teacher", wrong)["gradient"]
            return Measured(noisy.values.reshape(weights.shape), noisy.stddev)

        width = self.encoder.width + 1
        nothing = np.zeros((self.n_sets, width))
        start = NoisyGradient(nothing, nothing, np.full(nothing.shape, 1e6))
        prior_precision = np.eye(width) / gauss.weight_stddev**2
        # The Gaussian stands for the rows too roughly to learn the scale of the weights from it.
        return teach(ask, start, prior_precision, dense_hessian(gauss), scales=FIXED_SCALE)

    def _scores(self, view: Doors, points: Points, gauss: Gauss, weights: NDArray[np.float64]) -> Scores:
        """How the teacher's scores are spread."""
        cells = score_cells(gauss, weights)
        noisy = view.noisy_sum(
            "scores", lambda batch: {"scores": cells(exact_products(points(batch), weights[:, None])[:, 0])}
        )
        return read_scores(noisy["scores"].values, gauss, weights)

    def _class_sums(self, view: Doors, points: Points) -> Measured:
        """The sum of the rows of each class."""

        def in_class(batch: Batch) -> dict[str, NDArray[np.float64]]:
            a = points(batch)
            return {"means": np.column_stack([np.ones(len(a)), a, self.label(batch)])}

        return scaled(view.noisy_sum("means", in_class)["means"], 1.0, self.n_classes, self.encoder.width)

    def label(self, batch: Batch) -> NDArray[np.int64]:
        """The class of each row; 0 where there is no target."""
        if self.schema.target is None:
            return np.zeros(n_rows_of(batch), dtype=np.int64)
        return batch[self.schema.target].astype(np.int64)

    def build(self, measurements: Measurements, *, alpha: float) -> WideModel:
        """The Gaussian and the teacher's labels."""
        counts, gauss = np.maximum(measurements["classes"].values, 0.0), measurements["gauss"]
        sums = measurements.get("means")
        return WideModel(
            schema=self.schema,
            frame=measurements["frame"],
            gauss=gauss,
            scores=measurements.get("scores"),
            rates=counts / counts.sum() if counts.sum() > 0 else np.full(len(counts), 1 / len(counts)),
            means=None if sums is None else class_means(sums, counts, total=gauss.total),
            weights=measurements.get("teacher"),
            alpha=alpha,
            noisy_rows_stddev=measurements["classes"].stddev * math.sqrt(len(counts)),
        )


def _cell(part: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.clip(part * CELLS, 0, CELLS - 1).astype(np.int64)
