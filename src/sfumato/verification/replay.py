"""Recomputes a certificate's epsilon from its event tree, sharing no code with the accountant that issued it.

Only numpy and scipy: no dp_accounting, nothing of `sfumato.public.accounting`. This file reads the tree:
plain Gaussians combine into one, and a tree of nothing else has a closed form; a sampled leaf becomes a pair
of one-dimensional Gaussian mixtures that dominates it, and `replay_pld` composes the pairs. Every step rounds
towards a larger epsilon. The conventions of the JSON are those of `sfumato.public.accounting.events`.
"""

import math
from collections.abc import Mapping
from typing import Any

from scipy.special import log_ndtr, ndtri

from sfumato.errors import AccountingError
from sfumato.verification.replay_pld import Pair, composed_epsilon


def replay_epsilon(event_json: Mapping[str, Any], *, delta: float, relation: str) -> float:
    """An upper bound on the epsilon of an event tree, within about 0.002% of it; infinity if a step is not private.

    >>> event = {"event": "gaussian", "noise_multiplier": 3.7306}
    >>> round(replay_epsilon(event, delta=1e-5, relation="replace_one"), 3)
    1.0
    """
    if relation not in ("add_or_remove", "replace_one"):
        raise AccountingError(f"relation {relation!r} is unknown. Give add_or_remove or replace_one.")
    if not 0 < delta < 1:
        raise AccountingError(f"delta is {delta!r}. It must lie strictly between 0 and 1.")
    total = _Total()
    total.add(event_json, count=1, relation=relation)
    left = delta - total.failure
    if total.exposed:
        return math.inf
    if left <= 0:
        raise AccountingError("the failure probabilities of the steps use up delta. Raise delta.")
    if not total.pairs:
        return _gaussian_epsilon(math.sqrt(total.mu_squared), delta=left) + total.fixed
    leaves = list(total.pairs.items())
    if total.mu_squared:
        leaves.append((Pair(((math.sqrt(total.mu_squared), 1.0),), ((0.0, 1.0),)), 1))
    one_way = composed_epsilon(leaves, delta=left)
    if all(pair.mirrored or pair.reverse() == pair for pair, _ in leaves):
        return one_way + total.fixed
    other_way = composed_epsilon([(pair.reverse(), count) for pair, count in leaves], delta=left)
    return max(one_way, other_way) + total.fixed


class _Total:
    """What a tree amounts to: one Gaussian, counted pairs, failures."""

    def __init__(self) -> None:
        self.mu_squared, self.failure, self.fixed, self.exposed = 0.0, 0.0, 0.0, False
        self.pairs: dict[Pair, int] = {}

    def add(self, event: Any, *, count: int, relation: str) -> None:
        """Books one event, `count` times over."""
        kind = event.get("event") if isinstance(event, Mapping) else None
        if kind == "composed":
            for child in _field(event, "events", list):
                self.add(child, count=count, relation=relation)
        elif kind == "self_composed":
            uses = _field(event, "count", int, low=1)
            self.add(event.get("inner"), count=count * uses, relation=relation)
        elif kind == "epsilon_delta":
            self.failure += count * float(_field(event, "delta", float))
            self.fixed += count * float(_field(event, "epsilon", float))
        elif kind == "non_private":
            self.exposed = True
        elif kind == "gaussian":
            multiplier = float(_field(event, "noise_multiplier", float))
            self.exposed |= multiplier == 0
            self.mu_squared += count / multiplier**2 if multiplier else 0.0
        elif kind == "mixture_of_gaussians" and relation == "add_or_remove":
            self._mixture(event, count=count)
        elif kind == "poisson_sampled":
            q = float(_field(event, "sampling_probability", float))
            self._sampled(event, q=q, poisson=True, count=count, relation=relation)
        elif kind == "sampled_without_replacement" and relation == "replace_one":
            rows, size = (_field(event, name, int, low=1) for name in ("source_dataset_size", "sample_size"))
            self._sampled(event, q=size / rows, poisson=False, count=count, relation=relation)
        else:
            raise AccountingError(f"event {kind!r} under {relation} is not one that can be replayed.")

    def _mixture(self, event: Mapping[str, Any], *, count: int) -> None:
        deviation = float(_field(event, "standard_deviation", float))
        centres, weights = _field(event, "sensitivities", list), _field(event, "sampling_probs", list)
        values = [*centres, *weights]
        if len(centres) != len(weights) or not all(isinstance(v, (int, float)) and v >= 0 for v in values):
            raise AccountingError("a mixture needs as many sampling_probs as sensitivities, none below 0.")
        if not centres or abs(math.fsum(weights) - 1) > 1e-9:
            raise AccountingError("the sampling_probs of a mixture must add up to 1.")
        if deviation == 0:
            self.exposed |= any(c > 0 and w > 0 for c, w in zip(centres, weights, strict=True))
            return
        upper = tuple((c / deviation, float(w)) for c, w in zip(centres, weights, strict=True) if w > 0)
        if any(centre > 0 for centre, _ in upper):
            self._book(Pair(upper, ((0.0, 1.0),)), count)

    def _sampled(self, event: Mapping[str, Any], *, q: float, poisson: bool, count: int, relation: str) -> None:
        inner = _Total()
        inner.add(event.get("inner"), count=1, relation=relation)
        if inner.pairs or inner.failure or inner.fixed or not 0 <= q <= 1:
            raise AccountingError("a sampled event must hold plain Gaussians, drawn with probability 0 to 1.")
        self.exposed |= inner.exposed
        step, two_sided = math.sqrt(inner.mu_squared), poisson and relation == "replace_one"
        if q == 1:
            self.mu_squared += count * inner.mu_squared * (4 if two_sided else 1)
        elif q > 0 and step > 0:
            upper = ((0.0, 1 - q), (step, q))
            lower = ((0.0, 1 - q), (-step, q)) if two_sided else ((0.0, 1.0),)
            self._book(Pair(upper, lower, mirrored=not poisson), count)

    def _book(self, pair: Pair, count: int) -> None:
        self.pairs[pair] = self.pairs.get(pair, 0) + count


def _field(event: Mapping[str, Any], name: str, kind: type, *, low: float = 0.0) -> Any:
    value: Any = event.get(name)
    fits = isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool)
    if not fits:
        raise AccountingError(f"the field {name} of event {event.get('event')!r} is missing or malformed.")
    if kind is not list and not (math.isfinite(value) and value >= low):
        raise AccountingError(f"{name} is {value!r}. It must be finite and at least {low}.")
    return value


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The delta of N(mu, 1) against N(0, 1), for mu > 0."""
    first, second = float(log_ndtr(mu / 2 - epsilon / mu)), float(log_ndtr(-mu / 2 - epsilon / mu))
    return math.exp(first) * -math.expm1(min(0.0, epsilon + second - first))


def _gaussian_epsilon(mu: float, *, delta: float) -> float:
    if mu == 0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, max(0.0, mu * (mu / 2 - float(ndtri(delta)))) + 1e-300
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_delta(mu, middle) <= delta else (middle, high)
    return high * (1 + 1e-9)
