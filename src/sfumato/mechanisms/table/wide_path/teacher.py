"""A teacher: logistic regression from a few noisy gradients over all rows.

The Hessian is known without asking: it is computed on rows of the fitted generator. So each noisy gradient is a noisy
linear equation for the weights, and the answer is the posterior mean of the weights given all equations, with the
generator's own equation among them (a Wiener filter). Where the noise says nothing, the teacher stays with the generator.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sfumato.mechanisms.common.logistic import error_slopes, probabilities
from sfumato.public.plan.doors import Measured

#: How many gradients are asked for. The noise of all together does not depend on it.
GRADIENTS = 8

#: The prior, on the log-odds scale: the standard deviation of a weight, and of the difference of two neighbours.
_PRIOR_STDDEV = 1.0
_NEIGHBOUR_STDDEV = 0.3

#: The scale of the prior is learned once so many weights are settled, and stays within this range.
_SETTLED = 5.0
LEARNED_SCALE = (0.1, 2.0)
FIXED_SCALE = (1.0, 1.0)

#: How wrong the Hessian may be, relative to itself, and how far the generator's rule may be from that of the rows.
_HESSIAN_DOUBT = 0.3
_FORM_DOUBT = 0.05

_NEWTON_STEPS = 6

#: Asks for the sum over private rows of `errors` times inputs, given the weights: in the shape of the weights.
AskGradient = Callable[[NDArray[np.float64]], Measured]


@dataclass(frozen=True)
class DenseHessian:
    """Of rows of numbers."""

    rows: NDArray[np.float64]
    total: float

    def at(self, weights: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """X^T diag(slopes) X."""
        slopes = error_slopes(probabilities(self.rows @ weights.T)) * (self.total / len(self.rows))
        return [(self.rows.T * slope) @ self.rows for slope in slopes.T]


@dataclass(frozen=True)
class NoisyGradient:
    """A gradient, the weights at which it was taken, and the standard deviation of the noise in each entry."""

    gradient: NDArray[np.float64]
    weights: NDArray[np.float64]
    stddev: NDArray[np.float64]


@dataclass(frozen=True)
class Posterior:
    """The mean of the weights, and the scale of the prior that goes best with it."""

    mean: NDArray[np.float64]
    prior_scale: float = 1.0


def posterior(
    observed: Sequence[NoisyGradient],
    before: Posterior,
    prior_precision: NDArray[np.float64],
    hessian: DenseHessian,
    *,
    scales: tuple[float, float] = LEARNED_SCALE,
) -> Posterior:
    """The weights at which, by the Hessian here, all gradients would be zero as nearly as their noise allows.

    The Hessian is not that of the private rows. So a gradient that was taken far from here counts for less. The scale of
    the prior is learned on the way: the size of the weights against the number of them that the gradients settle (MacKay,
    "Bayesian interpolation", 1992). Where little can be predicted, small weights keep the noise out.
    """
    here, means, size, settled = before.mean, [], 0.0, 0.0
    for c, matrix in enumerate(hessian.at(here)):
        precision, weighted = np.zeros(len(matrix)), np.zeros(len(matrix))
        for one in observed:
            away = matrix @ (one.weights[c] - here[c])
            of_one = 1 / (one.stddev[c] ** 2 + (_HESSIAN_DOUBT * away) ** 2)
            precision += of_one
            weighted += of_one * (matrix @ one.weights[c] - one.gradient[c])
        covariance = linalg.inv(prior_precision / before.prior_scale**2 + (matrix * precision) @ matrix)
        means.append(covariance @ (matrix @ weighted))
        size += float(means[-1] @ prior_precision @ means[-1])
        settled += len(matrix) - float(np.sum(prior_precision * covariance)) / before.prior_scale**2
    scale = np.sqrt(size / settled) if settled >= _SETTLED else before.prior_scale
    return Posterior(np.stack(means), float(np.clip(scale, *scales)))


def teach(
    ask: AskGradient,
    start: NoisyGradient,
    prior_precision: NDArray[np.float64],
    hessian: DenseHessian,
    *,
    scales: tuple[float, float] = LEARNED_SCALE,
) -> NDArray[np.float64]:
    """Weights from noisy gradients of the private rows.

    Args:
        ask: Gives a noisy gradient.
        start: What the generator says.
        prior_precision: Of the weights.
        hessian: Of rows that stand for the private ones.
        scales: Between which bounds the scale of the prior is learned; or FIXED_SCALE.
    """
    observed, now = [start], Posterior(start.weights)
    for _ in range(GRADIENTS):
        noisy = ask(now.mean)
        observed.append(NoisyGradient(noisy.values, now.mean, np.full(noisy.values.shape, noisy.stddev)))
        now = posterior(observed, now, prior_precision, hessian, scales=scales)
    return posterior(observed, now, prior_precision, hessian, scales=scales).mean
