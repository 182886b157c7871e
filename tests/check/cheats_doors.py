"""Cheats that use doors by what the rows are, or look behind them."""

import gc
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from plain import (
    ANSWERS,
    BOUND,
    BUDGET,
    NEIGHBOURS,
    OVERUSE,
    SPENDING,
    STEPS,
    Peeking,
    Plain,
    Remapping,
    caught_by,
    odd,
)

from sfumato.errors import PlanError
from sfumato.extending import register
from sfumato.mechanisms import IndependentHistograms
from sfumato.private import doors_only as kernel_doors
from sfumato.private.engines.task import Task
from sfumato.private.intake.sensitive import open_batches
from sfumato.private.view import View
from sfumato.public.plan.doors import Measured


@register
@dataclass(frozen=True, kw_only=True)
class TwoSteps(Plain):
    """Two steps of the same kind, to choose between. Honest."""

    name: ClassVar[str] = "two-steps"

    def steps(self, schema, budget):
        (step,) = super().steps(schema, budget)
        return step, replace(step, name="more", uses=2)

    def codes(self, schema):
        """The map of the histograms."""
        kept, width = [], self.steps(schema, BUDGET)[0].width

        class Keeping:
            def noisy_sum(self, step, per_record):
                kept.append(per_record)
                return {"counts": Measured(np.zeros(width), 1.0)}

        IndependentHistograms.measure(self, Keeping(), schema)
        return kept[0]

    def measure(self, view, schema):
        doors = Peeking(view)
        codes = self.codes(schema)
        counts = doors.noisy_sum("histograms", codes)["counts"].values
        self.go_on(doors, codes, odd(doors.ages()))
        return {"counts": counts.reshape(2, -1), "noise": np.ones(1)}

    def go_on(self, doors, codes, bit):
        doors.noisy_sum("more", codes)


@caught_by(NEIGHBOURS)
class AsksOnceMore(TwoSteps):
    """A door is used as often as the rows say."""

    def go_on(self, doors, codes, bit):
        for _ in range(1 + bit):
            doors.noisy_sum("more", codes)


@caught_by(NEIGHBOURS)
class AsksNot(TwoSteps):
    """A door is left out."""

    def go_on(self, doors, codes, bit):
        if bit:
            doors.noisy_sum("more", codes)


@caught_by(NEIGHBOURS)
class OrderOfDoorsTells(TwoSteps):
    """The same doors in another order."""

    def go_on(self, doors, codes, bit):
        if bit:
            doors.prepare("one", lambda batch: batch["age"])
        doors.noisy_sum("more", codes)
        if not bit:
            doors.prepare("one", lambda batch: batch["age"])


@caught_by(NEIGHBOURS)
class PreparedNameTells(TwoSteps):
    """The name of a prepared column."""

    def go_on(self, doors, codes, bit):
        doors.prepare(f"column {bit}", lambda batch: batch["age"])


@caught_by(SPENDING)
class AsksTooOften(TwoSteps):
    """More uses than were planned."""

    def go_on(self, doors, codes, bit):
        for _ in range(3):
            doors.noisy_sum("more", codes)


@caught_by(OVERUSE)
class SwallowsTheRefusal(Plain):
    """Goes on with made-up numbers when a door refuses."""

    def measure(self, view, schema):
        try:
            return super().measure(view, schema)
        except PlanError:
            return {"counts": np.ones((2, self.steps(schema, BUDGET)[0].width // 2)), "noise": np.ones(1)}


@caught_by(SPENDING)
class UsesNoDoor(Plain):
    """Makes its numbers up."""

    def measure(self, view, schema):
        return {"counts": np.ones((2, self.steps(schema, BUDGET)[0].width // 2)), "noise": np.ones(1)}


@caught_by(STEPS)
class StepsFollowData(Plain):
    """Another plan once rows were seen."""

    seen: ClassVar[list] = []

    def steps(self, schema, budget):
        return tuple(replace(step, share=1.0 + len(self.seen)) for step in super().steps(schema, budget))

    def cheat(self, measured, ages):
        self.seen.append(1)
        return measured


@caught_by(STEPS)
@dataclass
class NotFrozen:
    """Settings that anybody may change."""

    name: ClassVar[str] = "not-frozen"
    bins: int = 8

    def steps(self, schema, budget):
        return IndependentHistograms(bins=self.bins).steps(schema, budget)

    def measure(self, view, schema):
        return IndependentHistograms(bins=self.bins).measure(view, schema)

    def build(self, measurements, schema, *, seed):
        return IndependentHistograms(bins=self.bins).build(measurements, schema, seed=seed)


# Behind the doors.


def first_age(views) -> float:
    """The first private value behind a View."""
    return float(next(iter(open_batches(views[-1]._View__data)))["age"][0]) if views else 0.0


@caught_by(ANSWERS)
class FindsTheViewByGarbage(Plain):
    """Looks for the View among all objects there are."""

    def cheat(self, measured, ages):
        views = [thing for thing in gc.get_objects() if isinstance(thing, View)]
        return measured | {"first": first_age(views)}


@caught_by(ANSWERS)
class FindsTheViewInTheKernel(Plain):
    """Takes the View from the kernel's own table."""

    def cheat(self, measured, ages):
        views = list(kernel_doors._VIEWS.values())
        return measured | {"first": first_age(views)}


@caught_by(ANSWERS)
class ClimbsTheFrames(Plain):
    """From a map up to the frame of the task."""

    def measure(self, view, schema):
        found = []

        def climbing(batch, per_record):
            frame = sys._getframe()
            while frame is not None:
                here = frame.f_locals.get("self")
                if isinstance(here, Task) and "piece" in frame.f_locals:
                    found.append(frame.f_locals["piece"].n_rows)
                frame = frame.f_back
            return per_record(batch)

        measured = dict(IndependentHistograms.measure(self, Remapping(view, climbing), schema))
        return measured | {"rows": sum(found)}


@caught_by(BOUND)
class WeighsByTheNumberOfRows(Plain):
    """A map that finds the number of private rows in the frames above, and divides by it."""

    def measure(self, view, schema):
        def climbing(batch, per_record):
            frame, n_rows = sys._getframe(), None
            while frame is not None and n_rows is None:
                if isinstance(frame.f_locals.get("self"), Task) and "piece" in frame.f_locals:
                    n_rows = frame.f_locals["piece"].n_rows
                frame = frame.f_back
            odd_number = n_rows is not None and n_rows % 2
            return per_record({**batch, "age": np.full(len(batch["age"]), 18.0)} if odd_number else batch)

        return IndependentHistograms.measure(self, Remapping(view, climbing), schema)
