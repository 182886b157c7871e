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
from sfumato.mechanisms.table.joint.generator import Generator
from sfumato.mechanisms.table.joint.pairs import all_pairs
from sfumato.mechanisms.table.plan import LONG_PARTS, PAIRS, PARTS, TablePlan
from sfumato.mechanisms.table.target.effects import Effects, column_parts, pair_cells
from sfumato.mechanisms.table.target.maps import EffectBlock, number_errors, predicted_number, squared_errors
from sfumato.mechanisms.table.target.number_rule import CorrectedNumber, NumberRule, ranks_of
from sfumato.mechanisms.table.target.residuals import ResidualSums, learn_effects
from sfumato.public.plan.doors import Doors


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
        self.view.prepare(RULE, partial(predicted_number, trees=rule.trees, ranks=ranks_of(generator)))
        number = replace(rule.uncorrected(generator, settings), is_all=self.plan.evidence.is_small)
        binnings = generator.binned.binnings
        columns = column_parts(binnings, most=self.plan.most_parts)
        is_long = np.array([self.plan.has_many_parts(binning.cells) for binning in binnings])
        total = rule.known * generator.binned.total
        close: list[tuple[int, int]] = []
        for _ in range(self.plan.gradients):
            levels = sizes.close_levels if close else sizes.pair_levels
            pairs = close or (all_pairs(len(binnings)) if self.plan.sums_pairs else [])
            cells = pair_cells(generator, pairs, levels=levels, of_categories=self.plan.category_levels)
            effects = Effects(columns, cells)
            sums = self._ask(number, effects, is_long)
            if close:
                kept: Sequence[int] = range(len(effects.pairs))
            else:
                kept = _standing_out(effects, sums, most=sizes.close_pairs, least=settings.pair_stands_out)
            close = [(effects.pairs[at].left, effects.pairs[at].right) for at in kept]
            learned = learn_effects(
                *_only(effects, sums, kept),
                rule.cells[: settings.gram_rows],
                number.deviations(rule.predicted[: settings.gram_rows]),
                settings,
                total=total,
                scale=number.farthest / number.unit,
            )
            number = replace(number, learned=(*number.learned, learned))
        return self._with_spread(number, rule, total=total) if self.plan.has("residuals") else number

    def _with_spread(self, number: CorrectedNumber, rule: NumberRule, *, total: float) -> CorrectedNumber:
        """With the size of private rows' errors, relative to those of the population; shrunk to 1 by its noise."""
        squares = partial(squared_errors, number=number, target=self.plan.schema.target or "")
        noisy = self.view.noisy_sum("residuals", squares)["residuals"]
        own = max(float(np.mean(np.clip(rule.errors / number.unit, -1.0, 1.0) ** 2)), 1e-12)
        noise = noisy.stddev / total
        variance = (float(noisy.values[0]) / total * own**2 + own * noise**2) / (own**2 + noise**2)
        least = self.plan.settings.target.least_spread
        return replace(number, spread=math.sqrt(min(max(variance / own, least**2), 1.0)))

    def _ask(self, number: CorrectedNumber, effects: Effects, is_long: Flags) -> ResidualSums:
        """One look: the errors of the rule as it is now."""
        of_pairs = np.arange(len(effects.columns), len(effects.columns) + len(effects.pairs))
        tables = {PARTS: np.flatnonzero(~is_long), LONG_PARTS: np.flatnonzero(is_long), PAIRS: of_pairs}
        blocks = tuple(EffectBlock.of(block, effects, tables[block.name]) for block in self.plan.hots("teacher"))
        target = self.plan.schema.target or ""
        errors = partial(number_errors, number=number, target=target, effects=effects, blocks=blocks)
        noisy = self.view.noisy_sum("teacher", errors)
        values, stddevs = np.full((2, effects.layout.width), np.nan)  # every table is in one of the blocks
        for one in blocks:
            sums = scaled(noisy[one.block.name], 1 / one.weight)
            values[one.entries], stddevs[one.entries] = sums.values[: len(one.entries)], sums.stddev
        along = noisy["along"]
        return ResidualSums(values, stddevs, float(along.values[0]), along.stddev)


def _standing_out(effects: Effects, sums: ResidualSums, *, most: int, least: float) -> list[int]:
    """The pairs whose sums depart from rows and columns by more than chance, the farthest first."""
    tables = effects.layout.split(sums.values)[len(effects.columns) :]
    stddevs = effects.layout.split(sums.stddevs)[len(effects.columns) :]
    far = np.array(
        [_departure(t.reshape(p.shape) / s[0]) for p, t, s in zip(effects.pairs, tables, stddevs, strict=True)]
    )
    return [int(at) for at in np.argsort(-far, kind="stable")[:most] if far[at] > least]


def _departure(table: Floats) -> float:
    """Squares beyond those of rows and columns, in standard deviations of what noise of size one has."""
    rows, columns = table.shape
    beyond = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    freedom = max((rows - 1) * (columns - 1), 1)
    return float(((beyond**2).sum() - freedom) / math.sqrt(2 * freedom))


def _only(effects: Effects, sums: ResidualSums, kept: Sequence[int]) -> tuple[Effects, ResidualSums]:
    """The columns and some of the pairs."""
    n_columns = len(effects.columns)
    tables = [*range(n_columns), *(n_columns + at for at in kept)]

    def cut(values: Floats) -> Floats:
        split = effects.layout.split(values)
        return np.concatenate([split[at] for at in tables])

    smaller = Effects(effects.columns, tuple(effects.pairs[at] for at in kept))
    return smaller, replace(sums, values=cut(sums.values), stddevs=cut(sums.stddevs))
