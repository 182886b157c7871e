"""Where an axis has its marks: few, at round numbers or at the first days of years, months or weeks."""

import math
from typing import Any

import numpy as np

#: Months, in days, and the steps between marks: of years, of months, of days.
_MONTH, _YEAR = 30.44, 365.25
_YEARS, _MONTHS, _DAYS = (1, 2, 5, 10, 20, 50, 100), (1, 2, 3, 6), (1, 2, 5, 10, 15)


def round_marks(low: float, high: float, *, most: int) -> list[tuple[float, str]]:
    """At most so many round numbers between two others, each with its text.

    >>> round_marks(17, 90, most=5)
    [(20.0, '20'), (40.0, '40'), (60.0, '60'), (80.0, '80')]
    >>> round_marks(0.1, 0.35, most=5)
    [(0.1, '0.1'), (0.2, '0.2'), (0.3, '0.3')]
    """
    step = round_step(high - low, most=most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(round(at * step, decimals), number_text(at * step, decimals)) for at in range(first, last + 1)]


def round_step(span: float, *, most: int) -> float:
    """The smallest of 1, 2, 5, 10, ... and their tenths that goes into a span fewer than so many times."""
    power = 10.0 ** math.floor(math.log10(span / most))
    return next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) < most - 1e-9)


def number_text(value: float, decimals: int) -> str:
    """A mark as it is written: with separators of thousands, and large ones by powers of ten.

    >>> number_text(12_000, 0), number_text(-0.0, 1), number_text(25_000_000, 0), number_text(2e-7, 7)
    ('12,000', '0.0', '2.5e+07', '2e-07')
    """
    if abs(value) >= 1e7 or decimals > 5:
        return f"{value:.3g}"
    return f"{value + 0.0:,.{decimals}f}" if round(value, decimals) else f"{0:.{decimals}f}"


def date_marks(low: float, high: float, *, most: int) -> list[tuple[float, str]]:
    """The same for dates in days since 1970.

    >>> date_marks(18262, 20089, most=4)
    [(18262.0, '2020'), (18993.0, '2022'), (19723.0, '2024')]
    >>> [text for _, text in date_marks(19360, 19450, most=4)]
    ['2023-02', '2023-03', '2023-04']
    """
    span = high - low
    for unit, days, steps, length in (("Y", _YEAR, _YEARS, 4), ("M", _MONTH, _MONTHS, 7), ("D", 1.0, _DAYS, 10)):
        if span > 2 * days:
            step = next((step for step in steps if span / (step * days) < most), steps[-1])
            return _calendar_marks(low, high, unit=unit, step=step, length=length)
    hours = max(1, math.ceil(span * 24 / 2))  # their texts are long
    return _calendar_marks(low, high, unit="h", step=hours, length=16)


def _calendar_marks(low: float, high: float, *, unit: Any, step: int, length: int) -> list[tuple[float, str]]:
    start, stop = (np.datetime64(round(day * 86_400), "s").astype(f"datetime64[{unit}]") for day in (low, high))
    marks = []
    for at in range(math.ceil(int(start.astype(np.int64)) / step), int(stop.astype(np.int64)) // step + 1):
        mark = np.datetime64(at * step, unit)
        days = float(mark.astype("datetime64[s]").astype(np.int64)) / 86_400
        if low <= days <= high:
            marks.append((days, str(mark)[:length].replace("T", " ")))
    return marks
