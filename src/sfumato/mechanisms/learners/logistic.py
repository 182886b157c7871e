"""Logistic regression for tables: one weight for every bin of every column.

Bins, a first rule and rows that stand for private ones come from noisy tables, as `3a-table` makes them; most of the budget
goes to noisy gradients of the rule over all rows. Proof: docs/proofs/learners.md.
"""

from dataclasses import dataclass
from typing import ClassVar

from sfumato.errors import PlanError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.learners.binned_rule import BinnedRule, learn_binned_rule, rule_from
from sfumato.mechanisms.learners.progress import progress_reading
from sfumato.mechanisms.learners.rule_blueprint import RuleBlueprint
from sfumato.mechanisms.learners.targets import require_classes
from sfumato.model import Classifier, Weights
from sfumato.public.budget import Budget
from sfumato.public.doors import Doors
from sfumato.public.reading import Reading
from sfumato.public.schema import Schema
from sfumato.public.step import Step


@register
@dataclass(frozen=True, kw_only=True)
class Logistic:
    """The learner for tables; it has no settings."""

    name: ClassVar[str] = "logistic"

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Sums over everyone: tables for the bins, and gradients."""
        return self._plan(schema, budget).steps()

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Bins, a first rule, and its corrections."""
        return {"rule": learn_binned_rule(self._plan(schema, view.budget), view)}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> Classifier:
        """The rule is the model."""
        rule: BinnedRule = measurements["rule"]
        return rule

    def classifier(self, weights: Weights, schema: Schema, budget: Budget) -> Classifier:
        """The model of a file of weights."""
        return rule_from(weights, self._plan(schema, budget))

    def readings(self, schema: Schema) -> tuple[Reading, ...]:
        """What the noise means for a look at the training rows."""
        return (progress_reading(schema),)

    def _plan(self, schema: Schema, budget: Budget) -> RuleBlueprint:
        require_classes(schema, self.name)
        plan = RuleBlueprint(schema, budget)
        if not plan.has_rule:
            raise PlanError(
                f"logistic has no weights to learn, or too many: {plan.n_classes:,} classes of {plan.width:,} values. "
                "Use a table with other columns than the target, and fewer categories."
            )
        return plan
