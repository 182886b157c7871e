"""The path for tables of more than a hundred numbers: moments instead of tables, and a teacher on the numbers themselves.

Rows become points of the unit box. Steps: how long rows are (for the clips), their mean, squares and second moments, noisy
gradients of a linear teacher, and how its scores are spread (or, for more than two classes, the mean of each class).
Rows are drawn from a Gaussian with a few factors, labels from the teacher.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Measurements
from sfumato.mechanisms.table.frame import Frame
from sfumato.mechanisms.table.gauss import INTERCEPT, Gauss, dense_curvature, fit_gauss, quantile_of, with_intercept
from sfumato.mechanisms.table.planned import noise_by_step, planned_noise
from sfumato.mechanisms.table.scores import Scores, read_scores, score_cells
from sfumato.mechanisms.table.teacher import GRADIENTS, KNOWN, Heard, error_bound, errors, probabilities, teach
from sfumato.mechanisms.table.wide_model import WideModel, make_wide_model
from sfumato.public.block import Block, Dense, Hot, Outer
from sfumato.public.doors import Doors, values_of
from sfumato.public.encoding import Encoder
from sfumato.public.exact_products import exact_products
from sfumato.public.schema import Batch, Schema
from sfumato.public.step import Step

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


def is_wide(schema: Schema) -> bool:
    """Whether moments serve better than tables: more than a hundred columns, nearly all of them numbers."""
    numbers = sum(c.is_number for c in schema.features)
    target = schema.target_column
    simple = target is None or (target.is_coded and target.size <= _MOST_CLASSES)
    return simple and numbers > _MORE_THAN and 5 * numbers >= 4 * len(schema.features)


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

    def measure(self, view: Doors) -> Measurements:
        """Ask the doors, each step with what the steps before it have shown."""
        encoder, longest = self.encoder, math.sqrt(self.encoder.width) / 2
        found = planned_noise(view, self.steps())

        def lengths(batch: Batch) -> dict[str, NDArray[np.int64]]:
            norm = np.linalg.norm(encoder(batch) - 0.5, axis=1)
            return {"lengths": _cell(norm / longest), "classes": self._label(batch)}

        found |= values_of(view.noisy_sum("lengths", lengths))
        radius = quantile_of(found["lengths"], _QUANTILE) * longest
        found |= values_of(view.noisy_sum("mean", lambda batch: {"mean": (encoder(batch) - 0.5) / radius}))
        centre = self.frame(found).centre

        def spreads(batch: Batch) -> dict[str, NDArray[np.int64]]:
            return {"spreads": _cell(np.linalg.norm(encoder(batch) - centre, axis=1) / longest)}

        found |= values_of(view.noisy_sum("spreads", spreads))
        frame = self.frame(found)

        def points(batch: Batch) -> NDArray[np.float64]:
            a = frame.inward(encoder(batch))
            return np.asarray(a / np.maximum(np.linalg.norm(a, axis=1, keepdims=True), 1.0))

        found |= values_of(view.noisy_sum("squares", lambda batch: {"squares": points(batch) ** 2}))
        found |= values_of(view.noisy_sum("moments", lambda batch: {"moments": np.tile(points(batch), 2)}))
        if self.n_classes == 1:
            return found
        gauss = self.gauss(found)
        found["teacher"] = self._teach(view, points, gauss, noise=noise_by_step(found, self.steps())["teacher"])
        weights = found["teacher"][0, :-1]
        if self.n_classes == 2:
            cells = score_cells(gauss, weights)
            return found | values_of(
                view.noisy_sum(
                    "scores", lambda batch: {"scores": cells(exact_products(points(batch), weights[:, None])[:, 0])}
                )
            )

        def means(batch: Batch) -> dict[str, NDArray[np.float64]]:
            a = points(batch)
            return {"means": np.column_stack([np.ones(len(a)), a, self._label(batch)])}

        return found | values_of(view.noisy_sum("means", means))

    def _label(self, batch: Batch) -> NDArray[np.int64]:
        if self.schema.target is None:
            return np.zeros(len(next(iter(batch.values()))), dtype=np.int64)
        return batch[self.schema.target].astype(np.int64)

    def frame(self, found: Measurements) -> Frame:
        """Where rows are measured from, and in which unit, by what was found so far."""
        d = self.encoder.width
        longest = math.sqrt(d) / 2
        radius = quantile_of(found["lengths"], _QUANTILE) * longest
        centre = np.clip(0.5 + found["mean"] * radius / self.total(found), 0.0, 1.0)
        return Frame(centre, quantile_of(found["spreads"], _QUANTILE) * longest if "spreads" in found else 1.0)

    def total(self, found: Measurements) -> float:
        """The noisy number of rows."""
        return max(float(found["classes"].sum()), 1.0)

    def gauss(self, found: Measurements) -> Gauss:
        """The Gaussian behind the noisy moments, in units of the frame."""
        d, total = self.encoder.width, self.total(found)
        moments = found["moments"].reshape(d, d)
        noise = noise_by_step(found, self.steps())["moments"]
        return fit_gauss(
            (moments + moments.T) / (2 * total), found["squares"] / total, noise=noise / total, total=total
        )

    def scores(self, found: Measurements) -> Scores:
        """How the teacher's scores are spread."""
        weights = np.asarray(found["teacher"])[0, :-1]
        return read_scores(np.asarray(found["scores"]), self.gauss(found), weights)

    def _teach(
        self, view: Doors, points: Callable[[Batch], NDArray[np.float64]], gauss: Gauss, *, noise: float
    ) -> NDArray[np.float64]:
        def ask(weights: NDArray[np.float64]) -> NDArray[np.float64]:
            def wrong(batch: Batch) -> dict[str, NDArray[np.float64]]:
                a = with_intercept(points(batch))
                return {
                    "gradient": np.column_stack(
                        [errors(probabilities(exact_products(a, weights.T)), self._label(batch)), a]
                    )
                }

            return view.noisy_sum("teacher", wrong)["gradient"].values.reshape(weights.shape)

        width = self.encoder.width + 1
        nothing = np.zeros((self.n_sets, width))
        start = Heard(nothing, nothing, np.full(nothing.shape, 1e6))
        prior = np.eye(width) / gauss.weight_spread**2
        # The Gaussian stands for the rows too roughly to learn the size of the weights from it.
        return teach(ask, start, prior, dense_curvature(gauss), noise=noise, spreads=KNOWN)

    def build(self, measurements: Measurements, *, alpha: float) -> WideModel:
        """The Gaussian and the teacher's labels."""
        frame, gauss = self.frame(measurements), self.gauss(measurements)
        scores = self.scores(measurements) if self.n_classes == 2 else None
        noise = noise_by_step(measurements, self.steps())
        return make_wide_model(self.schema, frame, gauss, scores, measurements, noise=noise, alpha=alpha)


def _cell(part: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.clip(part * CELLS, 0, CELLS - 1).astype(np.int64)
