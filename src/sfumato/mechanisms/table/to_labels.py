"""Third stage: the generator's own rule for the classes, corrected by a teacher, and judged on private rows."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.common.prepared import RULE
from sfumato.mechanisms.table.binned import bins_and_labels
from sfumato.mechanisms.table.blueprint import Blueprint
from sfumato.mechanisms.table.compiled import codes_and_values
from sfumato.mechanisms.table.layout import Layout
from sfumato.mechanisms.table.logistic import errors, losses, probabilities
from sfumato.mechanisms.table.prior import Prior
from sfumato.mechanisms.table.rule import MOST_CLASSES, Bins, GeneratorRule, learn_rule
from sfumato.mechanisms.table.teacher import Ask, Pupils, corrected, no_corrections, pupils, rate_corrections, teach
from sfumato.mechanisms.table.to_generator import Generator
from sfumato.mechanisms.table.usual import Usual, usual_bins
from sfumato.public.doors import Doors, Measured
from sfumato.public.schema import Batch

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
        return Labels(by_bins, by_bins, None)

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
        start, taught = self.corrections(generator, rule)
        gain = self._judge(rule, start, taught) if self.plan.has("judge") else None
        additive = rule.additive_scores(population.rows)
        everyone = Pupils(
            rule.bins.codes(population.rows), rule.bins.width, additive, rule.beyond(population.rows, additive), 1.0
        )
        return Labels(_scores(start, everyone), _scores(taught, everyone), gain)

    def corrections(self, generator: Generator, rule: GeneratorRule) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The corrections to begin with, none, and those that noisy gradients lead to."""
        binned, population = generator.binned, generator.population
        n_sets = rule.additive.shape[0]

        def both(batch: Batch) -> NDArray[np.float64]:
            bins, _ = bins_and_labels(batch)
            additive = rule.additive_scores(bins)
            return np.concatenate([additive, rule.beyond(bins, additive)], axis=1)

        self.view.prepare(RULE, both)
        chosen = population.draw(HESSIAN_ROWS, np.random.default_rng(3))
        standing = pupils(rule, population.rows[chosen], total=binned.total)
        start = no_corrections(rate_corrections(generator.thinned), width=rule.bins.width)
        runs = [
            (int(at), int(at) + binning.ordered)
            for at, binning in zip(rule.bins.layout.starts, binned.binnings, strict=True)
            if binning.ordered
        ]
        usual = usual_bins(generator.margins, population)
        unseen = np.zeros(rule.bins.width, dtype=np.bool_)
        unseen[rule.bins.layout.starts + usual.bins] = True
        ask = self.asking(rule, n_sets, usual)
        prior = Prior.of_rule(rule.additive, rule.bins.layout, runs=runs)
        return start, teach(ask, standing, start, prior=prior, unseen=unseen, times=self.plan.gradients)

    def asking(self, rule: GeneratorRule, n_sets: int, usual: Usual) -> Ask:
        """How a noisy gradient is asked for."""
        width, most, most_codes = rule.bins.width, self.plan.width + 1, self.plan.k + 1
        weight = math.sqrt(most_codes / (usual.most_others + 1))
        left_out = np.append(rule.bins.layout.starts + usual.bins, -1)  # the intercept stays

        def ask(corrections: NDArray[np.float64]) -> tuple[Measured, Measured]:
            def wrong(batch: Batch) -> dict[str, NDArray[np.float64]]:
                bins, labels = bins_and_labels(batch)
                codes, said = rule.bins.codes(bins), np.nan_to_num(batch[RULE]).astype(np.float64)
                additive, beyond = said[:, :n_sets], said[:, n_sets:]
                wrong_by = errors(probabilities(corrected(corrections, codes, additive, beyond)), labels)
                if self.plan.n_sets == 1:
                    at_bins = codes_and_values(codes, left_out, weight * wrong_by[:, 0], most_codes)
                else:
                    others = np.append(usual.others(bins), np.ones((len(bins), 1), dtype=np.bool_), axis=1)
                    at = np.zeros((len(codes), most))
                    np.put_along_axis(at, codes, weight * others, axis=1)
                    pad = np.zeros((len(codes), self.plan.n_sets - n_sets))
                    at_bins = np.concatenate([wrong_by, pad, at], axis=1)
                if not self.plan.has_trees:
                    return {"bins": at_bins}
                of_trees = np.zeros((len(codes), self.plan.n_sets))
                of_trees[:, :n_sets] = wrong_by * beyond
                return {"bins": at_bins, "trees": of_trees}

            noisy = self.view.noisy_sum("teacher", wrong)
            bins = scaled(noisy["bins"], 1 / weight)
            values = bins.values.reshape(self.plan.n_sets, most)[:n_sets, :width]
            trees = noisy["trees"] if self.plan.has_trees else Measured(np.zeros(n_sets), math.inf)
            return Measured(values, bins.stddev), Measured(trees.values[:n_sets], trees.stddev)

        return ask

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
