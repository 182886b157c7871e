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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from dp_accounting import dp_event
from dp_accounting.privacy_accountant import NeighboringRelation

from sfumato.errors import AccountingError

#: The relations, and what dp_accounting calls them.
RELATIONS = {
    "add_or_remove": NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace_one": NeighboringRelation.REPLACE_ONE,
}


@dataclass(frozen=True)
class EpsilonDeltaDpEvent(dp_event.DpEvent):  # type: ignore[misc]
    """A step that is (epsilon, delta)-DP for a reason that is no event of its own; its epsilon is usually 0."""

    epsilon: float
    delta: float


def event_to_json(event: dp_event.DpEvent) -> dict[str, Any]:
    """Writes a tree of the events named in the module's text as plain JSON values that read back to the same floats.

    Another event or a parameter out of range is refused.
    """
    for kind, (cls, fields) in _EVENTS.items():
        if isinstance(event, cls):
            written = {key: write(getattr(event, _ATTRIBUTES.get(key, key)), key) for key, write in fields.items()}
            _check_together(written)
            return {"event": kind, **written}
    raise AccountingError(
        f"{type(event).__name__} cannot be accounted for. Express the step as sums with Gaussian noise."
    )


def event_from_json(record: Mapping[str, Any]) -> dp_event.DpEvent:
    """Reads what `event_to_json` wrote; refuses anything else, unknown keys included."""
    event = _build(record)
    if event_to_json(event) != record:
        raise AccountingError(f"event {record.get('event')!r} has fields that it should not have.")
    return event


def _build(record: Any) -> dp_event.DpEvent:
    if not isinstance(record, Mapping):
        raise AccountingError(f"an event must be a JSON object, not {type(record).__name__}.")
    kind = record.get("event")
    if not isinstance(kind, str) or kind not in _EVENTS:
        raise AccountingError(f"event {kind!r} is unknown: its cost cannot be computed.")
    cls, fields = _EVENTS[kind]
    for key in fields:
        if key not in record:
            raise AccountingError(f"event {kind!r} lacks the field {key!r}.")
    read = {_ATTRIBUTES.get(key, key): record[key] for key in fields}
    if "event" in read:
        read["event"] = _build(read["event"])
    if "events" in read:
        if not isinstance(read["events"], list):
            raise AccountingError("events must be a list.")
        read["events"] = [_build(child) for child in read["events"]]
    return cls(**read)


def _check_together(fields: Mapping[str, Any]) -> None:
    sample, source = fields.get("sample_size", 0), fields.get("source_dataset_size", 0)
    if sample > source:
        raise AccountingError(f"sample_size {sample} is above source_dataset_size {source}.")
    odds = fields.get("sampling_probs", [1.0])
    if len(odds) != len(fields.get("sensitivities", odds)) or abs(math.fsum(odds) - 1.0) > 1e-9:
        raise AccountingError("sampling_probs must be as many as sensitivities and add up to 1.")


def _number(value: Any, name: str, *, high: float = math.inf) -> float:
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise AccountingError(f"{name} must be a number, not {type(value).__name__}.")
    number = float(value)
    if not (math.isfinite(number) and 0 <= number <= high):
        raise AccountingError(f"{name} is {number!r}. It must be finite, from 0.0 to {high}.")
    return number


def _count(value: Any, name: str) -> int:
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise AccountingError(f"{name} is {value!r}. It must be a whole number of at least 1.")
    return value


def _numbers(values: Any, name: str, *, high: float = math.inf) -> list[float]:
    if not isinstance(values, list | tuple) or not values:
        raise AccountingError(f"{name} must be a list of at least one number.")
    return [_number(value, name, high=high) for value in values]


def _plain(value: Any) -> Any:
    """NumPy scalars as Python ones: JSON knows no other."""
    return value.item() if hasattr(value, "item") else value


def _inner(event: dp_event.DpEvent, name: str) -> dict[str, Any]:
    return event_to_json(event)


_share, _shares = partial(_number, high=1.0), partial(_numbers, high=1.0)
_Fields = dict[str, Callable[[Any, str], Any]]
_SAMPLE: _Fields = {"source_dataset_size": _count, "sample_size": _count, "inner": _inner}
_MIXTURE: _Fields = {"standard_deviation": _number, "sensitivities": _numbers, "sampling_probs": _shares}
#: For each event its class, and its fields in the order of a certificate, each with what checks and writes it.
_EVENTS: dict[str, tuple[Any, _Fields]] = {
    "gaussian": (dp_event.GaussianDpEvent, {"noise_multiplier": _number}),
    "poisson_sampled": (dp_event.PoissonSampledDpEvent, {"sampling_probability": _share, "inner": _inner}),
    "sampled_without_replacement": (dp_event.SampledWithoutReplacementDpEvent, _SAMPLE),
    "self_composed": (dp_event.SelfComposedDpEvent, {"count": _count, "inner": _inner}),
    "composed": (dp_event.ComposedDpEvent, {"events": lambda events, name: [*map(event_to_json, events)]}),
    "mixture_of_gaussians": (dp_event.MixtureOfGaussiansDpEvent, _MIXTURE),
    "epsilon_delta": (EpsilonDeltaDpEvent, {"epsilon": _number, "delta": _share}),
    "non_private": (dp_event.NonPrivateDpEvent, {}),
}
_ATTRIBUTES = {"inner": "event"}
