"""What the sums of 3a-table tell of each column, for `sfumato plan`."""

import math

import numpy as np

from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.plan import TARGET
from sfumato.public.plan.reading import Reading
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Column, Schema


def table_readings(schema: Schema) -> tuple[Reading, ...]:
    """Fine counts of every column: a count itself, and the mean that follows from all of them."""
    readings = []
    for column in schema.columns:
        apart = column.name == schema.target and column.is_number and len(schema.columns) > 1
        block = TARGET if apart else "fine"
        readings.append(Reading(column=column.name, what="a count", step="fine", block=block, unit="rows"))
        if column.is_number:
            readings.append(mean_of_cells(column, step="fine", block=block))
    return tuple(readings)


def mean_of_cells(column: Column, *, step: str, block: str) -> Reading:
    """The mean of a number from noisy counts of its cells, before they are smoothed.

    An error e of a cell's count moves the mean by e (value - mean) / rows. The mean is private; the middle of the
    bounds stands for it.
    """
    per_one = float(np.linalg.norm(Cells(column).middles() - column.centre))
    return Reading(column=column.name, what="the mean", step=step, block=block, per_one=per_one, over=1.0)


def wide_readings(schema: Schema) -> tuple[Reading, ...]:
    """Means of the encoded columns, which are clipped about the middle of the box at a length that is measured."""
    longest = math.sqrt(Encoder(schema.features).width) / 2
    readings = []
    for column in schema.features:
        what, unit, scale = (
            ("the mean", "", column.high - column.low) if column.is_number else ("a share", "share", 1.0)
        )
        readings.append(
            Reading(
                column=column.name,
                what=what,
                step="mean",
                block="mean",
                per_one=longest * scale,
                unit=unit,
                over=1.0,
                at_most=True,
            )
        )
    if schema.target:
        readings.append(Reading(column=schema.target, what="a count", step="lengths", block="classes", unit="rows"))
    return tuple(readings)
