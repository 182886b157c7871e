"""A linear classifier from a few noisy gradients over all rows. No doors: noisy numbers alone.

The Hessian is known without asking: it is computed on rows of the fitted Gaussian. So each noisy gradient is a noisy linear
equation for the weights, and the answer is the posterior mean of the weights given all equations (a Wiener filter).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.common.logistic import error_slopes, probabilities


@dataclass(frozen=True)
class NoisyGradient:
    """A gradient, the weights at which it was taken, and the standard deviation of the noise in each entry."""

    gradient: Floats
    weights: Floats
    stddev: float


@dataclass(frozen=True)
class Posterior:
    """What is known of the weights besides the gradients.

    `rows` stand for so many private ones, with their intercept. `prior_deviation` is the standard deviation of a
    weight, `hessian_doubt` how wrong the Hessian of these rows may be, relative to itself.
    """

    rows: Floats
    n_rows: float
    prior_deviation: float
    hessian_doubt: float

    def mean(self, observed: Sequence[NoisyGradient], here: Floats) -> Floats:
        """The weights at which, by the Hessian here, all gradients would be zero as nearly as their noise allows.

        The Hessian is not that of the private rows, so a gradient that was taken far from here counts for less.
        """
        means = []
        slopes = error_slopes(probabilities(self.rows @ here.T)) * (self.n_rows / len(self.rows))
        for c, slope in enumerate(slopes.T):
            hessian = (self.rows.T * slope) @ self.rows
            precision, weighted = np.zeros(len(hessian)), np.zeros(len(hessian))
            for one in observed:
                away = hessian @ (one.weights[c] - here[c])
                of_one = 1 / (one.stddev**2 + (self.hessian_doubt * away) ** 2)
                precision += of_one
                weighted += of_one * (hessian @ one.weights[c] - one.gradient[c])
            prior_precision = np.eye(len(hessian)) / self.prior_deviation**2
            covariance = linalg.inv(prior_precision + (hessian * precision) @ hessian)
            means.append(covariance @ (hessian @ weighted))
        return np.stack(means)
