"""A fitted table: rows of a population, labels by its own rule or the teacher's, values drawn within bins."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.parts.bins import Binning
from sfumato.mechanisms.parts.evidence import Evidence
from sfumato.mechanisms.parts.layout import Layout
from sfumato.mechanisms.parts.population import Population
from sfumato.mechanisms.parts.teacher import draw_labels, scores_of
from sfumato.model import Synthetic, check_row_count
from sfumato.public.schema import Schema


@dataclass(frozen=True)
class TableModel:
    """A population of binned rows. `rule` draws the labels anew; without one they are the population's own."""

    schema: Schema
    total: float
    population: Population | None
    binnings: tuple[Binning, ...]
    target: Binning | None
    rates: NDArray[np.float64]
    rule: NDArray[np.float64] | None

    @property
    def default_rows(self) -> int:
        """The noisy number of private rows, or several for each where these are few."""
        return several_rows(self.total)

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Draw rows of bins, a label for each, and a value in every bin."""
        check_row_count(n_rows)
        rng = np.random.default_rng(seed)
        batch = {}
        if self.population is None:
            labels = rng.choice(len(self.rates), size=n_rows, p=self.rates)
        else:
            labels, rows = self.population.draw(n_rows, rng)
            for j, binning in enumerate(self.binnings):
                batch[binning.cells.column.name] = binning.draw(rows[:, j], rng)
            if self.rule is not None:
                codes = with_intercept_code(rows, Layout(tuple(b.size for b in self.binnings)))
                labels = draw_labels(scores_of(self.rule, codes), self.rates, rng)
        if self.target is not None:
            batch[self.target.cells.column.name] = self.target.draw(labels, rng)
        return Synthetic(table=self.schema.decode(batch))


def several_rows(total: float) -> int:
    """How many rows to release: labels are drawn by chance, and more rows average the chance out at no cost.

    >>> several_rows(500), several_rows(30_000), several_rows(1_000_000)
    (4000, 240000, 1000000)
    """
    return max(1, round(max(total, min(8 * total, 300_000))))


def with_intercept_code(rows: NDArray[np.int64], layout: Layout) -> NDArray[np.int64]:
    """Bins as places in one long vector of weights, with the place of the intercept at the end."""
    return np.concatenate([rows + layout.starts, np.full((len(rows), 1), layout.width)], axis=1)


def make_model(schema: Schema, evidence: Evidence, *, alpha: float) -> TableModel:
    """A model whose labels follow the generator (alpha = 0), the teacher (1), or a rule between the two."""
    found, rule = evidence.found, None
    if "teacher" in found and evidence.rare is None and alpha > 0:
        rule = alpha * np.asarray(found["teacher"]) + (1 - alpha) * np.asarray(found["generator"])
    population = evidence.population if evidence.shape.features else None
    binnings = evidence.binnings if population is not None else ()
    return TableModel(schema, evidence.total, population, binnings, evidence.target_binning, evidence.rates, rule)
