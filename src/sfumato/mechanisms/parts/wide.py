"""The path for tables of more than a hundred numbers: moments instead of tables, and a teacher on the numbers themselves.

Rows become points of the unit box. Steps: how long rows are (for the clips), their mean, their second moments, noisy
gradients of a linear teacher, and the mean of the rows in slices of the teacher's score. A fitted Gaussian with a few
factors is bent so that its slices have the measured means.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Measurements
from sfumato.mechanisms.parts.gauss import (
    INTERCEPT,
    Gauss,
    dense_curvature,
    fit_gauss,
    quantile_of,
    slice_edges,
    with_intercept,
)
from sfumato.mechanisms.parts.narrow import relative_noise
from sfumato.mechanisms.parts.teacher import GRADIENTS, Heard, errors, probabilities, teach
from sfumato.mechanisms.parts.wide_model import WideModel, make_wide_model
from sfumato.public.doors import Doors
from sfumato.public.encoding import Encoder
from sfumato.public.schema import Batch, Schema
from sfumato.public.step import Block, Step

SHARES = {"lengths": 0.02, "mean": 0.04, "spreads": 0.01, "moments": 0.28, "teacher": 0.45, "slices": 0.20}
BLANKS = 1024
LENGTHS = 64
SLICES = 8

#: Rows longer than this quantile of the lengths are shortened to it: less noise for all against some bias in few.
_QUANTILE = 0.5
_MORE_THAN = 100
_MOST_CLASSES = 10


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

    @property
    def n_slices(self) -> int:
        """Slices of the teacher's score for two classes, else the classes."""
        return SLICES if self.n_classes == 2 else self.n_classes

    def steps(self) -> tuple[Step, ...]:
        """All sums, with what each is to have of the precision."""
        d = self.encoder.width

        def step(name: str, *blocks: Block, uses: int = 1) -> Step:
            return Step(name=name, blocks=blocks, share=SHARES[name], uses=uses)

        lengths = Block(name="lengths", width=LENGTHS + BLANKS, hot=1, share=0.5)
        steps = [
            step("lengths", lengths, Block(name="classes", width=self.n_classes, hot=1, share=0.5)),
            step("mean", Block(name="mean", width=d, l2_bound=1.0)),
            step("spreads", Block(name="spreads", width=LENGTHS, hot=1)),
            step("moments", Block(name="moments", width=d * (d + 1) // 2, l2_bound=1.0)),
        ]
        if self.n_classes > 1:
            gradients = [
                Block(name=f"class{c}", width=d + 1, l2_bound=1.0, share=1 / self.n_sets) for c in range(self.n_sets)
            ]
            steps.append(step("teacher", *gradients, uses=GRADIENTS))
            hits = Block(name="hits", width=self.n_slices * self.n_classes, hot=1, share=0.15)
            steps.append(step("slices", Block(name="slices", width=self.n_slices * d, l2_bound=1.0, share=0.85), hits))
        return tuple(steps)

    def noise_of(self, found: Measurements) -> dict[str, float]:
        """The noise on each step's first block, from the entries of the first step that no row counts in."""
        steps = self.steps()
        blank = float(np.sqrt(np.mean(np.square(found["lengths"][-BLANKS:]))))
        return {step.name: blank * relative_noise(step) / relative_noise(steps[0]) for step in steps}

    def measure(self, view: Doors) -> Measurements:
        """Ask the doors, each step with what the steps before it have shown."""
        encoder, longest = self.encoder, math.sqrt(self.encoder.width) / 2
        found: dict[str, NDArray[np.float64]] = {}

        def lengths(batch: Batch) -> dict[str, NDArray[np.int64]]:
            norm = np.linalg.norm(encoder(batch) - 0.5, axis=1)
            return {"lengths": _length_cell(norm, longest), "classes": self._label(batch)}

        found |= view.noisy_sum("lengths", lengths)
        radius = quantile_of(found["lengths"][:LENGTHS], _QUANTILE) * longest
        found |= view.noisy_sum("mean", lambda batch: {"mean": (encoder(batch) - 0.5) / radius})
        centre = self._centre(found)

        def spreads(batch: Batch) -> dict[str, NDArray[np.int64]]:
            return {"spreads": _length_cell(np.linalg.norm(encoder(batch) - centre, axis=1), longest)}

        found |= view.noisy_sum("spreads", spreads)
        clip = quantile_of(found["spreads"], _QUANTILE) * longest
        upper = np.triu_indices(encoder.width)
        weight = np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))

        def points(batch: Batch) -> NDArray[np.float64]:
            a = (encoder(batch) - centre) / clip
            return np.asarray(a / np.maximum(np.linalg.norm(a, axis=1, keepdims=True), 1.0))

        def moments(batch: Batch) -> dict[str, NDArray[np.float64]]:
            a = points(batch)
            return {"moments": a[:, upper[0]] * a[:, upper[1]] * weight}

        found |= view.noisy_sum("moments", moments)
        if self.n_classes == 1:
            return found
        gauss = self.gauss(found)
        found["teacher"] = self._teach(view, points, gauss, noise=self.noise_of(found)["teacher"])
        edges = slice_edges(gauss, found["teacher"], n_slices=self.n_slices)

        def slices(batch: Batch) -> dict[str, NDArray[Any]]:
            a = points(batch)
            at = np.searchsorted(edges, a @ found["teacher"][0, :-1]) if self.n_classes == 2 else self._label(batch)
            out = np.zeros((len(a), self.n_slices, a.shape[1]))
            out[np.arange(len(a)), at] = a
            return {"slices": out.reshape(len(a), -1), "hits": at * self.n_classes + self._label(batch)}

        return found | view.noisy_sum("slices", slices)

    def _label(self, batch: Batch) -> NDArray[np.int64]:
        if self.schema.target is None:
            return np.zeros(len(next(iter(batch.values()))), dtype=np.int64)
        return batch[self.schema.target].astype(np.int64)

    def _centre(self, found: Measurements) -> NDArray[np.float64]:
        longest = math.sqrt(self.encoder.width) / 2
        radius = quantile_of(found["lengths"][:LENGTHS], _QUANTILE) * longest
        total = max(float(found["classes"].sum()), 1.0)
        return np.asarray(np.clip(0.5 + found["mean"] * radius / total, 0.0, 1.0))

    def gauss(self, found: Measurements) -> Gauss:
        """The Gaussian behind the noisy moments, in units of the clip."""
        d = self.encoder.width
        longest = math.sqrt(d) / 2
        upper = np.triu_indices(d)
        weight = np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))
        moments = np.zeros((d, d))
        moments[upper] = found["moments"] / weight
        moments = moments + np.triu(moments, 1).T
        clip = quantile_of(found["spreads"], _QUANTILE) * longest
        total = max(float(found["classes"].sum()), 1.0)
        return fit_gauss(
            moments / total,
            noise=self.noise_of(found)["moments"] / total,
            clip=clip,
            centre=self._centre(found),
            total=total,
        )

    def _teach(
        self, view: Doors, points: Callable[[Batch], NDArray[np.float64]], gauss: Gauss, *, noise: float
    ) -> NDArray[np.float64]:
        whole = 1 / math.sqrt(1 + INTERCEPT**2)

        def ask(weights: NDArray[np.float64]) -> NDArray[np.float64]:
            def wrong(batch: Batch) -> dict[str, NDArray[np.float64]]:
                a = with_intercept(points(batch))
                by_class = errors(probabilities(a @ weights.T), self._label(batch))
                return {f"class{c}": a * e[:, None] * whole for c, e in enumerate(by_class.T)}

            noisy = view.noisy_sum("teacher", wrong)
            return np.stack([noisy[f"class{c}"] for c in range(self.n_sets)]) / whole

        width = self.encoder.width + 1
        nothing = np.zeros((self.n_sets, width))
        start = Heard(nothing, nothing, np.full(nothing.shape, 1e6))
        prior = np.eye(width) / gauss.weight_spread**2
        return teach(ask, start, prior, dense_curvature(gauss), noise=noise / whole)

    def build(self, measurements: Measurements, *, alpha: float) -> WideModel:
        """Bend the Gaussian to the slices."""
        return make_wide_model(
            self.schema, self.gauss(measurements), measurements, noise=self.noise_of(measurements), alpha=alpha
        )


def _length_cell(norm: NDArray[np.float64], longest: float) -> NDArray[np.int64]:
    return np.clip(norm / longest * LENGTHS, 0, LENGTHS - 1).astype(np.int64)
