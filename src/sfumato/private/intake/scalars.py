"""One raw value of any make as a number or as a text; nothing that a value is or does can raise here.

An object column may hold anything. So a value is judged by its type alone, and only the base class's own functions
are applied to it: an object's `__str__`, `__float__`, `__eq__` or `__class__` may be anybody's code, which may raise,
and is never run. What is of no known type is missing.
"""

import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.public.schema.clock import seconds_of, seconds_of_time

Parser = Callable[[str], float]

#: Texts by which people write that a value is missing.
MISSING_TEXTS = frozenset(
    ["", "?", "NA", "N/A", "n/a", "nan", "NaN", "-nan", "None", "none", "null", "NULL", "Null", "<NA>", "NaT"]
)
#: Words for true and false as `plain_word` writes them: lower case, no spaces around, 1.0 as 1. A word has one meaning whatever
#: language a file is in: "no" is false in English, Spanish and Italian, and no language here has it for true.
TRUE_WORDS = ("true", "t", "yes", "y", "on", "1", "j", "ja", "wahr", "oui", "vrai", "si", "sí", "sì")
FALSE_WORDS = ("false", "f", "no", "n", "off", "0", "nein", "falsch", "non", "faux")
#: How a count of a time unit becomes seconds: (multiply by, divide by).
_SECONDS: dict[str, tuple[float, float]] = {
    "W": (604800.0, 1.0), "D": (86400.0, 1.0), "h": (3600.0, 1.0), "m": (60.0, 1.0), "s": (1.0, 1.0),
    "ms": (1.0, 1e3), "us": (1.0, 1e6), "ns": (1.0, 1e9), "ps": (1.0, 1e12), "fs": (1.0, 1e15),
    "as": (1.0, 1e18),
}  # fmt: skip
_EPOCH = datetime(1970, 1, 1)
#: Asked of every value of an object column, so not made anew each time.
_TEXTS = (str, bytes)
#: Time zones whose code is known; others could raise whatever they like.
_ZONES = (timezone, ZoneInfo)
_ZONE_PACKAGES = ("dateutil", "pytz")
#: Python refuses to write out whole numbers of thousands of digits; no category is one.
_LONGEST_INTEGER_BITS = 2_000
#: Exact for every decimal, and not the context of the thread, which may ask for exceptions.
_DECIMALS = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


def parse_number(text: str) -> float:
    """A text as `float` reads it, NaN where it cannot.

    >>> parse_number(" 1e3 "), parse_number("about 5")
    (1000.0, nan)
    """
    try:
        return float(text)
    except ValueError:
        return math.nan


def parse_date(text: str) -> float:
    """A plain number of seconds, or an ISO 8601 date, as seconds since 1970 (UTC where no zone is named).

    >>> parse_date("1970-01-02"), parse_date("1970-01-01T01:00:00+01:00"), parse_date("soon")
    (86400.0, 0.0, nan)
    """
    number = parse_number(text)
    if not math.isnan(number):
        return number
    try:
        return _seconds_of_datetime(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        return math.nan


def parse_clock(text: str) -> float:
    """A plain number of seconds, or the time of a day, as seconds since midnight.

    >>> parse_clock("01:00"), parse_clock("3600"), parse_clock("noon")
    (3600.0, 3600.0, nan)
    """
    number = parse_number(text)
    return seconds_of(text) if math.isnan(number) else number


def number_of(value: Any, parse: Parser = parse_number) -> float:
    """A value as a float, dates and durations in seconds, NaN where there is no number.

    >>> from datetime import timedelta
    >>> number_of("7"), number_of(10**400), number_of(timedelta(hours=1)), number_of([7])
    (7.0, inf, 3600.0, nan)
    """
    kind = type(value)
    if issubclass(kind, _TEXTS):
        return parse(_plain_text(value))
    if issubclass(kind, np.datetime64 | np.timedelta64):  # before the integers, of which a timedelta64 is one
        return float(seconds_of_numpy(np.asarray(value)[None])[0])
    if issubclass(kind, int):
        return _float_of_ratio(int.__int__(value), 1)
    if issubclass(kind, float):
        return float.__float__(value)
    if issubclass(kind, np.bool_ | np.integer | np.floating):
        with np.errstate(all="ignore"):
            return float(np.generic.astype(value, np.float64))
    if issubclass(kind, Decimal):
        return math.nan if Decimal.is_nan(value) else Decimal.__float__(value)
    if kind is Fraction:
        return _float_of_ratio(value.numerator, value.denominator)
    if kind is type(pd.NaT):
        return math.nan
    if issubclass(kind, datetime):
        return _seconds_of_datetime(value)
    if issubclass(kind, date):
        return (datetime.combine(_plain_date(value), datetime.min.time()) - _EPOCH).total_seconds()
    if issubclass(kind, timedelta):
        return timedelta.total_seconds(value)
    return seconds_of_time(value) if kind is time else math.nan


def text_of(value: Any) -> str | None:
    """A value as a text, None where it has none. A whole number has no point, whatever its type.

    >>> text_of(3.0), text_of(b"x"), text_of(True), text_of({})
    ('3', 'x', 'True', None)
    """
    kind = type(value)
    if issubclass(kind, _TEXTS):
        return _plain_text(value)
    if issubclass(kind, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else _short_date(str(value))
    if issubclass(kind, bool | np.bool_):
        return "True" if value else "False"
    if issubclass(kind, int):
        return _text_of_integer(int.__int__(value))
    if issubclass(kind, np.integer):
        return _text_of_integer(int(np.generic.item(value)))
    if issubclass(kind, float | np.floating):
        return _text_of_float(float.__float__(value) if issubclass(kind, float) else np.asarray(value)[()])
    if issubclass(kind, Decimal):
        return _text_of_decimal(value)
    if kind is Fraction:
        return text_of(number_of(value))
    if kind is type(pd.NaT):
        return None
    if issubclass(kind, datetime):
        return _text_of_datetime(value)
    if kind is time:
        return time.isoformat(value)
    return _plain_date(value).isoformat() if issubclass(kind, date) else None


def _plain_text(value: str | bytes) -> str:
    """A plain str that can be written as UTF-8, whatever the value's class."""
    if isinstance(value, bytes):
        return bytes.decode(value, "utf-8", "replace")
    text = str.__str__(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character: repaired as in bytes
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def _float_of_ratio(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


def _text_of_integer(value: int) -> str | None:
    return str(value) if value.bit_length() < _LONGEST_INTEGER_BITS else None


def _text_of_float(value: Any) -> str | None:
    """As its own type writes it: 0.1 of 32 bits is 0.1."""
    if math.isnan(value):
        return None
    return _text_of_integer(int(value)) if value.is_integer() else str(value)


def _text_of_decimal(value: Decimal) -> str | None:
    if Decimal.is_nan(value):
        return None
    plain = Decimal.normalize(value, _DECIMALS)
    if not plain:
        return "0"
    # The guard keeps 1E+999999999 from being written out digit by digit.
    return Decimal.__format__(plain, "f") if plain.is_finite() and -400 < plain.adjusted() < 400 else str(plain)


def _plain_date(value: date) -> date:
    return date.fromordinal(date.toordinal(value))


def _plain_datetime(value: datetime) -> datetime:
    """The reading of the clock alone, as a plain datetime."""
    return datetime.combine(datetime.date(value), datetime.time(value))


def _offset(value: datetime) -> timedelta | None:
    """How far the clock is ahead of UTC; none for a clock without a zone. ValueError where the zone cannot say."""
    zone: tzinfo | None = datetime.tzinfo.__get__(value)
    if zone is None:
        return None
    module = type(zone).__module__
    package = module.partition(".")[0] if type(module) is str else ""
    if type(zone) not in _ZONES and package not in _ZONE_PACKAGES:
        raise ValueError("a time zone of an unknown make")
    try:
        return _plain_datetime(value).replace(tzinfo=zone).utcoffset()
    except (ArithmeticError, AttributeError, LookupError, OSError, TypeError):
        raise ValueError("a time zone that cannot say") from None


def _seconds_of_datetime(value: datetime) -> float:
    try:
        return (_plain_datetime(value) - _EPOCH - (_offset(value) or timedelta(0))).total_seconds()
    except ValueError:
        return math.nan


def _text_of_datetime(value: datetime) -> str | None:
    try:
        offset = _offset(value)
    except ValueError:
        return None
    plain = _plain_datetime(value)
    clock = plain.isoformat()
    zone = "" if offset is None else plain.replace(tzinfo=timezone(offset)).isoformat().removeprefix(clock)
    nanoseconds = pd.Timestamp.nanosecond.__get__(value) if issubclass(type(value), pd.Timestamp) else 0
    if nanoseconds:  # which no datetime has
        clock = f"{clock if '.' in clock else clock + '.000000'}{nanoseconds:03}"
    return clock + zone if zone else _short_date(clock)


def _short_date(text: str) -> str:
    """The shortest ISO text, so that the same day reads the same from every type."""
    return text.rstrip("0").rstrip(".").removesuffix("T00:00:00") if "." in text else text.removesuffix("T00:00:00")


def seconds_of_numpy(values: NDArray[Any]) -> NDArray[np.float64]:
    """NumPy's dates or durations as seconds, NaN where there is none."""
    unit, step = np.datetime_data(values.dtype)
    if unit in ("Y", "M"):
        # Months have no fixed length, so these go by way of days; the clip keeps the calendar in range.
        limit = 10_000 * (1 if unit == "Y" else 12)
        absent = np.isnat(values)
        kept = np.clip(values.astype(np.int64) * step, -limit, limit).astype(f"{values.dtype.kind}8[{unit}]")
        days = kept.astype("M8[D]").astype(np.int64) if values.dtype.kind == "M" else kept.astype(np.int64) * 30
        return np.where(absent, np.nan, days * 86400.0)
    return seconds_of_ticks(values.astype(np.int64), unit if unit in _SECONDS else "s", step=step)


def seconds_of_ticks(ticks: NDArray[np.int64], unit: str, *, step: int = 1) -> NDArray[np.float64]:
    """Counts of a time unit as seconds; the least int64 is NumPy's word for "no time", and ours for a null."""
    times, per = _SECONDS[unit]
    absent = ticks == np.iinfo(np.int64).min
    if unit == "ns":
        # Whole microseconds are exact in a float64, and are what an ISO text holds.
        ticks, per = ticks // 1000, 1e6
    return np.where(absent, np.nan, ticks.astype(np.float64) * (times * step) / per)
