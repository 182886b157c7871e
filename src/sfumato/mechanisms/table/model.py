"""A fitted table: rows of a population, labels by its own rule or the teacher's, values drawn within bins."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.mechanisms.table.columns.binned import Binned
from sfumato.mechanisms.table.columns.calendar import with_rhythm
from sfumato.mechanisms.table.columns.differences import added_up
from sfumato.mechanisms.table.columns.features import Feature
from sfumato.mechanisms.table.joint.population import Population
from sfumato.mechanisms.table.measure_classes import Labels
from sfumato.mechanisms.table.measure_number import TaughtNumbers
from sfumato.mechanisms.table.notes import table_notes
from sfumato.mechanisms.table.person_norms import classes_regained
from sfumato.mechanisms.table.target.labels import draw_labels
from sfumato.model import Synthetic, check_row_count, rows_counted
from sfumato.public.budget import PrivacyUnit
from sfumato.public.schema.following import followed
from sfumato.public.schema.schema import Schema

#: At least so many rows differ before any is drawn twice, and so many of the rarest class.
_DIFFERENT_ROWS, _OF_RAREST = 20_000, 1_000
#: So many copies for each row that it takes to meet the rarest class once: more would cost pairs of columns more than labels gain.
_COPIES = 0.75


@dataclass(frozen=True)
class FittedTable:
    """What was measured, as a generator: all of it noisy numbers and what follows from them."""

    binned: Binned
    rates: NDArray[np.float64]
    population: Population | None = field(repr=False)
    labels: Labels | None = field(default=None, repr=False)
    numbers: TaughtNumbers | None = field(default=None, repr=False)

    @staticmethod
    def of_target(binned: Binned, unit: PrivacyUnit) -> "FittedTable":
        """A table without any other column."""
        held = np.ones(1) if binned.target is None else np.maximum(binned.target.margin, 1e-9)
        if binned.in_full is not None:
            held = held * classes_regained(unit, held, stddev=binned.cell_stddev, in_full=binned.in_full)
        return FittedTable(binned, held / held.sum(), None)

    def scores(self, alpha: float) -> NDArray[np.float64] | None:
        """Scores by which classes are drawn anew: the generator's (alpha 0: none), the teacher's (1), or between.

        The rule averages out what is chance in the generator's own labels.
        """
        labels = self.labels
        if alpha == 0 or labels is None:
            return None
        before = labels.generator
        return (1 - alpha) * before + alpha * labels.taught if labels.is_better else before


@dataclass(frozen=True)
class TableModel:
    """A population of binned rows. Classes are drawn anew, and numbers moved, by what a teacher says, as far as `alpha` goes."""

    schema: Schema
    fitted: FittedTable
    alpha: float = 1.0

    @cached_property
    def scores(self) -> NDArray[np.float64] | None:
        """By which classes are drawn; without them they are the population's own."""
        return self.fitted.scores(self.alpha)

    @property
    def noisy_rows(self) -> float:
        """The noisy number of private rows."""
        return self.fitted.binned.total

    @property
    def noisy_rows_stddev(self) -> float:
        """The noise in it."""
        return self.fitted.binned.total_stddev

    @property
    def default_rows(self) -> int:
        """As many as there seem to be."""
        return rows_counted(self.noisy_rows, stddev=self.noisy_rows_stddev)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was pooled, found or left out."""
        return table_notes(self.fitted.binned, self.fitted.labels or self.fitted.numbers)

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Draw rows of bins, a label for each, and a value in every bin."""
        check_row_count(n_rows)
        (rng, of_labels), fitted = np.random.default_rng(seed).spawn(2), self.fitted
        values: dict[str, NDArray[np.generic]] = {}
        chosen, cells = np.zeros(0, dtype=np.int64), list[NDArray[np.int64]]()
        if fitted.population is None:
            labels = rng.choice(len(fitted.rates), size=n_rows, p=fitted.rates)
        else:
            chosen, cells, labels = self._drawn(fitted.population, n_rows, rng, of_labels)
            for feature, binning, at in zip(fitted.binned.features, fitted.binned.binnings, cells, strict=True):
                values |= feature.decode(at, binning.values_in(at, rng))
        if fitted.binned.target is not None:
            target = fitted.binned.target
            at = target.cells_in(labels, rng)
            drawn = target.values_in(at, rng)
            if fitted.numbers is not None and self.alpha > 0:
                drawn = fitted.numbers.moved(
                    drawn.astype(np.float64), chosen, np.stack(cells, axis=1), of_labels, alpha=self.alpha
                )
            values |= Feature(target.cells).decode(at, drawn)
        apart = {f.cells.column.name for f in fitted.binned.features if f.reference is not None}
        hours: dict[str, NDArray[np.float64]] = {}
        for column in self.schema.columns:
            rhythms = {
                f.rhythm: values.pop(f.cells.column.name).astype(np.float64)
                for f in fitted.binned.features
                if f.date == column.name
            }
            if rhythms and column.name not in apart:
                values[column.name] = with_rhythm(values[column.name].astype(np.float64), rhythms, column, rng)
            elif "hour" in rhythms:  # a difference brings the other date's rhythm with it, but for how whole it is
                hours[column.name] = rhythms["hour"]
        values = added_up(values, fitted.binned, self.schema.columns, hours=hours)
        values = followed(values, self.schema.columns)
        columns = {c.name: c.decode(values.pop(c.name)) for c in self.schema.columns}
        return Synthetic(table=pd.DataFrame(columns, copy=False))

    def _drawn(
        self, population: Population, n_rows: int, rng: np.random.Generator, of_labels: np.random.Generator
    ) -> tuple[NDArray[np.int64], list[NDArray[np.int64]], NDArray[np.int64]]:
        """Which rows of the population, the cells of each column and the labels.

        Where more rows are asked for than there were private ones, a row is drawn several times with the same cells, about
        once for the rarest class: its labels then come near to its chance, and a learner sees less of what is only chance in them.
        """
        binnings, rates = self.fitted.binned.binnings, self.fitted.rates
        copies = 1 if self.scores is None or n_rows <= self.noisy_rows else copies_for(rates, n_rows)
        row = np.arange(n_rows) // copies
        chosen = population.draw_evenly(-(-n_rows // copies), rng)
        cells, alike = list[NDArray[np.int64]](), np.empty((len(chosen), len(binnings)), dtype=np.int32)
        for j, binning in enumerate(binnings):
            bins = np.ascontiguousarray(population.rows[:, j])[chosen]
            cells.append(binning.cells_in(bins, rng))
            alike[:, j] = cells[-1] if binning.cells.column.is_coded else bins
        if self.scores is None or self.fitted.labels is None:
            return chosen, cells, population.labels[chosen]
        scores = self.scores[chosen] + self.fitted.labels.of_codes(cells)
        labels = draw_labels(scores[row], rates, of_labels, alike=alike[row], same=row)
        mixed = np.arange(n_rows) if copies == 1 else of_labels.permutation(n_rows)
        return chosen[row[mixed]], [at[row[mixed]] for at in cells], labels[mixed]


def copies_for(rates: NDArray[np.float64], n_rows: int) -> int:
    """How often a row is drawn: about once for the rarest class, as long as enough rows differ.

    >>> [copies_for(np.array([1 - rate, rate]), 300_000) for rate in (0.5, 0.25, 0.07, 0.01, 0.002)]
    [1, 3, 10, 3, 1]
    """
    rarest = float(rates[rates > 0].min())
    return max(int(min(_COPIES / rarest, n_rows / _DIFFERENT_ROWS, n_rows * rarest / _OF_RAREST)), 1)
