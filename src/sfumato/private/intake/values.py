"""Raw values of any make as numbers or as texts; every value alone decides what it becomes.

Nothing here raises because of a value: what cannot be read is missing. Speed comes from doing the work once
for each distinct value of a chunk, and from Arrow where its answer is the same as Python's.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.errors import SourceError

#: A column of raw rows: a NumPy array, an Arrow array, or `Coded`.
Values = Any
Parser = Callable[[str], float]

#: Texts by which people write that a value is missing.
MISSING_TEXTS = frozenset(
    ["", "?", "NA", "N/A", "n/a", "nan", "NaN", "-nan", "None", "none", "null", "NULL", "Null", "<NA>", "NaT"]
)
#: How a count of a time unit becomes seconds: (multiply by, divide by).
_SECONDS: dict[str, tuple[float, float]] = {
    "W": (604800.0, 1.0), "D": (86400.0, 1.0), "h": (3600.0, 1.0), "m": (60.0, 1.0), "s": (1.0, 1.0),
    "ms": (1.0, 1e3), "us": (1.0, 1e6), "ns": (1.0, 1e9), "ps": (1.0, 1e12), "fs": (1.0, 1e15),
    "as": (1.0, 1e18),
}  # fmt: skip


class UnreadableTypeError(SourceError):
    """A column's type (public structure, not a value) is neither numbers nor texts."""

    def __init__(self, kind: object) -> None:
        """Say which type."""
        super().__init__(f"values of type {kind} cannot be read as numbers or texts. Split them into columns.")


@dataclass(frozen=True, repr=False)
class Coded:
    """Values that are stored once, and for every row the place of its value (-1: missing)."""

    private_values: Values
    private_codes: NDArray[np.int64]

    def __len__(self) -> int:
        """How many rows."""
        return len(self.private_codes)

    def compact(self) -> "Coded":
        """Only the values that occur: a file's dictionary may be far larger than one chunk of its rows."""
        if len(self.private_values) <= max(len(self), 1):
            return self
        used, codes = np.unique(self.private_codes, return_inverse=True)
        gap = int(used.size > 0 and used[0] < 0)
        values = self.private_values
        places = used[gap:]
        return Coded(values.take(places) if isinstance(values, pa.Array) else values[places], codes - gap)


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
        return _seconds(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        return math.nan


def to_numbers(values: Values, *, parse: Parser = parse_number) -> NDArray[np.float64]:
    """Every value as a float64, dates as seconds since 1970, NaN where there is no number.

    >>> to_numbers(np.array(["7", 2.5, None, "x"], dtype=object))
    array([7. , 2.5, nan, nan])
    """
    values = _plain(values)
    if isinstance(values, Coded):
        coded = values.compact()
        return np.append(to_numbers(coded.private_values, parse=parse), np.nan)[coded.private_codes]
    if isinstance(values, pa.Array):
        return _numbers_from_arrow(values, parse)
    kind = values.dtype.kind
    if kind in "biuf":
        with np.errstate(all="ignore"):
            return np.asarray(values, dtype=np.float64)
    if kind in "mM":
        return _seconds_from_numpy(values)
    flat = np.fromiter((_number(value, parse) for value in _objects(values).flat), np.float64, count=values.size)
    return flat.reshape(values.shape)


def to_texts(values: Values) -> Coded:
    """Every distinct value as a text (or None), and for every row the place of its text (-1: missing).

    A whole number is written without a point, whatever its type, so that 3, 3.0 and "3" can meet.

    >>> coded = to_texts(np.array([3.0, np.nan, 3.0, 0.5]))
    >>> coded.private_values, coded.private_codes
    (['3', '0.5'], array([ 0, -1,  0,  1]))
    """
    values = _plain(values)
    if isinstance(values, Coded):
        outer = values.compact()
        inner = to_texts(outer.private_values)
        return Coded(inner.private_values, np.append(inner.private_codes, -1)[outer.private_codes])
    if isinstance(values, pa.Array):
        return _texts_from_arrow(values)
    if values.dtype.kind in "biuf":
        small = values.astype(np.float32) if values.dtype == np.float16 else values
        codes, distinct = pd.factorize(small)
        return Coded([_text(value) for value in distinct], codes.astype(np.int64))
    if values.dtype.kind in "mM":
        codes, distinct = pd.factorize(values.view(np.int64))
        return Coded([_text(value) for value in distinct.view(values.dtype)], codes.astype(np.int64))
    # Objects are written out before they are compared: 1, 1.0 and True are equal keys but different texts.
    texts = np.fromiter((_text(value) for value in _objects(values)), object, count=len(values))
    codes, distinct = pd.factorize(texts)
    return Coded(list(distinct), codes.astype(np.int64))


def _plain(values: Values) -> Values:
    """Unwrap Arrow's containers, and refuse a type (public structure) that holds no single value."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if isinstance(values, pa.DictionaryArray):
        codes = pc.fill_null(values.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        return Coded(values.dictionary, codes)
    if isinstance(values, np.ndarray) and values.dtype.kind in "cV":
        raise UnreadableTypeError(values.dtype)
    return values


def _numbers_from_arrow(values: Values, parse: Parser) -> NDArray[np.float64]:
    kind = values.type
    if _is_text(kind):
        return _numbers_from_texts(values.cast(pa.binary()), parse)
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_decimal(kind):
        values = values.cast(pa.float64())
    elif pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        unit = "D" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit
        wide = values.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64())
        ticks = pc.fill_null(wide, np.iinfo(np.int64).min).to_numpy(zero_copy_only=False)
        return _scale_ticks(ticks, unit)
    elif pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise UnreadableTypeError(kind)
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _numbers_from_texts(values: Values, parse: Parser) -> NDArray[np.float64]:
    # Where Arrow reads a whole chunk it reads each text as float() does: which way is taken changes no value.
    # A text it cannot read sends the chunk the slow way; the usual words for "missing" must not.
    trimmed = pc.ascii_trim_whitespace(values.view(pa.string()))
    try:
        return _cast(trimmed)
    except pa.ArrowInvalid:
        pass
    absent = pc.is_in(trimmed, value_set=pa.array(sorted(MISSING_TEXTS)))
    try:
        return _cast(pc.if_else(absent, pa.scalar(None, pa.string()), trimmed))
    except pa.ArrowInvalid:
        pass
    coded = _texts_from_arrow(values)
    table = [parse(text) for text in coded.private_values]
    return np.array([*table, np.nan], dtype=np.float64)[coded.private_codes]


def _cast(texts: Values) -> NDArray[np.float64]:
    numbers = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return np.asarray(numbers, dtype=np.float64)


def _texts_from_arrow(values: Values) -> Coded:
    kind = values.type
    if pa.types.is_null(kind):
        return Coded([], np.full(len(values), -1))
    if pa.types.is_time(kind):
        return to_texts(_numbers_from_arrow(values, parse_number))
    if pa.types.is_floating(kind) or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind)):
        # By way of NumPy: Python's dates end at the year 9999, where they raise.
        return to_texts(values.to_numpy(zero_copy_only=False))
    if not (_is_text(kind) or _is_exact(kind)):
        raise UnreadableTypeError(kind)
    # Read as bytes: a text that is not valid UTF-8 is repaired, not refused.
    coded = (values.cast(pa.binary()) if _is_text(kind) else values).dictionary_encode()
    codes = pc.fill_null(coded.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    return Coded([_text(value) for value in coded.dictionary.to_pylist()], codes)


def _is_text(kind: Any) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
        or types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    )  # fmt: skip


def _is_exact(kind: Any) -> bool:
    return bool(pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def _objects(values: NDArray[Any]) -> NDArray[Any]:
    return values if values.dtype == object else values.astype(object)


def _number(value: object, parse: Parser) -> float:
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, bytes):
        return parse(value.decode("utf-8", errors="replace"))
    if value is pd.NaT:
        return math.nan
    if isinstance(value, int | float | np.integer | np.floating | np.bool_ | Decimal):
        return _to_float(value)
    if isinstance(value, datetime | date):
        return _seconds(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return float(_seconds_from_numpy(np.asarray(value)[None])[0])
    return math.nan


def _to_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except ValueError:  # a signalling NaN of Decimal
        return math.nan


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, bool | np.bool_):
        return "True" if value else "False"
    if isinstance(value, int | np.integer):
        # Python refuses to write out whole numbers of thousands of digits; no category is one.
        return str(int(value)) if int(value).bit_length() < 10_000 else None
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else str(int(value)) if _is_whole(float(value)) else str(value)
    if isinstance(value, Decimal):
        return _text_of_decimal(value)
    if value is pd.NaT:
        return None
    if isinstance(value, datetime | date):
        return _text_of_date(value.isoformat())
    if isinstance(value, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else _text_of_date(str(value))
    return None


def _text_of_date(text: str) -> str:
    """The shortest ISO text, so that the same day reads the same from every type."""
    return text.rstrip("0").rstrip(".").removesuffix("T00:00:00") if "." in text else text.removesuffix("T00:00:00")


def _is_whole(value: float) -> bool:
    return abs(value) < 2**53 and value.is_integer()


def _text_of_decimal(value: Decimal) -> str | None:
    if value.is_nan():
        return None
    # The guard keeps 1E+999999999 from being written out digit by digit.
    if value.is_finite() and -50 < value.adjusted() < 50:
        return format(value.normalize(), "f")
    return str(value)


def _seconds(value: datetime | date) -> float:
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    return (value if value.tzinfo is not None else value.replace(tzinfo=UTC)).timestamp()


def _seconds_from_numpy(values: NDArray[Any]) -> NDArray[np.float64]:
    unit, step = np.datetime_data(values.dtype)
    if unit in ("Y", "M"):
        # Months have no fixed length, so these go by way of days; the clip keeps the calendar in range.
        limit = 10_000 * (1 if unit == "Y" else 12)
        absent = np.isnat(values)
        kept = np.clip(values.astype(np.int64) * step, -limit, limit).astype(f"{values.dtype.kind}8[{unit}]")
        days = kept.astype("M8[D]").astype(np.int64) if values.dtype.kind == "M" else kept.astype(np.int64) * 30
        return np.where(absent, np.nan, days * 86400.0)
    return _scale_ticks(values.astype(np.int64), unit if unit in _SECONDS else "s", step=step)


def _scale_ticks(ticks: NDArray[np.int64], unit: str, *, step: int = 1) -> NDArray[np.float64]:
    times, per = _SECONDS[unit]
    # NumPy's word for "no time", and ours for a null, is the least int64.
    absent = ticks == np.iinfo(np.int64).min
    if unit == "ns":
        # Whole microseconds are exact in a float64, and are what an ISO text holds.
        ticks, per = ticks // 1000, 1e6
    return np.where(absent, np.nan, ticks.astype(np.float64) * (times * step) / per)
