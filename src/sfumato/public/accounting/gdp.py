"""Gaussian differential privacy, exactly: the curve of N(0, 1) against N(mu, 1).

Balle and Wang, "Improving the Gaussian mechanism for differential privacy" (2018); Dong, Roth and Su,
"Gaussian differential privacy" (2022). The textbook form Phi(a) - e^epsilon Phi(b) overflows and cancels;
since phi(b) e^epsilon = phi(a), both terms share the factor phi(a) and only ratios of tails to densities
(scaled complementary error functions) remain.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr, ndtri

from sfumato.errors import AccountingError

# Both roots are moved by this relative step to the safe side: it is far above the rounding of the curve and
# far below anything that a person could notice.
_SAFE_STEP = 1e-12


def _tail_over_density(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2)))


def deltas_of_mu(epsilons: NDArray[np.float64], *, mu: float) -> NDArray[np.float64]:
    """The smallest delta, in [0, 1], for each epsilon of a mu-GDP release; negative ones are the curve's left half.

    mu is the sensitivity over the noise's standard deviation.
    """
    epsilons = np.asarray(epsilons, dtype=np.float64)
    distance = np.abs(epsilons)
    upper = distance / mu - mu / 2
    density = np.exp(-(upper**2) / 2) / math.sqrt(2 * math.pi)
    below = _tail_over_density(distance / mu + mu / 2)
    in_tail = density * (_tail_over_density(np.maximum(upper, 0.0)) - below)
    right = np.clip(np.where(upper > 0, in_tail, ndtr(-upper) - density * below), 0.0, 1.0)
    # The mirror identity of a symmetric pair carries epsilon >= 0 over to epsilon < 0.
    mirrored = -np.expm1(-distance) + np.exp(-distance) * right
    return np.where(epsilons >= 0, right, mirrored)


def delta_of_mu(epsilon: float, *, mu: float) -> float:
    """The smallest delta for which a mu-GDP release is (epsilon, delta)-DP, exact up to rounding."""
    _check(mu=mu)
    return float(deltas_of_mu(np.array([epsilon]), mu=mu)[0])


def epsilon_of_mu(mu: float, *, delta: float) -> float:
    """The smallest epsilon >= 0 for which a mu-GDP release is (epsilon, delta)-DP, never below the true one.

    A mu of 0 means that nothing was released.
    """
    _check(delta=delta)
    if mu == 0:
        return 0.0
    _check(mu=mu)
    if delta_of_mu(0.0, mu=mu) <= delta:
        return 0.0
    # delta(epsilon) <= Phi(mu/2 - epsilon/mu), so this end meets the claim.
    low, high = 0.0, max(mu * (mu / 2 - float(ndtri(delta))), 0.0) * (1 + _SAFE_STEP)
    while delta_of_mu(high, mu=mu) > delta:
        high *= 1 + 1e-9
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        if delta_of_mu(middle, mu=mu) <= delta:
            high = middle
        else:
            low = middle
    return high


def mu_of_budget(epsilon: float, *, delta: float) -> float:
    """The largest mu > 0 that keeps (epsilon, delta), rounded down: `epsilon_of_mu(mu, delta=delta) <= epsilon`."""
    _check(delta=delta)
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise AccountingError(f"epsilon is {epsilon!r}. It must be finite and not below 0.")
    # Phi(mu/2 - epsilon/mu) <= delta holds up to the positive root of mu^2/2 - quantile mu - epsilon = 0.
    quantile = float(ndtri(delta))
    root = math.hypot(quantile, math.sqrt(2 * epsilon))
    low = quantile + root if quantile > 0 else 2 * epsilon / (root - quantile)
    low *= 0.5
    high = max(low, delta)
    while delta_of_mu(epsilon, mu=high) <= delta:
        low, high = high, 2 * high
    while high - low > 1e-15 * high and low < (low + high) / 2 < high:
        middle = (low + high) / 2
        if delta_of_mu(epsilon, mu=middle) <= delta:
            low = middle
        else:
            high = middle
    return low * (1 - _SAFE_STEP)


def _check(*, mu: float = 1.0, delta: float = 0.5) -> None:
    if not (math.isfinite(mu) and mu > 0):
        raise AccountingError(f"mu is {mu!r}. It must be finite and above 0.")
    if not 0 < delta < 1:
        raise AccountingError(f"delta is {delta!r}. It must lie strictly between 0 and 1.")
