"""A rule for a number as target: trees that are learned from rows of the generator, and what is added to them."""

from dataclasses import dataclass, field

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.boosted_trees import BoostedTrees
from sfumato.mechanisms.common.compiled import looked_up
from sfumato.mechanisms.common.layout import side_by_side
from sfumato.mechanisms.table.joint.balanced_sampling import exchanged_errors
from sfumato.mechanisms.table.joint.generator import Generator
from sfumato.mechanisms.table.settings.sampling import SamplingSettings
from sfumato.mechanisms.table.settings.target import TargetSettings
from sfumato.mechanisms.table.target.residuals import LearnedEffects


@dataclass(frozen=True)
class CorrectedNumber:
    """What the rule says of every row of the population, and what is added to it.

    `unit` is the largest error, `mean` the rule's own and `farthest` its largest deviation from it.
    `spread` is the part of the population's errors that private rows have.
    `is_all`: nothing else is known of the target, so errors are chance.
    """

    predicted: Floats = field(repr=False)
    learned: tuple[LearnedEffects, ...] = field(repr=False)
    unit: float
    mean: float
    farthest: float
    spread: float = 1.0
    is_all: bool = False

    def deviations(self, predicted: Floats) -> Floats:
        """The rule's distance from its mean, within [-1, 1]."""
        return np.clip((predicted - self.mean) / self.farthest, -1.0, 1.0)

    def corrections(self, predicted: Floats, cells: Integers) -> Floats:
        """What is added to the rule for rows with these cells, in the target's units."""
        deviations = self.deviations(predicted)
        return self.unit * sum((one.added(cells, deviations) for one in self.learned), np.zeros(len(predicted)))

    def moved(
        self,
        values: Floats,
        chosen: Integers,
        cells: Integers,
        rng: np.random.Generator,
        settings: SamplingSettings,
        *,
        alpha: float,
    ) -> Floats:
        """The same values, each at a row where the corrected rule and an error of that row, or of one like it, lead to its rank.

        Values are of the chosen rows of the population, drawn by their level; missing ones stay where they are.
        Corrections are followed as far as `alpha` says, from 0 (not at all) to 1.
        """
        known = np.flatnonzero(~np.isnan(values))
        before, predicted, at = values[known], self.predicted[chosen[known]], cells[known]
        rule = predicted + alpha * self.corrections(predicted, at)
        errors = (1 - alpha * (1 - self.spread)) * (before - predicted)
        wanted = rule + (exchanged_errors(errors, rule, list(at.T), rng, settings) if self.is_all else errors)
        out = values.copy()
        out[known[np.argsort(wanted, kind="stable")]] = np.sort(before)
        return out


@dataclass(frozen=True)
class NumberRule:
    """Rows of the generator that stand for private ones, the trees that were learned from them, and what these predict and miss.

    `known` is the part of all rows whose target is not missing.
    """

    known: float
    cells: Integers
    predicted: Floats
    errors: Floats
    trees: BoostedTrees

    @staticmethod
    def of(generator: Generator, settings: TargetSettings) -> "NumberRule | None":
        """None where the population's values are all alike, or missing."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        population, target, rng = generator.population, generator.binned.target, np.random.default_rng(2)
        if target is None:
            return None
        chosen = population.draw(min(settings.learning_rows, len(population.rows)), rng)
        values = target.values_in(target.cells_in(population.labels[chosen], rng), rng).astype(np.float64)
        known = ~np.isnan(values)
        chosen, values = chosen[known], values[known]
        labels = population.labels[chosen]
        if len(values) == 0 or np.ptp(values) == 0:
            return None
        rows = population.rows[chosen]
        cells = np.stack([b.cells_in(rows[:, j], rng) for j, b in enumerate(generator.binned.binnings)], axis=1)
        by_rank = looked_up(ranks_of(generator), cells)
        # Where in a level a value lies is chance, which trees would learn: each row has the mean of its level.
        means = (np.bincount(labels, weights=values) / np.maximum(np.bincount(labels), 1))[labels]
        model = HistGradientBoostingRegressor(max_iter=settings.number_trees, early_stopping=False, random_state=0)
        trees = BoostedTrees.of(model.fit(by_rank, np.asarray(means)))
        predicted = trees.scores(by_rank)[:, 0]
        return NumberRule(float(known.mean()), cells, predicted, values - predicted, trees)

    def uncorrected(self, generator: Generator, settings: TargetSettings) -> CorrectedNumber:
        """The rule without corrections."""
        ranks = side_by_side([np.argsort(order).astype(np.float64) for order in generator.orders])
        of_all = self.trees.scores(looked_up(ranks, generator.population.rows))[:, 0]
        mean = float(self.predicted.mean())
        farthest = max(float(np.abs(self.predicted - mean).max()), 1e-12 * max(1.0, abs(mean)))
        cut = settings.error_beyond * float(np.quantile(np.abs(self.errors), settings.error_cut))
        return CorrectedNumber(of_all, (), max(cut, 1e-9 * farthest), mean, farthest)


def ranks_of(generator: Generator) -> Floats:
    """For each cell of a column the place of its bin in the column's order: so that a tree can cut categories too."""
    columns = zip(generator.orders, generator.binned.binnings, strict=True)
    return side_by_side([np.argsort(order).astype(np.float64)[binning.bin_of] for order, binning in columns])
