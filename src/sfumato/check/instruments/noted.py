"""Doors that pass everything on and note it: which door was asked for what, in which order, with which map."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.check.instruments.canonical import Leaf, digest, leaves
from sfumato.public.budget import Budget
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.doors import Device, Doors, GroupOf, Loss, Noisy, PerRecord, Queries, Tensors, Train
from sfumato.public.schema.schema import Batch


@dataclass
class NotedMap:
    """A map as a mechanism gave it. `column` is the name of the column that it prepares, if it does.

    `rows` is how many rows the door gave it at once in the end: a public number, None if it never was called.
    """

    unit: ClassVar[str] = "row"
    step: str
    given: Any
    column: str | None = None
    rows: int | None = None

    def __call__(self, batch: Batch) -> Any:
        """What the map gives, and how many rows it was given."""
        self.rows = len(next(iter(batch.values())))
        return self.given(batch)


class NotedTeacher(NotedMap):
    """The training of a teacher: a map from the rows of a part to the votes on what it was asked."""

    unit: ClassVar[str] = "part"


class NotedDoors:
    """The doors that a mechanism on trial gets."""

    def __init__(self, doors: Doors) -> None:
        self._doors = doors
        self.calls: list[Leaf] = []
        self.maps: list[NotedMap] = []

    @property
    def budget(self) -> Budget:
        """A public fact."""
        return self._doors.budget

    def noise_stddev(self, step_name: str, block: str) -> float:
        """A public fact."""
        return self._doors.noise_stddev(step_name, block)

    def prepare(self, name: str, per_record: GroupOf) -> None:
        """Note the column and its map."""
        self._note("prepare", name)
        self._doors.prepare(name, self._map(name, per_record, column=name))

    def noisy_sum(self, step_name: str, per_record: PerRecord) -> Noisy:
        """Note the step and its map."""
        self._note("noisy_sum", step_name)
        return self._doors.noisy_sum(step_name, self._map(step_name, per_record))

    def noisy_mixtures(self, step_name: str, per_record: PerRecord, *, group_of: GroupOf | None = None) -> Noisy:
        """Note the step and its maps."""
        self._note("noisy_mixtures", step_name, group_of is None)
        group_map = None if group_of is None else self._map(step_name, group_of)
        return self._doors.noisy_mixtures(step_name, self._map(step_name, per_record), group_of=group_map)

    def noisy_choice(self, step_name: str, per_record: PerRecord, expected: Mapping[int, Expected]) -> int:
        """Note the step, its map and what is on offer, which must follow from answers alone."""
        self._note("noisy_choice", step_name, dict(expected))
        return self._doors.noisy_choice(step_name, self._map(step_name, per_record), expected)

    def noisy_reports(self, step_name: str, per_record: PerRecord) -> Noisy:
        """Note the step and its map."""
        self._note("noisy_reports", step_name)
        return self._doors.noisy_reports(step_name, self._map(step_name, per_record))

    def noisy_votes(self, step_name: str, train: Train, queries: Queries) -> Noisy:
        """Note the step, its training and the queries, which must follow from answers alone."""
        self._note("noisy_votes", step_name, queries)
        self.maps.append(NotedTeacher(step_name, lambda batch: {"votes": train(batch)(queries)}))
        return self._doors.noisy_votes(step_name, train, queries)

    def noisy_gradients(
        self, step_name: str, loss: Loss, parameters: Tensors, *, device: Device = None, microbatch: int | None = None
    ) -> Noisy:
        """Note the step and the parameters: they are told to nobody else, but they must follow from answers alone."""
        self._note("noisy_gradients", step_name, dict(parameters), device, microbatch)
        return self._doors.noisy_gradients(step_name, loss, parameters, device=device, microbatch=microbatch)

    def _note(self, door: str, name: str, *facts: object) -> None:
        self.calls += digest(leaves((door, name, *facts), name=f"the call of {door}({name!r})"))

    def _map(self, step: str, given: Any, *, column: str | None = None) -> NotedMap:
        noted = NotedMap(step, given, column)
        self.maps.append(noted)
        return noted
