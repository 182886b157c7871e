"""A teacher: the generator's rule, corrected by a few noisy gradients over all private rows.

The rule has unknown corrections: one weight for every bin, and how far to believe the trees. How the gradient answers to
them is known roughly without asking, from the generator's rows (the Hessian), so each noisy gradient is a noisy linear
equation, and the answer is the posterior mean given all of them (a Wiener filter) about the generator's own rule. Where the
noise says nothing, the rule stays as it is. Where columns hang together more than the generator knows, errors answer
several times as fast as the Hessian says: so each answer is followed only within a radius that shrinks from one to the next.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sfumato.mechanisms.common.compiled import products_at
from sfumato.mechanisms.common.logistic import error_slopes, probabilities
from sfumato.mechanisms.table.target.classifier import BELIEVED, FARTHEST, GeneratorRule, added
from sfumato.mechanisms.table.target.prior import Prior
from sfumato.public.plan.doors import Measured

#: How wrong the Hessian may be, relative to itself.
_HESSIAN_DOUBT = 0.1

#: Scores of several classes move together, and the errors answer up to twice as fast as to one score alone.
_TOGETHER = 2.0
#: The root mean square by which scores may move after the first gradient; after the t-th, one t-th of it.
_RADIUS = 2.0

#: Asks for the noisy gradient at given corrections: of the bins' weights, of the intercepts, and of the belief in the trees.
Ask = Callable[[NDArray[np.float64]], tuple[Measured, Measured, Measured]]


@dataclass(frozen=True)
class Pupils:
    """Rows of the generator that stand for the private ones: their codes, what the rule says of them, what their errors weigh."""

    codes: NDArray[np.int64]
    width: int
    additive: NDArray[np.float64]
    beyond: NDArray[np.float64]
    weights: NDArray[np.float64]

    def hessians(self, corrections: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """How fast the sum of errors grows with the corrections, of each class as if it were alone."""
        slopes = error_slopes(probabilities(corrected(corrections, self.codes, self.additive, self.beyond)))
        slopes = slopes * self.weights[:, None] * (_TOGETHER if slopes.shape[1] > 1 else 1.0)
        return [self._hessian(slope, self.beyond[:, c]) for c, slope in enumerate(slopes.T)]

    def within(self, radius: float, move: NDArray[np.float64]) -> NDArray[np.float64]:
        """The move of each class, shortened until its scores move by no more than a radius, in the root of their mean square."""
        moved = corrected(move, self.codes, np.zeros_like(self.additive), self.beyond)
        return np.asarray(
            move * np.minimum(1.0, radius / np.sqrt(np.maximum((moved**2).mean(axis=0), 1e-300)))[:, None]
        )

    def _hessian(self, slope: NDArray[np.float64], beyond: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(
            products_at(self.codes, np.ascontiguousarray(beyond), np.ascontiguousarray(slope), self.width)
        )


def pupils(rule: GeneratorRule, rows: NDArray[np.int64], weights: NDArray[np.float64]) -> Pupils:
    """Rows with all that is needed of them."""
    additive = rule.additive_scores(rows)
    return Pupils(rule.bins.codes(rows), rule.bins.width, additive, rule.beyond(rows, additive), weights)


def corrected(
    corrections: NDArray[np.float64],
    codes: NDArray[np.int64],
    additive: NDArray[np.float64],
    beyond: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Scores: the additive part, its corrections, and what is believed of the trees (the last entry)."""
    return np.asarray(additive + added(corrections[:, :-1], codes) + beyond * corrections[:, -1])


def rate_corrections(thinned: NDArray[np.float64]) -> NDArray[np.float64]:
    """What to add to the scores of a rule that was learned where each class had its rate over `thinned`."""
    of_class = np.log(np.maximum(thinned, 1e-12))
    return of_class if len(of_class) > 2 else np.asarray([of_class[1] - of_class[0]])


def no_corrections(to_rates: NDArray[np.float64], *, width: int) -> NDArray[np.float64]:
    """The generator's own rule, with the classes at their rates."""
    start = np.zeros((len(to_rates), width + 1))
    start[:, -2], start[:, -1] = to_rates, BELIEVED * FARTHEST
    return start


@dataclass(frozen=True)
class _Heard:
    """A gradient, the corrections at which it was taken, and the standard deviation of each entry."""

    gradient: NDArray[np.float64]
    at: NDArray[np.float64]
    stddev: NDArray[np.float64]


def teach(
    ask: Ask,
    generator: Pupils,
    start: NDArray[np.float64],
    *,
    prior: Prior,
    unseen: NDArray[np.bool_],
    times: int,
) -> NDArray[np.float64]:
    """Corrections from noisy gradients.

    Args:
        ask: Gives a noisy gradient over private rows.
        generator: Rows that stand for them.
        start: The corrections to begin with: none.
        prior: What is thought of corrections before any gradient.
        unseen: The bins' weights for which no gradient is given: it follows from the others.
        times: How many gradients to ask for.
    """
    now, sizes = start, prior.first_sizes
    heard: list[_Heard] = []
    for t in range(1, times + 1):
        bins, everywhere, trees = ask(now)
        gradient = np.column_stack([bins.values, everywhere.values, trees.values])
        stddev = np.append(np.where(unseen, np.inf, bins.stddev), [everywhere.stddev, trees.stddev])
        heard.append(_Heard(gradient, now, stddev))
        best, sizes = _posterior(heard, generator, now, start, prior, sizes)
        now = now + generator.within(_RADIUS / t, best - now)
    return now


def _posterior(
    heard: Sequence[_Heard],
    generator: Pupils,
    here: NDArray[np.float64],
    start: NDArray[np.float64],
    prior: Prior,
    sizes: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The corrections at which all gradients would be zero, as nearly as their noise allows; and their learned sizes.

    The Hessian is not that of the private rows, so a gradient that was taken far from here counts for less: what it would be
    here is known up to a part of the most that any Hessian with this diagonal could make of the way (Cauchy and Schwarz).
    """
    means, learned = [], sizes.copy()
    for c, hessian in enumerate(generator.hessians(here)):
        trust, pull = np.zeros(len(hessian)), np.zeros(len(hessian))
        for one in heard:
            way = one.at[c] - here[c]
            doubt = _HESSIAN_DOUBT**2 * np.diag(hessian) * float(way @ hessian @ way)
            of_one = 1 / (one.stddev**2 + doubt)
            trust += of_one
            pull += of_one * (hessian @ one.at[c] - one.gradient[c])
        curves = prior.curves[c].T
        # What the gradients say of the bins' parts says it of the columns': these are sums of them.
        told = hessian * np.sqrt(trust)
        told = np.concatenate([told, curves.T @ told])
        precision = prior.precision(sizes[c])
        precision += told @ told.T  # symmetric to the last bit, for which libraries are twice as fast
        covariance = linalg.inv(precision)
        of_bins = hessian @ (pull - trust * (hessian @ start[c]))
        amounts = covariance @ np.concatenate([of_bins, curves.T @ of_bins])
        means.append(start[c] + prior.corrections(c, amounts))
        learned[c] = prior.learned(sizes[c], amounts, covariance)
    return np.stack(means), learned
