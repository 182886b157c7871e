"""Numbers within their bounds: Beta distributions with given means and variances. Post-processing only.

A bell curve that is cut at a bound piles rows up there and leaves its mean. The mean and the variance of a number, and
its bounds, say more than that: a number that lies near a bound is skewed, and how much follows from the three.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr

#: Quantiles are computed here, in standard deviations of a Gaussian, and interpolated between.
_GRID = np.linspace(-5.0, 5.0, 257)
#: A mean is at least so many standard deviations away from both bounds: as far as that of a Gaussian cut at its middle.
_LEAST_MEAN = 1 / np.sqrt(2 * np.pi)
#: And a variance at most this part of the largest that there is with this mean: half is that of the arcsine distribution.
_MOST_VARIANCE = 0.5
#: And at least this: of a box of length 1, nobody sees less.
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class Betas:
    """A Beta distribution for each entry, as its quantiles on a grid."""

    quantiles: NDArray[np.float64]

    def of(self, normal: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standard normal rows, each entry moved to the same quantile of its Beta distribution."""
        columns = zip(normal.T, self.quantiles, strict=True)
        return np.column_stack([np.interp(column, _GRID, quantiles) for column, quantiles in columns])


def fit_betas(means: NDArray[np.float64], variances: NDArray[np.float64]) -> Betas:
    """By the method of moments, on [0, 1]. Noisy moments need not fit together: then the mean moves inward first.

    >>> uniform = fit_betas(np.array([0.5]), np.array([1 / 12]))
    >>> uniform.of(np.array([[-8.0], [0.0], [8.0]])).round(3).ravel()
    array([0. , 0.5, 1. ])
    """
    variances = np.maximum(variances, _LEAST_VARIANCE)
    least = np.minimum(_LEAST_MEAN * np.sqrt(variances), 0.5)
    means = np.clip(means, least, 1 - least)
    widest = means * (1 - means)
    size = widest / np.minimum(variances, _MOST_VARIANCE * widest) - 1
    a, b = (means * size)[:, None], ((1 - means) * size)[:, None]
    return Betas(np.asarray(betaincinv(a, b, ndtr(_GRID))))
