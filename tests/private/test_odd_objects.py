"""An object column may hold anything: every value becomes a number, a category or missing, and none can raise."""

import datetime as dt
import decimal
import enum
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.private.intake.conforming import conform
from sfumato.private.intake.persons import LimitedSource
from sfumato.private.intake.scalars import number_of, text_of
from sfumato.private.intake.sources import open_source
from sfumato.public.schema.schema import Column, Schema

COLUMNS = (
    Column(name="numeric", kind="numeric", bounds=(0, 10), missing=True),
    Column(name="integer", kind="integer", bounds=(0, 10)),
    Column(name="datetime", kind="datetime", bounds=(0, 4e9), missing=True),
    Column(name="categorical", kind="categorical", categories=("a", "3"), missing=True),
    Column(name="ordinal", kind="ordinal", categories=("low", "high")),
    Column(name="boolean", kind="boolean", missing=True),
    Column(name="any_number", kind="numeric", discover=True),
    Column(name="any_date", kind="datetime", discover=True),
    Column(name="any_text", kind="categorical", discover=True),
)
TABLE = Schema(columns=COLUMNS)
PICTURE = Schema(columns=(Column(name="image", kind="image", shape=(1, 2)),))


class Refusal(Exception):
    """Of no family that anybody would catch."""


def _raise(*arguments, **options):
    raise Refusal("private")


_DUNDERS = (
    *("str", "repr", "float", "int", "index", "bool", "eq", "ne", "lt", "gt", "hash", "len", "iter", "getitem"),
    *("format", "abs", "bytes", "complex", "round", "trunc", "array", "contains", "getattr"),
)
HOSTILE = {f"__{name}__": _raise for name in _DUNDERS}


def hostile(base, *arguments, **more):
    """An object of a subclass whose every method raises."""
    kind = type("Hostile", (base,), {**HOSTILE, **more})
    return base.__new__(kind, *arguments)


class Liar:
    """Says that it is of no class at all."""

    __class__ = property(_raise)


class OddZone(dt.tzinfo):
    """A zone that raises, or says nothing or nonsense."""

    def __init__(self, answer):
        self.answer = answer

    def utcoffset(self, when):
        return _raise() if self.answer is Refusal else self.answer

    dst = tzname = utcoffset


class Colour(enum.Enum):
    RED = "a"


class Level(enum.IntEnum):
    THREE = 3


class Letter(enum.StrEnum):
    A = "a"


NOON = dt.datetime(2020, 1, 31, 12)
ODD = [
    *(None, pd.NaT, pd.NA, np.nan, ..., NotImplemented, object(), object, Liar(), print, Colour.RED, Level.THREE, Letter.A),
    *(np.timedelta64("NaT"), np.timedelta64("NaT", "ns"), np.timedelta64(3, "D"), np.timedelta64(3), np.timedelta64(2, "Y")),
    *(np.datetime64("NaT"), np.datetime64(2**62, "Y"), np.datetime64(-(2**62), "as"), np.datetime64(2**62, "W")),
    *(Decimal("sNaN"), Decimal("-sNaN12"), Decimal("NaN"), Decimal("1e999999"), Decimal("-Infinity"), Decimal("3.00")),
    *(10**400, -(10**400), 10**5000, 2**2047, True, Fraction(1, 3), Fraction(10**400), Fraction(1, 10**400)),
    *(1j, complex("nan"), np.complex64(1), np.clongdouble(1j), np.longdouble("1e4000"), np.float16(3), np.float32(0.1)),
    *(b"\xff", b"3", bytearray(b"3"), memoryview(b"3"), "\ud800", "a\udcff", "\0", "1" * 5000, "1_0", "²", "٣"),
    *({}, {"a": 1}, [], [1, 2], [[1], 2], (1,), {1}, frozenset(), range(2), iter([1]), np.array(3), np.array([3]), np.array([])),
    *(np.void(b"abc"), np.zeros(1, "i4,f8")[0], np.str_("a"), np.bytes_(b"a"), np.bool_(True), np.uint64(2**64 - 1)),
    *(dt.datetime.min, dt.datetime.max, dt.date.min, dt.date.max, dt.time(3), dt.timedelta.max, dt.timedelta.min),
    *(dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=14))), NOON.replace(tzinfo=ZoneInfo("Asia/Kathmandu"))),
    *(dt.datetime.max.replace(tzinfo=dt.timezone(-dt.timedelta(hours=14))), NOON.replace(tzinfo=OddZone(None))),
    *(NOON.replace(tzinfo=OddZone(Refusal)), NOON.replace(tzinfo=OddZone("x")), NOON.replace(tzinfo=OddZone(dt.timedelta(9)))),
    *(pd.Timestamp.max, pd.Timestamp.min, pd.Timestamp("2020", tz="Europe/Berlin"), pd.Timedelta.max, pd.Timedelta(1, "D")),
    *(pd.Period("2020"), pd.Interval(0, 1), pd.Series([1]), pd.DataFrame(), pd.Timestamp(NOON, tz=OddZone(dt.timedelta(0)))),
    *(hostile(object), hostile(str, "a"), hostile(bytes, b"3"), hostile(int, 3), hostile(float, 3.0), hostile(list), hostile(tuple)),
    *(hostile(Decimal, "3"), hostile(dt.date, 2020, 1, 31), hostile(dt.timedelta, 1), hostile(np.float32, 3), hostile(np.int16, 3)),
    *(hostile(dt.datetime, 2020, 1, 31, isoformat=_raise, timestamp=_raise, year=property(_raise)), hostile(np.float64, 3)),
]  # fmt: skip
NUMPY = [np.dtype(code).type(1) for code in np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?SU"]

UNITS = st.sampled_from(["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"])


class Odd(NamedTuple):
    """The place of an odd object: Hypothesis itself would hash, compare and print the object."""

    at: int


def meant(values):
    return [(ODD + NUMPY)[value.at] if isinstance(value, Odd) else value for value in values]


odd_values = st.one_of(
    st.builds(Odd, st.integers(0, len(ODD + NUMPY) - 1)),
    st.integers(-(10**500), 10**500),
    st.floats(),
    st.complex_numbers(),
    st.fractions(),
    st.decimals(),
    st.text(st.characters(), max_size=6),
    st.binary(max_size=6),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.dates(),
    st.timedeltas(),
    st.times(),
    st.builds(np.datetime64, st.integers(-(2**63), 2**63 - 1), UNITS),
    st.builds(np.timedelta64, st.integers(-(2**63), 2**63 - 1), UNITS),
    st.recursive(st.integers() | st.text(max_size=2), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)),
)  # fmt: skip


def objects(values):
    out = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        out[at] = value
    return out


def encode(values, schema=TABLE):
    raw = objects(values)
    names = [column.name for column in schema.columns]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source = open_source(dict.fromkeys(names, raw), schema)
        parts = [conform(chunk, schema) for chunk in source.chunks(names, rows=5)]
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def check(batch, n_rows):
    for column in COLUMNS:
        found = batch[column.name]
        assert len(found) == n_rows
        if column.is_coded and column.discover:
            assert all(value is None or type(value) is str for value in found)
            assert all(value is None or value.encode() is not None for value in found)
        elif column.is_coded:
            assert ((found >= 0) & (found < column.size)).all()
        elif column.discover:
            assert (np.isnan(found) | np.isfinite(found)).all()
        else:
            assert (np.isnan(found) & column.missing | (found >= column.low) & (found <= column.high)).all()


@pytest.mark.parametrize("at", range(len(ODD) + len(NUMPY)), ids=lambda at: f"{at}-{type((ODD + NUMPY)[at]).__name__}")
def test_one_odd_object_raises_nothing_and_changes_no_other_row(at):
    plain = ["3", "a", 7]
    batch = encode([*plain, (ODD + NUMPY)[at]])
    check(batch, 4)
    for name, values in encode(plain).items():
        np.testing.assert_array_equal(batch[name][:3], values)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(odd_values, min_size=1, max_size=8))
def test_any_objects_become_rows_of_every_kind(values):
    check(encode(meant(values)), len(values))


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(odd_values, min_size=1, max_size=8))
def test_any_objects_become_pictures(values):
    values = meant(values)
    pairs = list(zip(values, reversed(values), strict=True))
    for rows in (values, pairs, [list(pair) for pair in pairs], [[pair] for pair in pairs]):
        images = encode(rows, PICTURE)["image"]
        assert images.shape == (len(values), 1, 2)
        assert ((images >= 0) & (images <= 255)).all()


@settings(max_examples=50)
@given(st.lists(odd_values, min_size=1, max_size=8))
def test_any_objects_may_be_the_ids_of_persons(values):
    source = open_source({"numeric": np.zeros(len(values)), "who": objects(meant(values))}, Schema(columns=COLUMNS[:1]))
    limited = LimitedSource(source, person="who", max_rows=1)
    assert sum(len(chunk["numeric"]) for chunk in limited.chunks(["numeric"], rows=3)) <= len(values)


def test_odd_objects_that_mean_something_are_understood():
    seconds = dt.datetime(2020, 1, 31, 12, tzinfo=dt.UTC).timestamp()
    assert number_of(Fraction(1, 4)) == 0.25
    assert number_of(Fraction(-(10**400))) == -np.inf
    assert number_of(np.timedelta64(3, "D")) == 259200.0
    assert number_of(Level.THREE) == number_of(hostile(int, 3)) == number_of(hostile(np.int16, 3)) == 3.0
    assert number_of(NOON) == seconds
    assert number_of(NOON.replace(tzinfo=ZoneInfo("Europe/Berlin"))) == seconds - 3600
    assert number_of(pd.Timestamp(NOON, tz="US/Eastern")) == seconds + 5 * 3600
    assert np.isnan(number_of(NOON.replace(tzinfo=OddZone(Refusal))))
    assert text_of(hostile(str, "a")) == text_of(Letter.A) == text_of(np.str_("a")) == "a"
    assert type(text_of(hostile(str, "a"))) is str
    assert text_of("a\udcff") == text_of(b"a\xed\xb3\xbf") == "a\ufffd\ufffd\ufffd"
    assert text_of(Level.THREE) == text_of(Fraction(3)) == text_of(np.float16(3)) == text_of(Decimal("3.00")) == "3"
    assert text_of(np.float32(0.1)) == text_of(0.1) == text_of(np.float64(0.1)) == "0.1"
    assert text_of(NOON.replace(tzinfo=dt.timezone(dt.timedelta(hours=1)))) == "2020-01-31T12:00:00+01:00"
    assert text_of(pd.Timestamp("2020-01-31")) == text_of(np.datetime64("2020-01-31", "ns")) == "2020-01-31"


ARROW = [
    pa.array([Decimal("1.5"), None], pa.decimal256(40, 2)),
    pa.array([Decimal("9" * 60)], pa.decimal256(76, 2)),
    *(pa.array([2**62, -(2**62)], pa.timestamp(unit, tz=zone)) for unit in ("s", "ns") for zone in (None, "Asia/Kathmandu")),
    *(pa.array([1, 2], kind) for kind in (pa.time64("ns"), pa.time32("s"), pa.duration("s"), pa.uint64())),
    pa.array([2**62]).view(pa.date64()),
    *(pa.array([b"\xff", None], kind) for kind in (pa.binary(), pa.binary_view(), pa.large_binary(), pa.binary(1))),
    pa.array([b"\xff"], pa.binary()).view(pa.string()),
    pa.DictionaryArray.from_arrays(pa.array([0, None], pa.uint64()), pa.array([b"\xff"]).view(pa.string())),
    pa.array([1.5], pa.float16()),
    pa.nulls(2),
]  # fmt: skip
if hasattr(pa, "decimal32"):
    ARROW.append(pa.array([Decimal("1.5")], pa.decimal32(5, 2)))


@pytest.mark.parametrize("values", ARROW, ids=lambda values: str(values.type))
def test_arrow_values_of_every_type_become_rows(values):
    batch = conform(dict.fromkeys([column.name for column in COLUMNS], values), TABLE)
    check(batch, len(values))


def test_rows_of_a_frame_go_by_their_place():
    frame = pd.DataFrame({"numeric": np.arange(10.0)}, index=np.arange(10)[::-1] / 2)
    chunks = open_source(frame, Schema(columns=COLUMNS[:1])).chunks(["numeric"], rows=4)
    assert np.concatenate([chunk["numeric"] for chunk in chunks]).tolist() == list(range(10))


def test_the_decimals_of_a_thread_that_asks_for_exceptions_raise_nothing():
    with decimal.localcontext(
        decimal.Context(prec=2, traps=[decimal.Inexact, decimal.Rounded, decimal.InvalidOperation])
    ):
        assert text_of(Decimal("3.14159")) == "3.14159"
        assert text_of(Decimal("sNaN")) is None
        assert number_of(Decimal("3.14159")) == 3.14159
