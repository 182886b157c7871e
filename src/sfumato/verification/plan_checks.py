"""The plan, made again: steps from the named mechanism and the schema, noise from the scale, events from both."""

import json
import math
from dataclasses import dataclass, replace
from typing import Any

from sfumato.mechanism import Learner, Mechanism, mechanism_from, record_of
from sfumato.public.accounting import event_from_json, event_to_json
from sfumato.public.certificate.assumptions import ASSUMPTIONS
from sfumato.public.certificate.certificate import Certificate, DiscoveryRecord, grid_of
from sfumato.public.certificate.randomness import SECRET_RANDOMNESS
from sfumato.public.plan.discovery import DiscoveryPlan, plan_discovery
from sfumato.public.plan.plan import Plan, event_of, refuse_sampling
from sfumato.public.schema.schema import Schema
from sfumato.verification.discovery_replay import faults_of_discovery, replay_discovery
from sfumato.verification.findings import Findings
from sfumato.verification.score_checks import planned_score

#: Discovery and persons solve for mu or take a binomial on the way to their noise: other code and processors round otherwise.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Recomputed:
    """What the certificate's mechanism, schema, scale and claim lead to, whatever else it says."""

    plan: Plan
    mechanism: Mechanism
    discovery: DiscoveryPlan | None
    score: Plan | None = None


def check_status(certificate: Certificate, found: Findings) -> None:
    """A release that says itself that it is not private is refused; a secret seed is no known one."""
    if certificate.status != "certified":
        known = certificate.status == "research"
        why = (
            "made with a known seed, so its noise can be subtracted"
            if known
            else "not made by the doors of the package"
        )
        found.problems.append(
            f"the release is marked {certificate.status!r}: it was {why}. Do not treat it as private."
        )
    elif certificate.randomness != SECRET_RANDOMNESS:
        found.problems.append(
            f"the release is marked 'certified' beside the randomness {certificate.randomness!a}, "
            f"and only {SECRET_RANDOMNESS!r} can be."
        )


def check_assumptions(certificate: Certificate, found: Findings) -> None:
    """What no check can see must be said in full, in the words and the order of this version."""
    problems = []
    if certificate.assumptions != ASSUMPTIONS:
        listed = {entry.text for entry in certificate.assumptions}
        gone = [entry.text for entry in ASSUMPTIONS if entry.text not in listed]
        what = (
            f"leaves out or edits the assumption {gone[0]!r}"
            if gone
            else "reorders, repeats or adds to the assumptions"
        )
        problems = [f"the certificate {what}: they must be those of this version of sfumato."]
    found.settle(problems, checked="the assumptions are those of this version, none left out")


def recompute(certificate: Certificate, schema: Schema, found: Findings) -> Recomputed | None:
    """Plan again, and compare with what is listed. None: no plan follows from what the certificate says."""
    failing = "the plan cannot be made again"
    garbled = f"{failing}: mechanism {certificate.mechanism.name!r} fails with these settings"
    again = found.attempt(lambda: _again(certificate, schema), failing, garbled=garbled)
    if again is None:
        return None
    planned, problems = again
    if planned.discovery is not None:
        problems += _undiscovered(planned.discovery, certificate, schema)
    checked = "the steps are those that the mechanism plans for this schema; noise and grid follow from the scale"
    found.settle(problems, checked=f"{checked}; the accounted events follow from all of these")
    if planned.discovery is not None and not problems:
        found.checked.append("cost, grid and threshold of the discovery, computed a second time by code of its own")
    return planned


def _again(certificate: Certificate, schema: Schema) -> tuple[Recomputed, list[str]]:
    """The plan that follows, and where the certificate lists another one."""
    mechanism, discovery, prior = mechanism_from(certificate.mechanism), _discovery(certificate, schema), None
    steps = tuple(mechanism.steps(schema, certificate.claim.budget))
    if discovery is not None:
        refuse_sampling(steps)
        prior = event_from_json(_cost_of(discovery, certificate))
    event = event_of(steps, scale=certificate.scale, unit=schema.unit, prior=prior)
    plan = replace(certificate.plan(), steps=steps, unit=schema.unit, event=event)
    problems, settings = _differences(certificate, plan), record_of(mechanism).parameters
    if json.dumps(settings) != json.dumps(certificate.mechanism.parameters):
        problems.append(f"the settings of {mechanism.name!r} are not written as the mechanism itself would write them.")
    return Recomputed(plan, mechanism, discovery, planned_score(certificate, schema, steps)), problems


def check_kind(planned: Recomputed, *, is_model: bool, found: Findings) -> None:
    """A learner releases a model and no rows; every other mechanism rows and no model."""
    name, learns = planned.mechanism.name, isinstance(planned.mechanism, Learner)
    if learns != is_model:
        gives = "a trained model and no rows" if learns else "rows and no trained model"
        found.problems.append(f"the mechanism {name!r} releases {gives}, and the folder holds the other.")


def _discovery(certificate: Certificate, schema: Schema) -> DiscoveryPlan | None:
    """How the recorded columns were found: it depends on their kinds, the unit and the budget alone."""
    record = certificate.discovery
    if record is None:
        return None
    named = {*record.numbers, *record.texts}
    columns = tuple(replace(column, discover=True) for column in schema.columns if column.name in named)
    return plan_discovery(schema, columns, budget=certificate.claim.budget)


def _cost_of(discovery: DiscoveryPlan, certificate: Certificate) -> dict[str, Any]:
    """By code that shares nothing with the discovery's own."""
    budget, numbers, texts = certificate.claim.budget, len(discovery.numbers), len(discovery.texts)
    return replay_discovery(epsilon=budget.epsilon, delta=budget.delta, numbers=numbers, texts=texts)


def _differences(certificate: Certificate, plan: Plan) -> list[str]:
    problems = []
    listed = json.dumps([step.to_json() for step in certificate.steps])
    if json.dumps([step.to_json() for step in plan.steps]) != listed:
        return ["the listed steps are not those that the mechanism plans for this schema."]
    for step, noise in zip(certificate.steps, certificate.noise_multipliers, strict=True):
        if noise != plan.noise_multiplier(step.name):
            problems.append(f"the noise multiplier of step {step.name!r} does not follow from the scale.")
    if list(certificate.grid.items()) != list(grid_of(plan).items()):
        problems.append("the grid does not fit its noise: it is not the one that follows from the scale.")
    if not _agree(event_to_json(certificate.event), event_to_json(plan.event)):
        problems.append("the accounted events differ from those that the steps, the scale and the discovery cause.")
    return problems


def _agree(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_agree(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_agree(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_ROUNDING)
    return bool(one == other)


def _undiscovered(discovery: DiscoveryPlan, certificate: Certificate, schema: Schema) -> list[str]:
    """What a discovery leaves behind in a schema, besides bounds: categories in order, and a place for the others."""
    listed, planned, problems = certificate.discovery, DiscoveryRecord(**discovery.published), []
    named = (planned.numbers, planned.texts)
    if listed is None or named != (listed.numbers, listed.texts) or named == ((), ()):
        return ["the record of the discovery does not name columns of the schema, in its order, each once."]
    if planned != listed:
        problems.append("the grid or the threshold of the discovery is not the one that its budget gives.")
    cost = _cost_of(discovery, certificate)
    problems += faults_of_discovery(cost, **vars(listed), max_rows=schema.unit.max_rows)
    for column in discovery.texts:
        known = schema[column.name]
        if not known.missing or list(known.categories) != sorted(known.categories):
            problems.append(f"column {column.name!r} is not as a discovery leaves it: sorted, with missing values.")
    return problems
