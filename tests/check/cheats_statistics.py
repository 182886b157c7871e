"""Cheats that release exact statistics among the measurements."""

import numpy as np
from plain import (
    ANSWERS,
    NEIGHBOURS,
    Plain,
    caught_by,
)


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
