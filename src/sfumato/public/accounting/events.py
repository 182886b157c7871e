"""The language of privacy costs: dp_accounting's `DpEvent`, with a JSON form.

What an event says, and what it does not:

* A relation is one of the strings ``"add_or_remove"`` and ``"replace_one"``. It belongs to the claim, not to
  the event, and has no default anywhere.
* A Gaussian's noise multiplier is the noise's standard deviation over the sensitivity of the *sum* under the
  stated relation: the largest row norm r for add-or-remove, the diameter of the row domain for replace-one.
* The exception is Poisson sampling under replace-one: there the noise multiplier is relative to the norm r,
  as in dp_accounting, because the worst pair has three points (absent, one row, the opposite row).
* Sampling without replacement has a meaning under replace-one only (the number of rows is public); its noise
  multiplier is relative to the diameter.
* A mixture of Gaussians has a meaning under add-or-remove only; its sensitivities are norms, not below zero.
* ``epsilon_delta`` books a step that is (epsilon, delta)-DP by a proof of its own. We use it as (0, delta):
  the probability that a threshold selection fails. dp_accounting has no such event, so it is defined here.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dp_accounting
from dp_accounting import dp_event

from sfumato.errors import AccountingError

RELATIONS = ("add_or_remove", "replace_one")


@dataclass(frozen=True)
class EpsilonDeltaDpEvent(dp_event.DpEvent):  # type: ignore[misc]
    """A step that is (epsilon, delta)-DP for a reason that is no event of its own.

    Attributes:
        epsilon: The step's epsilon, usually 0.
        delta: The step's delta: the probability that it fails.
    """

    epsilon: float
    delta: float


def _number(value: Any, *, name: str, low: float, high: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise AccountingError(f"{name} must be a number, not {type(value).__name__}.")
    number = float(value)
    if not (math.isfinite(number) and low <= number <= high):
        raise AccountingError(f"{name} is {number!r}. It must be finite, from {low} to {high}.")
    return number


def _count(value: Any, *, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise AccountingError(f"{name} is {value!r}. It must be a whole number of at least 1.")
    return int(value)


def _numbers(values: Any, *, name: str, high: float = math.inf) -> list[float]:
    if not isinstance(values, (list, tuple)) or not values:
        raise AccountingError(f"{name} must be a list of at least one number.")
    return [_number(value, name=name, low=0.0, high=high) for value in values]


def event_to_json(event: dp_event.DpEvent) -> dict[str, Any]:
    """Writes a tree of the events named in the module's text as plain JSON values that read back to the same floats.

    Raises:
        AccountingError: The tree holds another event or a parameter out of range.

    >>> event_to_json(dp_event.GaussianDpEvent(2.0))
    {'event': 'gaussian', 'noise_multiplier': 2.0}
    """
    if isinstance(event, dp_event.GaussianDpEvent):
        multiplier = _number(_plain(event.noise_multiplier), name="noise_multiplier", low=0.0)
        return {"event": "gaussian", "noise_multiplier": multiplier}
    if isinstance(event, dp_event.PoissonSampledDpEvent):
        q = _plain(event.sampling_probability)
        probability = _number(q, name="sampling_probability", low=0.0, high=1.0)
        inner = event_to_json(event.event)
        return {"event": "poisson_sampled", "sampling_probability": probability, "inner": inner}
    if isinstance(event, dp_event.SampledWithoutReplacementDpEvent):
        source = _count(_plain(event.source_dataset_size), name="source_dataset_size")
        sample = _count(_plain(event.sample_size), name="sample_size")
        if sample > source:
            raise AccountingError(f"sample_size {sample} is above source_dataset_size {source}.")
        return {
            "event": "sampled_without_replacement",
            "source_dataset_size": source,
            "sample_size": sample,
            "inner": event_to_json(event.event),
        }
    if isinstance(event, dp_event.SelfComposedDpEvent):
        count = _count(_plain(event.count), name="count")
        return {"event": "self_composed", "count": count, "inner": event_to_json(event.event)}
    if isinstance(event, dp_event.ComposedDpEvent):
        return {"event": "composed", "events": [event_to_json(child) for child in event.events]}
    if isinstance(event, dp_event.MixtureOfGaussiansDpEvent):
        deviation = _number(_plain(event.standard_deviation), name="standard_deviation", low=0.0)
        sensitivities = _numbers([_plain(c) for c in event.sensitivities], name="sensitivities")
        probabilities = _numbers([_plain(p) for p in event.sampling_probs], name="sampling_probs", high=1.0)
        if len(sensitivities) != len(probabilities) or abs(math.fsum(probabilities) - 1.0) > 1e-9:
            raise AccountingError("sampling_probs must be as many as sensitivities and add up to 1.")
        return {
            "event": "mixture_of_gaussians",
            "standard_deviation": deviation,
            "sensitivities": sensitivities,
            "sampling_probs": probabilities,
        }
    if isinstance(event, EpsilonDeltaDpEvent):
        return {
            "event": "epsilon_delta",
            "epsilon": _number(_plain(event.epsilon), name="epsilon", low=0.0),
            "delta": _number(_plain(event.delta), name="delta", low=0.0, high=1.0),
        }
    if isinstance(event, dp_event.NonPrivateDpEvent):
        return {"event": "non_private"}
    raise AccountingError(
        f"{type(event).__name__} cannot be accounted for. Express the step as sums with Gaussian noise."
    )


def _plain(value: Any) -> Any:
    """NumPy scalars as Python ones: JSON knows no other."""
    return value.item() if hasattr(value, "item") else value


def event_from_json(record: Mapping[str, Any]) -> dp_event.DpEvent:
    """Reads what `event_to_json` wrote; refuses anything else, unknown keys included.

    Raises:
        AccountingError: The record is not an event that we know, or has a wrong field.
    """
    event = _build(record)
    if event_to_json(event) != record:
        raise AccountingError(f"event {record.get('event')!r} has fields that it should not have.")
    return event


def _list(record: Mapping[str, Any], field: str) -> list[Any]:
    if not isinstance(record[field], list):
        raise AccountingError(f"{field} must be a list.")
    return list(record[field])


def _build(record: Any) -> dp_event.DpEvent:
    if not isinstance(record, Mapping):
        raise AccountingError(f"an event must be a JSON object, not {type(record).__name__}.")
    kind = record.get("event")
    try:
        if kind == "gaussian":
            return dp_accounting.GaussianDpEvent(record["noise_multiplier"])
        if kind == "poisson_sampled":
            q = record["sampling_probability"]
            return dp_accounting.PoissonSampledDpEvent(q, _build(record["inner"]))
        if kind == "sampled_without_replacement":
            return dp_accounting.SampledWithoutReplacementDpEvent(
                record["source_dataset_size"], record["sample_size"], _build(record["inner"])
            )
        if kind == "self_composed":
            return dp_accounting.SelfComposedDpEvent(_build(record["inner"]), record["count"])
        if kind == "composed":
            return dp_accounting.ComposedDpEvent([_build(child) for child in _list(record, "events")])
        if kind == "mixture_of_gaussians":
            return dp_event.MixtureOfGaussiansDpEvent(
                record["standard_deviation"], _list(record, "sensitivities"), _list(record, "sampling_probs")
            )
        if kind == "epsilon_delta":
            return EpsilonDeltaDpEvent(record["epsilon"], record["delta"])
        if kind == "non_private":
            return dp_accounting.NonPrivateDpEvent()
    except KeyError as missing:
        raise AccountingError(f"event {kind!r} lacks the field {missing}.") from missing
    raise AccountingError(f"event {kind!r} is unknown: its cost cannot be computed.")
