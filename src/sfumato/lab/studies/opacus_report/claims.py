"""Epsilon of the report by epoch: as its library books it, and between which bounds it lies. No data is read.

The library books batches by coins of each row's own (Poisson), and the report's rows are shuffled into batches. What is known of
shuffled batches: Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha and Zhang, "How private are DP-SGD implementations?" (2024).
"""

import math

import dp_accounting
import numpy as np
from scipy.stats import binom, norm

from sfumato.public.accounting import epsilon_of, epsilon_of_mu, rdp_epsilon

RECORDS, BATCH, DELTA = 60_000, 64, 1e-5
STEPS = math.ceil(RECORDS / BATCH)  # of an epoch
NOISE_MULTIPLIER = 1.0  # the appendix; the body says 1.2, and the printed epsilons are those of 1.0
EPOCHS = 9
PUBLISHED = (0.68, 0.69, 0.71, 0.72, 0.73, 0.75, 0.76, 0.78, 0.79)
PUBLISHED_ACCURACY, PUBLISHED_PLAIN = 0.934, 0.988


def claimed_epsilon(epochs: int, *, noise_multiplier: float = NOISE_MULTIPLIER) -> float:
    """By Renyi divergences of Poisson sampling, as the library has it.

    >>> round(claimed_epsilon(1), 2), round(claimed_epsilon(9), 2)
    (0.68, 0.79)
    """
    return rdp_epsilon(_coins(epochs, noise_multiplier), delta=DELTA, relation="add_or_remove")


def with_coins(epochs: int) -> float:
    """What it would have been, tightly accounted, had each row taken part by a coin of its own."""
    return epsilon_of(_coins(epochs, NOISE_MULTIPLIER), delta=DELTA, relation="add_or_remove").epsilon


def lower_bound(epochs: int, *, noise_multiplier: float = NOISE_MULTIPLIER, steps: int = STEPS) -> float:
    """What epsilon of shuffled batches is at least.

    Rows whose gradients all point one way, but for one row whose gradient is turned round or left out, give each epoch a vector of
    `steps` sums: noise, with one entry (whose, is random) raised by 2 here and by 1 there. An adversary counts the epochs in which the
    largest entry passes a level. Both counts are binomial, so what any level and count prove is exact; the best is taken.

    >>> round(lower_bound(1), 2), round(lower_bound(1, noise_multiplier=1.2), 2)
    (2.93, 1.34)
    """
    levels = np.linspace(1, 12, 4000)
    others = (steps - 1) * norm.logcdf(levels / noise_multiplier)
    here = -np.expm1(others + norm.logcdf((levels - 2) / noise_multiplier))
    there = -np.expm1(others + norm.logcdf((levels - 1) / noise_multiplier))
    best = 0.0
    for least in range(1, epochs + 1):
        often, seldom = (np.asarray(binom.sf(least - 1, epochs, chance)) for chance in (here, there))
        proves = (often > DELTA) & (seldom > 0)
        best = max(best, float(np.log((often[proves] - DELTA) / seldom[proves]).max()))
    return best


def upper_bound(epochs: int) -> float:
    """What it is at most: each row takes part once in each epoch, and its batch is taken for known.

    >>> round(upper_bound(1), 2), round(upper_bound(9), 1)
    (4.38, 16.7)
    """
    return epsilon_of_mu(math.sqrt(epochs) / NOISE_MULTIPLIER, delta=DELTA)


def _coins(epochs: int, noise_multiplier: float) -> dp_accounting.DpEvent:
    one = dp_accounting.PoissonSampledDpEvent(1 / STEPS, dp_accounting.GaussianDpEvent(noise_multiplier))
    return dp_accounting.SelfComposedDpEvent(one, STEPS * epochs)
