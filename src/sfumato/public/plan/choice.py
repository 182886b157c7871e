"""What is public about a choice: what is expected of each candidate, and its score in whole numbers.

The score of a candidate is weight * (distance - offset), where the distance is the sum over the cells of its table of
|count - expected|. Expected counts and offsets lie on a grid of 1/1024 row and weights on one of 1/65536, so that a score is
a whole number and what a row can move it by is known to the unit.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.public.plan.block import Choice
from sfumato.public.plan.grid import NOISE_STDDEV
from sfumato.public.plan.step import Step

#: Parts of a row in which counts are expected, and parts of 1 in which a candidate is weighed.
PARTS, WEIGHTS = 2**10, 2**16
#: What a row can move a score by: a table's distance changes by at most one row, and no weight is above 1.
ROW = PARTS * WEIGHTS
#: The loss of 1 of a choice whose rate is one unit (`grid.units_per_one`).
LOSS = NOISE_STDDEV * ROW
_MOST_ROWS = 2.0**40  # that a table may expect: sums of their parts stay far below 2^63


@dataclass(frozen=True)
class Expected:
    """What is expected of a candidate's table, and how its distance from that is scored."""

    counts: NDArray[np.float64]
    weight: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Candidate:
    """One that is on offer, in whole numbers: parts of rows, and parts of 1 for the weight."""

    index: int
    counts: NDArray[np.int64]
    weight: int
    offset: int


def tables_of(step: Step) -> Choice:
    """The tables of a step that the door `noisy_choice` can carry out."""
    if step.choice is None:
        raise PlanError(f"step {step.name!r} plans sums, and no choice. Give it a block of the kind Choice.")
    return step.choice


def on_offer(tables: Choice, expected: Mapping[int, Expected]) -> tuple[Candidate, ...]:
    """The candidates in the order of their tables. Tables of which nothing is expected are not on offer."""
    if not expected:
        raise PlanError(f"nothing is on offer in the choice {tables.name!r}.")
    return tuple(_candidate(tables, index, expected[index]) for index in sorted(expected))


def _candidate(tables: Choice, index: int, expected: Expected) -> Candidate:
    at = f"candidate {index} of the choice {tables.name!r}"
    if not 0 <= index < len(tables.widths):
        raise PlanError(f"{at} is not among its {len(tables.widths)} tables.")
    counts = np.asarray(expected.counts, dtype=np.float64).ravel()
    if counts.size > tables.widths[index]:
        raise PlanError(f"{at} expects {counts.size} cells, and {tables.widths[index]} are planned.")
    if not (np.isfinite(counts).all() and float(np.abs(counts).sum()) <= _MOST_ROWS):
        raise PlanError(f"{at} expects counts that no table can have.")
    if not (0 <= expected.weight <= 1 and math.isfinite(expected.offset)):
        raise PlanError(f"{at}: its weight must lie in [0, 1], and its offset must be finite.")
    filled = np.zeros(tables.widths[index], dtype=np.int64)  # of cells that are planned for and not needed, none
    filled[: counts.size] = np.rint(counts * PARTS)
    return Candidate(index, filled, math.floor(expected.weight * WEIGHTS), round(expected.offset * PARTS))
