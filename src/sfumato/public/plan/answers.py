"""What the doors answered: the noisy integers that pass the boundary, and doors that give the same answers again.

A release keeps these integers and nothing else of the private rows. Whoever holds them can run `Mechanism.measure` once
more, without the data, and must come to the same measurements.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ReleaseError
from sfumato.public.budget import Budget
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.doors import GroupOf, Loss, Measured, Noisy, PerRecord, Tensors
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.step import Step


@dataclass(frozen=True)
class Answers:
    """Integers in units of the public grid, by step, use (counted from 0) and block."""

    integers: dict[str, NDArray[np.int64]] = field(default_factory=dict, repr=False)

    def __or__(self, other: "Answers") -> "Answers":
        return Answers({**self.integers, **other.integers})

    def add(self, step: str, use: int, block: str, noisy_integers: NDArray[np.int64]) -> None:
        """Note one answer."""
        self.integers[_key(step, use, block)] = noisy_integers

    def of(self, step: str, use: int, block: str) -> NDArray[np.int64]:
        """One answer."""
        key = _key(step, use, block)
        if key not in self.integers:
            raise ReleaseError(f"the release holds no answer to {key}, which its mechanism asks for.")
        return self.integers[key]

    def uses(self, step: Step) -> int:
        """How often a step was answered."""
        return next(
            (n for n in range(step.uses) if _key(step.name, n, step.blocks[0].name) not in self.integers), step.uses
        )

    def measured(self, plan: Plan, step_name: str, use: int) -> Noisy:
        """The answers of one use in the blocks' own units, with the noise that the plan gave them."""
        return {
            block.name: Measured(
                self.of(step_name, use, block.name) / plan.units_per_one(step_name, block.name),
                plan.noise_stddev(step_name, block.name),
            )
            for block in plan.step(step_name).blocks
        }

    def taken(self, plan: Plan, step_name: str, use: int, noisy_integers: Mapping[str, NDArray[np.int64]]) -> Noisy:
        """Note the answers of one use, and give them as a mechanism gets them."""
        for block, values in noisy_integers.items():
            self.add(step_name, use, block, values)
        return self.measured(plan, step_name, use)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """For a file: each in the smallest type that holds it."""
        return {key: _smallest(values) for key, values in self.integers.items()}

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> "Answers":
        """Read back what `to_arrays` gave. What is no integer is refused."""
        for key, values in arrays.items():
            if values.dtype.kind != "i":
                raise ReleaseError(f"the answer to {key} does not hold whole numbers, so no door gave it.")
        return Answers({key: values.astype(np.int64) for key, values in arrays.items()})


class AnsweredDoors:
    """Doors without rows behind them: they give the answers of a release again, in the order of each step's uses."""

    def __init__(self, plan: Plan, answers: Answers) -> None:
        self._plan = plan
        self._answers = answers
        self._used: dict[str, int] = {}

    @property
    def budget(self) -> Budget:
        """The guarantee to meet: the same public fact as then."""
        return self._plan.budget

    def noise_stddev(self, step_name: str, block: str) -> float:
        """The planned noise: the same public fact as then."""
        return self._plan.noise_stddev(step_name, block)

    def prepare(self, name: str, per_record: GroupOf) -> None:
        """Nothing: there are no rows to prepare."""

    def noisy_sum(self, step_name: str, *asked: Any, **options: Any) -> Noisy:
        """What was answered then, whatever map or teacher is brought along now."""
        return self._answers.measured(self._plan, step_name, self._count(step_name))

    noisy_mixtures = noisy_reports = noisy_votes = noisy_sum

    def noisy_choice(self, step_name: str, per_record: PerRecord, expected: Mapping[int, Expected]) -> int:
        """What was chosen then. A release whose choice was not on offer is none of ours."""
        use = self._count(step_name)
        chosen = int(self._answers.of(step_name, use, self._plan.step(step_name).blocks[0].name)[0])
        if chosen not in expected:
            raise ReleaseError(f"the choice {use} of step {step_name!r} was not on offer.")
        return chosen

    def noisy_gradients(self, step_name: str, loss: Loss, parameters: Tensors, **options: Any) -> Noisy:
        """What was answered then, by parameter."""
        (measured,) = self.noisy_sum(step_name).values()
        return by_parameter(measured, parameters)

    def _count(self, step_name: str) -> int:
        use = self._used.get(step_name, 0)
        self._used[step_name] = use + 1
        return use


def by_parameter(measured: Measured, parameters: Tensors) -> Noisy:
    """A vector of all entries as arrays of the parameters' shapes."""
    out, start = {}, 0
    for name, parameter in parameters.items():
        shape = tuple(parameter.shape)
        stop = start + int(np.prod(shape))
        out[name] = Measured(measured.values[start:stop].reshape(shape), measured.stddev)
        start = stop
    return out


def _key(step: str, use: int, block: str) -> str:
    return f"{step}/{use}/{block}"


def _smallest(values: NDArray[np.int64]) -> NDArray[Any]:
    fits = values.min(initial=0) >= -(2**31) and values.max(initial=0) < 2**31
    return values.astype(np.int32) if fits else values
