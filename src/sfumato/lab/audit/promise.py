"""The promise that is put to the test: the trade-off of a plan, and of the same plan with more or less noise."""

import math
from functools import cached_property

import numpy as np
from dp_accounting import dp_event
from numpy.typing import NDArray
from scipy.optimize import brentq

from sfumato.public.accounting import epsilon_of
from sfumato.public.accounting.gdp import deltas_of_mu
from sfumato.public.accounting.leaves import Leaves, flatten
from sfumato.public.accounting.pld import compose
from sfumato.public.plan.plan import Plan, event_of

_FARTHEST = 2.0**8  # times as much or as little noise as planned
_CLOSE = 1e-3  # of the noise, to the safe side


class Promise:
    """What the accountant was told, at `noise` times the planned noise."""

    def __init__(self, plan: Plan, *, noise: float = 1.0) -> None:
        """Take the plan's steps; nothing is computed yet."""
        self._plan, self._noise = plan, noise

    @cached_property
    def _event(self) -> dp_event.DpEvent:
        return event_of(self._plan.steps, scale=self._plan.scale * self._noise, unit=self._plan.unit, prior=None)

    @cached_property
    def _leaves(self) -> Leaves:
        return flatten(self._event, relation=self._plan.unit.relation)

    @property
    def epsilon(self) -> float:
        """The epsilon of that much noise, at the delta of the budget."""
        return epsilon_of(self._event, delta=self._plan.budget.delta, relation=self._plan.unit.relation).epsilon

    @cached_property
    def advantage(self) -> float:
        """The distance in variation that neighbours may have: delta at epsilon 0.

        Pure steps have at most tanh(epsilon / 2), and independent steps are alike together as often as each is.
        """
        alike = (1 - float(self.deltas(np.zeros(1))[0])) * (1 - math.tanh(self._leaves.pure_epsilon / 2))
        return 1 - alike + self._leaves.failure

    def deltas(self, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        """The delta of each epsilon, for all Gaussian noise of the plan together."""
        if self._leaves.sampled:
            composed = compose(self._leaves, relation=self._plan.unit.relation)
            return np.array([float(composed.get_delta_for_epsilon(float(epsilon))) for epsilon in epsilons])
        if not self._leaves.mu_squared:
            return np.zeros(len(epsilons))
        return deltas_of_mu(epsilons, mu=math.sqrt(self._leaves.mu_squared))

    def most_hits(self, alarms: NDArray[np.float64]) -> NDArray[np.float64]:
        """The trade-off curve: the most hits that any attack may have at each rate of false alarms."""
        epsilons = np.linspace(0.0, max(2.0, 2 * self._plan.budget.epsilon), 41)
        deltas = self.deltas(epsilons) + self._leaves.failure
        epsilons = epsilons + self._leaves.pure_epsilon
        above = np.exp(epsilons)[:, None] * alarms + deltas[:, None]
        below = 1 - np.exp(-epsilons)[:, None] * np.maximum(1 - alarms - deltas[:, None], 0)
        return np.asarray(np.minimum(np.minimum(above, below).min(axis=0), 1.0))


def epsilon_of_advantage(plan: Plan, advantage: float) -> float:
    """The epsilon of the plan at the noise whose promise just admits this advantage: more noise would not."""
    if advantage <= 0:
        return 0.0

    def excess(log_noise: float) -> float:
        return Promise(plan, noise=math.exp(log_noise)).advantage - advantage

    low, high = 0.0, 0.0
    while excess(high) > 0:
        low, high = high, high + math.log(2) / 2
        if high > math.log(_FARTHEST):
            return 0.0
    while low == high or excess(low) < 0:
        high, low = low, low - math.log(2) / 2
        if low < -math.log(_FARTHEST):
            return math.inf
    return Promise(plan, noise=math.exp(brentq(excess, low, high, xtol=_CLOSE) + _CLOSE)).epsilon
