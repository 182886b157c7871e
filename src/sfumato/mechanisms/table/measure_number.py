"""Third stage, for a number as target: the generator's own rule for it, corrected by private rows, and judged on them.

What the rule misses is summed over the rows of every part of a column and every cell of a pair; twice, the second time
with finer cells of the few pairs that stood out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.counting import weighed, weight_of
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.common.prepared import CODES, RULE
from sfumato.mechanisms.table.dealing import dealt
from sfumato.mechanisms.table.joint.ordering import LEVELS
from sfumato.mechanisms.table.joint.pairs import all_pairs
from sfumato.mechanisms.table.measure_joint import Generator
from sfumato.mechanisms.table.plan import FINE_LEVELS, LONG_PARTS, MOST_FOUND, PAIRS, PARTS, Blueprint
from sfumato.mechanisms.table.target.effects import Effects, column_parts, pair_cells
from sfumato.mechanisms.table.target.residuals import Heard, Learned, learn_effects
from sfumato.public.plan.block import Hot
from sfumato.public.plan.doors import Doors, Measured
from sfumato.public.schema.schema import Batch

#: Rows of the population from which the rule is learned, and that stand for private ones beside its sums.
LEARNING_ROWS = 40_000
GRAM_ROWS = 20_000

#: Trees of the rule.
_TREES = 100
#: Errors are cut at this quantile of the population's, and so much beyond it.
_CUT, _BEYOND = 0.98, 1.3
#: How many standard deviations of chance a pair must stand out by.
_STANDS_OUT = 3.0
#: By so many standard deviations of its noise the judge must find the corrections worse.
_CLEARLY = 1.0
#: The least that is left of the population's errors.
_LEAST_SPREAD = 0.1


@dataclass(frozen=True)
class TaughtNumbers:
    """What the rule says of every row of the population, what is added to it, and how much smaller errors are then: noisy.

    `unit` is the largest error, `mean` the rule's own and `farthest` its largest deviation from it; `spread` is the part of the
    population's errors that private rows have. `is_all`: nothing else is known of the target, so errors are chance.
    """

    said: NDArray[np.float64] = field(repr=False)
    learned: tuple[Learned, ...] = field(repr=False)
    unit: float
    mean: float
    farthest: float
    spread: float = 1.0
    gain: Measured | None = None
    is_all: bool = False

    @property
    def is_better(self) -> bool:
        """Whether the corrections are believed: they follow private rows, so unless these speak clearly against them."""
        return self.gain is None or float(self.gain.values[0]) > -_CLEARLY * self.gain.stddev

    def deviations(self, said: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rule's distance from its mean, within [-1, 1]."""
        return np.clip((said - self.mean) / self.farthest, -1.0, 1.0)

    def corrections(self, said: NDArray[np.float64], cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """What is added to the rule for rows with these cells, in the target's units."""
        deviations = self.deviations(said)
        return self.unit * sum((one.added(cells, deviations) for one in self.learned), np.zeros(len(said)))

    def moved(
        self,
        values: NDArray[np.float64],
        chosen: NDArray[np.int64],
        cells: NDArray[np.int64],
        rng: np.random.Generator,
        *,
        alpha: float,
    ) -> NDArray[np.float64]:
        """The same values, each at a row where the corrected rule and an error of that row, or of one like it, lead to its rank.

        Args:
            values: Of rows of the population, drawn by their level. Missing ones stay where they are.
            chosen: Which rows these are.
            cells: Their cells.
            rng: Of who gets which error.
            alpha: How far the corrections are followed, from 0 (not at all) to 1.
        """
        known = np.flatnonzero(~np.isnan(values))
        before, said, at = values[known], self.said[chosen[known]], cells[known]
        kept = 1 - alpha * (1 - self.spread) if self.is_better else 1.0
        rule = said + alpha * self.corrections(said, at) if self.is_better else said
        errors = kept * (before - said)
        wanted = rule + (dealt(errors, rule, list(at.T), rng) if self.is_all else errors)
        out = values.copy()
        out[known[np.argsort(wanted, kind="stable")]] = np.sort(before)
        return out


@dataclass(frozen=True)
class NumberStage:
    """Learns, corrects and judges. Whatever it asks for, it asks a door."""

    plan: Blueprint
    view: Doors

    def run(self, generator: Generator) -> TaughtNumbers | None:
        """The corrected rule; None where the population's values are all alike, or missing."""
        standing = _Standing.of(generator)
        if standing is None:
            return None
        ranks = _ranks(generator)

        def said(batch: Batch) -> NDArray[np.float64]:
            return np.asarray(standing.trees.predict(_ranked(ranks, _cells(batch)))[:, None])

        self.view.prepare(RULE, said)
        taught = replace(standing.untaught(generator), is_all=self.plan.evidence.is_small)
        binnings = generator.binned.binnings
        columns = column_parts(binnings, most=self.plan.most_parts)
        is_long = np.array([self.plan.has_many_parts(binning.cells) for binning in binnings])
        total = standing.known * generator.binned.total
        found: list[tuple[int, int]] = []
        for _ in range(self.plan.gradients):
            levels = FINE_LEVELS if found else LEVELS
            asked = Effects(
                columns,
                pair_cells(
                    generator, found or self._pairs(generator), levels=levels, of_categories=self.plan.category_levels
                ),
            )
            heard = self._ask(taught, asked, is_long)
            kept = range(len(asked.pairs)) if found else _standing_out(asked, heard)
            found = [(asked.pairs[at].left, asked.pairs[at].right) for at in kept]
            one = learn_effects(
                *_only(asked, heard, kept),
                standing.cells[:GRAM_ROWS],
                taught.deviations(standing.said[:GRAM_ROWS]),
                total=total,
                scale=taught.farthest / taught.unit,
            )
            taught = replace(taught, learned=(*taught.learned, one))
        return self._judged(taught, standing, total=total)

    def _pairs(self, generator: Generator) -> list[tuple[int, int]]:
        return all_pairs(len(generator.binned.binnings)) if self.plan.sums_pairs else []

    def _ask(self, taught: TaughtNumbers, effects: Effects, is_long: NDArray[np.bool_]) -> Heard:
        """One look: the errors of the rule as it is now."""
        blocks = [_SomeTables.of(block, effects, is_long) for block in self.plan.hots("teacher")]

        def missed(batch: Batch) -> dict[str, NDArray[np.float64]]:
            errors, said = self._errors(taught, batch)
            codes = effects.codes(_cells(batch))
            sums = {some.block.name: some.weighed(codes, errors) for some in blocks}
            return {**sums, "along": (errors * taught.deviations(said))[:, None]}

        noisy = self.view.noisy_sum("teacher", missed)
        sums, stddevs = np.full((2, effects.layout.width), np.nan)  # every table is in one of the blocks
        for some in blocks:
            heard = scaled(noisy[some.block.name], 1 / some.weight)
            sums[some.entries], stddevs[some.entries] = heard.values[: len(some.entries)], heard.stddev
        along = noisy["along"]
        return Heard(sums, stddevs, float(along.values[0]), along.stddev)

    def _errors(self, taught: TaughtNumbers, batch: Batch) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What the rule misses of each row, cut to [-1, 1], none where the target is missing; and what it says uncorrected."""
        said = np.nan_to_num(batch[RULE]).astype(np.float64)[:, 0]
        values = batch[self.plan.schema.target or ""].astype(np.float64)
        missed = (values - said - taught.corrections(said, _cells(batch))) / taught.unit
        return np.nan_to_num(np.clip(missed, -1.0, 1.0)), said

    def _judged(self, taught: TaughtNumbers, standing: "_Standing", *, total: float) -> TaughtNumbers:
        """With a noisy number that says by how much squared errors are smaller, and one that says how large they are."""
        before = replace(taught, learned=())

        def squares(batch: Batch) -> dict[str, NDArray[np.float64]]:
            old, new = (self._errors(rule, batch)[0] ** 2 for rule in (before, taught))
            return {"judge": np.stack([old - new, new], axis=1)}

        noisy = self.view.noisy_sum("judge", squares)["judge"]
        own = max(float(np.mean(np.clip(standing.errors / taught.unit, -1.0, 1.0) ** 2)), 1e-12)
        noise = noisy.stddev / total
        found = (float(noisy.values[1]) / total * own**2 + own * noise**2) / (own**2 + noise**2)  # shrunk to its own
        spread = math.sqrt(min(max(found / own, _LEAST_SPREAD**2), 1.0))
        return replace(taught, spread=spread, gain=Measured(noisy.values[:1], noisy.stddev))


@dataclass(frozen=True)
class _SomeTables:
    """The tables of effects whose sums are one block, and where their entries lie among all."""

    block: Hot
    tables: NDArray[np.int64]
    entries: NDArray[np.int64]
    place: NDArray[np.int64] = field(repr=False)  # of every entry in the block

    @staticmethod
    def of(block: Hot, effects: Effects, is_long: NDArray[np.bool_]) -> "_SomeTables":
        """The columns with many parts, the other columns, or the pairs."""
        pairs = np.arange(len(effects.columns), len(effects.columns) + len(effects.pairs))
        tables = {PARTS: np.flatnonzero(~is_long), LONG_PARTS: np.flatnonzero(is_long), PAIRS: pairs}[block.name]
        sizes, starts = effects.layout.sizes, effects.layout.starts
        entries = np.concatenate([np.arange(starts[at], starts[at] + sizes[at]) for at in tables] or [pairs[:0]])
        place = np.full(effects.layout.width, -1)
        place[entries] = np.arange(len(entries))
        return _SomeTables(block, tables, entries, place)

    @property
    def weight(self) -> float:
        """What each of a row's entries may weigh."""
        return weight_of(self.block, len(self.tables))

    def weighed(self, codes: NDArray[np.int64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows of the block, from the entries that they have of all tables."""
        return weighed(self.block, self.place[codes[:, self.tables]], self.weight, errors)


@dataclass(frozen=True)
class _Standing:
    """Rows of the generator that stand for private ones, the trees that were learned from them, and what these say and miss.

    `known` is the part of all rows whose target is not missing.
    """

    known: float
    cells: NDArray[np.int64]
    said: NDArray[np.float64]
    errors: NDArray[np.float64]
    trees: Any

    @staticmethod
    def of(generator: Generator) -> "_Standing | None":
        from sklearn.ensemble import HistGradientBoostingRegressor

        population, target, rng = generator.population, generator.binned.target, np.random.default_rng(2)
        if target is None:
            return None
        chosen = population.draw(min(LEARNING_ROWS, len(population.rows)), rng)
        values = target.values_in(target.cells_in(population.labels[chosen], rng), rng).astype(np.float64)
        known = ~np.isnan(values)
        chosen, values = chosen[known], values[known]
        labels = population.labels[chosen]
        if len(values) == 0 or np.ptp(values) == 0:
            return None
        rows = population.rows[chosen]
        cells = np.stack([b.cells_in(rows[:, j], rng) for j, b in enumerate(generator.binned.binnings)], axis=1)
        ranked = _ranked(_ranks(generator), cells)
        trees = HistGradientBoostingRegressor(max_iter=_TREES, early_stopping=False, random_state=0).fit(
            ranked, _means(values, labels)
        )
        said = trees.predict(ranked)
        return _Standing(float(known.mean()), cells, said, values - said, trees)

    def untaught(self, generator: Generator) -> TaughtNumbers:
        """The rule without corrections."""
        order = [np.argsort(order).astype(np.float64) for order in generator.orders]
        rows = generator.population.rows
        of_all = self.trees.predict(
            np.stack([rank[column] for rank, column in zip(order, rows.T, strict=True)], axis=1)
        )
        mean = float(self.said.mean())
        farthest = max(float(np.abs(self.said - mean).max()), 1e-12 * max(1.0, abs(mean)))
        unit = max(_BEYOND * float(np.quantile(np.abs(self.errors), _CUT)), 1e-9 * farthest)
        return TaughtNumbers(of_all, (), unit, mean, farthest)


def _means(values: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """For each row the mean of its level: where in a level a value lies is chance, which trees would learn."""
    return np.asarray((np.bincount(labels, weights=values) / np.maximum(np.bincount(labels), 1))[labels])


def _cells(batch: Batch) -> NDArray[np.int64]:
    """The prepared cells of each row, the target's last."""
    return np.nan_to_num(batch[CODES]).astype(np.int64)


def _ranks(generator: Generator) -> list[NDArray[np.float64]]:
    """For each cell of a column the place of its bin in the column's order: so that a tree can cut categories too."""
    columns = zip(generator.orders, generator.binned.binnings, strict=True)
    return [np.argsort(order).astype(np.float64)[binning.bin_of] for order, binning in columns]


def _ranked(ranks: Sequence[NDArray[np.float64]], cells: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.stack([rank[cells[:, j]] for j, rank in enumerate(ranks)], axis=1)


def _standing_out(effects: Effects, heard: Heard) -> list[int]:
    """The pairs whose sums depart from rows and columns by more than chance, the farthest first."""
    tables = effects.layout.split(heard.sums)[len(effects.columns) :]
    stddevs = effects.layout.split(heard.stddevs)[len(effects.columns) :]
    far = np.array(
        [_departure(t.reshape(p.shape) / s[0]) for p, t, s in zip(effects.pairs, tables, stddevs, strict=True)]
    )
    return [int(at) for at in np.argsort(-far, kind="stable")[:MOST_FOUND] if far[at] > _STANDS_OUT]


def _departure(table: NDArray[np.float64]) -> float:
    """Squares beyond those of rows and columns, in standard deviations of what noise of size one has."""
    rows, columns = table.shape
    beyond = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    freedom = max((rows - 1) * (columns - 1), 1)
    return float(((beyond**2).sum() - freedom) / math.sqrt(2 * freedom))


def _only(effects: Effects, heard: Heard, kept: Sequence[int]) -> tuple[Effects, Heard]:
    """The columns and some of the pairs."""
    n_columns = len(effects.columns)
    tables = [*range(n_columns), *(n_columns + at for at in kept)]

    def cut(values: NDArray[np.float64]) -> NDArray[np.float64]:
        split = effects.layout.split(values)
        return np.concatenate([split[at] for at in tables])

    smaller = Effects(effects.columns, tuple(effects.pairs[at] for at in kept))
    return smaller, replace(heard, sums=cut(heard.sums), stddevs=cut(heard.stddevs))
