"""A rule for a number as target: trees that are learned from rows of the generator, and what is added to them."""

from dataclasses import dataclass, field

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.boosted_trees import BoostedTrees
from sfumato.mechanisms.common.compiled import looked_up
from sfumato.mechanisms.common.layout import side_by_side
from sfumato.mechanisms.table.joint.balanced_sampling import exchanged_errors
from sfumato.mechanisms.table.joint.generator import Generator
from sfumato.mechanisms.table.joint.pairs import all_pairs
from sfumato.mechanisms.table.settings.sampling import SamplingSettings
from sfumato.mechanisms.table.settings.target import TargetSettings
from sfumato.mechanisms.table.target.residuals import LearnedEffects


@dataclass(frozen=True)
class CorrectedNumber:
    """What the rule says of every row of the population, and what is added to it.

    Errors are cut at `unit`; `mean` is the rule's own and `farthest` its largest deviation from it.
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
        return sum((one.added(cells, deviations) for one in self.learned), np.zeros(len(predicted)))

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
class RankTrees:
    """Trees over the ranks of a row's bins in the order of their columns: so that a tree can cut categories too."""

    ranks: Floats = field(repr=False)  # by column and cell
    trees: BoostedTrees = field(repr=False)

    @staticmethod
    def of(generator: Generator, cells: Integers, values: Floats, settings: TargetSettings) -> "RankTrees":
        """Learned from rows with these cells."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        columns = zip(generator.orders, generator.binned.binnings, strict=True)
        ranks = side_by_side([np.argsort(order).astype(np.float64)[binning.bin_of] for order, binning in columns])
        model = HistGradientBoostingRegressor(max_iter=settings.number_trees, early_stopping=False, random_state=0)
        return RankTrees(ranks, BoostedTrees.of(model.fit(looked_up(ranks, cells), values)))

    def predicted(self, cells: Integers) -> Floats:
        """What they say of each row."""
        return self.trees.scores(looked_up(self.ranks, cells))[:, 0]


@dataclass(frozen=True)
class NumberRule:
    """Rows of the generator that stand for private ones, the rule that was learned from them, and what it predicts and misses.

    `known` is the part of all rows whose target is not missing.
    """

    known: float
    cells: Integers
    predicted: Floats
    errors: Floats
    learned: RankTrees

    @staticmethod
    def of(generator: Generator, settings: TargetSettings) -> "NumberRule | None":
        """None where the population's values are all alike, or missing."""
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
        # Where in a level a value lies is chance, which trees would learn: each row has the mean of its level.
        means = (np.bincount(labels, weights=values) / np.maximum(np.bincount(labels), 1))[labels]
        learned = RankTrees.of(generator, cells, np.asarray(means), settings)
        predicted = learned.predicted(cells)
        return NumberRule(float(known.mean()), cells, predicted, values - predicted, learned)

    def uncorrected(self, generator: Generator, settings: TargetSettings) -> CorrectedNumber:
        """The rule without corrections."""
        first = [np.unique(binning.bin_of, return_index=True)[1] for binning in generator.binned.binnings]
        of_all = self.learned.predicted(looked_up(side_by_side(first), generator.population.rows))
        mean = float(self.predicted.mean())
        farthest = max(float(np.abs(self.predicted - mean).max()), 1e-12 * max(1.0, abs(mean)))
        return CorrectedNumber(of_all, (), self.cut(settings.error_cut), mean, farthest)

    def strongest_pairs(self, most: int, settings: TargetSettings) -> list[tuple[int, int]]:
        """Pairs of columns, at most so many: those that the rule hangs on most, by how far it moves where a column is shuffled."""
        rng, cells = np.random.default_rng(7), self.cells[: settings.shuffled_rows]
        whole, moved = self.learned.predicted(cells), []
        for j in range(cells.shape[1]):
            other = cells.copy()
            other[:, j] = rng.permutation(other[:, j])
            moved.append(float(np.mean((self.learned.predicted(other) - whole) ** 2)))
        pairs = all_pairs(len(moved))
        order = np.argsort([-moved[i] - moved[j] for i, j in pairs], kind="stable")[:most]
        return [pairs[at] for at in np.sort(order)]

    def cut(self, quantile: float, *, spread: float = 1.0) -> float:
        """A quantile of the size of errors, if private ones are so many times as large as the population's."""
        at = float(np.quantile(np.abs(self.errors), quantile))
        return max(spread * at, 1e-9 * float(np.ptp(self.predicted)), 1e-300)

    def spread_of(self, mean_square: float, *, unit: float, largest: float) -> float:
        """How many times as large as the population's errors are those with this mean square, each cut at a unit."""
        low, high = 0.0, largest
        for _ in range(30):
            middle = (low + high) / 2
            is_less = float(np.mean(np.clip(middle * self.errors / unit, -1.0, 1.0) ** 2)) < mean_square
            low, high = (middle, high) if is_less else (low, middle)
        return high
