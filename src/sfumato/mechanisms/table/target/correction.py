"""Corrections: the generator's rule, corrected by a few noisy gradients over all private rows.

The rule has unknown corrections: one weight for every bin, and how far to believe the trees. How the gradient responds to
them is known roughly without asking, from the generator's rows (the Hessian), so each noisy gradient is a noisy linear
equation, and the answer is the posterior mean given all of them (a Wiener filter) about the generator's own rule. Where the
noise says nothing, the rule stays as it is. Where columns depend on each other more than the generator knows, errors respond
several times as fast as the Hessian predicts: so each answer is followed only within a radius that shrinks from one to the next.

Before any gradient a correction is a sum of parts: one of every bin; one of every column as a whole, along the rule's own weights;
and one of all columns together. A generator that misses how columns depend on each other counts the same thing several
times, and what mends that are the last two: few numbers, which noisy gradients determine well.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers
from sfumato.mechanisms.common.compiled import products_at
from sfumato.mechanisms.common.layout import Layout, added
from sfumato.mechanisms.common.logistic import error_slopes, probabilities
from sfumato.mechanisms.table.joint.population import Population
from sfumato.mechanisms.table.settings.target import TargetSettings
from sfumato.mechanisms.table.target.classifier import GeneratorRule
from sfumato.public.plan.measured import Measured

#: Asks for the noisy gradient at given corrections: of the bins' weights, of the intercepts, and of the belief in the trees.
Ask = Callable[[Floats], tuple[Measured, Measured, Measured]]


@dataclass(frozen=True)
class StandIns:
    """Rows of the generator that stand for the private ones: their codes, what the rule says of them, what their errors weigh."""

    codes: Integers
    width: int
    additive: Floats
    beyond: Floats
    weights: Floats

    def corrected(self, corrections: Floats) -> Floats:
        """Their scores."""
        return corrected(corrections, added(corrections[:, :-1], self.codes), self.additive, self.beyond)

    def hessians(self, corrections: Floats, *, together: float) -> list[Floats]:
        """How fast the sum of errors grows with the corrections, of each class as if it were alone."""
        slopes = error_slopes(probabilities(self.corrected(corrections)))
        slopes = slopes * self.weights[:, None] * (together if slopes.shape[1] > 1 else 1.0)
        both = zip(*(np.ascontiguousarray(columns.T) for columns in (self.beyond, slopes)), strict=True)
        return [np.asarray(products_at(self.codes, beyond, slope, self.width)) for beyond, slope in both]

    def within(self, radius: float, move: Floats) -> Floats:
        """The move of each class, shortened until its scores move by no more than a radius, in the root of their mean square."""
        moved = replace(self, additive=np.zeros_like(self.additive)).corrected(move)
        length = np.sqrt(np.maximum((moved**2).mean(axis=0), 1e-300))
        return np.asarray(move * np.minimum(1.0, radius / length)[:, None])


@dataclass(frozen=True)
class CorrectedRule:
    """A rule for the classes with corrections to begin with and those that were learned: what both say of any rows."""

    rule: GeneratorRule
    before: Floats
    after: Floats
    steeper: float = 1.0

    def scores(self, rows: Integers, *, alpha: float) -> Floats:
        """Between the rule's own scores (alpha 0) and the corrected ones (1)."""
        everyone = stand_ins(self.rule, rows, np.ones(len(rows)))
        return self.steeper * everyone.corrected((1 - alpha) * self.before + alpha * self.after)


def stand_ins(rule: GeneratorRule, rows: Integers, weights: Floats) -> StandIns:
    """Rows with all that is needed of them."""
    return StandIns(rule.bins.codes(rows), rule.bins.width, *rule.scores(rows), weights)


def corrected(corrections: Floats, of_bins: Floats, additive: Floats, beyond: Floats) -> Floats:
    """Scores: the additive part, its corrections at the bins of each row, and what is believed of the trees (the last entry)."""
    return np.asarray(additive + of_bins + beyond * corrections[:, -1])


def rate_corrections(rate_ratios: Floats) -> Floats:
    """What to add to the scores of a rule that was learned where each class had its rate over its ratio."""
    of_class = np.log(np.maximum(rate_ratios, 1e-12))
    return of_class if len(of_class) > 2 else np.asarray([of_class[1] - of_class[0]])


def no_corrections(to_rates: Floats, settings: TargetSettings, *, width: int) -> Floats:
    """The generator's own rule, with the classes at their rates."""
    start = np.zeros((len(to_rates), width + 1))
    start[:, -2], start[:, -1] = to_rates, settings.tree_believed * settings.tree_farthest
    return start


@dataclass(frozen=True)
class FullestBins:
    """The fullest bin of each column, and in how many columns nearly all rows differ from it at least.

    What is in a fullest bin follows from the other bins and all rows together, so it is not asked for. Errors at the bins of a
    row weigh the less, the more other bins it has, so that each row is as long as the noise allows. A rule that is
    right has no error on average in any row, whatever these weigh.
    """

    bins: Integers
    fewest_others: int

    def others(self, rows: Integers) -> Flags:
        """Where rows of bins differ from it."""
        return np.asarray(rows != self.bins)

    def weights(self, rows: Integers) -> Floats:
        """What makes each row's length 1, with a one at every other bin that it has."""
        return weights_of(self.others(rows).sum(axis=1))


def weights_of(n_others: Integers) -> Floats:
    """The same, of rows with so many other bins."""
    return np.asarray(1 / np.sqrt(np.maximum(n_others, 1)))


def fullest_bins(margins: Sequence[Floats], population: Population, *, few: float) -> FullestBins:
    """From the probability of each bin, and from the population's rows, of which few may differ in fewer columns."""
    bins = np.array([int(np.argmax(margin)) for margin in margins], dtype=np.int64)
    n_others = (population.rows != bins).sum(axis=1)
    upto = np.cumsum(np.bincount(n_others, weights=population.weights, minlength=len(bins) + 1))
    return FullestBins(bins, int(np.searchsorted(upto, few * upto[-1])))


@dataclass(frozen=True)
class CorrectionPrior:
    """What is assumed of corrections before any gradient: independent Gaussians of mean zero.

    `alike` is the precision of the bins' parts, of size one; the last is how far to believe the trees. `column_of` is the
    column of each, whose parts are of one size; the intercept is a column of its own. `curves` are, by class and column, the
    rule's weights of the column's bins; after all columns, their sum.
    """

    alike: Floats
    column_of: Integers
    curves: Floats
    settings: TargetSettings

    @staticmethod
    def of_rule(
        additive: Floats, layout: Layout, settings: TargetSettings, *, runs: Sequence[tuple[int, int]]
    ) -> "CorrectionPrior":
        """About a rule's weights, by class: of all bins, and of the intercept. Bins of a number run from a start to a stop."""
        n_columns, width = len(layout.sizes), additive.shape[1]
        column_of = np.repeat(np.arange(n_columns), layout.sizes)
        curves = np.zeros((len(additive), n_columns + 1, width + 1))
        for j, part in enumerate(layout.split(additive)):
            curves[:, j, : layout.width][:, column_of == j] = part - part.mean(axis=1, keepdims=True)
        curves[:, -1] = curves[:, :-1].sum(axis=1)
        if not settings.corrects_columns:
            curves = curves[:, -1:]
        if not settings.corrects_all:
            curves = curves[:, :-1]
        alike = _alike_along(runs, width=width + 1, precision_between=settings.prior_neighbours)
        return CorrectionPrior(alike, np.append(column_of, [n_columns, n_columns]), curves, settings)

    def first_sizes(self) -> Floats:
        """Of the bins' parts of every column, and of the columns' parts, before any gradient."""
        of_columns = np.full(int(self.column_of.max()) + 1, self.settings.prior_bin)
        return np.append(of_columns, self.settings.prior_column)

    def corrections(self, c: int, amounts: Floats) -> Floats:
        """The sum of all parts of a class, each by its amount: those of bins, then those of columns."""
        n_bins = len(self.alike)
        return np.asarray(amounts[:n_bins] + amounts[n_bins:] @ self.curves[c])

    def precision(self, sizes: Floats) -> Floats:
        """Of the amounts of all parts, given their sizes."""
        size = sizes[self.column_of]
        of_bins = self.alike / np.outer(size, size)
        of_bins[-1, -1] = (self.settings.tree_believed * self.settings.tree_farthest) ** -2
        return np.asarray(linalg.block_diag(of_bins, np.eye(self.curves.shape[1]) / sizes[-1] ** 2))

    def learned(self, sizes: Floats, amounts: Floats, covariance: Floats) -> Floats:
        """The sizes that go best with the amounts, by how many of these are settled (MacKay, "Bayesian interpolation", 1992).

        A category of many values may be all that the rule is wrong about: the bins of each column have a size of their own,
        about the one that all columns show.
        """
        n_bins, known = len(self.alike), self.settings.prior_settled
        bins, columns = slice(0, n_bins - 1), slice(n_bins, None)
        alike, column_of, size = self.alike[bins, bins], self.column_of[bins], sizes[self.column_of[bins]]
        unsettled = (alike * covariance[bins, bins]).sum(axis=1) / size**2
        settled = np.bincount(column_of, weights=1 - unsettled)
        energy = np.bincount(column_of, weights=amounts[bins] * (alike @ amounts[bins]))
        new = sizes.copy()
        if settled.sum() > known:
            pooled = self.settings.prior_pooled
            common = np.clip(energy.sum() / settled.sum(), *np.square(self.settings.prior_sizes))
            own = (energy + pooled * common) / (np.maximum(settled, 0.0) + pooled)
            new[:-1] = np.sqrt(own if self.settings.sizes_by_column else common)
        settled_columns = self.curves.shape[1] - float(np.trace(covariance[columns, columns])) / sizes[-1] ** 2
        if settled_columns > known:
            new[-1] = np.sqrt(float(amounts[columns] @ amounts[columns]) / settled_columns)
        return np.clip(new, *self.settings.prior_sizes)


def _alike_along(runs: Sequence[tuple[int, int]], *, width: int, precision_between: float) -> Floats:
    """The precision of amounts of size one, of which neighbours along a number are alike."""
    precision = np.eye(width)
    for start, stop in runs:
        steps = np.arange(start, stop - 1)
        for left, right, sign in ((0, 0, 1), (1, 1, 1), (0, 1, -1), (1, 0, -1)):
            np.add.at(precision, (steps + left, steps + right), sign * precision_between)
    return precision


def learn_corrections(
    ask: Ask,
    generator: StandIns,
    start: Floats,
    settings: TargetSettings,
    *,
    prior: CorrectionPrior,
    unseen: Flags,
    times: int,
) -> Floats:
    """Corrections from noisy gradients over private rows, for which rows of the generator stand.

    `unseen` are the bins' weights for which no gradient is given: it follows from the others.
    """
    now, sizes = start, np.tile(prior.first_sizes(), (len(start), 1))
    measured: list[tuple[Floats, Floats, Floats]] = []
    for t in range(1, times + 1):
        bins, everywhere, trees = ask(now)
        gradient = np.column_stack([bins.values, everywhere.values, trees.values])
        stddev = np.append(np.where(unseen, np.inf, bins.stddev), [everywhere.stddev, trees.stddev])
        measured.append((gradient, now, stddev))
        best, sizes = _posterior(measured, generator, now, start, settings, prior, sizes)
        now = now + generator.within(settings.radius / t, best - now)
    return now


def _posterior(
    measured: Sequence[tuple[Floats, Floats, Floats]],
    generator: StandIns,
    here: Floats,
    start: Floats,
    settings: TargetSettings,
    prior: CorrectionPrior,
    sizes: Floats,
) -> tuple[Floats, Floats]:
    """The corrections at which all gradients would be zero, as nearly as their noise allows; and their learned sizes.

    The Hessian is not that of the private rows, so a gradient that was taken far from here counts for less: what it would be
    here is known up to a part of the most that any Hessian with this diagonal could make of the way (Cauchy and Schwarz).
    A gradient is measured with the corrections at which it was taken and the standard deviation of each entry.
    """
    means, learned = [], sizes.copy()
    for c, hessian in enumerate(generator.hessians(here, together=settings.together)):
        trust, pull = np.zeros(len(hessian)), np.zeros(len(hessian))
        for gradient, at, stddev in measured:
            way = at[c] - here[c]
            doubt = settings.hessian_doubt**2 * np.diag(hessian) * float(way @ hessian @ way)
            of_one = 1 / (stddev**2 + doubt)
            trust += of_one
            pull += of_one * (hessian @ at[c] - gradient[c])
        curves = prior.curves[c].T
        # What the gradients say of the bins' parts says it of the columns': these are sums of them.
        root = hessian * np.sqrt(trust)
        root = np.concatenate([root, curves.T @ root])
        precision = prior.precision(sizes[c])
        precision += root @ root.T  # symmetric to the last bit, for which libraries are twice as fast
        covariance = linalg.inv(precision)
        of_bins = hessian @ (pull - trust * (hessian @ start[c]))
        amounts = covariance @ np.concatenate([of_bins, curves.T @ of_bins])
        means.append(start[c] + prior.corrections(c, amounts))
        learned[c] = prior.learned(sizes[c], amounts, covariance)
    return np.stack(means), learned
