"""Third stage: the generator's own rule for the classes, corrected by noisy gradients."""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.labels import expected_labels
from sfumato.mechanisms.common.layout import BinCodes, Layout
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.common.prepared import RULE
from sfumato.mechanisms.table.columns.code_tables import CodeScores, code_scores
from sfumato.mechanisms.table.joint.generator import Generator
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.mechanisms.table.target import correction
from sfumato.mechanisms.table.target.classifier import GeneratorRule, learn_rule
from sfumato.mechanisms.table.target.labels import ClassLabels, rare_steepness
from sfumato.mechanisms.table.target.maps import error_gradient, rule_scores
from sfumato.public.plan.doors import Doors, Measured


@dataclass(frozen=True)
class ClassStage:
    """Learns and corrects a rule. Whatever it asks for, it asks a door."""

    plan: TablePlan
    view: Doors

    def run(self, generator: Generator, *, is_rare: bool) -> ClassLabels | None:
        """What the rule says of the population, before and after corrections; None where the generator's labels are kept.

        Of a class that is rare, with too few rows for gradients, bins are all that was counted: the rule keeps to them,
        and trees would learn chance.
        """
        settings = self.plan.settings.target
        is_worth = self.plan.is_worth_correcting and not is_rare
        if not is_worth and generator.binned.n_classes > settings.tree_classes:
            return None  # the generator's own labels are as good, and sooner there
        rule = self.rule(generator, with_trees=is_worth and settings.trees)
        if rule is None:
            return None
        rule = self._with_whole(generator, rule)
        if is_worth:
            return self._corrected(generator, rule)
        start = self._start(generator, rule)
        corrected = correction.CorrectedRule(rule, start, start)
        by_bins = corrected.scores(generator.population.rows, alpha=0.0)
        if generator.rare_stddev is not None:
            rare = int(np.argmin(generator.rates))
            corrected = replace(corrected, steeper=rare_steepness(by_bins, generator.population, settings, rare=rare))
            by_bins = by_bins * corrected.steeper
        of_codes, by_bins = self._code_scores(generator, by_bins), self._keeping(generator, by_bins)
        return ClassLabels(by_bins, by_bins, of_codes, rule.whole, corrected)

    def _start(self, generator: Generator, rule: GeneratorRule) -> Floats:
        """The rule's own scores, with the classes at their rates."""
        to_rates = correction.rate_corrections(generator.rate_ratios)
        return correction.no_corrections(to_rates, self.plan.settings.target, width=rule.bins.width)

    def rule(self, generator: Generator, *, with_trees: bool) -> GeneratorRule | None:
        """Learned from rows of which as many are of each class as the population has to choose from: more of rare ones."""
        population, settings = generator.population, self.plan.settings.target
        population = replace(population, weights=population.weights / generator.rate_ratios[population.labels])
        chosen = population.draw(min(settings.learning_rows, len(population.rows)), np.random.default_rng(2))
        rows, labels, bins = (
            population.rows[chosen],
            population.labels[chosen],
            BinCodes(Layout(generator.binned.sizes)),
        )
        trust, n_classes = _trust(generator, labels, least=settings.least_trust), generator.binned.n_classes
        return learn_rule(
            rows, labels, generator.orders, bins, settings, n_classes=n_classes, with_trees=with_trees, trust=trust
        )

    def _with_whole(self, generator: Generator, rule: GeneratorRule) -> GeneratorRule:
        """The rule with what the columns add that were counted whole."""
        if generator.whole is None:
            return rule
        population, settings = generator.population, self.plan.settings
        rows = correction.stand_ins(rule, population.rows, population.weights)
        to_rates = correction.rate_corrections(generator.rate_ratios)
        scores = rows.corrected(correction.no_corrections(to_rates, settings.target, width=rule.bins.width))
        p = expected_labels(scores, generator.rates, rounds=settings.sampling.rate_rounds)
        return replace(rule, whole=generator.whole.scores(population, p, settings.joint))

    def _corrected(self, generator: Generator, rule: GeneratorRule) -> ClassLabels:
        rows, start = generator.population.rows, self._start(generator, rule)
        corrected = correction.CorrectedRule(rule, start, start)
        before = after = corrected.scores(rows, alpha=0.0)
        of_codes = self._code_scores(generator, before)
        if self.plan.has("teacher"):
            corrected = replace(corrected, after=self.corrections(generator, rule, start, of_codes))
            after = corrected.scores(rows, alpha=1.0)
        before, after = self._keeping(generator, before), self._keeping(generator, after)
        return ClassLabels(before, after, of_codes, rule.whole, corrected)

    def _keeping(self, generator: Generator, scores: Floats) -> Floats:
        """The same scores, but that rows of scarce classes stay what they were drawn as, while there are enough of them.

        A rule has been shown nothing of such a class, and takes rows for it that look like any other.
        """
        if generator.scarce is None:
            return scores
        labels = generator.population.labels
        stays = np.zeros((len(labels), len(generator.scarce)))
        stays[np.arange(len(labels)), labels] = self.plan.settings.joint.scarce_stays * generator.scarce[labels]
        return scores + stays

    def _code_scores(self, generator: Generator, scores: Floats) -> CodeScores:
        """What categories add that were counted by class, where the rule has given the population these scores."""
        binned, population, settings = generator.binned, generator.population, self.plan.settings
        if not binned.codes:
            return {}
        n_rows = min(settings.target.learning_rows, len(population.rows))
        chosen = population.draw(n_rows, np.random.default_rng(5))
        p = expected_labels(scores[chosen], generator.rates, rounds=settings.sampling.rate_rounds)
        return {
            j: table.scores(binned.binnings[j], population.rows[chosen, j], p, settings.columns)
            for j, table in binned.codes.items()
        }

    def corrections(self, generator: Generator, rule: GeneratorRule, start: Floats, of_codes: CodeScores) -> Floats:
        """Those that noisy gradients lead to, from the ones to begin with: none."""
        binned, population, settings = generator.binned, generator.population, self.plan.settings.target
        layout = rule.bins.layout
        self.view.prepare(RULE, partial(rule_scores, rule=rule, of_codes=of_codes))
        chosen = population.draw(settings.hessian_rows, rng := np.random.default_rng(3))
        columns = zip(layout.starts.tolist(), (binning.ordered for binning in binned.binnings), strict=True)
        runs = [(at, at + ordered) for at, ordered in columns if ordered]
        fullest = correction.fullest_bins(generator.margins, population, few=settings.fullest_few)
        each = binned.total / settings.hessian_rows  # private rows for which a row stands
        rows = population.rows[chosen]
        standing = correction.stand_ins(rule, rows, each * fullest.weights(rows))
        cells = {j: binned.binnings[j].cells_in(rows[:, j], rng) for j in of_codes}
        standing = replace(standing, additive=standing.additive + code_scores(of_codes, cells))
        unseen = np.zeros(layout.width, dtype=np.bool_)
        unseen[layout.starts + fullest.bins] = True
        ask = self.asking(rule, len(rule.additive), fullest)
        prior = correction.CorrectionPrior.of_rule(rule.additive, layout, settings, runs=runs)
        return correction.learn_corrections(
            ask, standing, start, settings, prior=prior, unseen=unseen, times=self.plan.gradients - generator.spent
        )

    def asking(self, rule: GeneratorRule, n_sets: int, fullest: correction.FullestBins) -> correction.Ask:
        """How a noisy gradient is asked for."""
        width, n_hot = rule.bins.layout.width, self.plan.k + 1
        longest = math.sqrt(n_hot)  # a row at all codes that it may have
        # By so much errors alone may grow, and hardly a row is clipped.
        longer = math.sqrt(max(fullest.fewest_others, 1))
        gradient = partial(
            error_gradient,
            bins=rule.bins,
            fullest=fullest,
            n_planned=self.plan.n_sets,
            n_hot=n_hot,
            width=self.plan.width + 1,
            longest=longest,
            longer=longer,
            has_trees=self.plan.has_trees,
        )

        def ask(corrections: Floats) -> tuple[Measured, Measured, Measured]:
            noisy = self.view.noisy_sum("teacher", partial(gradient, corrections=corrections))

            def of_block(block: str, length: float) -> Measured:
                one = scaled(noisy[block], 1 / length, self.plan.n_sets, -1)
                return Measured(one.values[:n_sets, :width], one.stddev)

            no_trees = Measured(np.zeros((n_sets, 1)), math.inf)
            trees = of_block("trees", longer) if self.plan.has_trees else no_trees
            return of_block("bins", longest), of_block("everywhere", longer), trees

        return ask


def _trust(generator: Generator, labels: Integers, *, least: float) -> float:
    """What a row weighs: as many real rows as would have the noise of a rare class's counts, over the rows drawn of it."""
    if generator.rare_stddev is None:
        return 1.0
    rare = int(np.argmin(generator.rates))
    counted = float(generator.rates[rare]) * generator.binned.total / generator.rare_stddev
    return float(np.clip(counted**2 / max(int((labels == rare).sum()), 1), least, 1.0))
