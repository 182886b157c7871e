"""The path for tables of bins: class tables, pairs of columns, a population that agrees with them, and a teacher."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Measurements
from sfumato.mechanisms.table.bins import bins_of
from sfumato.mechanisms.table.cells import Cells
from sfumato.mechanisms.table.evidence import Evidence
from sfumato.mechanisms.table.layout import codes_in
from sfumato.mechanisms.table.planned import noise_by_step, planned_noise
from sfumato.mechanisms.table.shape import Shape
from sfumato.mechanisms.table.table_model import TableModel, make_model, with_intercept_code
from sfumato.mechanisms.table.teacher import (
    GRADIENTS,
    curvature_rows,
    error_bound,
    errors,
    learn,
    prior_precision,
    probabilities,
    scores_of,
    teach,
)
from sfumato.public.block import Block, Hot, Outer
from sfumato.public.doors import Doors, values_of
from sfumato.public.schema import Batch, Schema
from sfumato.public.step import Step

#: What each step gets of the precision, relative to the others that a schema needs.
SHARES = {"cells": 0.15, "classes": 0.15, "pairs": 0.10, "links": 0.10, "teacher": 0.50}

#: At most so many bins of a column, levels of a column in the table of a pair, classes, and classes of a number.
BINS = 32
LEVELS = 6
CLASSES = 32
NUMBER_CLASSES = 10

#: With more columns there are too many pairs to share the precision, and more weights would take too long to fit.
MOST_PAIRED = 100
MOST_WEIGHTS = 2**15

#: Rows of the population that stand for the private ones in the teacher's start.
LEARNING_ROWS = 50_000


@dataclass(frozen=True)
class Narrow:
    """All that is public about the path for one schema."""

    schema: Schema

    @cached_property
    def shape(self) -> Shape:
        """The sizes of all tables."""
        features = tuple(Cells(column) for column in self.schema.features)
        target = None if self.schema.target_column is None else Cells(self.schema.target_column)
        return Shape(
            features=features,
            target=target,
            bin_sizes=tuple(bins_of(cells, most=BINS) for cells in features),
            n_classes=1
            if target is None
            else bins_of(target, most=CLASSES if target.column.is_coded else NUMBER_CLASSES),
            n_levels=LEVELS,
            n_links=len(features) - 1 if 2 <= len(features) <= MOST_PAIRED else 0,
        )

    @property
    def n_sets(self) -> int:
        """Sets of weights of the teacher; none where nothing is taught."""
        s = self.shape
        n_sets = 1 if s.n_classes == 2 else s.n_classes
        return n_sets if s.n_classes > 1 and s.features and n_sets * (s.bins.width + 1) <= MOST_WEIGHTS else 0

    def steps(self) -> tuple[Step, ...]:
        """All sums, with what each is to have of the precision."""
        s, k = self.shape, len(self.shape.features)

        def step(name: str, *blocks: Block, uses: int = 1) -> Step:
            return Step(name=name, blocks=blocks, share=SHARES[name], uses=uses)

        steps = [step("cells", Hot(name="cells", width=s.cells.width, n_hot=len(s.columns)))]
        if k:
            steps.append(step("classes", Hot(name="classes", width=s.n_classes * s.bins.width, n_hot=k)))
        if s.n_links:
            steps.append(step("pairs", Hot(name="pairs", width=s.pairs.width, n_hot=len(s.pairs.sizes))))
            steps.append(step("links", Hot(name="links", width=s.links.width, n_hot=s.n_links)))
        if self.n_sets:
            steps.append(step("teacher", self._gradient(), uses=GRADIENTS))
        return tuple(steps)

    def _gradient(self) -> Block:
        """The errors at a row's bins: one number at all of them, or one for each class."""
        width, hot = self.shape.bins.width + 1, len(self.shape.features) + 1
        if self.n_sets == 1:
            return Hot(name="gradient", width=width, n_hot=hot, weighted=True)
        bound = error_bound(self.n_sets) * math.sqrt(hot)
        return Outer(name="gradient", shape=(self.n_sets, width), l2_bound=bound)

    def evidence(self, found: Measurements) -> Evidence:
        """What was found so far, with the planned size of its noise."""
        return Evidence(self.shape, dict(found), noise_by_step(found, self.steps()))

    def measure(self, view: Doors) -> Measurements:
        """Ask the doors, each step with what the steps before it have shown."""
        s = self.shape
        found = planned_noise(view, self.steps())

        def cells(batch: Batch) -> dict[str, NDArray[np.int64]]:
            return {"cells": codes_in(s.cells, [c.code(batch[c.column.name]) for c in s.columns])}

        found |= values_of(view.noisy_sum("cells", cells))
        if not s.features:
            return found
        first = self.evidence(found)

        def classes(batch: Batch) -> dict[str, NDArray[np.int64]]:
            return {"classes": first.codes(batch) + first.label(batch)[:, None] * s.bins.width}

        found |= values_of(view.noisy_sum("classes", classes))
        if s.n_links:
            second = self.evidence(found)
            found |= values_of(view.noisy_sum("pairs", lambda batch: {"pairs": second.pair_codes(batch)}))
            third = self.evidence(found)
            found |= values_of(view.noisy_sum("links", lambda batch: {"links": third.link_codes(batch)}))
        if self.n_sets:
            last = self.evidence(found)
            found |= self._teach(view, last) if last.rare is None else self._count_rare(view, last)
        return found

    def _teach(self, view: Doors, evidence: Evidence) -> dict[str, NDArray[np.float64]]:
        s = self.shape
        labels, rows = evidence.population.draw(LEARNING_ROWS, np.random.default_rng(0))
        codes = with_intercept_code(rows, s.bins)
        curvature = curvature_rows(codes, width=s.bins.width + 1, total=evidence.total)
        prior = prior_precision(s.bins.width + 1, runs=s.number_runs)
        start = learn(prior, codes, labels, curvature, n_sets=self.n_sets, noise=evidence.noise["classes"])
        taught = teach(self._asking(view, evidence), start, prior, curvature, noise=evidence.noise["teacher"])
        return {"generator": start.weights, "teacher": taught}

    def _asking(self, view: Doors, evidence: Evidence) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        def ask(weights: NDArray[np.float64]) -> NDArray[np.float64]:
            def wrong(batch: Batch) -> dict[str, NDArray[np.float64]]:
                codes = with_intercept_code(evidence.bins(batch), self.shape.bins)
                wrong_by = errors(probabilities(scores_of(weights, codes)), evidence.label(batch))
                if self.n_sets == 1:
                    return {"gradient": np.column_stack([codes, wrong_by])}
                at = np.zeros((len(codes), weights.shape[1]))
                np.put_along_axis(at, codes, 1.0, axis=1)
                return {"gradient": np.column_stack([wrong_by, at])}

            return view.noisy_sum("teacher", wrong)["gradient"].values.reshape(weights.shape)

        return ask

    def _count_rare(self, view: Doors, evidence: Evidence) -> dict[str, NDArray[np.float64]]:
        """A class with few rows teaches nothing by gradients: count its bins again instead, as often as planned."""
        bins = self.shape.bins

        def counts(batch: Batch) -> dict[str, NDArray[np.float64]]:
            codes = with_intercept_code(evidence.bins(batch), bins)
            return {"gradient": np.column_stack([codes, evidence.label(batch) == evidence.rare])}

        sums = [view.noisy_sum("teacher", counts)["gradient"].values for _ in range(GRADIENTS)]
        return {"generator": np.zeros((1, bins.width + 1)), "teacher": np.mean(sums, axis=0)[None]}

    def build(self, measurements: Measurements, *, alpha: float) -> TableModel:
        """A model from what was measured: no row is read."""
        return make_model(self.schema, self.evidence(measurements), alpha=alpha)
