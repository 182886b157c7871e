"""Numbers within their bounds: Beta distributions with given means and variances. Post-processing only.

A bell curve that is cut at a bound piles rows up there and leaves its mean. The mean, the variance and the bounds of a
number say more than that: a number near a bound is skewed, and how much follows from the three.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtr

from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.common.interpolation import interpolated
from sfumato.mechanisms.moments.settings import MomentsSettings

#: Quantiles are computed here, in standard deviations of a Gaussian, and interpolated between.
_GRID = np.linspace(-5.0, 5.0, 257)
#: Of a box of length 1, nobody sees a smaller variance.
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class Betas:
    """A Beta distribution for each entry, as its quantiles on a grid."""

    quantiles: Floats

    def of(self, normal: Floats) -> Floats:
        """Standard normal rows, each entry moved to the same quantile of its Beta distribution; beyond the grid straight on."""
        beyond = normal - np.clip(normal, _GRID[0], _GRID[-1])
        slopes = np.where(
            beyond < 0, self.quantiles[:, 1] - self.quantiles[:, 0], self.quantiles[:, -1] - self.quantiles[:, -2]
        )
        columns = zip(normal.T, self.quantiles, strict=True)
        inside = np.column_stack([interpolated(column, _GRID, quantiles) for column, quantiles in columns])
        return np.asarray(np.clip(inside + beyond * slopes / (_GRID[1] - _GRID[0]), 0.0, 1.0))


def fit_betas(means: Floats, variances: Floats, settings: MomentsSettings) -> Betas:
    """By the method of moments, on [0, 1]. Noisy moments need not fit together: then the mean moves inward first.

    >>> uniform = fit_betas(np.array([0.5]), np.array([1 / 12]), MomentsSettings())
    >>> uniform.of(np.array([[-8.0], [0.0], [8.0]])).round(3).ravel()
    array([0. , 0.5, 1. ])
    """
    variances = np.maximum(variances, _LEAST_VARIANCE)
    least = np.minimum(settings.least_mean * np.sqrt(variances), 0.5)
    means = np.clip(means, least, 1 - least)
    largest = means * (1 - means)
    size = largest / np.minimum(variances, settings.most_variance * largest) - 1
    a, b = (means * size)[:, None], ((1 - means) * size)[:, None]
    return Betas(np.asarray(betaincinv(a, b, ndtr(_GRID))))
