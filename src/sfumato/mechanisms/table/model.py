"""A fitted table: rows of a population, labels by its own rule or a corrected one, values drawn within bins."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.mechanisms.common.allowed_cells import cells_within
from sfumato.mechanisms.common.arrays import Flags, Floats, Integers, Values
from sfumato.mechanisms.common.labels import class_shift
from sfumato.mechanisms.common.logistic import of_all_classes, probabilities
from sfumato.mechanisms.table.columns.binned import BinnedTable
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.columns.calendar import with_rhythm
from sfumato.mechanisms.table.columns.code_tables import code_scores
from sfumato.mechanisms.table.columns.differences import added_up
from sfumato.mechanisms.table.columns.features import Feature
from sfumato.mechanisms.table.columns.shortened_persons import classes_regained
from sfumato.mechanisms.table.explain import table_notes
from sfumato.mechanisms.table.joint.population import Population
from sfumato.mechanisms.table.settings.sampling import SamplingSettings
from sfumato.mechanisms.table.target.labels import ClassLabels, draw_labels
from sfumato.mechanisms.table.target.number_rule import CorrectedNumber
from sfumato.model import CountedRows, Synthetic, check_row_count
from sfumato.public.budget import PrivacyUnit
from sfumato.public.expressions.domains import Domain
from sfumato.public.schema.following import followed, followings
from sfumato.public.schema.schema import Batch, Schema


@dataclass(frozen=True)
class FittedTable:
    """A population of binned rows, how its classes or numbers are drawn anew, and what follows from what."""

    binned: BinnedTable
    rates: Floats
    population: Population | None = field(repr=False)
    labels: ClassLabels | None = field(default=None, repr=False)
    numbers: CorrectedNumber | None = field(default=None, repr=False)

    @staticmethod
    def of_target(binned: BinnedTable, unit: PrivacyUnit) -> "FittedTable":
        """A table without any other column."""
        rows = np.ones(1) if binned.target is None else np.maximum(binned.target.margin, 1e-9)
        if binned.in_full is not None:
            rows = rows * classes_regained(unit, rows, stddev=binned.cell_stddev, in_full=binned.in_full)
        return FittedTable(binned, rows / rows.sum(), None)


@dataclass(frozen=True)
class TableModel(CountedRows):
    """A population of binned rows. Classes are drawn anew, and numbers moved, by a corrected rule, as far as `alpha` goes."""

    schema: Schema
    fitted: FittedTable
    alpha: float = 1.0
    settings: SamplingSettings = field(default_factory=SamplingSettings)
    rows_in_all: int = 0  # where they are drawn in pieces

    def sized(self, n_rows: int) -> "TableModel":
        """Whether rows are drawn several times depends on how many there are in all."""
        return replace(self, rows_in_all=n_rows)

    def narrowed(self, domains: Mapping[str, Domain], *, is_exact: bool) -> tuple["TableModel", float]:
        """The model of the rows that some domains allow, or nearly so, and the share of all rows that they are.

        No row is drawn several times, however many are looked through, and none by what balances all of them where a part is kept.
        """
        fitted, share = narrowed_table(self.fitted, self.scores, domains, self.settings)
        narrows_all = is_exact and domains.keys() <= _plain_columns(fitted.binned)
        settings = replace(self.settings, balances_rows=self.settings.balances_rows and narrows_all, copies=0.0)
        return replace(self, fitted=fitted, settings=settings), share

    @cached_property
    def scores(self) -> Floats | None:
        """By which classes are drawn anew, from the rule's (alpha near 0) to the corrected ones (1); 0: the population's own.

        The rule averages out what is chance in the generator's own labels.
        """
        labels = self.fitted.labels
        if self.alpha == 0 or labels is None:
            return None
        return (1 - self.alpha) * labels.generator + self.alpha * labels.corrected

    @property
    def noisy_rows(self) -> float:
        """The noisy number of private rows."""
        return self.fitted.binned.total

    @property
    def noisy_rows_stddev(self) -> float:
        """The noise in it."""
        return self.fitted.binned.total_stddev

    @property
    def notes(self) -> tuple[str, ...]:
        """What was pooled, joined or left out."""
        return table_notes(self.fitted.binned)

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Draw rows of bins, a label for each, and a value in every bin."""
        check_row_count(n_rows)
        (rng, of_labels), fitted = np.random.default_rng(seed).spawn(2), self.fitted
        values: dict[str, Values] = {}
        chosen, cells = np.zeros(0, dtype=np.int64), list[Integers]()
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
                    drawn.astype(np.float64),
                    chosen,
                    np.stack(cells, axis=1),
                    of_labels,
                    self.settings,
                    alpha=self.alpha,
                )
            values |= Feature(target.cells).decode(at, drawn)
        differing = {f.cells.column.name for f in fitted.binned.features if f.reference is not None}
        hours: dict[str, Floats] = {}
        for column in self.schema.columns:
            rhythms = {
                f.rhythm: values.pop(f.cells.column.name).astype(np.float64)
                for f in fitted.binned.features
                if f.date == column.name
            }
            if rhythms and column.name not in differing:
                values[column.name] = with_rhythm(values[column.name].astype(np.float64), rhythms, column, rng)
            elif "hour" in rhythms:  # a difference brings the other date's rhythm with it, but for how whole it is
                hours[column.name] = rhythms["hour"]
        values = added_up(values, fitted.binned, self.schema.columns, hours=hours)
        values = followed(values, self.schema.columns, fitted.binned.rules, target=self.schema.target)
        columns = {c.name: c.decode(values.pop(c.name)) for c in self.schema.columns}
        return Synthetic(table=pd.DataFrame(columns, copy=False))

    def _drawn(
        self, population: Population, n_rows: int, rng: np.random.Generator, of_labels: np.random.Generator
    ) -> tuple[Integers, list[Integers], Integers]:
        """Which rows of the population, the cells of each column and the labels.

        Where more rows are asked for than there were private ones, a row is drawn several times with the same cells, about
        once for the rarest class: its labels then come near to its chance, and a learner sees less of what is only chance in them.
        """
        binnings, rates = self.fitted.binned.binnings, self.fitted.rates
        are_few = max(n_rows, self.rows_in_all) <= self.noisy_rows
        copies = 1 if self.scores is None or are_few else copies_for(rates, n_rows, self.settings)
        chosen = population.draw_balanced(-(-n_rows // copies), rng, self.settings)
        cells, alike = list[Integers](), np.empty((len(chosen), len(binnings)), dtype=np.int32)
        for j, binning in enumerate(binnings):
            bins = np.ascontiguousarray(population.rows[:, j])[chosen]
            cells.append(binning.cells_in(bins, rng))
            alike[:, j] = cells[-1] if binning.cells.column.is_coded else bins
        if self.scores is None or self.fitted.labels is None:
            return chosen, cells, population.labels[chosen]
        alike = _together(self.fitted.labels, alike, population.rows[chosen])
        scores, row = self.scores[chosen] + code_scores(self.fitted.labels.codes, cells), np.arange(n_rows)
        if copies == 1:
            return chosen, cells, draw_labels(scores, rates, of_labels, alike=alike, same=row, settings=self.settings)
        row //= copies
        labels = draw_labels(scores[row], rates, of_labels, alike=alike[row], same=row, settings=self.settings)
        mixed = of_labels.permutation(n_rows)
        return chosen[row[mixed]], [at[row[mixed]] for at in cells], labels[mixed]


def labels_of_rows(model: TableModel, batch: Batch, rng: np.random.Generator) -> Values | None:
    """Classes by the rule for rows that were changed since they were drawn; None where they keep those that they have.

    A table whose target says what other columns are, or follows from them, keeps what it was drawn with.
    """
    fitted, alpha = model.fitted, model.alpha
    labels, target, name = fitted.labels, fitted.binned.target, model.schema.target
    follows = any(name in (one.column.name, *(c.name for c in one.reasons)) for one in followings(model.schema.columns))
    if alpha == 0 or labels is None or labels.rule is None or target is None or follows:
        return None
    binnings = fitted.binned.binnings
    cells = [feature.code(batch).astype(np.int64) for feature in fitted.binned.features]
    bins = np.stack([binning.bin_of[at] for binning, at in zip(binnings, cells, strict=True)], axis=1)
    alike = [
        at if b.cells.column.is_coded else bins[:, j] for j, (b, at) in enumerate(zip(binnings, cells, strict=True))
    ]
    scores = labels.rule.scores(bins, alpha=alpha) + code_scores(labels.codes, cells)
    together = _together(labels, np.stack(alike, axis=1).astype(np.int32), bins)
    same = np.arange(len(bins))
    drawn = draw_labels(scores, fitted.rates, rng, alike=together, same=same, settings=model.settings)
    return target.values_in(target.cells_in(drawn, rng), rng)


def _together(labels: ClassLabels, alike: NDArray[np.int32], bins: Integers) -> NDArray[np.int32]:
    """Of columns that were counted whole, rows of one combination share the chance, not those of a column."""
    if labels.whole is None:
        return alike
    combinations = labels.whole.combinations(bins)
    return np.column_stack([np.delete(alike, labels.whole.columns, axis=1), combinations]).astype(np.int32)


def copies_for(rates: Floats, n_rows: int, settings: SamplingSettings) -> int:
    """How often a row is drawn: about once for the rarest class, as long as enough rows differ.

    >>> [copies_for(np.array([1 - rate, rate]), 300_000, SamplingSettings()) for rate in (0.5, 0.07, 0.01)]
    [1, 10, 3]
    """
    rarest = float(rates[rates > 0].min())
    enough = min(n_rows / settings.different_rows, n_rows * rarest / settings.rows_of_rarest)
    return max(int(min(settings.copies / rarest, enough)), 1)


def narrowed_table(
    fitted: FittedTable, scores: Floats | None, domains: Mapping[str, Domain], settings: SamplingSettings
) -> tuple[FittedTable, float]:
    """The table with weights and cells for what the domains allow, and the share of the rows that these were.

    Columns that are put together later (groups, rhythms, differences) are not narrowed: rows are looked at anyway.
    """
    population, binned = fitted.population, fitted.binned
    if population is None:
        return fitted, 1.0
    weights, binnings, plain = population.weights.copy(), list(binned.binnings), _plain_columns(binned)
    for j, feature in enumerate(binned.features):
        name = feature.cells.column.name
        if name in domains and name in plain:
            allowed = cells_within(feature.cells, domains[name], decimals=binnings[j].points.decimals)
            binnings[j], part = _within(binnings[j], allowed)
            weights *= part[population.rows[:, j]]
    target, rates = binned.target, fitted.rates
    of_class = np.ones(len(rates))
    if target is not None and target.cells.column.is_coded and target.cells.column.name in domains:
        target, of_class = _within(target, cells_within(target.cells, domains[target.cells.column.name]))
    if target is not None and target.cells.column.is_coded:
        chances = np.eye(len(rates))[population.labels] if scores is None else _chances(fitted, scores, settings)
        joint = weights[:, None] * chances * of_class
        share, rates = float(joint.sum()), joint.sum(axis=0)
        weights = joint.sum(axis=1)
    else:
        share = float(weights.sum())
    share /= float(population.weights.sum())
    if share <= 0:
        return fitted, 0.0
    part_of = replace(population, weights=weights)
    rules = {name: known.without_rows() for name, known in binned.rules.items()}
    return replace(
        fitted,
        binned=replace(binned, binnings=tuple(binnings), target=target, rules=rules),
        rates=rates / rates.sum(),
        population=part_of,
    ), share


def _plain_columns(binned: BinnedTable) -> frozenset[str]:
    """Columns that are drawn as they are released, and not put together afterwards; the target among them if it is coded."""
    composed = {feature.date for feature in binned.features}
    plain = {f.cells.column.name for f in binned.features if f.group is None and f.date is None and f.reference is None}
    target = binned.target.cells.column if binned.target is not None else None
    return frozenset(plain - composed) | (
        frozenset((target.name,)) if target is not None and target.is_coded else frozenset()
    )


def _within(binning: Binning, allowed: Flags) -> tuple[Binning, Floats]:
    """A binning of which only some cells are drawn, and the part of each bin that they are."""
    mass = np.where(binning.margin[binning.bin_of] <= 0, 1.0, binning.mass)
    inside, whole = (np.bincount(binning.bin_of, weights=m, minlength=binning.size) for m in (mass * allowed, mass))
    return replace(binning, mass=mass * allowed), np.asarray(inside / np.maximum(whole, 1e-300))


def _chances(fitted: FittedTable, scores: Floats, settings: SamplingSettings) -> Floats:
    """The chance of every class for each row of the population, at the rates that the classes have in all rows."""
    population, labels = fitted.population, fitted.labels
    if population is None or labels is None:
        raise ValueError("scores without rows that they are of")
    rng = np.random.default_rng(0)
    cells = [
        binning.cells_in(np.ascontiguousarray(population.rows[:, j]), rng)
        for j, binning in enumerate(fitted.binned.binnings)
    ]
    every = np.asarray(scores + code_scores(labels.codes, cells))
    every = every if every.shape[1] > 1 else np.concatenate([np.zeros_like(every), every], axis=1)
    drawn = population.draw(settings.rate_rows, rng)
    return of_all_classes(probabilities(every + class_shift(every[drawn], fitted.rates)))
