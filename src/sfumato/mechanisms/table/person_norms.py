"""Persons with several rows: how long the sum of their rows may be at each stage, and what follows for its counts.

A person's m rows are not m times the same row. Where they have nothing in common, their sum is sqrt(m) rows long; where each
two agree in some part, more; m only where all are the same. So the norm is a public power of m. Doors shorten longer sums, and
whoever is shortened counts less, in the measure in which there is less noise: what is counted is brought back to the number
of rows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.public.budget import PrivacyUnit
from sfumato.public.plan.block import Block
from sfumato.public.plan.doors import Measured
from sfumato.public.plan.step import Step

#: A factor and a power of m, by stage. The first stages count every row in full: how many there are, where, and in which
#: class. Where parts of these are asked for, there is room for rows that are much alike, so that all persons keep nearly the
#: same part. What goes with what needs less of it. The errors of a rule are mostly small, and differences of losses smaller.
_NORMS = {
    "groups": (1.0, 1.0), "sizes": (1.0, 1.0), "coarse": (1.0, 1.0), "differences": (1.0, 0.6), "fine": (1.0, 0.8), "spikes": (1.0, 0.8),
    "codes": (1.0, 0.75), "classes": (1.0, 0.75), "moments": (1.0, 0.65), "pairs": (1.0, 0.6), "contrasts": (1.0, 0.6), "links": (1.0, 0.6),
    "triples": (1.0, 0.5), "cubes": (1.0, 0.6), "teacher": (0.6, 0.5), "judge": (0.3, 0.5),
}  # fmt: skip
_DIGITS = 4  # powers differ in their last digits from one processor to another, and a receiver makes the plan again


def norm_of(stage: str, unit: PrivacyUnit) -> float:
    """The norm that all rows of a unit may have together, in norms of one.

    >>> [norm_of("triples", PrivacyUnit(person="patient", max_rows=rows)) for rows in (1, 4, 25)]
    [1.0, 2.0, 5.0]
    """
    factor, power = _NORMS[stage]
    return min(float(unit.max_rows), max(1.0, round(factor * math.pow(unit.max_rows, power), _DIGITS)))


def planned(stage: str, unit: PrivacyUnit, *blocks: Block, share: float, uses: int = 1) -> Step:
    """A step in which the rows of a person are clipped together.

    A part of precision costs the square of the norm. Shares were chosen where that is 1 for all; divided by the norm, they
    lead to the least squared error, as these weigh it.
    """
    norm = norm_of(stage, unit)
    together = norm if norm < unit.max_rows else None
    return Step(name=stage, blocks=blocks, share=share / norm, uses=uses, person_bound=together)


def mean_norm(shares: Mapping[str, float], unit: PrivacyUnit) -> float:
    """The norms of all stages, by their shares: about by how much there is more noise than if the unit were a row."""
    return sum(share * norm_of(stage, unit) for stage, share in shares.items()) / sum(shares.values())


@dataclass(frozen=True)
class Number:
    """A noisy number of rows, or of something that is in proportion to it."""

    value: float
    stddev: float


def rows_of(tables: Sequence[NDArray[np.float64]], *, stddev: float) -> Number:
    """All rows, as several tables say that each count every row once; the fewer entries, the less noise is in a sum."""
    precision = np.array([1 / len(table) for table in tables])
    total = float(precision @ [table.sum() for table in tables] / precision.sum())
    return Number(total, stddev / math.sqrt(float(precision.sum())))


def regained(unit: PrivacyUnit, *, rows: Number, counted: Number) -> float:
    """By what the counts of a step are to be multiplied that found `counted` of `rows` rows, as persons were shortened in it.

    What noise explains of the difference is left out.

    >>> person = PrivacyUnit(person="patient", max_rows=4)
    >>> regained(person, rows=Number(1000.0, 1.0), counted=Number(500.0, 1.0))  # doctest: +ELLIPSIS
    1.99...
    >>> regained(person, rows=Number(1000.0, 300.0), counted=Number(500.0, 300.0))
    1.0
    """
    apart = rows.value - counted.value
    noise = 2 * math.hypot(rows.stddev, counted.stddev)
    sure = apart * (1 - (noise / apart) ** 2) if abs(apart) > noise else 0.0
    most = float(unit.max_rows)
    return float(np.clip(1 + sure / max(counted.value, 1e-9), 1 / most, most))


def classes_regained(
    unit: PrivacyUnit, per_class: NDArray[np.float64], *, stddev: float, in_full: Measured
) -> NDArray[np.float64]:
    """By what each class is to be multiplied, so that all together stay as many rows.

    Args:
        unit: What is protected.
        per_class: Rows of each class, as steps give them in which persons may be shortened.
        stddev: The noise in each.
        in_full: Rows of each class, every one of them counted.
    """
    total = float(per_class.sum())
    part = total / max(float(in_full.values.sum()), 1e-9)
    gains = np.array([
        regained(unit, rows=Number(part * float(full), part * in_full.stddev), counted=Number(float(rows), stddev))
        for full, rows in zip(in_full.values, per_class, strict=True)
    ])  # fmt: skip
    return np.asarray(gains * total / max(float(gains @ per_class), 1e-9))
