"""Third stage: the generator's own rule for the classes, corrected by a teacher, and judged on private rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.compiled import codes_and_values
from sfumato.mechanisms.common.layout import Layout
from sfumato.mechanisms.common.logistic import errors, losses, probabilities
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.common.prepared import CODES, RULE
from sfumato.mechanisms.table.columns.binned import bins_and_labels, whole_numbers
from sfumato.mechanisms.table.columns.code_tables import Lifts, added_lifts
from sfumato.mechanisms.table.measure_joint import Generator
from sfumato.mechanisms.table.plan import Blueprint
from sfumato.mechanisms.table.target.classifier import MOST_CLASSES, Bins, GeneratorRule, learn_rule
from sfumato.mechanisms.table.target.correction import (
    Ask,
    Pupils,
    corrected,
    no_corrections,
    pupils,
    rate_corrections,
    teach,
)
from sfumato.mechanisms.table.target.labels import expected_labels
from sfumato.mechanisms.table.target.prior import Prior
from sfumato.mechanisms.table.target.rare_class import rare_scores
from sfumato.mechanisms.table.target.usual import Usual, usual_bins
from sfumato.public.plan.doors import Doors, Measured
from sfumato.public.schema.schema import Batch

#: Rows of the population from which the rule is learned, and that stand for private ones in the teacher's Hessian.
LEARNING_ROWS = 40_000
HESSIAN_ROWS = 10_000

#: What a row of the generator weighs at least, where tables are noise.
_LEAST_TRUST = 1e-4

#: A row's log-loss is cut here for two classes; more classes may lose more.
_MOST_LOSS = 3.0

#: By so many standard deviations of its noise the judge must find the taught rule worse. Where the noise is larger than any gain
#: it tosses a coin, and corrections are better than none on every table of the zoo that was looked at.
_CLEARLY = 1.0


@dataclass(frozen=True)
class Labels:
    """What two rules say of every row of the population, and how much smaller the loss of the second was: noisy."""

    generator: NDArray[np.float64]
    taught: NDArray[np.float64]
    gain: Measured | None
    lifts: Lifts = field(default_factory=dict)  # by the places of columns; both rules have them besides

    def of_codes(self, cells: Sequence[NDArray[np.int64]]) -> NDArray[np.float64] | float:
        """What the categories of rows add to their scores, from the cells of every column."""
        return added_lifts(self.lifts, cells)

    @property
    def is_better(self) -> bool:
        """Whether the second rule is believed: it follows private rows, so unless these speak clearly against it."""
        return self.gain is None or float(self.gain.values[0]) > -_CLEARLY * self.gain.stddev


@dataclass(frozen=True)
class LabelStage:
    """Learns, corrects and judges. Whatever it asks for, it asks a door."""

    plan: Blueprint
    view: Doors

    def run(self, generator: Generator, *, is_taught: bool) -> Labels | None:
        """Both rules; None where the generator's own labels are to be kept.

        Args:
            generator: What all tables say together.
            is_taught: Whether gradients are asked for. Where there are too few rows for them, bins are all that was counted
                of a class: the rule keeps to them, and trees would find chance.
        """
        if not is_taught and generator.binned.n_classes > MOST_CLASSES:
            return None  # the generator's own labels are as good, and sooner there
        rule = self.rule(generator, with_trees=is_taught)
        if rule is None:
            return None
        if is_taught:
            return self._taught(generator, rule)
        by_bins = rule.additive_scores(generator.population.rows) + rate_corrections(generator.thinned)
        if generator.rare_stddev is not None:
            rare = int(np.argmin(generator.rates))
            by_bins = rare_scores(by_bins, generator.population, rare=rare)
        return Labels(by_bins, by_bins, None, self._lifts(generator, by_bins))

    def rule(self, generator: Generator, *, with_trees: bool) -> GeneratorRule | None:
        """Learned from rows of which as many are of each class as the population has to choose from: more of rare ones."""
        population = generator.population
        population = replace(population, weights=population.weights / generator.thinned[population.labels])
        chosen = population.draw(min(LEARNING_ROWS, len(population.rows)), np.random.default_rng(2))
        bins = Bins(Layout(generator.binned.sizes))
        return learn_rule(
            population.rows[chosen],
            population.labels[chosen],
            generator.orders,
            bins,
            n_classes=generator.binned.n_classes,
            with_trees=with_trees,
            trust=_trust(generator, population.labels[chosen]),
        )

    def _taught(self, generator: Generator, rule: GeneratorRule) -> Labels:
        population = generator.population
        everyone = pupils(rule, population.rows, np.ones(len(population.rows)))
        start = no_corrections(rate_corrections(generator.thinned), width=rule.bins.width)
        lifts = self._lifts(generator, _scores(start, everyone))
        taught = self.corrections(generator, rule, start, lifts)
        gain = self._judge(rule, start, taught) if self.plan.has("judge") else None
        return Labels(_scores(start, everyone), _scores(taught, everyone), gain, lifts)

    def _lifts(self, generator: Generator, scores: NDArray[np.float64]) -> Lifts:
        """What categories add that were counted by class, where the rule has given the population these scores."""
        binned, population = generator.binned, generator.population
        if not binned.codes:
            return {}
        chosen = population.draw(min(LEARNING_ROWS, len(population.rows)), np.random.default_rng(5))
        p = expected_labels(scores[chosen], generator.rates)
        return {j: table.lifts(binned.binnings[j], population.rows[chosen, j], p) for j, table in binned.codes.items()}

    def corrections(
        self, generator: Generator, rule: GeneratorRule, start: NDArray[np.float64], lifts: Lifts
    ) -> NDArray[np.float64]:
        """Those that noisy gradients lead to, from the ones to begin with: none."""
        binned, population = generator.binned, generator.population
        n_sets = rule.additive.shape[0]

        def both(batch: Batch) -> NDArray[np.float64]:
            bins, _ = bins_and_labels(batch)
            additive = rule.additive_scores(bins)
            of_codes = added_lifts(lifts, whole_numbers(batch[CODES]).T) if lifts else 0.0
            return np.concatenate([additive + of_codes, rule.beyond(bins, additive)], axis=1)

        self.view.prepare(RULE, both)
        chosen = population.draw(HESSIAN_ROWS, rng := np.random.default_rng(3))
        runs = [
            (int(at), int(at) + binning.ordered)
            for at, binning in zip(rule.bins.layout.starts, binned.binnings, strict=True)
            if binning.ordered
        ]
        usual = usual_bins(generator.margins, population)
        each = binned.total / HESSIAN_ROWS  # private rows for which a row stands
        standing = pupils(rule, population.rows[chosen], each * usual.weights(population.rows[chosen]))
        cells = {j: binned.binnings[j].cells_in(population.rows[chosen, j], rng) for j in lifts}
        standing = replace(standing, additive=standing.additive + added_lifts(lifts, cells))
        unseen = np.zeros(rule.bins.layout.width, dtype=np.bool_)
        unseen[rule.bins.layout.starts + usual.bins] = True
        ask = self.asking(rule, n_sets, usual)
        prior = Prior.of_rule(rule.additive, rule.bins.layout, runs=runs)
        return teach(ask, standing, start, prior=prior, unseen=unseen, times=self.plan.gradients)

    def asking(self, rule: GeneratorRule, n_sets: int, usual: Usual) -> Ask:
        """How a noisy gradient is asked for."""
        width, most, most_codes = rule.bins.layout.width, self.plan.width + 1, self.plan.k + 1
        longest = math.sqrt(most_codes)  # a row at all codes that it may have
        longer = math.sqrt(max(usual.fewest_others, 1))  # by so much errors alone may grow, and hardly a row is clipped
        left_out = np.append(rule.bins.layout.starts + usual.bins, width)  # and the intercept, which is asked for apart

        def ask(corrections: NDArray[np.float64]) -> tuple[Measured, Measured, Measured]:
            def wrong(batch: Batch) -> dict[str, NDArray[np.float64]]:
                bins, labels = bins_and_labels(batch)
                codes, said = rule.bins.codes(bins), np.nan_to_num(batch[RULE]).astype(np.float64)
                additive, beyond = said[:, :n_sets], said[:, n_sets:]
                wrong_by = errors(probabilities(corrected(corrections, codes, additive, beyond)), labels)
                weights = usual.weights(bins)[:, None]
                if self.plan.n_sets == 1:
                    at_bins = codes_and_values(codes, left_out, (longest * weights * wrong_by)[:, 0], most_codes)
                else:
                    at = np.zeros((len(codes), most))
                    np.put_along_axis(at, codes[:, :-1], longest * weights * usual.others(bins), axis=1)
                    at_bins = np.concatenate([self._padded(wrong_by), at], axis=1)
                everywhere = longer * weights * wrong_by
                of_trees = {"trees": self._padded(everywhere * beyond)} if self.plan.has_trees else {}
                return {"bins": at_bins, "everywhere": self._padded(everywhere), **of_trees}

            noisy = self.view.noisy_sum("teacher", wrong)

            def found(block: str, length: float) -> Measured:
                one = scaled(noisy[block], 1 / length, self.plan.n_sets, -1)
                return Measured(one.values[:n_sets, :width], one.stddev)

            no_trees = Measured(np.zeros((n_sets, 1)), math.inf)
            trees = found("trees", longer) if self.plan.has_trees else no_trees
            return found("bins", longest), found("everywhere", longer), trees

        return ask

    def _padded(self, of_sets: NDArray[np.float64]) -> NDArray[np.float64]:
        """Zeros for classes that were planned for and not found."""
        return np.pad(of_sets, ((0, 0), (0, self.plan.n_sets - of_sets.shape[1])))

    def _judge(self, rule: GeneratorRule, start: NDArray[np.float64], taught: NDArray[np.float64]) -> Measured:
        """How much smaller the teacher's log-loss is than the generator's, in a mean over rows: noisy."""
        n_sets = len(start)
        most = _MOST_LOSS + math.log(max(n_sets, 2) / 2)

        def gains(batch: Batch) -> dict[str, NDArray[np.float64]]:
            bins, labels = bins_and_labels(batch)
            codes, said = rule.bins.codes(bins), np.nan_to_num(batch[RULE]).astype(np.float64)
            before, after = (
                losses(probabilities(corrected(c, codes, said[:, :n_sets], said[:, n_sets:])), labels, most=most)
                for c in (start, taught)
            )
            return {"judge": ((before - after) / most)[:, None]}

        return scaled(self.view.noisy_sum("judge", gains)["judge"], most)


def _trust(generator: Generator, labels: NDArray[np.int64]) -> float:
    """What a row weighs: as many real rows as would have the noise of a rare class's counts, over the rows drawn of it."""
    if generator.rare_stddev is None:
        return 1.0
    rare = int(np.argmin(generator.rates))
    counted = float(generator.rates[rare]) * generator.binned.total / generator.rare_stddev
    return float(np.clip(counted**2 / max(int((labels == rare).sum()), 1), _LEAST_TRUST, 1.0))


def _scores(corrections: NDArray[np.float64], of: Pupils) -> NDArray[np.float64]:
    return corrected(corrections, of.codes, of.additive, of.beyond)
