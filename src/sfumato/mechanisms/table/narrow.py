"""The path for tables of bins: class tables, pairs of columns, a population that agrees with them, and a teacher."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Measurements
from sfumato.mechanisms.table.binned import Binned, bin_columns
from sfumato.mechanisms.table.bins import bins_of
from sfumato.mechanisms.table.cells import Cells
from sfumato.mechanisms.table.class_counts import ClassCounts, ClassTable, class_tables, count_classes, rare_class
from sfumato.mechanisms.table.generator import Tables, joints_of, population_of
from sfumato.mechanisms.table.hessian import binned_hessian
from sfumato.mechanisms.table.layout import codes_in
from sfumato.mechanisms.table.links import choose_links, fine_tree, levels_by_class
from sfumato.mechanisms.table.logistic import error_bound, errors, probabilities, scores_of
from sfumato.mechanisms.table.population import Edge, Population
from sfumato.mechanisms.table.shape import Shape
from sfumato.mechanisms.table.table_model import Rules, TableModel, make_model, with_intercept_code
from sfumato.mechanisms.table.teacher import GRADIENTS, AskGradient, gradient_of_generator, smooth_prior, teach
from sfumato.public.block import Block, Hot, Outer
from sfumato.public.doors import Doors, Measured
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

    def measure(self, view: Doors) -> Measurements:
        """Ask the doors, each step with what the steps before it have shown."""
        tables = self._count(view)
        if not self.n_sets:
            return {"tables": tables}
        if tables.rare is not None:
            return {"tables": tables, "recount": self._count_rare(view, tables.binned, tables.rare)}
        population = population_of(tables, None)
        return {"tables": tables, "population": population, "rules": self._teach(view, tables, population)}

    def _count(self, view: Doors) -> Tables:
        s = self.shape

        def cells(batch: Batch) -> dict[str, NDArray[np.int64]]:
            return {"cells": codes_in(s.cells, [c.code(batch[c.column.name]) for c in s.columns])}

        counts = view.noisy_sum("cells", cells)["cells"]
        if not s.features:
            binned = bin_columns(s, counts, class_stddev=0.0)
            return Tables(binned, count_classes(binned, []))
        binned = bin_columns(s, counts, class_stddev=view.noise_stddev("classes", "classes"))
        by_class = class_tables(
            binned, view.noisy_sum("classes", lambda batch: {"classes": binned.class_codes(batch)})["classes"]
        )
        classes = count_classes(binned, by_class)
        rare = None
        if self.n_sets:
            rare = rare_class(classes, recount_stddev=view.noise_stddev("teacher", "gradient") / math.sqrt(GRADIENTS))
        tree, others = self._link(view, binned, classes, by_class, rare) if s.n_links else ([], [])
        return Tables(binned, classes, by_class, rare, tree, others)

    def _link(
        self, view: Doors, binned: Binned, classes: ClassCounts, by_class: list[ClassTable], rare: int | None
    ) -> tuple[list[Edge], list[Edge]]:
        """The edges of a tree, and others."""
        known = joints_of(binned, classes, by_class, by_class, rare)
        levels = levels_by_class(binned, known.margins, known.joints)
        pairs = view.noisy_sum("pairs", lambda batch: {"pairs": levels.pair_codes(binned.bins(batch))})["pairs"]
        links = choose_links(levels, pairs, known.margins, total=classes.total)
        fine = view.noisy_sum("links", lambda batch: {"links": links.link_codes(binned.bins(batch))})["links"]
        return fine_tree(links, fine, known.margins, total=classes.total), links.others

    def _teach(self, view: Doors, tables: Tables, population: Population) -> Rules:
        bins = self.shape.bins
        labels, rows = population.draw(LEARNING_ROWS, np.random.default_rng(0))
        codes = with_intercept_code(rows, bins)
        hessian = binned_hessian(codes, width=bins.width + 1, total=tables.classes.total)
        prior_precision = smooth_prior(bins.width + 1, runs=self.shape.number_runs)
        class_stddev = float(tables.by_class[0].stddev[0])
        start = gradient_of_generator(prior_precision, codes, labels, hessian, n_sets=self.n_sets, stddev=class_stddev)
        return Rules(start.weights, teach(self._asking(view, tables.binned), start, prior_precision, hessian))

    def _asking(self, view: Doors, binned: Binned) -> AskGradient:
        def ask(weights: NDArray[np.float64]) -> Measured:
            def wrong(batch: Batch) -> dict[str, NDArray[np.float64]]:
                codes = with_intercept_code(binned.bins(batch), self.shape.bins)
                wrong_by = errors(probabilities(scores_of(weights, codes)), binned.label(batch))
                if self.n_sets == 1:
                    return {"gradient": np.column_stack([codes, wrong_by])}
                at = np.zeros((len(codes), weights.shape[1]))
                np.put_along_axis(at, codes, 1.0, axis=1)
                return {"gradient": np.column_stack([wrong_by, at])}

            noisy = view.noisy_sum("teacher", wrong)["gradient"]
            return Measured(noisy.values.reshape(weights.shape), noisy.stddev)

        return ask

    def _count_rare(self, view: Doors, binned: Binned, rare: int) -> Measured:
        """A class with few rows teaches nothing by gradients: count its bins again instead, as often as planned."""

        def counts(batch: Batch) -> dict[str, NDArray[np.float64]]:
            codes = with_intercept_code(binned.bins(batch), self.shape.bins)
            return {"gradient": np.column_stack([codes, binned.label(batch) == rare])}

        again = [view.noisy_sum("teacher", counts)["gradient"] for _ in range(GRADIENTS)]
        return Measured(np.mean([one.values for one in again], axis=0), again[0].stddev / math.sqrt(GRADIENTS))

    def build(self, measurements: Measurements, *, alpha: float) -> TableModel:
        """A model from what was measured: no row is read."""
        tables, recount = measurements["tables"], measurements.get("recount")
        population = measurements.get("population")
        if population is None and self.shape.features:
            population = population_of(tables, recount)
        return make_model(self.schema, tables, population, measurements.get("rules"), alpha=alpha)
