"""Doors for a mechanism inside another one: the same doors, which show it rows of another form."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sfumato.mechanisms.histories.aggregates import persons_batch
from sfumato.public.budget import Budget
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.doors import Doors, GroupOf, Noisy, PerRecord
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Batch


@dataclass(frozen=True)
class InnerDoors:
    """The table method asks these of persons with what is known of their events; its own part of the budget is its budget."""

    view: Doors
    budget: Budget
    extra: tuple[Column, ...]

    def noise_stddev(self, step_name: str, block: str) -> float:
        """The planned noise."""
        return self.view.noise_stddev(step_name, block)

    def prepare(self, name: str, per_record: GroupOf) -> None:
        """Add a column that is computed from each person alone."""
        self.view.prepare(name, partial(_shown, per_record=per_record, extra=self.extra))

    def noisy_sum(self, step_name: str, per_record: PerRecord) -> Noisy:
        """The sum over persons."""
        return self.view.noisy_sum(step_name, partial(_shown, per_record=per_record, extra=self.extra))

    def noisy_choice(self, step_name: str, per_record: PerRecord, expected: Mapping[int, Expected]) -> int:
        """Which table departs most from what is expected of it."""
        return self.view.noisy_choice(step_name, partial(_shown, per_record=per_record, extra=self.extra), expected)


def _shown(batch: Batch, per_record: Any, extra: tuple[Column, ...]) -> Any:
    return per_record(persons_batch(batch, extra))
