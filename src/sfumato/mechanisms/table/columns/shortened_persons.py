"""Counts of rows in which persons with several rows were shortened, brought back to the number of rows.

Whoever is shortened at a door counts less, in the measure in which there is less noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Floats
from sfumato.public.budget import PrivacyUnit
from sfumato.public.plan.measured import Measured


@dataclass(frozen=True)
class Number:
    """A noisy number of rows, or of something that is in proportion to it."""

    value: float
    stddev: float


def rows_of(tables: Sequence[Floats], *, stddev: float) -> Number:
    """All rows, by several tables that each count every row once; the fewer entries, the less noise is in a sum."""
    precision = np.array([1 / len(table) for table in tables])
    total = float(precision @ [table.sum() for table in tables] / precision.sum())
    return Number(total, stddev / math.sqrt(float(precision.sum())))


def regained(unit: PrivacyUnit, *, rows: Number, counted: Number) -> float:
    """By what the counts of a step are to be multiplied that gave `counted` of `rows` rows, as persons were shortened in it.

    What noise explains of the difference is left out.

    >>> person = PrivacyUnit(person="patient", max_rows=4)
    >>> regained(person, rows=Number(1000.0, 1.0), counted=Number(500.0, 1.0))  # doctest: +ELLIPSIS
    1.99...
    >>> regained(person, rows=Number(1000.0, 300.0), counted=Number(500.0, 300.0))
    1.0
    """
    missing = rows.value - counted.value
    noise = 2 * math.hypot(rows.stddev, counted.stddev)
    sure = missing * (1 - (noise / missing) ** 2) if abs(missing) > noise else 0.0
    most = float(unit.max_rows)
    return float(np.clip(1 + sure / max(counted.value, 1e-9), 1 / most, most))


def classes_regained(unit: PrivacyUnit, per_class: Floats, *, stddev: float, in_full: Measured) -> Floats:
    """By what each class is to be multiplied, so that all together stay as many rows.

    `per_class` is what steps give in which persons may be shortened; for `in_full` every row was counted.
    """
    total = float(per_class.sum())
    part = total / max(float(in_full.values.sum()), 1e-9)
    gains = np.array([
        regained(unit, rows=Number(part * float(full), part * in_full.stddev), counted=Number(float(rows), stddev))
        for full, rows in zip(in_full.values, per_class, strict=True)
    ])  # fmt: skip
    return np.asarray(gains * total / max(float(gains @ per_class), 1e-9))
