"""The path for tables of bins: class tables, pairs of columns, a population that agrees with them, and a teacher."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Measurements
from sfumato.mechanisms.parts.bins import bins_of
from sfumato.mechanisms.parts.cells import Cells
from sfumato.mechanisms.parts.evidence import Evidence
from sfumato.mechanisms.parts.layout import codes_in
from sfumato.mechanisms.parts.shape import Shape
from sfumato.mechanisms.parts.table_model import TableModel, make_model, with_intercept_code
from sfumato.mechanisms.parts.teacher import (
    GRADIENTS,
    curvature_rows,
    errors,
    learn,
    prior_precision,
    probabilities,
    scores_of,
    teach,
)
from sfumato.public.doors import Doors
from sfumato.public.schema import Batch, Schema
from sfumato.public.step import Block, Step

#: What each step gets of the precision, relative to the others that a schema needs.
SHARES = {"cells": 0.15, "classes": 0.15, "pairs": 0.10, "links": 0.10, "teacher": 0.50}

#: Entries that no row counts in: what comes back there is noise alone, and says how large it is.
BLANKS = 1024

#: At most so many bins of a column, levels of a column in the table of a pair, and classes.
BINS = 32
LEVELS = 6
CLASSES = 32

#: With more columns there are too many pairs, and with more classes too many gradients, to share the precision.
MOST_PAIRED = 100
MOST_TAUGHT = 10

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
            n_classes=1 if target is None else bins_of(target, most=CLASSES),
            n_levels=LEVELS,
            n_links=len(features) - 1 if 2 <= len(features) <= MOST_PAIRED else 0,
        )

    @property
    def n_sets(self) -> int:
        """Sets of weights of the teacher; none where nothing is taught."""
        if not 2 <= self.shape.n_classes <= MOST_TAUGHT or not self.shape.features:
            return 0
        return 1 if self.shape.n_classes == 2 else self.shape.n_classes

    def steps(self) -> tuple[Step, ...]:
        """All sums, with what each is to have of the precision."""
        s, k = self.shape, len(self.shape.features)

        def step(name: str, *blocks: Block, uses: int = 1) -> Step:
            return Step(name=name, blocks=blocks, share=SHARES[name], uses=uses)

        steps = [step("cells", Block(name="cells", width=s.cells.width + BLANKS, hot=len(s.columns)))]
        if k:
            steps.append(step("classes", Block(name="classes", width=s.n_classes * s.bins.width, hot=k)))
        if s.n_links:
            steps.append(step("pairs", Block(name="pairs", width=s.pairs.width, hot=len(s.pairs.sizes))))
            steps.append(step("links", Block(name="links", width=s.links.width, hot=s.n_links)))
        if self.n_sets:
            blocks = [
                Block(name=f"class{c}", width=s.bins.width + 1, hot=k + 1, weighted=True, share=1 / self.n_sets)
                for c in range(self.n_sets)
            ]
            steps.append(step("teacher", *blocks, uses=GRADIENTS))
        return tuple(steps)

    def evidence(self, found: Measurements) -> Evidence:
        """What was found so far, with the size of its noise, which the blank entries show."""
        blank = float(np.sqrt(np.mean(np.square(found["cells"][-BLANKS:]))))
        steps = self.steps()
        noise = {step.name: blank * relative_noise(step) / relative_noise(steps[0]) for step in steps}
        return Evidence(self.shape, dict(found), noise)

    def measure(self, view: Doors) -> Measurements:
        """Ask the doors, each step with what the steps before it have shown."""
        s = self.shape
        found: dict[str, NDArray[np.float64]] = {}

        def cells(batch: Batch) -> dict[str, NDArray[np.int64]]:
            return {"cells": codes_in(s.cells, [c.code(batch[c.column.name]) for c in s.columns])}

        found |= view.noisy_sum("cells", cells)
        if not s.features:
            return found
        first = self.evidence(found)

        def classes(batch: Batch) -> dict[str, NDArray[np.int64]]:
            return {"classes": first.codes(batch) + first.label(batch)[:, None] * s.bins.width}

        found |= view.noisy_sum("classes", classes)
        if s.n_links:
            second = self.evidence(found)
            found |= view.noisy_sum("pairs", lambda batch: {"pairs": second.pair_codes(batch)})
            third = self.evidence(found)
            found |= view.noisy_sum("links", lambda batch: {"links": third.link_codes(batch)})
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
                by_class = errors(probabilities(scores_of(weights, codes)), evidence.label(batch))
                return {f"class{c}": np.column_stack([codes, e]) for c, e in enumerate(by_class.T)}

            noisy = view.noisy_sum("teacher", wrong)
            return np.stack([noisy[f"class{c}"] for c in range(self.n_sets)])

        return ask

    def _count_rare(self, view: Doors, evidence: Evidence) -> dict[str, NDArray[np.float64]]:
        """A class with few rows teaches nothing by gradients: count its bins again instead, as often as planned."""
        bins = self.shape.bins

        def counts(batch: Batch) -> dict[str, NDArray[np.float64]]:
            codes = with_intercept_code(evidence.bins(batch), bins)
            return {"class0": np.column_stack([codes, evidence.label(batch) == evidence.rare])}

        sums = [view.noisy_sum("teacher", counts)["class0"] for _ in range(GRADIENTS)]
        return {"generator": np.zeros((1, bins.width + 1)), "teacher": np.mean(sums, axis=0)[None]}

    def build(self, measurements: Measurements, *, alpha: float) -> TableModel:
        """A model from what was measured: no row is read."""
        return make_model(self.schema, self.evidence(measurements), alpha=alpha)


def relative_noise(step: Step) -> float:
    """The noise on a step's first block, relative to that of other steps of the same plan: public."""
    return math.sqrt(step.uses / step.share / step.blocks[0].share) * step.blocks[0].l2_bound
