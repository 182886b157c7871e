"""The plan: every access to private rows, its noise and the total cost, before any row is read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa

from sfumato.errors import PlanError
from sfumato.public.accounting import Spent, calibrate, epsilon_of
from sfumato.public.budget import Budget, PrivacyUnit
from sfumato.public.plan import grid
from sfumato.public.plan.scaled import ScaledSteps, noise_multiplier_of
from sfumato.public.plan.step import Step

_MOST_NUMBERS = 2**28  # 2 GB of sums
#: A row adds at most 2^29 to an entry of a sum, which has 64 bits.
_MOST_ROWS = 2**34


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(ScaledSteps):
    """Steps with a noise scale that meets the budget. `prior` is what was spent before, on discovery."""

    budget: Budget
    event: dpa.DpEvent
    spent: Spent

    @property
    def scaled(self) -> ScaledSteps:
        """What rows are added up by, without what the whole costs."""
        return ScaledSteps(unit=self.unit, steps=self.steps, scale=self.scale)

    def __repr__(self) -> str:
        names = ", ".join(step.name for step in self.steps)
        return f"<Plan: epsilon {self.budget.epsilon:g}, delta {self.budget.delta:g}, steps {names}>"

    def to_json(self) -> dict[str, Any]:
        """Plain values, one entry for each block of each step."""
        return {
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "unit": self.unit.describe(),
            "accountant": self.spent.accountant,
            "spent_epsilon": self.spent.epsilon,
            "steps": [
                {
                    "step": step.name,
                    "block": block.name,
                    "sampling": type(step.sampling).__name__,
                    "uses": step.uses,
                    "numbers": step.mixtures * step.groups * block.width,
                    "clip": block.l2_bound,
                    "unit_clip": step.norm_of(self.unit) * block.l2_bound,
                    "noise_multiplier": self.noise_multiplier(step.name),
                    "noise_stddev": self.noise_stddev(step.name, block.name),
                }
                for step in self.steps
                for block in step.blocks
            ],
        }


def make_plan(
    steps: Sequence[Step], *, budget: Budget, unit: PrivacyUnit, rows: int | None, prior: dpa.DpEvent | None = None
) -> Plan:
    """Find the least noise with which the steps, after what was spent before, meet the budget.

    Steps that come after a discovery may differ with what was discovered. Plain Gaussian sums compose adaptively
    at no extra cost (docs/proofs/gaussian-composition.md); a sampled step is refused there.
    """
    budget.check_against(rows)
    if rows is not None and rows >= _MOST_ROWS:
        raise PlanError(
            f"rows = {rows}: sums are exact for fewer than {_MOST_ROWS} rows (2^34). Release parts of the data by themselves, "
            "with persons in one part only."
        )
    steps = tuple(steps)
    names = [step.name for step in steps]
    if len(set(names)) != len(names):
        raise PlanError("two steps have the same name. Give each access a name of its own.")
    if prior is not None:
        refuse_sampling(steps)

    def event_at(scale: float) -> dpa.DpEvent:
        return event_of(steps, scale=scale, unit=unit, prior=prior)

    if not steps:
        raise PlanError("the mechanism plans no access to private rows, so there is nothing to release.")
    scale = calibrate(event_at, epsilon=budget.epsilon, delta=budget.delta, relation=unit.relation)
    event = event_at(scale)
    spent = epsilon_of(event, delta=budget.delta, relation=unit.relation)
    if spent.epsilon > budget.epsilon:
        raise PlanError(f"the plan would spend epsilon {spent.epsilon:.6g}, over the budget of {budget.epsilon:.6g}.")
    plan = Plan(budget=budget, unit=unit, steps=steps, scale=scale, event=event, spent=spent)
    for step in steps:
        # These refuse what the doors could not carry out.
        for block in step.blocks:
            plan.units_per_one(step.name, block.name)
            plan.noise_stddev(step.name, block.name)
        if step.clips_persons(unit):
            grid.check_rows_together(grid.norm_in_units(plan.noise_multiplier(step.name)), max_rows=unit.max_rows)
        if step.width * step.mixtures * step.groups > _MOST_NUMBERS:
            raise PlanError(
                f"step {step.name!r} would release {step.width * step.mixtures * step.groups} numbers, more than memory "
                "holds. Use fewer mixtures, bins or categories."
            )
    return plan


def event_of(steps: Sequence[Step], *, scale: float, unit: PrivacyUnit, prior: dpa.DpEvent | None) -> dpa.DpEvent:
    """What the accountant is told: what was spent before, then every step at the noise that the scale gives it."""
    events = [] if prior is None else [prior]
    for step in steps:
        noise = noise_multiplier_of(step, steps=steps, scale=scale)
        events.append(step.event(noise_multiplier=noise, unit=unit))
    return events[0] if len(events) == 1 else dpa.ComposedDpEvent(events)


def noise_growth(steps: Sequence[Step], *, unit: PrivacyUnit) -> float:
    """How many times as much noise sums over everyone need as if the unit were a row, whatever the budget."""
    squares = math.fsum(step.share * step.norm_of(unit) ** 2 for step in steps)
    return math.sqrt(squares / math.fsum(step.share for step in steps))


def refuse_sampling(steps: Sequence[Step]) -> None:
    """Refuse steps that may not follow a discovery: docs/adr/0004-discovery-before-sampled-steps.md says why."""
    if any(step.is_sampled for step in steps):
        raise PlanError(
            "a sampled mechanism cannot follow a discovery under one exact account. "
            "Declare bounds and categories in the schema, or discover them in a run of their own."
        )
