"""What a release costs a filter: a mu, and a failure, whose Gaussian curve lies nowhere below the release's own.

A release with the curve delta(epsilon), in either order of two neighbours, costs (mu, failure) if delta(epsilon) <=
delta_mu(epsilon) + failure for every epsilon >= 0. docs/proofs/ledger.md proves that squares of mu and failures then add up,
whatever is chosen by looking at earlier releases. Every rounding errs towards more.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from dp_accounting import dp_event
from numpy.typing import NDArray
from scipy.special import ndtri

from sfumato.errors import AccountingError
from sfumato.public.accounting.events import EpsilonDeltaDpEvent
from sfumato.public.accounting.gdp import deltas_of_mu
from sfumato.public.accounting.leaves import Leaves, flatten
from sfumato.public.accounting.pld import compose, curve_of, rounding_of

#: Far above the rounding of a sum of squares or of a curve, and far below anything that a person could notice.
_OUTWARD = Fraction(1) + Fraction(1, 2**36)
#: Distance of neighbouring epsilons at which two curves are compared, relative to epsilon; and the largest of them.
_SPACING, _FARTHEST = 1e-4, 600.0


@dataclass(frozen=True)
class GaussianCost:
    """Exact numbers, never floats that are added up: the square of mu, and the probability that the mu does not hold."""

    mu_squared: Fraction
    failure: Fraction


def gaussian_cost(event: dp_event.DpEvent, *, relation: str, failure: float = 0.0) -> GaussianCost:
    """The cost of an event tree.

    Plain Gaussians are exact; pure steps have the least mu that their epsilon allows; (epsilon, delta) steps add their delta.
    Sampled steps may fail with `failure` more, which buys them a far smaller mu; with 0 they cost as much as without sampling.
    """
    leaves = flatten(event, relation=relation)
    if leaves.non_private:
        raise AccountingError("a step is not private, so no mu covers it. Remove it from the plan.")
    pure, failures = _pure(event)
    if not leaves.sampled:
        return GaussianCost(_above(leaves.mu_squared) + pure, failures)
    whole = _unsampled(leaves, relation=relation)
    if failure > 0 and failure >= 4 * rounding_of(leaves):
        mu = _dominating(leaves, relation=relation, failure=failure, largest=math.sqrt(whole))
        if Fraction(mu) ** 2 < whole:
            return GaussianCost(Fraction(mu) ** 2 + pure, failures + Fraction(failure))
    return GaussianCost(whole + pure, failures)


def mu_of_pure(epsilon: float) -> float:
    """The least mu, rounded up, for which every epsilon-DP step is mu-GDP: the curves touch where both errors are equal.

    >>> round(mu_of_pure(1.0), 4)
    1.232
    """
    # Phi(-mu / 2) = 1 / (1 + e^epsilon); for a large epsilon the logarithm of the right side is as good as -epsilon.
    if epsilon > 700:
        return math.sqrt(
            8 * epsilon
        )  # the tail of a Gaussian: Phi(-x) <= e^(-x^2 / 2), so x = mu / 2 is more than enough
    return float(-2 * ndtri(1 / (1 + math.exp(epsilon)))) * float(_OUTWARD)


def _pure(event: dp_event.DpEvent) -> tuple[Fraction, Fraction]:
    """The squares of the mus of all pure steps, each by itself, and the sum of all failures.

    A step that is mu-GDP but for an event of probability f is covered in both orders by f / (1 - f).
    """
    squares, failures = Fraction(0), Fraction(0)
    stack: list[tuple[dp_event.DpEvent, int]] = [(event, 1)]
    while stack:
        node, count = stack.pop()
        if isinstance(node, dp_event.SelfComposedDpEvent):
            stack.append((node.event, count * int(node.count)))
        elif isinstance(node, dp_event.ComposedDpEvent):
            stack.extend((child, count) for child in node.events)
        elif isinstance(node, EpsilonDeltaDpEvent):
            if node.delta >= 1:
                raise AccountingError("a step fails with probability 1, so no mu covers it. Remove it from the plan.")
            failures += count * Fraction(node.delta) / (1 - Fraction(node.delta))
            squares += count * (Fraction(mu_of_pure(node.epsilon)) ** 2 if node.epsilon > 0 else 0)
    return squares, failures


def _above(mu_squared: float) -> Fraction:
    """A float that was added up from others, with more than their rounding could have taken from it."""
    return Fraction(mu_squared) * _OUTWARD


def _unsampled(leaves: Leaves, *, relation: str) -> Fraction:
    """The square of mu if every row took part: chance can only blur the curve of a step."""
    total = _above(leaves.mu_squared)
    for leaf, count in leaves.sampled:
        if isinstance(leaf, dp_event.MixtureOfGaussiansDpEvent):
            total += count * (Fraction(max(leaf.sensitivities)) / Fraction(leaf.standard_deviation)) ** 2
        else:
            # Under replace-one the multiplier of a Poisson sample is relative to the norm: two rows are two norms apart.
            is_norm = isinstance(leaf, dp_event.PoissonSampledDpEvent) and relation == "replace_one"
            total += count * (4 if is_norm else 1) / Fraction(leaf.event.noise_multiplier) ** 2
    return total * _OUTWARD


def _dominating(leaves: Leaves, *, relation: str, failure: float, largest: float) -> float:
    """The least mu, to 1e-5 of it, whose curve plus the failure is nowhere below that of all leaves together."""
    epsilons, deltas = _upper_curve(leaves, relation=relation, failure=failure)

    def covers(mu: float) -> bool:
        # Both curves fall: it is enough that the release's at one point is not above the Gaussian's at the next.
        gaussian = deltas_of_mu(epsilons[1:], mu=mu) * (1 - 1e-12)
        return bool(np.all(deltas[:-1] <= gaussian + failure))

    low, high = 0.0, largest
    if deltas[-1] > failure or not covers(high):
        return largest
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if covers(middle) else (middle, high)
    return high * float(_OUTWARD)


def _upper_curve(leaves: Leaves, *, relation: str, failure: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Epsilons from 0 to where at most the failure is left, and the release's delta at each, rounded up."""
    composed = compose(leaves, relation=relation)

    def deltas(epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.minimum.accumulate(curve_of(composed, epsilons)) + rounding_of(leaves)

    start = _near_zero(float(deltas(np.zeros(1))[0]))
    candidates = np.geomspace(start, max(_FARTHEST, 2 * start), 400)
    enough = np.flatnonzero(deltas(candidates) <= failure)
    top = float(candidates[enough[0]]) if enough.size else _FARTHEST
    outer = (
        np.geomspace(start, top, math.ceil(math.log(top / start) / _SPACING) + 2) if top > start else np.array([start])
    )
    epsilons = np.append(np.arange(0.0, 1.0, _SPACING) * start, outer)
    return epsilons, deltas(epsilons)


def _near_zero(total_variation: float) -> float:
    """The mu of the Gaussian pair with this total variation: the scale on which the curve changes near 0."""
    return max(1e-9, float(2 * ndtri((1 + min(total_variation, 1 - 1e-12)) / 2)))
