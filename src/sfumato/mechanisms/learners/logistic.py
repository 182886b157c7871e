"""Logistic regression for tables: one weight for every bin of every column; for wide ones and images, for every number.

Bins (or a frame for the numbers) and rows that stand for private ones come from noisy sums, as `3a-table` (or `moments`) makes
them; most of the budget goes to noisy gradients of the rule over all rows. Proof: docs/proofs/learners.md.
"""

from dataclasses import dataclass, field
from typing import ClassVar, cast

from sfumato.errors import PlanError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.settings import require_classes
from sfumato.mechanisms.learners.binned_rule import RulePlan, binned_rule_from, learn_binned_rule
from sfumato.mechanisms.learners.linear_rule import LinearPlan, LinearRule, learn_linear_rule
from sfumato.mechanisms.learners.progress import Watching
from sfumato.mechanisms.moments.points import Frame
from sfumato.mechanisms.moments.settings import MomentsSettings
from sfumato.mechanisms.table.settings.table import TableSettings
from sfumato.model import Classifier, Weights
from sfumato.public.budget import Budget
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema
from sfumato.public.schema.wide import is_wide


@register
@dataclass(frozen=True, kw_only=True)
class Logistic(Watching):
    """The learner for tables.

    Args:
        settings: Those of `3a-table`, whose stages it uses.
    """

    name: ClassVar[str] = "logistic"
    settings: TableSettings = field(default_factory=TableSettings)
    moments: ClassVar[MomentsSettings] = MomentsSettings()

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Sums over everyone: tables for the bins, or moments of points; and gradients."""
        schema.require_one_table(self.name)
        return self._plan(schema, budget).steps()

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """What the rule is to work on, and the rule."""
        plan = self._plan(schema, view.budget)
        if isinstance(plan, LinearPlan):
            return {"rule": learn_linear_rule(plan, view)}
        return {"rule": learn_binned_rule(plan, view)}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> Classifier:
        """The rule is the model."""
        return cast(Classifier, measurements["rule"])

    def classifier(self, weights: Weights, schema: Schema, budget: Budget) -> Classifier:
        """The model of a file of weights."""
        plan = self._plan(schema, budget)
        if not isinstance(plan, LinearPlan):
            return binned_rule_from(weights, plan)
        return LinearRule(plan=plan, frame=Frame(weights["centre"], float(weights["unit"][0])), rule=weights["weights"])

    def _plan(self, schema: Schema, budget: Budget) -> RulePlan | LinearPlan:
        require_classes(schema, self.name)
        if schema.images or is_wide(schema):
            return LinearPlan(schema, self.moments)
        plan = RulePlan(schema, budget, self.settings)
        if not plan.has_rule:
            raise PlanError(
                f"logistic has no weights to learn, or too many: {plan.n_classes:,} classes of {plan.width:,} values. "
                "Use a table with other columns than the target, and fewer categories."
            )
        return plan
