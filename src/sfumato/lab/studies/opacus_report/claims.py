"""Epsilon of the report by epoch: as its library books it, and between which bounds it lies. No data is read.

The library books batches by coins of each row's own (Poisson), and the report's rows are shuffled into batches. What is known of
shuffled batches: Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha and Zhang, "How private are DP-SGD implementations?" (2024). A bound
means nothing without its relation: whether a row is left out (its gradient counts as nothing), or replaced by another.
"""

import math
from dataclasses import dataclass
from typing import Literal

import dp_accounting
import numpy as np
from scipy.stats import binom, norm

from sfumato.public.accounting import epsilon_of, epsilon_of_mu, rdp_epsilon

RECORDS, BATCH, DELTA = 60_000, 64, 1e-5
STEPS = math.ceil(RECORDS / BATCH)  # of an epoch
PUBLISHED = (0.68, 0.69, 0.71, 0.72, 0.73, 0.75, 0.76, 0.78, 0.79)
PUBLISHED_ACCURACY, PUBLISHED_PLAIN = 0.934, 0.988
PUBLISHED_LOSSES = {
    "plain": (0.312060, 0.075240, 0.053376, 0.042650, 0.034689, 0.030651, 0.027995, 0.023730, 0.020594),
    "private": (1.164523, 0.572431, 0.542119, 0.507823, 0.474783, 0.451766, 0.442711, 0.419686, 0.398222),
}

Relation = Literal["left_out", "replaced"]
#: How far one row moves the sum of its batch, in clips.
_MOVES: dict[Relation, float] = {"left_out": 1.0, "replaced": 2.0}


@dataclass(frozen=True)
class Setting:
    """A noise multiplier, and for how many epochs."""

    noise_multiplier: float
    epochs: int

    def after(self, epochs: int) -> "Setting":
        """The same noise, after so many epochs."""
        return Setting(self.noise_multiplier, epochs)


#: The program in the body; the one in the appendix, whose epsilons are those that are printed.
BODY, APPENDIX = Setting(1.2, 10), Setting(1.0, 9)


def claimed_epsilon(setting: Setting) -> float:
    """By Renyi divergences of Poisson sampling, as the library has it.

    >>> round(claimed_epsilon(APPENDIX.after(1)), 2), round(claimed_epsilon(APPENDIX), 2)
    (0.68, 0.79)
    """
    return rdp_epsilon(_coins(setting), delta=DELTA, relation="add_or_remove")


def with_coins(setting: Setting) -> float:
    """What it would have been, tightly accounted, had each row taken part by a coin of its own: a row added or removed."""
    return epsilon_of(_coins(setting), delta=DELTA, relation="add_or_remove").epsilon


def lower_bound(setting: Setting, relation: Relation = "left_out", *, steps: int = STEPS) -> float:
    """What epsilon of shuffled batches is at least.

    Rows whose gradients all point one way, but for one row whose gradient points the other way or is not there, give each epoch a
    vector of `steps` sums: noise, with one entry (whose, is random) raised by 2 here and by 1 there. Where the row is replaced by one
    like all others, no entry is raised there. An adversary counts the epochs in which the largest entry passes a level. Both counts are
    binomial, so what any level and count prove is exact; the best is taken.

    >>> [round(lower_bound(Setting(noise, 1)), 2) for noise in (1.0, 1.2)]
    [2.93, 1.34]
    """
    levels, scale = np.linspace(1, 12, 4000), setting.noise_multiplier
    others = (steps - 1) * norm.logcdf(levels / scale)
    here = -np.expm1(others + norm.logcdf((levels - 2) / scale))
    there = -np.expm1(others + norm.logcdf((levels - 2 + _MOVES[relation]) / scale))
    best = 0.0
    for least in range(1, setting.epochs + 1):
        often, seldom = (np.asarray(binom.sf(least - 1, setting.epochs, chance)) for chance in (here, there))
        proves = (often > DELTA) & (seldom > 0)
        best = max(best, float(np.log((often[proves] - DELTA) / seldom[proves]).max()))
    return best


def upper_bound(setting: Setting, relation: Relation = "left_out") -> float:
    """What it is at most: each row takes part once in each epoch, and its batch is taken for known.

    >>> round(upper_bound(APPENDIX.after(1)), 2), round(upper_bound(APPENDIX), 1), round(upper_bound(APPENDIX, "replaced"), 1)
    (4.38, 16.7, 42.8)
    """
    return epsilon_of_mu(_MOVES[relation] * math.sqrt(setting.epochs) / setting.noise_multiplier, delta=DELTA)


def bounds_of(setting: Setting) -> dict[str, float]:
    """All of the above."""
    found = {
        "booked": claimed_epsilon(setting),
        "by_coins": with_coins(setting),
        "at_least": lower_bound(setting),
        "at_most": upper_bound(setting),
        "at_least_replaced": lower_bound(setting, "replaced"),
        "at_most_replaced": upper_bound(setting, "replaced"),
    }
    return {name: round(epsilon, 4) for name, epsilon in found.items()}


def _coins(setting: Setting) -> dp_accounting.DpEvent:
    one = dp_accounting.PoissonSampledDpEvent(1 / STEPS, dp_accounting.GaussianDpEvent(setting.noise_multiplier))
    return dp_accounting.SelfComposedDpEvent(one, STEPS * setting.epochs)
