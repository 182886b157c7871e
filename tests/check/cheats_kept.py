"""Cheats that keep something."""

import functools
from typing import ClassVar

import numpy as np
from plain import (
    ANSWERS,
    FRESH,
    NEIGHBOURS,
    TRAVELS,
    Plain,
    caught_by,
    odd,
)


@caught_by(ANSWERS)
class KeptInTheInstance(Plain):
    """A frozen dataclass is not as frozen as it seems."""

    def cheat(self, measured, ages):
        object.__setattr__(self, "memory", ages[:3].tolist())
        return measured


@caught_by(ANSWERS)
class SettingsMutate(Plain):
    """A setting that follows the rows."""

    def cheat(self, measured, ages):
        object.__setattr__(self, "bins", 8 + 2 * odd(ages))
        object.__setattr__(self, "bins", self.bins if not odd(ages) else 8)
        object.__setattr__(self, "note", odd(ages))
        return measured


@caught_by(ANSWERS)
class KeptInTheClass(Plain):
    """A list that all instances share."""

    memory: ClassVar[list] = []

    def cheat(self, measured, ages):
        self.memory.append(ages.mean())
        return measured


KEPT: dict = {}


@caught_by(ANSWERS)
class KeptInAGlobal(Plain):
    """A dictionary of the module."""

    def cheat(self, measured, ages):
        KEPT["ages"] = ages.mean()
        return measured


def remember(value, memory=[]):  # noqa: B006 - that is the point
    memory.append(value)


@caught_by(ANSWERS)
class KeptInADefault(Plain):
    """The default of a function."""

    def cheat(self, measured, ages):
        remember(ages.mean())
        return measured


@functools.cache
def hidden_place() -> list:
    return []


@caught_by(FRESH)
class KeptInACache(Plain):
    """What functools.cache holds, for build to find."""

    def cheat(self, measured, ages):
        hidden_place().append(float(ages.mean()))
        return measured

    def build(self, measurements, schema, *, seed):
        return super().build(
            {**measurements, "counts": measurements["counts"] + sum(hidden_place())}, schema, seed=seed
        )


@caught_by(FRESH)
class GlobalThatBuildReads(Plain):
    """An attribute of somebody else's module."""

    def cheat(self, measured, ages):
        np.private_mean = float(ages.mean())
        return measured

    def build(self, measurements, schema, *, seed):
        return super().build(
            {**measurements, "counts": measurements["counts"] + getattr(np, "private_mean", 0)}, schema, seed=seed
        )


@caught_by(NEIGHBOURS)
class BuildReadsTheLastRow(GlobalThatBuildReads):
    """The same, for the exact number of rows that are old."""

    def cheat(self, measured, ages):
        np.private_mean = float((ages > 50).sum())
        return measured


@caught_by(TRAVELS)
class RowsInTheModel(Plain):
    """Raw rows in the model."""

    def cheat(self, measured, ages):
        return measured | {"memory": ages}

    def build(self, measurements, schema, *, seed):
        model = super().build(measurements, schema, seed=seed)
        object.__setattr__(model, "memory", measurements["memory"])
        return model
