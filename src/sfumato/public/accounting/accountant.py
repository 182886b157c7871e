"""One door to the accountants: what a tree of events costs, and how much noise a budget needs."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass

from dp_accounting import dp_event

from sfumato.errors import AccountingError
from sfumato.public.accounting.events import event_to_json
from sfumato.public.accounting.gdp import epsilon_of_mu, mu_of_budget
from sfumato.public.accounting.leaves import Leaves, flatten
from sfumato.public.accounting.pld import grid_width, pld_epsilon, rounding_of, total_spread
from sfumato.public.accounting.rdp import leaves_rdp_epsilon

# Calibration stops when epsilon lies within this fraction below the budget; as epsilon falls at least as fast
# as the noise grows, the noise is then within the same fraction of the smallest.
_TOLERANCE = 1e-4
_COARSE_FACTOR = 4.0
_MAX_STEPS = 60

_calibrated: dict[str, tuple[float, str]] = {}


@dataclass(frozen=True)
class Spent:
    """What a tree of events costs: an upper bound on epsilon, infinity if some step is not private.

    The accountant is ``"gdp"`` (exact), ``"pld"`` (tight, pessimistic grid), ``"rdp"`` or ``"none"``. `numeric_error` is the
    part of delta that was set aside for rounding; epsilon holds with it included.
    """

    epsilon: float
    accountant: str
    numeric_error: float


#: What trees with sampled leaves cost, by their text: the last step of a calibration is asked for again at once.
_known_costs: dict[str, Spent] = {}
_MOST_KNOWN = 256


def epsilon_of(event: dp_event.DpEvent, *, delta: float, relation: str) -> Spent:
    """The cost of an event tree by the tightest accountant that covers it.

    The deltas of (epsilon, delta) steps are taken off that of the claim first; where they use it up, or where an event is
    unknown or without meaning under the relation, it is refused.
    """
    leaves = flatten(event, relation=relation)
    if not leaves.sampled:
        return _spent(leaves, delta=delta, relation=relation, coarse=False)
    key = json.dumps([event_to_json(event), float(delta), relation])
    if key not in _known_costs:
        if len(_known_costs) >= _MOST_KNOWN:
            _known_costs.clear()
        _known_costs[key] = _spent(leaves, delta=delta, relation=relation, coarse=False)
    return _known_costs[key]


def _spent(leaves: Leaves, *, delta: float, relation: str, coarse: bool) -> Spent:
    if leaves.non_private:
        return Spent(math.inf, "none", 0.0)
    left = _check_delta(leaves, delta=delta)
    if not leaves.sampled:
        exact = epsilon_of_mu(math.sqrt(leaves.mu_squared), delta=left)
        return Spent(exact + leaves.pure_epsilon, "gdp", 0.0)
    rounding = rounding_of(leaves)
    if rounding > left / 2:
        # Loss distributions have an absolute rounding error, Renyi moments a relative one.
        return Spent(leaves_rdp_epsilon(leaves, delta=delta, relation=relation), "rdp", 0.0)
    width = grid_width(leaves, relation=relation) * (_COARSE_FACTOR if coarse else 1.0)
    epsilon = pld_epsilon(leaves, delta=delta, relation=relation, value_discretization_interval=width)
    return Spent(epsilon, "pld", rounding)


def _check_delta(leaves: Leaves, *, delta: float) -> float:
    """What is left of delta when the failures are booked."""
    if not 0 < delta < 1:
        raise AccountingError(f"delta is {delta!r}. It must lie strictly between 0 and 1.")
    left = delta - leaves.failure
    if left <= 0:
        raise AccountingError(
            f"the steps may fail with probability {leaves.failure:.3g}, which uses up delta {delta:.3g}. "
            "Raise delta, or give the selection steps a smaller failure probability."
        )
    return left


def calibrate(make_event: Callable[[float], dp_event.DpEvent], *, epsilon: float, delta: float, relation: str) -> float:
    """The smallest noise scale whose event tree keeps a budget.

    `make_event` gives the tree for a scale s > 0; a larger s must cost less. Returned is s with `epsilon_of(make_event(s))` in
    (0.999, 1] times epsilon; never above it.
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise AccountingError(f"epsilon is {epsilon!r}. It must be finite and above 0.")
    probe = _signature(make_event(1.0))
    key = json.dumps([probe, epsilon, delta, relation])
    if key in _calibrated:
        scale, signature = _calibrated[key]
        # Two makers can agree at one scale and differ elsewhere: the result must be the very same tree.
        if _signature(make_event(scale)) == signature:
            return scale
    scale = _calibrate(make_event, epsilon=epsilon, delta=delta, relation=relation)
    _calibrated[key] = (scale, _signature(make_event(scale)))
    return scale


def _signature(event: dp_event.DpEvent) -> str:
    return json.dumps(event_to_json(event))


def _calibrate(
    make_event: Callable[[float], dp_event.DpEvent], *, epsilon: float, delta: float, relation: str
) -> float:
    leaves = flatten(make_event(1.0), relation=relation)
    _check_delta(leaves, delta=delta)
    if leaves.non_private:
        raise AccountingError("a step is not private at any noise scale. Remove it from the plan.")

    def excess(scale: float, *, coarse: bool) -> float:
        event = make_event(scale)
        if coarse:
            spent = _spent(flatten(event, relation=relation), delta=delta, relation=relation, coarse=True).epsilon
        else:
            spent = epsilon_of(event, delta=delta, relation=relation).epsilon
        # A cost of zero or infinity is far away, but the search needs a number.
        return min(max(math.log(spent / epsilon) if spent > 0 else -20.0, -20.0), 20.0)

    def rough(scale: float) -> float:
        tree = flatten(make_event(scale), relation=relation)
        return math.log(total_spread(tree, relation=relation) / target_mu)

    if leaves.pure_epsilon and not leaves.sampled and not leaves.mu_squared:
        scale = leaves.pure_epsilon / epsilon * (1 + 1e-12)  # pure responses: epsilon falls as the noise grows
        if -_TOLERANCE < excess(scale, coarse=False) <= 0:
            return scale
    if leaves.pure_epsilon >= epsilon:
        raise AccountingError("steps of fixed epsilon use up the budget. Raise epsilon or drop such steps.")
    target_mu = mu_of_budget(epsilon - leaves.pure_epsilon, delta=delta - leaves.failure)
    if not leaves.sampled:
        scale = math.sqrt(leaves.mu_squared) / target_mu * (1 + 1e-12)
        if scale > 0 and -_TOLERANCE < excess(scale, coarse=False) <= 0:
            return scale
    # A Gaussian picture gives the neighbourhood, a coarse grid the place, the fine grid the proof.
    scale = _root(rough, start=1.0, tolerance=1e-2)
    if leaves.sampled:
        scale = _root(lambda s: excess(s, coarse=True), start=scale, tolerance=1e-3)
    return _root(lambda s: excess(s, coarse=False), start=scale, tolerance=_TOLERANCE)


def _root(function: Callable[[float], float], *, start: float, tolerance: float) -> float:
    """A scale where a falling function lies in [-tolerance, 0]: secant steps on log scales, in a bracket."""
    place, slope = math.log(start), -2.0
    low, high = -math.inf, math.inf  # the function is above 0 at low, and not at high
    last: tuple[float, float] | None = None
    for _ in range(_MAX_STEPS):
        value = function(math.exp(place))
        if -tolerance <= value <= 0:
            return math.exp(place)
        if value > 0:
            low = max(low, place)
        else:
            high = min(high, place)
        if high - low < tolerance * 1e-3:
            return math.exp(high)
        if last is not None and place != last[0]:
            slope = min((value - last[1]) / (place - last[0]), -0.2)
        last = (place, value)
        step = (-tolerance / 2 - value) / slope
        place += min(max(step, -1.0), 1.0)
        if not low < place < high:
            place = (low + high) / 2
    raise AccountingError("no noise scale meets the budget. Check that the noise grows with the scale.")
