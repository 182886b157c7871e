"""A private score: its plan, its account, and its value from the noisy counts of the folder."""

import math

from sfumato.errors import PlanError, SfumatoError
from sfumato.public.accounting import Spent, epsilon_of, event_to_json
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.plan import Plan, event_of
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema
from sfumato.scoring.step import COUNTS, SCORE, check_share, metric_of, refuse_public_counts, score_step
from sfumato.scoring.values import score_of
from sfumato.verification.account_checks import EXACT
from sfumato.verification.findings import Findings
from sfumato.verification.replay import replay_epsilon

#: Sums of a few dozen numbers, rounded otherwise.
_ROUNDING = 1e-9


def planned_score(certificate: Certificate, schema: Schema, steps: tuple[Step, ...]) -> Plan | None:
    """The one step that rows set apart were in, at the noise of the recorded scale; None where there is no score."""
    record = certificate.score
    if record is None:
        return None
    check_share(record.share)
    if record.metric != metric_of(schema):
        raise PlanError(f"the score is called {record.metric}, and that of this target is {metric_of(schema)}.")
    refuse_public_counts(steps)
    own, budget = (score_step(record.metric),), certificate.claim.budget
    event = event_of(own, scale=record.scale, unit=schema.unit, prior=None)
    return Plan(budget=budget, unit=schema.unit, steps=own, scale=record.scale, event=event, spent=Spent(0.0, "", 0.0))


def check_score(certificate: Certificate, plan: Plan, answers: Answers | None, found: Findings) -> None:
    """The account of rows that were set apart, and the score that their noisy counts give."""
    record, claim, relation = certificate.score, certificate.claim, plan.unit.relation
    if record is None or answers is None:
        return
    problems = []
    try:
        spent = epsilon_of(plan.event, delta=claim.delta, relation=relation).epsilon
        replayed = replay_epsilon(event_to_json(plan.event), delta=claim.delta, relation=relation)
        noisy = answers.measured(plan, SCORE, 0)[COUNTS]
    except SfumatoError as error:
        found.problems.append(f"the score cannot be computed again: {error}")
        return
    if not max(spent, replayed) <= claim.epsilon * (1 + EXACT):
        problems.append(
            f"the rows of the score cost epsilon {max(spent, replayed):.6g}, and {claim.epsilon:.6g} is claimed."
        )
    again = score_of(record.metric, noisy, max_rows=plan.unit.max_rows)
    listed = (record.value, record.low, record.high)
    same = all(
        math.isclose(one, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING) for one, other in zip(again, listed, strict=True)
    )
    if not same:
        problems.append("the score or its interval is not what its noisy counts give.")
    checked = (
        "the score and its interval are what its noisy counts give, and rows set apart cost no more than the claim"
    )
    if found.settle(problems, checked=checked):
        found.declared.append(
            "that the rows of the score were set apart by a secret coin, and that its learner saw synthetic rows of this release alone"
        )
