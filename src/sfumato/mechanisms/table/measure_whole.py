"""Columns that are counted whole, after all other tables: all of them, or a group that is chosen."""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.common.counting import count_codes
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.table.columns.shortened_persons import Number, regained
from sfumato.mechanisms.table.joint import maps
from sfumato.mechanisms.table.joint.generator import Generator
from sfumato.mechanisms.table.joint.population import with_rates
from sfumato.mechanisms.table.joint.whole_table import WholeTable, combinations_of
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.doors import Doors, Measured


@dataclass(frozen=True)
class WholeStage:
    """Counts every combination of some columns and the class. Whatever it asks for, it asks a door."""

    plan: TablePlan
    view: Doors

    def run(self, generator: Generator) -> Generator:
        """The generator with the table, and its population brought to it."""
        columns = self._columns(generator)
        if columns is None:
            return generator
        binned, population = generator.binned, generator.population
        shape = (*(binned.sizes[j] for j in columns), binned.n_classes)
        codes = partial(maps.combination_codes, columns=columns, shape=shape)
        counts = count_codes(self.view, self.plan.hot("whole"), codes, n_codes=1)
        values, n_cells = counts.values[: math.prod(shape)], math.prod(shape)
        rows = Number(float(values.sum()), counts.stddev * math.sqrt(n_cells))
        gain = regained(self.plan.schema.unit, rows=Number(binned.total, binned.total_stddev), counted=rows)
        table = WholeTable(columns, shape, scaled(Measured(values, counts.stddev), gain), binned.total)
        at = table.codes(population.rows) * binned.n_classes + population.labels
        expected = population.share_of(at, n_cells)
        ratios = table.ratios(expected, population.effective_rows, self.plan.settings.joint)
        if ratios is not None:
            population = with_rates(
                replace(population, weights=population.weights * ratios.ravel()[at]), generator.rates
            )
        return replace(generator, population=population, whole=table)

    def _columns(self, generator: Generator) -> tuple[int, ...] | None:
        """The columns of the group, which is chosen where there are several; None where none is left of them."""
        groups, names = self.plan.whole, [f.cells.column.name for f in generator.binned.features]
        if groups is None:
            return None
        # Where columns were joined into one category, groups have lost them.
        places = [tuple(j for j, name in enumerate(names) if name in group) for group in groups.candidates]
        offered = {i: columns for i, columns in enumerate(places) if len(columns) >= self.plan.sizes.whole_columns[0]}
        if not self.plan.has("group") or len(offered) < 2:
            return next(iter(offered.values()), None)
        sizes = generator.binned.sizes
        shapes = tuple(tuple(sizes[j] for j in columns) for columns in places)
        codes = partial(maps.codes_of_groups, groups=tuple(places), shapes=shapes, n_classes=generator.binned.n_classes)
        return offered[self.view.noisy_choice("group", codes, self._expected(generator, offered))]

    def _expected(self, generator: Generator, offered: dict[int, tuple[int, ...]]) -> dict[int, Expected]:
        """What the population has of each group, and how far private rows would lie from it by chance alone."""
        binned, population, n_rows = generator.binned, generator.population, self.plan.settings.joint.whole_rows
        some = population.draw(n_rows, np.random.default_rng(6))
        rows, labels, each = population.rows[some], population.labels[some], binned.total / n_rows

        def one(columns: tuple[int, ...]) -> Expected:
            shape = [binned.sizes[j] for j in columns]
            codes = combinations_of(rows, columns, shape) * binned.n_classes + labels
            rows_at = np.bincount(codes, minlength=math.prod(shape) * binned.n_classes)
            counts = np.asarray(each * rows_at, dtype=np.float64)
            return Expected(counts, offset=float(_by_chance(counts, each).sum()))

        return {i: one(columns) for i, columns in offered.items()}


def _by_chance(counts: Floats, each: float) -> Floats:
    """About how far a count lies from an expected one by chance, where rows stand for so many."""
    return np.asarray(np.minimum(np.sqrt(2 / np.pi * (1 + each) * counts), 2 * counts))
