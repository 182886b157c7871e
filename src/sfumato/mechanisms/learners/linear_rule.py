"""A rule for the classes of a wide table, or of images pixel by pixel: one weight for every number.

The frame, the Gaussian that stands for private rows and the noisy gradients are those of the path for wide tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.mechanisms.common.logistic import of_all_classes, probabilities
from sfumato.mechanisms.learners.progress import PROGRESS, SHARE, Look, Watched, judged, look_of, progress_step
from sfumato.mechanisms.table.wide_path.frame import Frame
from sfumato.mechanisms.table.wide_path.gauss import with_intercept
from sfumato.mechanisms.table.wide_path.method import Wide
from sfumato.mechanisms.table.wide_path.teacher import GRADIENTS
from sfumato.model import Weights
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch

#: Second moments of more numbers would take too long and say too little.
_WIDEST = 2_048
#: Only rows would need these.
_OF_ROWS = ("scores", "means")


class LinearPlan(Wide):
    """The path for wide tables as far as a rule needs it."""

    def steps(self) -> tuple[Step, ...]:
        """Frame, moments and gradients; and a look before every gradient and at the end."""
        if self.encoder.width > _WIDEST:
            raise PlanError(
                f"logistic weighs at most {_WIDEST:,} numbers of a row, and these rows have {self.encoder.width:,}. "
                "Use scattering for images, or fewer columns."
            )
        steps = tuple(step for step in super().steps() if step.name not in _OF_ROWS)
        share = SHARE * sum(step.share for step in steps)
        return (*steps, progress_step(looks=GRADIENTS + 1, share=share))


@dataclass(frozen=True, kw_only=True)
class LinearRule(Watched):
    """Where rows are measured from, in which unit, and weights of each class (of the second, where there are two)."""

    plan: LinearPlan = field(repr=False)
    frame: Frame = field(repr=False)
    rule: NDArray[np.float64] = field(repr=False)

    @property
    def weights(self) -> Weights:
        """The frame, and a weight for every number and for the constant."""
        return {"centre": self.frame.centre, "unit": np.array([self.frame.unit]), "weights": self.rule}

    def probabilities(self, batch: Batch) -> NDArray[np.float64]:
        """Of every class, for each row."""
        points = with_intercept(self.plan.points_in(self.frame)(batch))
        return of_all_classes(probabilities(points @ self.rule.T))


def linear_rule_from(weights: Weights, plan: LinearPlan) -> LinearRule:
    """The rule of a file of weights."""
    return LinearRule(plan=plan, frame=Frame(weights["centre"], float(weights["unit"][0])), rule=weights["weights"])


def learn_linear_rule(plan: LinearPlan, view: Doors) -> LinearRule:
    """The frame, the Gaussian, and weights by noisy gradients."""
    _, frame, gauss = plan.density(view)
    points = plan.points_in(frame)
    looks: list[Look] = []

    def look(weights: NDArray[np.float64]) -> None:
        def seen(batch: Batch) -> Mapping[str, NDArray[np.float64]]:
            scores = exact_products(with_intercept(points(batch)), weights.T)
            return {PROGRESS: judged(of_all_classes(probabilities(scores)), plan.label(batch))}

        looks.append(look_of(view.noisy_sum(PROGRESS, seen)[PROGRESS]))

    rule = plan.teach(view, points, gauss, watch=look)
    look(rule)
    return LinearRule(plan=plan, frame=frame, rule=rule, looks=tuple(looks))
