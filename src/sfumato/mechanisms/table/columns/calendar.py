"""The rhythm of dates: their hour and weekday, as columns beside the date itself.

A date is modelled as a number, which tells when most rows are, season by season. What repeats every day or every week is
too fine for that, so it gets columns of its own, and a drawn date is moved to the nearest one with the drawn weekday and hour.
"""

import numpy as np

from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.common.cells import Cells
from sfumato.public.schema.schema import Column

HOUR, DAY = 3_600, 86_400


def rhythms_of(column: Column, *, periods: int) -> dict[str, Cells]:
    """The columns of a date's rhythm: those of which its public range has room for so many periods."""
    if column.kind != "datetime":
        return {}
    rhythms = {}
    # Even cells for whole hours, odd ones for times within: many tables hold whole hours, or dates alone.
    for name, period, high in (("hour", DAY, 47), ("weekday", 7 * DAY, 6)):
        if column.high - column.low >= periods * period:
            part = Column(name=f"{column.name} {name}", kind="integer", bounds=(0, high), missing=column.missing)
            rhythms[name] = Cells(part)
    return rhythms


def rhythm_code(rhythm: str, seconds: Floats) -> Floats:
    """The hour (twice, plus one within it) or the weekday (from Monday, 0) of each moment."""
    if rhythm == "weekday":
        return np.asarray((np.floor(seconds / DAY) + 3) % 7)  # 1970 began on a Thursday
    return np.asarray(2 * np.floor(seconds % DAY / HOUR) + (seconds % HOUR != 0))


def with_rhythm(seconds: Floats, drawn: dict[str, Floats], column: Column, rng: np.random.Generator) -> Floats:
    """Dates moved to the drawn weekday, at most half a week away, and to the drawn hour."""
    days, rest = np.floor(seconds / DAY), seconds % DAY
    if "weekday" in drawn:
        ahead = (drawn["weekday"] - rhythm_code("weekday", seconds)) % 7
        days = days + np.where(ahead > 3, ahead - 7, ahead)
        days = days + 7 * (days * DAY < column.low) - 7 * (days * DAY >= column.high)
    if "hour" in drawn:
        within = np.floor(1 + rng.random(len(seconds)) * (HOUR - 1))
        rest = np.floor(drawn["hour"] / 2) * HOUR + np.where(drawn["hour"] % 2 == 1, within, 0.0)
    moved = np.clip(days * DAY + rest, column.low, column.high)
    return np.where(np.isnan(moved), seconds, moved)


def as_whole_as(moment: Floats, base: Floats, hour: Floats) -> Floats:
    """Moments some time from others: in whole days where both are, by the drawn hour; else in hours where that is one.

    >>> as_whole_as(np.array([2.4 * DAY]), np.array([0.0]), np.array([0.0])) / DAY
    array([2.])
    """
    unit = np.where((hour == 0) & (base % DAY == 0), DAY, np.where(hour % 2 == 0, HOUR, 1))
    return np.asarray(np.round(moment / unit) * unit)
