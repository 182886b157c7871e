"""A budget that is used bit by bit: the sound learner with noise that changes between phases, at the same total epsilon.

Every phase is a step of its own in the plan, so the account composes them as it does all others, and the noise of all of them is
calibrated together to the one budget. One release: what several releases of the same rows cost together is another matter.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, cast

from sfumato.mechanism import Measurements
from sfumato.mechanisms.learners.cnn import Cnn
from sfumato.public.budget import Budget
from sfumato.public.plan.doors import Doors, Loss, Noisy, Tensors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema

#: Noise in each of five phases of equal length, relative to one another.
SCHEDULES: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "constant": (1.0, 1.0, 1.0, 1.0, 1.0),
        "falling": (1.5, 1.25, 1.0, 0.85, 0.7),
        "rising": (0.7, 0.85, 1.0, 1.25, 1.5),
    }
)
_GRADIENTS = "gradients"


@dataclass(frozen=True, kw_only=True)
class PhasedCnn(Cnn):
    """`cnn`, with the noise of its gradients in phases."""

    name: ClassVar[str] = "phased-cnn"
    noise: tuple[float, ...] = SCHEDULES["constant"]

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """The gradients of each phase get precision by its noise."""
        gradients, *others = super().steps(schema, budget)
        uses = Counter(self._phases(gradients.uses))
        phases = [replace(gradients, name=_named(at), uses=uses[at], share=self.noise[at] ** -2) for at in sorted(uses)]
        return (*phases, *others)

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """As `cnn` does, through the door of the phase."""
        phases = self._phases(self._n_steps(self._rate(schema)))
        return super().measure(cast(Doors, _Phased(view, map(_named, phases))), schema)

    def _phases(self, n_steps: int) -> list[int]:
        """The phase of each step."""
        return [step * len(self.noise) // n_steps for step in range(n_steps)]


@dataclass(frozen=True)
class _Phased:
    """Doors at which gradients go through those of their phase."""

    doors: Doors
    phases: Iterator[str]

    def noisy_gradients(self, step_name: str, loss: Loss, parameters: Tensors) -> Noisy:
        step = next(self.phases) if step_name == _GRADIENTS else step_name
        return self.doors.noisy_gradients(step, loss, parameters)


def _named(phase: int) -> str:
    return f"{_GRADIENTS} {phase + 1}"
