"""A rule for the classes of a wide table, or of images pixel by pixel: one weight for every number.

The frame, the Gaussian that stands for private rows and the noisy gradients are those of `moments`.
"""

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sfumato.errors import PlanError
from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.classed_rows import labels_of
from sfumato.mechanisms.common.logistic import of_all_classes, probabilities
from sfumato.mechanisms.learners.progress import SHARE, Look, Watched, look_at, progress_step
from sfumato.mechanisms.moments.maps import Scores, with_intercept
from sfumato.mechanisms.moments.measuring import measure_density, measure_weights
from sfumato.mechanisms.moments.plan import MomentsPlan
from sfumato.mechanisms.moments.points import Frame, Points, shortened
from sfumato.model import Weights
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch
from sfumato.public.schema.wide import MOST_ENTRIES

#: Only rows would need these.
_OF_ROWS = ("evidence", "means", "margins")


class LinearPlan(MomentsPlan):
    """The plan of `moments` as far as a rule needs it."""

    @property
    def has_teacher(self) -> bool:
        """The rule is what is asked for."""
        return True

    @property
    def by_class(self) -> None:
        """A linear rule knows no lengths and directions of classes."""
        return

    def refuse(self) -> None:
        """Refuse rows of too many numbers: images are welcome here, and that there are classes is known."""
        if self.width > MOST_ENTRIES:
            raise PlanError(
                f"logistic weighs at most {MOST_ENTRIES:,} numbers of a row, and these rows have {self.width:,}. "
                "Use scattering for images, or fewer columns."
            )

    def steps(self) -> tuple[Step, ...]:
        """Frame, moments and gradients; and a look before every gradient and at the end."""
        steps = tuple(step for step in super().steps() if step.name not in _OF_ROWS)
        share = SHARE * sum(step.share for step in steps)
        return (*steps, progress_step(looks=self.settings.gradients + 1, share=share))


@dataclass(frozen=True, kw_only=True)
class LinearRule(Watched):
    """Where rows are measured from, in which unit, and weights of each class (of the second, where there are two)."""

    plan: LinearPlan = field(repr=False)
    frame: Frame = field(repr=False)
    rule: Floats = field(repr=False)

    @property
    def weights(self) -> Weights:
        """The frame, and a weight for every number and for the constant."""
        return {"centre": self.frame.centre, "unit": np.array([self.frame.unit]), "weights": self.rule}

    def probabilities(self, batch: Batch) -> Floats:
        """Of every class, for each row."""
        vectors = Points(self.plan.encoder, self.frame)(batch)
        scores = with_intercept(shortened(vectors), self.plan.settings.intercept) @ self.rule.T
        return of_all_classes(probabilities(scores))


def _judge(batch: Batch, scores: Scores, target: str | None) -> tuple[Floats, Integers]:
    return of_all_classes(probabilities(scores(batch)[1])), labels_of(batch, target)


def learn_linear_rule(plan: LinearPlan, view: Doors) -> LinearRule:
    """The frame, the Gaussian, and weights by noisy gradients."""
    density = measure_density(plan, view)
    looks: list[Look] = []

    def look(weights: Floats) -> None:
        scores = Scores(density.points, plan.settings.intercept, weights)
        looks.append(look_at(view, partial(_judge, scores=scores, target=plan.schema.target)))

    rule = measure_weights(plan, view, density, before_each=look)
    look(rule)
    return LinearRule(plan=plan, frame=density.points.frame, rule=rule, looks=tuple(looks))
