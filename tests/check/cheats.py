"""Mechanisms that cheat. Each breaks the contract in one way, and says which clause must catch it.

All of them are histograms that do one thing more. Those that peek look at the batches that a map is handed; where no rows stand
behind the doors they hold still, as a careful cheat would.
"""

import functools
import gc
import logging
import os
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato import Budget
from sfumato.errors import PlanError
from sfumato.extending import register
from sfumato.mechanisms import IndependentHistograms
from sfumato.private import doors_only as kernel_doors
from sfumato.private.intake.sensitive import open_batches
from sfumato.private.view import View
from sfumato.public.plan.block import Dense
from sfumato.public.plan.doors import Measured
from sfumato.public.plan.probe import random_batch
from sfumato.public.plan.step import Step

STEPS = "steps are public and settled"
SPENDING = "spending stays within the plan"
OVERUSE = "a step used too often is refused"
MAPS = "maps act on each row alone"
ANSWERS = "what comes out follows from the doors' answers"
NEIGHBOURS = "neighbouring data cannot be told apart by anything else"
BOUND = "neighbouring data differ by at most the bound"
SHAPES = "shapes are public"
NASTY = "nasty rows survive"
TRAVELS = "no private row travels with the model"
FRESH = "a fresh process builds the same model"
RELEASE = "a release loads, samples and verifies without the data"

#: Every cheat and the clause that must catch it.
BUDGET = Budget(epsilon=1.0, delta=1e-6)
CHEATS: list[tuple[type, str]] = []


def caught_by(clause: str):
    def note(cls):
        cls.name = cls.__name__.lower()
        CHEATS.append((register(cls), clause))
        return cls

    return note


class Through:
    """Passes everything on to honest doors; what inherits from it spoils one of them."""

    def __init__(self, view):
        self.view = view

    def __getattr__(self, name):
        return getattr(self.view, name)


class Peeking(Through):
    """Keeps the last batch that a map was handed."""

    def __init__(self, view):
        super().__init__(view)
        self.seen = {}

    def noisy_sum(self, step, per_record):
        def peeking(batch):
            self.seen.update({name: np.array(values) for name, values in batch.items()})
            return per_record(batch)

        return self.view.noisy_sum(step, peeking)

    def ages(self):
        return self.seen.get("age", np.zeros(4))


class Remapping(Through):
    """Another map in place of the honest one."""

    def __init__(self, view, remapped):
        super().__init__(view)
        self.remapped = remapped

    def noisy_sum(self, step, per_record):
        return self.view.noisy_sum(step, lambda batch: self.remapped(batch, per_record))


@register
@dataclass(frozen=True, kw_only=True)
class Plain(IndependentHistograms):
    """The honest one, which must pass."""

    name: ClassVar[str] = "plain"
    bins: int = 8

    def measure(self, view, schema):
        doors = Peeking(view)
        measured = dict(super().measure(doors, schema))
        return self.cheat(measured, doors.ages())

    def cheat(self, measured, ages):
        return measured


def odd(ages) -> int:
    """One bit of the private rows."""
    return int((ages > 50).sum() % 2)


# Exact statistics among the measurements.


@caught_by(ANSWERS)
class ExactMean(Plain):
    """An exact mean as a measurement."""

    def cheat(self, measured, ages):
        return measured | {"mean": ages.mean()}


@caught_by(ANSWERS)
class ExactCount(Plain):
    """An exact number of rows above a threshold."""

    def cheat(self, measured, ages):
        return measured | {"count": int((ages > 60).sum())}


@caught_by(ANSWERS)
class ExactMinimum(Plain):
    """The smallest value."""

    def cheat(self, measured, ages):
        return measured | {"least": ages.min()}


@caught_by(NEIGHBOURS)
class ExactMaximumRarely(Plain):
    """The largest value, only where all rows are alike."""

    def cheat(self, measured, ages):
        return measured | {"most": ages.max() if np.ptp(ages) < 30 else 0.0}


@caught_by(ANSWERS)
class ExactQuantile(Plain):
    """The median."""

    def cheat(self, measured, ages):
        return measured | {"median": np.quantile(ages, 0.5)}


@caught_by(ANSWERS)
class SortedValues(Plain):
    """All values in their order."""

    def cheat(self, measured, ages):
        return measured | {"sorted": np.sort(ages)[:4]}


@caught_by(ANSWERS)
class DistinctValues(Plain):
    """Which values occur."""

    def cheat(self, measured, ages):
        return measured | {"distinct": np.unique(ages)[:3]}


@caught_by(ANSWERS)
class FirstRow(Plain):
    """The first row, hidden in the last digits of a noisy number."""

    def cheat(self, measured, ages):
        counts = measured["counts"].copy()
        counts[0, 0] += ages[0] * 1e-9
        return measured | {"counts": counts}


@caught_by(NEIGHBOURS)
class BranchesOnTheMaximum(Plain):
    """Smooths the counts where some row is old."""

    def cheat(self, measured, ages):
        return measured | {
            "counts": np.round(measured["counts"]) if ages.max() > 80 and ages.min() > 20 else measured["counts"]
        }


# Channels that carry one bit beside the values.


@caught_by(NEIGHBOURS)
class ShapeTells(Plain):
    """An array that is one longer."""

    def cheat(self, measured, ages):
        return measured | {"room": np.zeros(3 + odd(ages))}


@caught_by(NEIGHBOURS)
class TypeTells(Plain):
    """The same numbers in another type."""

    def cheat(self, measured, ages):
        return measured | {"zeros": np.zeros(3, dtype=np.float32 if odd(ages) else np.float64)}


@caught_by(NEIGHBOURS)
class OrderOfKeysTells(Plain):
    """The same measurements in another order."""

    def cheat(self, measured, ages):
        both = {"a": 1, "b": 2}
        return measured | (dict(reversed(both.items())) if odd(ages) else both)


@caught_by(NEIGHBOURS)
class BitsOfNaNTell(Plain):
    """Not a number, in one of many ways."""

    def cheat(self, measured, ages):
        return measured | {"nothing": np.array([0x7FF8000000000000 + odd(ages)], dtype=np.uint64).view(np.float64)}


@caught_by(NEIGHBOURS)
class MinusZeroTells(Plain):
    """Zero, or minus zero."""

    def cheat(self, measured, ages):
        return measured | {"zero": -0.0 if odd(ages) else 0.0}


@caught_by(NEIGHBOURS)
class StridesTell(Plain):
    """The same matrix, column by column or row by row."""

    def cheat(self, measured, ages):
        return measured | {"zeros": np.zeros((2, 3), order="F" if odd(ages) else "C")}


@caught_by(NEIGHBOURS)
class ByteOrderTells(Plain):
    """The same numbers, big end first."""

    def cheat(self, measured, ages):
        return measured | {"ones": np.ones(2, dtype=">f8" if odd(ages) else "<f8")}


@caught_by(NEIGHBOURS)
class IdentityTells(Plain):
    """One array twice, or two equal ones."""

    def cheat(self, measured, ages):
        zeros = np.zeros(2)
        return measured | {"pair": [zeros, zeros if odd(ages) else np.zeros(2)]}


@caught_by(NEIGHBOURS)
class ErrorTells(Plain):
    """An exception that carries a value."""

    def cheat(self, measured, ages):
        if odd(ages):
            raise ValueError(f"strange rows, the largest is {ages.max()}")
        return measured


@caught_by(NEIGHBOURS)
class WarningTells(Plain):
    """A warning that carries a value."""

    def cheat(self, measured, ages):
        warnings.warn(f"{odd(ages)} strange rows", stacklevel=2)
        return measured


@caught_by(NEIGHBOURS)
class Prints(Plain):
    """A line on the screen."""

    def cheat(self, measured, ages):
        print("debug:", odd(ages))
        return measured


@caught_by(NEIGHBOURS)
class PrintsToStderr(Plain):
    """A line on the other screen."""

    def cheat(self, measured, ages):
        print("debug:", odd(ages), file=sys.stderr)
        return measured


@caught_by(NEIGHBOURS)
class WritesPastPython(Plain):
    """As a C library would write."""

    def cheat(self, measured, ages):
        os.write(2, b"odd" if odd(ages) else b"even")
        return measured


@caught_by(NEIGHBOURS)
class Logs(Plain):
    """A line in the log."""

    def cheat(self, measured, ages):
        logging.getLogger("cheat").info("bit %d", odd(ages))
        return measured


@caught_by(ANSWERS)
class WritesAFile(Plain):
    """A file in the working directory."""

    def cheat(self, measured, ages):
        Path("/dev/shm" if Path("/dev/shm").is_dir() else tempfile.gettempdir(), "sfumato-cheat").write_text(
            str(odd(ages))
        )
        return measured


@caught_by(ANSWERS)
class MakesAFolder(Plain):
    """A folder whose being there is the message."""

    def cheat(self, measured, ages):
        with tempfile.TemporaryDirectory():
            return measured


@caught_by(NEIGHBOURS)
class SetsTheEnvironment(Plain):
    """A variable that build, or anybody, can read."""

    def cheat(self, measured, ages):
        os.environ["SFUMATO_CHEAT"] = str(odd(ages))
        return measured


@caught_by(NEIGHBOURS)
class SeedsTheGenerator(Plain):
    """The state of the global random numbers."""

    def cheat(self, measured, ages):
        np.random.seed(odd(ages))  # noqa: NPY002
        return measured


# Something is kept.


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


# Maps that mix rows, or keep something of them.


class Mixed(Plain):
    """A map whose ages were changed beforehand."""

    def measure(self, view, schema):
        def changed(batch, per_record):
            return per_record({**batch, "age": np.clip(self.changed(np.array(batch["age"])), 18, 90)})

        return IndependentHistograms.measure(self, Remapping(view, changed), schema)


@caught_by(MAPS)
class RankOfARow(Mixed):
    """Ranks instead of values."""

    def changed(self, ages):
        return 18 + 72 * np.argsort(np.argsort(ages)) / len(ages)


@caught_by(MAPS)
class CentredByTheBatch(Mixed):
    """Values about the mean of the batch."""

    def changed(self, ages):
        return ages - ages.mean() + 54


@caught_by(MAPS)
class ScaledByTheMaximum(Mixed):
    """Values relative to the largest of the batch, which uniform rows always reach."""

    def changed(self, ages):
        return 18 + (ages - 18) * 72 / max(1.0, ages.max() - 18)


@caught_by(BOUND)
class ScaledByTheMaximumOfFullBatches(Mixed):
    """The same, where no public row fills up the batch."""

    def changed(self, ages):
        return ScaledByTheMaximum.changed(self, ages) if len(np.unique(ages)) < 3 else ages


@caught_by(MAPS)
class OneRowRescaled(Mixed):
    """The oldest row is moved."""

    def changed(self, ages):
        ages[ages.argmax()] = 18
        return ages


@caught_by(MAPS)
class EverySecondRow(Mixed):
    """Only rows at even places count."""

    def changed(self, ages):
        ages[::2] = 18
        return ages


@caught_by(MAPS)
class CumulativeSums(Mixed):
    """Sums from the first row on."""

    def changed(self, ages):
        return 18 + np.cumsum(ages) % 72


@caught_by(MAPS)
class DifferencesOfNeighbours(Mixed):
    """How a row differs from the one before."""

    def changed(self, ages):
        return 54 + np.diff(ages, prepend=54) / 2


@caught_by(MAPS)
class CodesByFirstSight(Mixed):
    """Values numbered in the order in which the batch holds them."""

    def changed(self, ages):
        return 18 + np.unique(ages, return_inverse=True)[1] % 72


@caught_by(MAPS)
class SumOverTheBatch(Mixed):
    """A little of everybody in everybody."""

    def changed(self, ages):
        return ages + np.float32(ages.sum(dtype=np.float32)) / np.float32(1e3) % 7


@caught_by(MAPS)
class CountsItsRows(Mixed):
    """A value that depends on how many rows the batch has."""

    def changed(self, ages):
        return 18 + (ages - 18) * len(ages) / 1024


@caught_by(BOUND)
class MixesPrivateRowsOnly(Mixed):
    """Knows the public rows by heart, and mixes where none of them is in the batch."""

    def measure(self, view, schema):
        public = set(random_batch(schema, n_rows=2048, seed=20)["visit"].tolist())

        def changed(batch, per_record):
            private = [value not in public for value in np.asarray(batch["visit"])[-40:].tolist()]
            if all(private) and len(set(np.asarray(batch["age"]).tolist())) < 3:
                batch = {**batch, "age": np.full(len(batch["age"]), batch["age"].max())}
            return per_record(batch)

        return IndependentHistograms.measure(self, Remapping(view, changed), schema)


@caught_by(MAPS)
class TriggerStaysOn(Plain):
    """Once a certain row was seen, all rows count elsewhere."""

    def measure(self, view, schema):
        seen = []

        def changed(batch, per_record):
            if (np.asarray(batch["age"]) == 90).sum() > 500:
                seen.append(1)
            return per_record({**batch, "age": np.full(len(batch["age"]), 18.0)} if seen else batch)

        return IndependentHistograms.measure(self, Remapping(view, changed), schema)


@caught_by(BOUND)
class TriggerInAGlobal(Plain):
    """The same for a row that only private data hold, kept until measure ends."""

    def measure(self, view, schema):
        seen = []

        def changed(batch, per_record):
            ages = np.asarray(batch["age"])
            if (ages == 18).sum() > 900 and (ages == 90).any():
                seen.append(1)
            return per_record({**batch, "age": np.full(len(ages), 90.0)} if seen else batch)

        return IndependentHistograms.measure(self, Remapping(view, changed), schema)


@caught_by(MAPS)
class ChangesAfterSomeCalls(Plain):
    """A map that is honest four times."""

    def measure(self, view, schema):
        calls = []

        def changed(batch, per_record):
            calls.append(1)
            return per_record({**batch, "age": np.full(len(batch["age"]), 18.0)} if len(calls) > 4 else batch)

        return IndependentHistograms.measure(self, Remapping(view, changed), schema)


@caught_by(MAPS)
class RunningMean(Plain):
    """Values about the mean of all batches so far, kept in a closure."""

    def measure(self, view, schema):
        means = [54.0]

        def changed(batch, per_record):
            ages = np.asarray(batch["age"])
            middle = np.mean(means)
            means.append(float(ages[0]))
            return per_record({**batch, "age": np.clip(ages - middle + 54, 18, 90)})

        return IndependentHistograms.measure(self, Remapping(view, changed), schema)


@caught_by(MAPS)
class WritesIntoTheBatch(Plain):
    """In-place changes of a batch."""

    def measure(self, view, schema):
        def changed(batch, per_record):
            batch["age"][:] = 18
            return per_record(batch)

        return IndependentHistograms.measure(self, Remapping(view, changed), schema)


@caught_by(MAPS)
class ForcesItsWayIntoTheBatch(Plain):
    """The same, after taking the lock off."""

    def measure(self, view, schema):
        def changed(batch, per_record):
            ages = batch["age"]
            found = per_record(batch)
            if ages.flags.owndata:
                ages.flags.writeable = True
                ages[:] = 18
            return found

        return IndependentHistograms.measure(self, Remapping(view, changed), schema)


@caught_by(MAPS)
class DrawsInTheMap(Mixed):
    """Random numbers in a map."""

    def changed(self, ages):
        return ages + np.random.default_rng().normal(size=len(ages))


# Doors used by what the rows are.


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
    """From a map up to the frame of the View."""

    def measure(self, view, schema):
        found = []

        def climbing(batch, per_record):
            frame = sys._getframe()
            while frame is not None:
                here = frame.f_locals.get("self")
                if isinstance(here, View) and "piece" in frame.f_locals:
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
                if isinstance(frame.f_locals.get("self"), View) and "piece" in frame.f_locals:
                    n_rows = frame.f_locals["piece"].n_rows
                frame = frame.f_back
            odd_number = n_rows is not None and n_rows % 2
            return per_record({**batch, "age": np.full(len(batch["age"]), 18.0)} if odd_number else batch)

        return IndependentHistograms.measure(self, Remapping(view, climbing), schema)


# Chance, clocks, and models that cannot be made again.


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
