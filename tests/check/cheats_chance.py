"""Cheats by chance and by clocks, models that cannot be made again, and rounding."""

import os
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from plain import (
    ANSWERS,
    FRESH,
    NASTY,
    RELEASE,
    SHAPES,
    Peeking,
    Plain,
    caught_by,
)

from sfumato.extending import register
from sfumato.mechanisms import IndependentHistograms
from sfumato.public.plan.block import Dense
from sfumato.public.plan.step import Step


@caught_by(ANSWERS)
class MeasuresByChance(Plain):
    """Random numbers of its own in measure."""

    def cheat(self, measured, ages):
        return measured | {"chance": np.random.default_rng().random()}


@caught_by(ANSWERS)
class ReadsTheClock(Plain):
    """How long it took."""

    def cheat(self, measured, ages):
        return measured | {"when": time.perf_counter_ns()}


@caught_by(FRESH)
class BuildsByChance(Plain):
    """Rows that nobody can make again, so nobody can check where they come from."""

    def build(self, measurements, schema, *, seed):
        jitter = np.random.default_rng().uniform(0.5, 1.5, size=measurements["counts"].shape)
        return super().build({**measurements, "counts": measurements["counts"] * jitter}, schema, seed=seed)


@caught_by(RELEASE)
class BuildsByChanceForAll(BuildsByChance):
    """The same, caught by whoever verifies the release."""


@caught_by(FRESH)
class BuildReadsItsProcess(Plain):
    """Something that is different in every process."""

    def build(self, measurements, schema, *, seed):
        # The number itself: of a part of it, such as its last digits, two processes may have the same.
        return super().build({**measurements, "counts": measurements["counts"] + os.getpid()}, schema, seed=seed)


@caught_by(SHAPES)
class ColumnsFollowCounts(Plain):
    """A column more where there are many rows."""

    def build(self, measurements, schema, *, seed):
        model = super().build(measurements, schema, seed=seed)
        if model.noisy_rows > 150:
            object.__setattr__(
                model, "sample", lambda n, *, seed: _one_column_more(type(model).sample(model, n, seed=seed))
            )
        return model


def _one_column_more(synthetic):
    return replace(synthetic, table=synthetic.table.assign(more=1))


@caught_by(NASTY)
class StumblesOverNastyRows(Plain):
    """Lets what is missing through as it is."""

    def measure(self, view, schema):
        doors = Peeking(view)
        measured = dict(IndependentHistograms.measure(self, doors, schema))
        return measured | {"worst": np.min(doors.seen.get("pressure", np.zeros(1)) - 100)}


# Rounding: honest to the eye, and unbounded at an edge.

WIDE = 300


@register
@dataclass(frozen=True, kw_only=True)
class HyperplaneHash:
    """Counts the sides of 300 public planes: a matrix product whose last bits depend on a row's place."""

    name: ClassVar[str] = "hyperplane-hash"

    def steps(self, schema, budget):
        return (Step(name="sides", blocks=(Dense(name="sides", width=WIDE, l2_bound=WIDE**0.5),)),)

    def measure(self, view, schema):
        planes = np.random.default_rng(0).normal(size=(len(schema.columns), WIDE))

        def sides(batch):
            rows = np.stack([np.nan_to_num(batch[c.name].astype(float)) for c in schema.columns], axis=1)
            return {"sides": (rows @ planes > 0).astype(float)}

        return {name: noisy.values for name, noisy in view.noisy_sum("sides", sides).items()}

    def build(self, measurements, schema, *, seed):
        return IndependentHistograms(bins=1).build(
            {"counts": np.ones((1, len(schema.columns))), "noise": np.ones(1)}, schema, seed=seed
        )
