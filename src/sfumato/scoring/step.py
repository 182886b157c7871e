"""The one access of a score to private rows: its step and its plan."""

import dp_accounting as dpa

from sfumato.errors import PlanError
from sfumato.public.budget import Budget
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.certificate.score import Metric
from sfumato.public.plan.block import Dense, Hot
from sfumato.public.plan.plan import Plan, event_of, make_plan
from sfumato.public.plan.step import EachRow, KnownPartition, Step, WithoutReplacement
from sfumato.public.schema.schema import Column, Schema

#: The step, and its one block.
SCORE, COUNTS = "score", "counts"
#: The share of the private rows that is set apart, where nothing else is said.
SHARE = 0.1
#: Of two classes: in how many parts of its range the learner's score is counted.
BINS = 24
#: Of a number: 1, y, yy, ee, eeee, eey, eeyy, yyy, yyyy, each at most 1.
MOMENTS = 9


def score_target(schema: Schema) -> Column:
    """The column that is predicted."""
    target = schema.target_column
    if target is None or schema.images or target.kind in ("datetime", "time") or len(schema.columns) < 2:
        raise PlanError(
            "a score is that of a learner of a target, classes or numbers, in a table. Name one in the schema, or leave out score."
        )
    return target


def metric_of(schema: Schema) -> Metric:
    """What is told: AUC of two classes, accuracy of several, R2 of a number."""
    target = score_target(schema)
    return "R2" if target.is_number else "AUC" if target.size == 2 else "accuracy"


def score_step(metric: Metric) -> Step:
    """The step: one count of every row, or the moments of its error."""
    if metric == "R2":
        return Step(name=SCORE, blocks=(Dense(name=COUNTS, width=MOMENTS, l2_bound=3.0),))
    return Step(name=SCORE, blocks=(Hot(name=COUNTS, width=2 * BINS if metric == "AUC" else 2),))


def score_plan(schema: Schema, budget: Budget) -> Plan:
    """The plan of the step alone: rows that are set apart are in no other, so it has the budget for itself."""
    return make_plan((score_step(metric_of(schema)),), budget=budget, unit=schema.unit, rows=schema.rows)


def events_of(certificate: Certificate) -> tuple[dpa.DpEvent, ...]:
    """What was done with the rows that were measured, and with those that were set apart: every unit is in one of the two."""
    record = certificate.score
    if record is None:
        return (certificate.event,)
    own = (score_step(record.metric),)
    return certificate.event, event_of(own, scale=record.scale, unit=certificate.claim.unit, prior=None)


def check_share(share: float) -> None:
    """Refuse a share that leaves nothing to measure, or nothing to test."""
    if not 0.01 <= share <= 0.5:
        raise PlanError(
            f"score = {share} must be the share of rows that are set apart, from 0.01 to 0.5. 0.1 is usual."
        )


def refuse_public_counts(steps: tuple[Step, ...]) -> None:
    """Refuse steps that know how many rows there are: a coin leaves an unknown number of them."""
    if any(isinstance(step.sampling, WithoutReplacement | KnownPartition | EachRow) for step in steps):
        raise PlanError(
            "this mechanism needs a public number of rows, and rows that a coin sets apart leave an unknown one. Leave out score."
        )
    if any(step.name == SCORE for step in steps):
        raise PlanError(f"a step of the mechanism is named {SCORE!r}, which is the name of the score's own. Rename it.")
