"""Cheats whose maps mix rows, or keep something of them."""

import numpy as np
from plain import (
    BOUND,
    MAPS,
    Plain,
    Remapping,
    caught_by,
)

from sfumato.mechanisms import IndependentHistograms
from sfumato.public.plan.probe import random_batch


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
