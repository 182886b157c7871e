"""Steps and the scale of their noise: all that adding up rows needs to know of a plan, and light enough to travel."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.errors import PlanError
from sfumato.public.budget import PrivacyUnit
from sfumato.public.plan import grid
from sfumato.public.plan.step import Step


@dataclass(frozen=True, kw_only=True)
class ScaledSteps:
    """Whose contribution is bounded, the steps, and the scale of the noise that all of them share."""

    unit: PrivacyUnit
    steps: tuple[Step, ...]
    scale: float

    def step(self, name: str) -> Step:
        """The step of that name."""
        for step in self.steps:
            if step.name == name:
                return step
        raise PlanError(f"the plan has no step {name!r}. Planned: {', '.join(s.name for s in self.steps) or 'none'}.")

    def noise_multiplier(self, name: str) -> float:
        """Noise of one use of a step, in whitened units."""
        return noise_multiplier_of(self.step(name), steps=self.steps, scale=self.scale)

    def units_per_one(self, name: str, block: str) -> float:
        """How many grid units the value 1 of a block becomes."""
        return grid.units_per_one(self.step(name).block(block), noise_multiplier=self.noise_multiplier(name))

    def noise_stddev(self, name: str, block: str) -> float:
        """Noise on each entry of a block, in the block's own units."""
        return grid.noise_stddev(self.step(name).block(block), noise_multiplier=self.noise_multiplier(name))


def noise_multiplier_of(step: Step, *, steps: Sequence[Step], scale: float) -> float:
    """Noise of one use of a step, by its share of the budget."""
    total = sum(other.share for other in steps)
    return scale * math.sqrt(step.uses * total / step.share)
