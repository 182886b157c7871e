"""How many rows a cluster must hold so that the noise on its mean stays below a bound.

The idea is that of ClustMix (Madl, Xu, Choudhury and Howard, "Approximate, Adapt, Anonymize (3A)", 2022, Eq. 7 and
Algorithm 2): noise of standard deviation sigma on the mean of l rows is noise of l sigma on their sum, so the larger the
cluster, the less noise its mean needs. There l is the minimiser of |delta0 - delta(l)|, which may lie on the wrong side;
here it is the smallest whole number on the right one.
"""

import math
from bisect import bisect_left

from sfumato.errors import AccountingError
from sfumato.public.accounting.gdp import delta_of_mu

_MOST = 2**62
_SAFE_STEP = 1e-12  # far above the rounding of a few products, far below one row


def least_cluster_size(
    *, epsilon: float, delta: float, sigma_max: float, sensitivity: float, share: float = 1.0
) -> int:
    """The smallest cluster whose mean may be released with noise of at most sigma_max, within the budget.

    That is the least l >= 1 with sensitivity / (l sigma_max) <= mu sqrt(share), mu being the GDP parameter of the whole budget,
    by bisection over whole numbers, of which the end that keeps the budget is returned. The sensitivity is how far one unit
    of privacy moves the sum of a cluster: the norm of a row about the point that sums are measured from (add-or-remove), twice
    that for replace-one, times the rows of a person. The share is the part of the precision that the means get.
    """
    for name, value in (("sigma_max", sigma_max), ("sensitivity", sensitivity)):
        if not (math.isfinite(value) and value > 0):
            raise AccountingError(f"{name} = {value} must be a finite number above 0.")
    if not 0 < share <= 1:
        raise AccountingError(f"share = {share} must lie in (0, 1].")
    if not (math.isfinite(epsilon) and epsilon >= 0 and 0 < delta < 1):
        raise AccountingError(f"epsilon = {epsilon} must be finite and not below 0, delta = {delta} between 0 and 1.")

    def is_enough(rows: int) -> bool:
        mu = sensitivity / (rows * sigma_max * math.sqrt(share)) * (1 + _SAFE_STEP)
        return delta_of_mu(epsilon, mu=mu) <= delta

    rows = 1 + bisect_left(range(1, _MOST + 1), True, key=is_enough)
    if rows > _MOST:
        raise AccountingError(f"no cluster is large enough for sigma_max = {sigma_max:g}. Raise epsilon or it.")
    return rows


def rows_within(noise_stddev: float, *, sigma_max: float) -> int:
    """The same for noise that a plan has settled: the smallest l with noise_stddev / l <= sigma_max."""
    rows = max(1, math.ceil(noise_stddev / sigma_max))
    while noise_stddev / rows > sigma_max:  # where the division was rounded down
        rows += 1
    return rows
