"""Class-conditional histograms: the shortest useful mechanism, and the example of how one is written.

One noisy sum counts, for every class, the values of every column. Rows are drawn class first, then each column on
its own. Proof: docs/proofs/independent-histograms.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from sfumato.errors import PlanError, SchemaError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.allowed_cells import codes_within, rounding_of
from sfumato.mechanisms.common.arrays import Floats, Integers, Values
from sfumato.mechanisms.common.pictures import n_classes
from sfumato.model import CountedRows, Synthetic, check_row_count
from sfumato.public.budget import Budget
from sfumato.public.expressions.domains import Domain, Span
from sfumato.public.plan.block import Hot
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.reading import Reading
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch, Column, Schema


@register
@dataclass(frozen=True, kw_only=True)
class IndependentHistograms:
    """Columns independent given the class, numbers in `bins` equal cells."""

    name: ClassVar[str] = "independent-histograms"
    bins: int = 32

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """One sum over everyone: a row counts 1 in each column."""
        schema.require_one_table(self.name)
        if self.bins < 1:
            raise PlanError(f"bins = {self.bins} must be at least 1.")
        if schema.images:
            raise SchemaError("independent-histograms is for tables. Use the mechanism dpmix for images.")
        if not schema.features:
            raise SchemaError("independent-histograms needs a column besides the target.")
        width = n_classes(schema) * sum(_sizes(schema, self.bins))
        return (Step(name="histograms", blocks=(Hot(name="counts", width=width, n_hot=len(schema.features)),)),)

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Count, with noise, what every column holds in every class."""
        sizes = _sizes(schema, self.bins)
        starts = np.cumsum([0, *sizes[:-1]])

        def codes(batch: Batch) -> dict[str, Integers]:
            columns = [_cell_of(c, batch[c.name], self.bins) for c in schema.features]
            label = batch[schema.target][:, None] if schema.target else 0
            return {"counts": np.stack(columns, axis=1) + starts + label * sum(sizes)}

        noisy = view.noisy_sum("histograms", codes)
        counts = noisy["counts"].values.reshape(n_classes(schema), sum(sizes))
        return {"counts": counts, "noise": np.array([noisy["counts"].stddev])}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> "HistogramModel":
        """Clip at zero and divide: probabilities of each class, and of each value within a class."""
        sizes = np.array(_sizes(schema, self.bins))
        columns = np.split(measurements["counts"], np.cumsum(sizes)[:-1], axis=1)
        # Every column adds up to the number of rows; the fewer cells it has, the less noise is in the sum.
        totals = np.stack([counts.sum(axis=1) for counts in columns])
        per_class = np.average(totals, axis=0, weights=1 / sizes)
        tables = tuple(_normalised(np.maximum(counts, 0)) for counts in columns)
        # Summed before they are clipped: among many classes, what clipping adds would outweigh the rows.
        stddev = float(measurements["noise"][0]) * np.sqrt(len(per_class) / (1 / sizes).sum())
        return HistogramModel(
            schema, self.bins, np.maximum(per_class, 0), tables, float(per_class.sum()), float(stddev)
        )

    def readings(self, schema: Schema) -> tuple[Reading, ...]:
        """A count within a class, and what follows from all of a column's counts."""
        sizes, classes = _sizes(schema, self.bins), n_classes(schema)
        measured_by = partial(Reading, step="histograms", block="counts")
        readings = []
        for column in schema.features:
            readings.append(measured_by(column=column.name, what="a count", unit="rows"))
            if column.is_number:
                middles = (np.arange(self.bins) + 0.5) / self.bins - 0.5  # from the middle of the bounds
                spread = float(np.linalg.norm(middles)) * (column.high - column.low)
                readings.append(
                    measured_by(column=column.name, what="the mean", per_one=classes**0.5 * spread, over=1.0)
                )
        if schema.target:  # every column adds up to it; see build
            per_one = sum(1 / size for size in sizes) ** -0.5
            readings.append(measured_by(column=schema.target, what="a count", per_one=per_one, unit="rows"))
        return tuple(readings)


@dataclass(frozen=True)
class HistogramModel(CountedRows):
    """Noisy class counts, and for every column a table of probabilities, one row for each class."""

    schema: Schema
    bins: int
    class_counts: Floats
    tables: tuple[Floats, ...]
    noisy_rows: float
    noisy_rows_stddev: float

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Draw a class for each row, then every column on its own."""
        check_row_count(n_rows)
        rng = np.random.default_rng(seed)
        label = rng.choice(len(self.class_counts), size=n_rows, p=_normalised(self.class_counts[None])[0])
        batch = {}
        for column, table in zip(self.schema.features, self.tables, strict=True):
            upto = np.cumsum(table, axis=1)[label]
            cell = (rng.random(n_rows)[:, None] > upto).sum(axis=1).clip(0, table.shape[1] - 1)
            batch[column.name] = _value_of(column, cell, self.bins, rng)
        if self.schema.target:
            batch[self.schema.target] = label
        return Synthetic(table=self.schema.decode(batch))

    def narrowed(self, domains: Mapping[str, Domain], *, is_exact: bool) -> tuple["HistogramModel", float]:
        """The model of the rows whose cells some domains allow, and the share of all rows that they are."""
        before, tables = _normalised(self.class_counts[None])[0], []
        chances = before.copy()
        for column, table in zip(self.schema.features, self.tables, strict=True):
            inside = table * _allowed(column, domains, self.bins)
            chances *= inside.sum(axis=1)
            tables.append(_normalised(inside))
        target = self.schema.target_column
        if target is not None and target.name in domains:
            chances *= codes_within(target, domains[target.name])
        return replace(self, class_counts=chances, tables=tuple(tables)), float(chances.sum())


def _allowed(column: Column, domains: Mapping[str, Domain], bins: int) -> Floats | float:
    """1 for every cell that a released value of the column's domain may come from, 0 for the others."""
    domain = domains.get(column.name)
    if domain is None:
        return 1.0
    if not isinstance(domain, Span):
        return codes_within(column, domain).astype(np.float64)
    edges, slack = np.linspace(column.low, column.high, bins + 1), rounding_of(column)
    inside = (edges[1:] >= domain.low - slack) & (edges[:-1] <= domain.high + slack)
    return np.append(inside, [domain.missing] * column.missing).astype(np.float64)


def _sizes(schema: Schema, bins: int) -> list[int]:
    return [c.size if c.is_coded else bins + int(c.missing) for c in schema.features]


def _cell_of(column: Column, values: Values, bins: int) -> Integers:
    if column.is_coded:
        return values.astype(np.int64)
    position = (values.astype(np.float64) - column.low) / (column.high - column.low) * bins
    cell = np.clip(np.nan_to_num(position), 0, bins - 1).astype(np.int64)
    return np.where(np.isnan(position), bins, cell) if column.missing else cell


def _value_of(column: Column, cell: Integers, bins: int, rng: np.random.Generator) -> Values:
    if column.is_coded:
        return cell
    position = (cell + rng.random(len(cell))) / bins
    return np.where(cell == bins, np.nan, column.low + position * (column.high - column.low))


def _normalised(counts: Floats) -> Floats:
    totals = counts.sum(axis=1, keepdims=True)
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1), 1 / counts.shape[1])
