"""The time of a day, as a number of seconds since midnight: read, written, and brought between bounds on the clock's face."""

import re
from datetime import time
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

DAY, MINUTE = 86_400, 60
_CLOCK = re.compile(r"\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*([AaPp])?\.?(?(4)[Mm]\.?)\s*", re.ASCII)


def seconds_of(text: str) -> float:
    """Seconds since midnight; NaN where a text is no time of a day.

    >>> seconds_of("06:30"), seconds_of("6:30:15"), seconds_of("12:05 am"), seconds_of("1:00 PM"), seconds_of("24:00")
    (23400.0, 23415.0, 300.0, 46800.0, nan)
    """
    found = _CLOCK.fullmatch(text)
    if found is None:
        return float("nan")
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    if found[4] is not None:
        if not 1 <= hour <= 12:
            return float("nan")
        hour = hour % 12 + 12 * (found[4] in "pP")
    return float(hour * 3_600 + minute * 60 + second) if hour < 24 and minute < 60 and second < 60 else float("nan")


def number_on_the_clock(text: str, *, low: float) -> float:
    """A written time as rows hold it: one before the lower bound is on the next day.

    >>> number_on_the_clock("23:00", low=22 * 3600) / 3600, number_on_the_clock("01:00", low=22 * 3600) / 3600
    (23.0, 25.0)
    """
    seconds = seconds_of(text)
    return seconds + DAY if seconds < low else seconds


def has_seconds(text: str) -> bool:
    """Whether a time is written with its seconds.

    >>> has_seconds("06:30"), has_seconds("06:30:00")
    (False, True)
    """
    return text.count(":") > 1


def seconds_of_time(value: time) -> float:
    """Seconds since midnight."""
    return float(value.hour * 3_600 + value.minute * 60 + value.second)


def on_the_clock(seconds: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Times between the bounds, whichever is nearer on the clock's face for those outside. A high beyond a day is on the next.

    >>> on_the_clock(np.array([5.0, 9.0, 23.0, 1.0]) * 3600, 22 * 3600, 30 * 3600) / 3600
    array([29., 30., 23., 25.])
    """
    with np.errstate(invalid="ignore"):
        since = np.mod(seconds - low, DAY)
    width = high - low
    nearer = np.where(since - width <= DAY - since, width, 0.0)
    return np.asarray(low + np.where((since <= width) | np.isnan(since), since, nearer))


@cache
def _texts(*, seconds: bool) -> NDArray[Any]:
    """How every second of a day is written."""
    end = 8 if seconds else 5
    return np.array([f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}"[:end] for s in range(DAY)], dtype=object)


def clock_texts(encoded: NDArray[np.float64], *, seconds: bool) -> "pd.Series[Any]":
    """HH:MM, or HH:MM:SS; missing where there is no number."""
    absent = np.isnan(encoded)
    texts = _texts(seconds=seconds)[np.mod(np.where(absent, 0, encoded), DAY).astype(np.int64)]
    texts[absent] = None
    return pd.Series(pd.array(texts, dtype="string"))


def clock_numbers(texts: "pd.Series[Any]", *, low: float) -> NDArray[np.float64]:
    """Written times as encoded rows hold them: from the lower bound on, so that one after midnight may be beyond a day."""
    codes, different = pd.factorize(texts)
    known = np.array([*(number_on_the_clock(str(text), low=low) for text in different), np.nan])
    return np.asarray(known[codes])
