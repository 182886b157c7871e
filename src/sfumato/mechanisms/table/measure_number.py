"""Third stage, for a number as target: the generator's own rule for it, corrected by private rows.

What the rule misses is summed over the rows of every part of a column and every cell of a pair; twice, the second time
with finer cells of the few pairs that stood out. Then the size of what is left is asked for: the mean squared residual.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.common.prepared import RULE
from sfumato.mechanisms.table.columns.shortened_persons import Number, regained
from sfumato.mechanisms.table.joint.generator import Generator
from sfumato.mechanisms.table.number_plan import LONG_PARTS, PAIRS, PARTS
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.mechanisms.table.settings.target import TargetSettings
from sfumato.mechanisms.table.target.effects import Effects, column_parts, pair_cells
from sfumato.mechanisms.table.target.maps import EffectBlock, number_errors, predicted_number, squared_errors
from sfumato.mechanisms.table.target.number_rule import CorrectedNumber, NumberRule
from sfumato.mechanisms.table.target.residuals import ErrorRows, ResidualSums, learn_effects
from sfumato.public.plan.doors import Doors, Measured


@dataclass(frozen=True)
class NumberStage:
    """Learns and corrects a rule. Whatever it asks for, it asks a door."""

    plan: TablePlan
    view: Doors

    def run(self, generator: Generator) -> CorrectedNumber | None:
        """The corrected rule; None where the population's values are all alike, or missing."""
        settings, sizes = self.plan.settings.target, self.plan.sizes
        rule = NumberRule.of(generator, settings)
        if rule is None:
            return None
        self.view.prepare(RULE, partial(predicted_number, rule=rule.learned))
        number = replace(rule.uncorrected(generator, settings), is_all=self.plan.evidence.is_small)
        binnings = generator.binned.binnings
        columns = column_parts(binnings, most=self.plan.number.most_parts)
        is_long = np.array([self.plan.number.has_many_parts(binning.cells) for binning in binnings])
        total, some = rule.known * generator.binned.total, slice(settings.gram_rows)
        deviations = number.deviations(rule.predicted[some])
        close: list[tuple[int, int]] = []
        first = rule.strongest_pairs(self.plan.number.n_pairs, settings)
        for _ in range(self.plan.gradients):
            levels = sizes.close_levels if close else sizes.pair_levels
            pairs = close or first
            cells = pair_cells(
                generator,
                pairs,
                levels=levels,
                of_categories=self.plan.category_levels,
                cells=sizes.close_levels**2 if close else 0,
            )
            effects = Effects(columns, cells)
            sums = self._ask(number, effects, is_long, total=total)
            spread = rule.spread_of(sums.squares / total, unit=number.unit, largest=settings.most_spread)
            rows = ErrorRows(rule.cells[some], deviations, spread * rule.errors[some] / number.unit, total)
            scale = number.farthest / number.unit
            kept: Sequence[int] = range(len(effects.pairs))
            if pairs and not close:
                alone = learn_effects(*_only(effects, sums, []), rows, settings, scale=scale)
                kept = _standing_out(effects, sums, rows.shifted(alone), settings, most=sizes.close_pairs)
            close = [(effects.pairs[at].left, effects.pairs[at].right) for at in kept]
            learned = learn_effects(*_only(effects, sums, kept), rows, settings, scale=scale)
            number = replace(
                number,
                learned=(*number.learned, learned.times(number.unit)),
                unit=rule.cut(settings.error_cut, spread=spread),
            )
        return self._with_spread(number, rule, total=total) if self.plan.has("residuals") else number

    def _with_spread(self, number: CorrectedNumber, rule: NumberRule, *, total: float) -> CorrectedNumber:
        """With the size of private rows' errors, relative to those of the population; shrunk to 1 by its noise."""
        settings = self.plan.settings.target
        number = replace(number, unit=rule.cut(settings.size_cut))
        target, counted = self.plan.schema.target or "", self._counted
        squares = partial(squared_errors, number=number, target=target, counted=counted)
        noisy = self.view.noisy_sum("residuals", squares)["residuals"]
        noisy = scaled(noisy, self._regained(noisy, total=total))
        own = max(float(np.mean(np.clip(rule.errors / number.unit, -1.0, 1.0) ** 2)), 1e-12)
        noise = noisy.stddev / total
        square = (float(noisy.values[0]) / total * own**2 + own * noise**2) / (own**2 + noise**2)
        spread = rule.spread_of(square, unit=number.unit, largest=1.0)
        return replace(number, spread=max(spread, settings.least_spread))

    def _ask(self, number: CorrectedNumber, effects: Effects, is_long: Flags, *, total: float) -> ResidualSums:
        """One look: the errors of the rule as it is now. Where persons are shortened, so are the rows that are counted with it."""
        of_pairs = np.arange(len(effects.columns), len(effects.columns) + len(effects.pairs))
        tables = {PARTS: np.flatnonzero(~is_long), LONG_PARTS: np.flatnonzero(is_long), PAIRS: of_pairs}
        counted, hots = self._counted, self.plan.number.hots()
        blocks = tuple(
            EffectBlock.of(block, effects, tables[block.name], counted=0.0 if block.name == PAIRS else counted)
            for block in hots
        )
        errors = partial(
            number_errors,
            number=number,
            target=self.plan.schema.target or "",
            effects=effects,
            blocks=blocks,
            counted=counted,
        )
        noisy = self.view.noisy_sum("teacher", errors)
        values, stddevs = np.full((2, effects.layout.width), np.nan)  # every table is in one of the blocks
        gain = 1.0
        for one in blocks:  # pairs come last, and have lost about as much as the parts before them
            sums = noisy[one.block.name]
            if one.counted:
                gain = self._regained(sums, total=total)
            sums = scaled(sums, gain / one.weight)
            values[one.entries], stddevs[one.entries] = sums.values[: len(one.entries)], sums.stddev
        along = noisy["along"]
        along = scaled(along, self._regained(along, total=total))
        return ResidualSums(values, stddevs, float(along.values[0]), along.stddev, float(along.values[1]))

    @property
    def _counted(self) -> float:
        """What a row counts where persons may be shortened: in each block by itself, so each counts its rows."""
        return self.plan.sizes.counted_row if self.plan.number.counts_rows else 0.0

    def _regained(self, noisy: Measured, *, total: float) -> float:
        """By what the sums of a block are to be multiplied, whose last entry is its count."""
        if not self._counted:
            return 1.0
        rows = scaled(noisy, 1 / self._counted)
        counted = Number(float(rows.values[-1]), rows.stddev)
        return regained(self.plan.schema.unit, rows=Number(total, rows.stddev), counted=counted)


def _standing_out(
    effects: Effects, sums: ResidualSums, rows: ErrorRows, settings: TargetSettings, *, most: int
) -> list[int]:
    """The pairs whose sums depart by more than chance from those of rows that are right but for pairs; the farthest first."""
    expected, by_chance = rows.sums(effects)
    of_tables = effects.layout.split((sums.values - expected) ** 2 / (sums.stddevs**2 + by_chance))
    far = np.array([_departure(squares) for squares in of_tables[len(effects.columns) :]])
    return [int(at) for at in np.argsort(-far, kind="stable")[:most] if far[at] > settings.pair_stands_out]


def _departure(squares: Floats) -> float:
    """Squares of size one, if they are noise: their sum as a standard normal (Wilson and Hilferty, 1931)."""
    spread = 2 / (9 * len(squares))
    return (math.cbrt(float(squares.mean())) - 1 + spread) / math.sqrt(spread)


def _only(effects: Effects, sums: ResidualSums, kept: Sequence[int]) -> tuple[Effects, ResidualSums]:
    """The columns and some of the pairs."""
    n_columns = len(effects.columns)
    tables = [*range(n_columns), *(n_columns + at for at in kept)]

    def cut(values: Floats) -> Floats:
        split = effects.layout.split(values)
        return np.concatenate([split[at] for at in tables])

    smaller = Effects(effects.columns, tuple(effects.pairs[at] for at in kept))
    return smaller, replace(sums, values=cut(sums.values), stddevs=cut(sums.stddevs))
