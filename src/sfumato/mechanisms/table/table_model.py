"""A fitted table: rows of a population, labels by its own rule or the teacher's, values drawn within bins."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.mechanisms.table.bins import Binning
from sfumato.mechanisms.table.generator import Tables
from sfumato.mechanisms.table.labels import draw_labels
from sfumato.mechanisms.table.layout import Layout
from sfumato.mechanisms.table.logistic import scores_of
from sfumato.mechanisms.table.population import Population
from sfumato.model import Synthetic, check_row_count
from sfumato.public.schema import Schema

_ROWS_AT_ONCE = 65_536


@dataclass(frozen=True)
class TableModel:
    """A population of binned rows. `rule` draws the labels anew; without one they are the population's own."""

    schema: Schema
    noisy_rows: float
    noisy_rows_stddev: float
    population: Population | None
    binnings: tuple[Binning, ...]
    target: Binning | None
    rates: NDArray[np.float64]
    rule: NDArray[np.float64] | None

    @property
    def default_rows(self) -> int:
        """The noisy number of private rows, or several for each where these are few."""
        return several_rows(self.noisy_rows)

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Draw rows of bins, a label for each, and a value in every bin."""
        check_row_count(n_rows)
        rng = np.random.default_rng(seed)
        columns: dict[str, pd.Series[Any]] = {}  # each decoded at once: as a table they take less than as numbers
        if self.population is None:
            labels = rng.choice(len(self.rates), size=n_rows, p=self.rates)
        else:
            labels, rows = self.population.draw(n_rows, rng)
            for j, binning in enumerate(self.binnings):
                columns[binning.cells.column.name] = _decoded(binning, rows[:, j], rng)
            if self.rule is not None:
                labels = draw_labels(self._scores(rows, self.rule), self.rates, rng)
        if self.target is not None:
            columns[self.target.cells.column.name] = _decoded(self.target, labels, rng)
        return Synthetic(table=pd.DataFrame({c.name: columns[c.name] for c in self.schema.columns}, copy=False))

    def _scores(self, rows: NDArray[np.int64], rule: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the rule says of each row, some rows at a time: the codes of all would take more memory than the rows."""
        layout = Layout(tuple(binning.size for binning in self.binnings))
        parts = np.array_split(rows, 1 + len(rows) // _ROWS_AT_ONCE)
        return np.concatenate([scores_of(rule, with_intercept_code(part, layout)) for part in parts])


def _decoded(binning: Binning, bins: NDArray[np.int64], rng: np.random.Generator) -> "pd.Series[Any]":
    return binning.cells.column.decode(binning.draw(bins, rng))


def several_rows(total: float) -> int:
    """How many rows to release: labels are drawn by chance, and more rows average the chance out at no cost.

    >>> several_rows(500), several_rows(30_000), several_rows(1_000_000)
    (4000, 240000, 1000000)
    """
    return max(1, round(max(total, min(8 * total, 300_000))))


def with_intercept_code(rows: NDArray[np.int64], layout: Layout) -> NDArray[np.int64]:
    """Bins as places in one long vector of weights, with the place of the intercept at the end."""
    return np.concatenate([rows + layout.starts, np.full((len(rows), 1), layout.width)], axis=1)


@dataclass(frozen=True)
class Rules:
    """Weights at every bin, and an intercept: those of the generator's own rows, and the teacher's."""

    generator: NDArray[np.float64]
    teacher: NDArray[np.float64]

    def between(self, alpha: float) -> NDArray[np.float64]:
        """The generator's (0), the teacher's (1), or a rule between the two."""
        return alpha * self.teacher + (1 - alpha) * self.generator


def make_model(
    schema: Schema, tables: Tables, population: Population | None, rules: Rules | None, *, alpha: float
) -> TableModel:
    """A model whose labels follow the generator (alpha = 0), the teacher (1), or a rule between the two."""
    return TableModel(
        schema=schema,
        noisy_rows=tables.classes.total,
        noisy_rows_stddev=tables.classes.total_stddev,
        population=population,
        binnings=tables.binned.features,
        target=tables.binned.target,
        rates=tables.classes.rates,
        rule=rules.between(alpha) if rules is not None and alpha > 0 else None,
    )
