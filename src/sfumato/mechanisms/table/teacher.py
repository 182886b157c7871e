"""A teacher: the generator's rule, corrected by a few noisy gradients over all private rows.

The rule has unknown corrections: one weight for every bin, and how far to believe the trees. How the gradient answers to
them is known without asking, from the generator's rows (the Hessian), so each noisy gradient is a noisy linear equation, and
the answer is the posterior mean given all of them (a Wiener filter) about the generator's own rule. Where the noise says
nothing, the rule stays as it is.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from sfumato.mechanisms.table.logistic import error_slopes, probabilities
from sfumato.mechanisms.table.rule import BELIEVED, FARTHEST, GeneratorRule, added
from sfumato.public.doors import Measured

#: Corrections of neighbouring bins of a number differ by less than the corrections themselves: so many times the precision.
_ALIKE = 10.0
_FIRST_SCALE = 0.3
_SCALES = (0.02, 2.0)
_SETTLED = 2.0

#: How wrong the Hessian may be, relative to itself.
_HESSIAN_DOUBT = 0.3

#: Scores of several classes move together, and the errors answer up to twice as fast as to one score alone. Nor is the
#: Hessian known far away: no correction moves further than this after a single gradient.
_TOGETHER = 2.0
_FARTHEST_MOVE = 1.0

#: Asks for the noisy gradient at given corrections: of the bins' weights, and of the belief in the trees.
Ask = Callable[[NDArray[np.float64]], tuple[Measured, Measured]]


@dataclass(frozen=True)
class Pupils:
    """Rows of the generator that stand for the private ones: their codes and what the rule says of them."""

    codes: NDArray[np.int64]
    design: Any
    additive: NDArray[np.float64]
    beyond: NDArray[np.float64]
    total: float

    def hessians(self, corrections: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """How fast the sum of errors grows with the corrections, of each class as if it were alone."""
        slopes = error_slopes(probabilities(corrected(corrections, self.codes, self.additive, self.beyond)))
        slopes = slopes * (self.total / len(self.codes)) * (_TOGETHER if slopes.shape[1] > 1 else 1.0)
        return [self._hessian(slope, self.beyond[:, c]) for c, slope in enumerate(slopes.T)]

    def _hessian(self, slope: NDArray[np.float64], beyond: NDArray[np.float64]) -> NDArray[np.float64]:
        full = sparse.hstack([self.design, sparse.csr_matrix(beyond[:, None])]).tocsr()
        dense: NDArray[np.float64] = (full.T @ full.multiply(slope[:, None]).tocsr()).toarray()
        return dense


def pupils(rule: GeneratorRule, rows: NDArray[np.int64], *, total: float) -> Pupils:
    """Rows with all that is needed of them."""
    additive = rule.additive_scores(rows)
    return Pupils(rule.bins.codes(rows), rule.bins.one_hot(rows), additive, rule.beyond(rows, additive), total)


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
    runs: Sequence[tuple[int, int]],
    unseen: NDArray[np.bool_],
    times: int,
) -> NDArray[np.float64]:
    """Corrections from noisy gradients.

    Args:
        ask: Gives a noisy gradient over private rows.
        generator: Rows that stand for them.
        start: The corrections to begin with: none.
        runs: Where the bins of each number start and stop.
        unseen: The bins' weights for which no gradient is given: it follows from the others.
        times: How many gradients to ask for.
    """
    alike = _precision(start.shape[1], runs=runs)
    now, scales, stiffer = start, np.full(len(start), _FIRST_SCALE), np.zeros(len(start))
    heard: list[_Heard] = []
    for _ in range(times):
        bins, trees = ask(now)
        gradient = np.concatenate([bins.values.reshape(len(start), -1), trees.values[:, None]], axis=1)
        stddev = np.append(np.where(unseen, np.inf, bins.stddev), trees.stddev)
        heard.append(_Heard(gradient, now, stddev))
        if len(heard) > 1:
            stiffer = np.maximum(stiffer, _stiffness(heard[-2], heard[-1], generator))
        now, scales = _posterior(heard, generator, now, start, alike, scales, stiffer)
    return _posterior(heard, generator, now, start, alike, scales, stiffer)[0]


def _stiffness(before: _Heard, after: _Heard, generator: Pupils) -> NDArray[np.float64]:
    """How much of its diagonal each class's Hessian lacks, by how far the gradient changed along the last step.

    Where columns hang together more than the generator knows, errors answer faster to weights that move together: several
    times as fast in a table of forty columns, and whole steps would swing further and further. A step may follow nothing but
    the noise of the gradient before it, which is gone from the next: as much as that explains is not counted.
    """
    told = np.isfinite(before.stddev)
    noise = math.sqrt(told.sum()) * np.hypot(before.stddev, after.stddev)[told]
    lacks = []
    for c, hessian in enumerate(generator.hessians(before.at)):
        step = after.at[c] - before.at[c]
        own = float(step[told] ** 2 @ np.diag(hessian)[told])
        changed = float(step[told] @ (after.gradient[c] - before.gradient[c])[told])
        by_noise = float(np.linalg.norm(step[told] * noise))
        lacks.append((changed - by_noise - float(step[told] @ (hessian @ step)[told])) / max(own, 1e-300))
    return np.maximum(lacks, 0.0)


def _precision(width: int, *, runs: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Of corrections of size one, of which neighbours along a number are alike."""
    precision = np.eye(width)
    for start, stop in runs:
        steps = np.arange(start, stop - 1)
        for left, right, sign in ((0, 0, 1), (1, 1, 1), (0, 1, -1), (1, 0, -1)):
            np.add.at(precision, (steps + left, steps + right), sign * _ALIKE)
    return precision


def _posterior(
    heard: Sequence[_Heard],
    generator: Pupils,
    here: NDArray[np.float64],
    start: NDArray[np.float64],
    alike: NDArray[np.float64],
    scales: NDArray[np.float64],
    stiffer: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The corrections at which all gradients would be zero, as nearly as their noise allows; and their learned sizes.

    The Hessian is not that of the private rows, so a gradient that was taken far from here counts for less. The size of
    the corrections is learned on the way, from how many of them the gradients settle (MacKay, "Bayesian interpolation", 1992).
    """
    means, learned = [], scales.copy()
    for c, soft in enumerate(generator.hessians(here)):
        hessian = soft + stiffer[c] * np.diag(np.diag(soft))
        trust, pull = np.zeros(len(hessian)), np.zeros(len(hessian))
        for one in heard:
            away = hessian @ (one.at[c] - here[c])
            of_one = 1 / (one.stddev**2 + (_HESSIAN_DOUBT * away) ** 2)
            trust += of_one
            pull += of_one * (hessian @ one.at[c] - one.gradient[c])
        precision = alike / scales[c] ** 2
        precision[-1, -1] = (BELIEVED * FARTHEST) ** -2
        covariance = linalg.inv(precision + (hessian * trust) @ hessian)
        change = covariance @ (hessian @ (pull - trust * (hessian @ start[c])))
        means.append(here[c] + np.clip(start[c] + change - here[c], -_FARTHEST_MOVE, _FARTHEST_MOVE))
        size = float(change[:-1] @ alike[:-1, :-1] @ change[:-1])
        settled = len(change) - 1 - float((alike * covariance)[:-1, :-1].sum()) / scales[c] ** 2
        if settled > _SETTLED:
            learned[c] = np.clip(np.sqrt(size / settled), *_SCALES)
    return np.stack(means), learned
