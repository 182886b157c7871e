"""Ids of persons are told apart by their exact bytes: no two persons meet, and nobody becomes two by what others hold."""

import datetime as dt
import uuid
from collections import deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Column, PrivacyUnit, Schema, Sensitive
from sfumato.errors import SourceError
from sfumato.private.intake import ids
from sfumato.private.intake.ids import id_of, to_ids
from sfumato.private.intake.persons import LimitedSource
from sfumato.private.intake.sensitive import open_batches
from sfumato.private.intake.sources import open_source
from sfumato.private.intake.values import to_numbers

UNIT = PrivacyUnit(person="who", max_rows=3)
SCHEMA = Schema(columns=(Column(name="x", kind="numeric", bounds=(0, 1e9)),), unit=UNIT)


def objects(values) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        array[at] = value
    return array


def persons_of(who, rows: int = 7) -> np.ndarray:
    """The number of each row's person."""
    data = who if isinstance(who, pd.DataFrame | pa.Table | pl.DataFrame) else {"who": who, "x": np.zeros(len(who))}
    limited = LimitedSource(open_source(data, SCHEMA), person="who", max_rows=10**9)
    return limited.numbers(rows=rows)


# One type at a time: different values are different persons, and equal ones the same.

MADE = {
    "bytes": st.binary(max_size=8),
    "texts": st.text(st.characters(codec=None), max_size=6).map(lambda t: t.strip(" \t")),
    "whole numbers": st.integers() | st.integers(2**62, 2**70),
    "floats": st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1e16, 1e16 + 2, 2.0**53 + 2]),
    "decimals": st.decimals(allow_nan=False, places=20, min_value=-(10**20), max_value=10**20)
    | st.decimals(allow_nan=False),
    "fractions": st.fractions(),
    "uuids": st.uuids(),
    "days": st.dates(),
    "clocks": st.datetimes(),
    "zones": st.datetimes(timezones=st.sampled_from([dt.UTC, dt.timezone(dt.timedelta(hours=2, minutes=3))])),
    "timestamps": st.integers(-(2**60), 2**60).map(lambda n: pd.Timestamp(n, unit="ns")),
    "timestamps in zones": st.integers(0, 2**60).map(lambda n: pd.Timestamp(n, unit="ns", tz="US/Eastern")),
    "tuples": st.tuples(st.text(max_size=3), st.text(max_size=3)) | st.tuples(st.text(max_size=3)),
    "sets": st.frozensets(st.integers(-9, 99), max_size=3),
}


@pytest.mark.parametrize("kind", MADE)
@given(data=st.data())
def test_different_ids_of_one_type_never_meet(kind, data) -> None:
    one, two = data.draw(MADE[kind]), data.draw(MADE[kind])
    if id_of(one) is not None and id_of(two) is not None:
        same = one == two and (kind != "zones" or one.utcoffset() == two.utcoffset())
        assert (id_of(one) == id_of(two)) == same


@given(st.lists(st.one_of(*MADE.values()) | st.booleans() | st.none() | st.just(object), min_size=1, max_size=6))
def test_an_id_is_the_same_whatever_else_the_column_holds(values) -> None:
    coded = to_ids(objects(values))
    found = [None if code < 0 else coded.private_values[code] for code in coded.private_codes]
    assert found == [id_of(value) for value in values]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (b"\xff\x01", b"\xfe\x01"),
        ("a\0", "a"),
        ("é", "e\u0301"),
        ("\udc80", "\udc81"),
        (True, 1),
        (Decimal("1" * 40), Decimal("1" * 39 + "2")),
        (np.longdouble(3) + np.longdouble(2) ** -60, 3),
        (2**64 + 1, 2**64),
        (2.0**60, 2**60 + 1),
        (Fraction(1, 3), 1 / 3),
        (("a", "b"), ("ab",)),
        (("a", "b"), ("a=b",)),
        (("a", "b"), "(2:=a,2:=b,)"),
        (("1", ("2", "3")), (("1", "2"), "3")),
        (b"abcdefg ", b"abcdefg\t"),
        (pd.Timestamp(1, unit="ns", tz="UTC"), pd.Timestamp(2, unit="ns", tz="UTC")),
        (np.datetime64(1, "ns"), np.datetime64(2, "ns")),
        (np.float32(0.1) + np.float32(2**-27), np.float32(0.1)),
    ],
)
def test_these_are_two_persons(one, two) -> None:
    assert id_of(one) is not None
    assert id_of(two) is not None
    assert id_of(one) != id_of(two)
    assert persons_of(objects([one, two, one])).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "same",
    [
        (
            7,
            7.0,
            "7",
            b"7",
            " 7\t",
            np.int8(7),
            np.float16(7),
            Decimal("7.00"),
            Fraction(7),
            np.uint64(7),
            np.str_("7"),
        ),
        (0.0, -0.0, 0, Decimal("-0.0")),
        (1e16, 10**16, Decimal("1E+16")),
        (dt.date(2020, 1, 31), pd.Timestamp("2020-01-31"), np.datetime64("2020-01-31", "ns"), "2020-01-31"),
        (True, np.True_, "True"),
        (uuid.UUID(int=5), str(uuid.UUID(int=5))),
        (frozenset([1, 2]), frozenset([2, 1, 1.0])),
    ],
)
def test_one_id_written_the_same_way_is_one_person_whatever_its_type(same) -> None:
    assert {id_of(value) for value in same} == {id_of(same[0])}
    assert id_of(same[0]) is not None


def test_many_persons_are_as_many_numbers() -> None:
    assert len(set(persons_of(np.arange(30_000), rows=5000).tolist())) == 30_000


def test_what_has_no_exact_writing_is_nobody() -> None:
    deep = ("a",)
    for _ in range(900):
        deep = (deep,)
    for value in (None, "", " NA ", b"?", float("nan"), pd.NaT, pd.NA, object(), [], {}, 10**900, deep, ("a", None)):
        assert id_of(value) is None


# Every way in which a column may come.

N = 60
EIGHT = [np.random.default_rng(n).bytes(8) for n in range(N)]
COLUMNS = {
    "objects of bytes": objects(EIGHT),
    "binary": pa.array(EIGHT, pa.binary()),
    "large binary": pa.array(EIGHT, pa.large_binary()),
    "binary view": pa.array(EIGHT, pa.binary_view()),
    "fixed size binary": pa.array(EIGHT, pa.binary(8)),
    "dictionary of bytes": pa.array(EIGHT, pa.binary()).dictionary_encode(),
    "uuids of Arrow": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([e * 2 for e in EIGHT], pa.binary(16))),
    "uuids": objects([uuid.UUID(bytes=e * 2) for e in EIGHT]),
    "tuples": objects([(e, n) for n, e in enumerate(EIGHT)]),
    "sets": objects([frozenset([n, -1]) for n in range(N)]),
    "decimals of 40 digits": pa.array([Decimal(10**39 + n) for n in range(N)], pa.decimal256(50, 0)),
    "decimal objects": objects([Decimal(10**39 + n) for n in range(N)]),
    "large numbers": np.arange(N, dtype=np.uint64) + np.uint64(2**63),
    "nullable numbers": pd.array([2**62 + n for n in range(N)], dtype="Int64"),
    "big-endian floats": (np.arange(N) + 0.5).astype(">f8"),
    "long doubles": np.arange(N) * np.longdouble(2) ** -62 + 3,
    "nanoseconds": np.arange(N).astype("M8[ns]"),
    "zones": pd.Series(pd.to_datetime(np.arange(N), utc=True)).dt.tz_convert("Asia/Tokyo"),
    "categories": pd.Categorical([f"p{n}" for n in range(N)]),
    "texts": pd.Series([f"p{n}" for n in range(N)], dtype="string"),
    "durations": pa.array(np.arange(N).astype("m8[ns]")),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_as_many_persons_as_ids_whatever_the_column_is_made_of(name) -> None:
    column = COLUMNS[name]
    doubled = np.r_[np.arange(N), np.arange(N)]
    both = pa.concat_arrays([column, column]) if isinstance(column, pa.Array) else column[doubled]
    both = both.reset_index(drop=True) if isinstance(both, pd.Series) else both
    assert persons_of(both).tolist() == doubled.tolist()


def test_files_tell_persons_apart_as_memory_does(tmp_path) -> None:
    table = pa.table({"who": pa.array(EIGHT * 2, pa.binary()), "x": np.zeros(2 * N)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=9)
    assert persons_of_file(tmp_path / "t.parquet") == [*range(N), *range(N)]
    lines = [bytes([n % 64 + 160, n // 64 + 160]) + b",0" for n in range(2 * N)]  # no UTF-8
    (tmp_path / "t.csv").write_bytes(b"\n".join([b"who,x", *lines, *lines]))
    assert persons_of_file(tmp_path / "t.csv") == [*range(2 * N), *range(2 * N)]
    assert persons_of(pl.from_arrow(table)).tolist() == [*range(N), *range(N)]
    chunked = pa.table({"who": pa.chunked_array([EIGHT[:9], EIGHT[9:], EIGHT], pa.binary()), "x": np.zeros(2 * N)})
    assert persons_of(chunked).tolist() == [*range(N), *range(N)]


def persons_of_file(path) -> list[int]:
    return LimitedSource(open_source(path, SCHEMA), person="who", max_rows=9).numbers(rows=7).tolist()


PEOPLE = {"who": ["p", "p", "q"], "town": ["rome", "rome", "oslo"]}
TABLES = {
    "polars": pl.DataFrame(PEOPLE),
    "polars categories": pl.DataFrame(PEOPLE).with_columns(pl.col("town").cast(pl.Categorical)),
    "text views": pa.table({name: pa.array(values, pa.string_view()) for name, values in PEOPLE.items()}),
    "byte views": pa.table({n: pa.array([v.encode() for v in vs], pa.binary_view()) for n, vs in PEOPLE.items()}),
    "runs": pa.table({name: pc.run_end_encode(pa.array(values)) for name, values in PEOPLE.items()}),
    "dictionaries": pa.table({name: pa.array(values).dictionary_encode() for name, values in PEOPLE.items()}),
    "pandas texts": pd.DataFrame(PEOPLE, dtype="string"),
}


@pytest.mark.parametrize("name", TABLES)
def test_rows_over_the_limit_are_dropped_from_tables_of_every_make(name) -> None:
    town = Column(name="town", kind="categorical", categories=("oslo", "rome"))
    schema = Schema(columns=(town,), unit=PrivacyUnit(person="who", max_rows=1))
    batches = open_batches(Sensitive.read(TABLES[name], schema), rows=2)
    assert np.concatenate([batch["town"] for batch in batches]).tolist() == [1, 0]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([{"a": 1}] * 3),
        pa.array([[1]] * 3),
        pa.nulls(3),
        pa.array([1, 2, 3], pa.time64("ns")),
        np.zeros((3, 2)),
        np.zeros(3, dtype=complex),
        np.zeros(3, dtype=[("a", "i4")]),
        pd.Series(pd.period_range("2020", periods=3, freq="M")),
        pd.Series(pd.interval_range(0, 3)),
        pd.cut(pd.Series([1, 2, 3]), 3),
    ],
    ids=["struct", "list", "null", "time", "2-D", "complex", "record", "period", "interval", "cut"],
)
def test_a_column_that_holds_no_ids_by_its_type_is_refused(column) -> None:
    with pytest.raises(SourceError, match="the person column 'who': values of type"):
        persons_of(column)


def test_no_other_row_changes_what_an_id_is() -> None:
    """Containers that would find one type for all values are not asked for it."""
    for make in (pl.Series, pa.array, deque, lambda ids: pd.array(ids, dtype="Int64")):
        assert persons_of(make([2**53, 2**53 + 1, None])).tolist() == [0, 1]
    assert id_of(1.0) == to_ids(open_column(deque([1.0, "a"]))).private_values[0]


def open_column(values):
    (chunk,) = open_source({"who": values, "x": np.zeros(len(values))}, SCHEMA).chunks(["who"], rows=9)
    return chunk["who"]


@pytest.mark.parametrize("order", "<>")
def test_numbers_that_are_no_characters_are_missing_and_raise_nothing(order) -> None:
    points = np.array([0x61, 0xFFFFFFFF, 0x110000, 0x31], dtype=f"{order}u4")
    texts = np.frombuffer(points.tobytes(), dtype=f"{order}U1")
    assert persons_of(texts).tolist() == [0, 1]
    assert np.isnan(to_numbers(texts)).tolist() == [True, True, True, False]


def test_places_beyond_a_dictionary_are_missing() -> None:
    places = pa.array([0, 7, -3, 1], pa.int8())
    assert persons_of(pa.DictionaryArray.from_arrays(places, pa.array(["a", "b"]), safe=False)).tolist() == [0, 1]


# What it is for.


def sums(data) -> int:
    return sum(len(batch["x"]) for batch in open_batches(data, rows=5))


def test_taking_a_person_out_moves_no_more_rows_than_accounted() -> None:
    one, two = b"\x80\x81\x82\x83\xff\xfe\xfd\xfc", b"\x90\x91\x92\x93\xff\xfe\xfd\xfc"
    who = np.repeat(objects([one, two]), 6)
    x = np.arange(12.0)
    kept = np.concatenate([b["x"] for b in open_batches(Sensitive.read({"who": who, "x": x}, SCHEMA), rows=5)])
    assert [(kept < 6).sum(), (kept >= 6).sum()] == [3, 3]
    customers = objects([np.random.default_rng(n).bytes(8) for n in range(1000)])
    assert sums(Sensitive.read({"who": customers, "x": np.zeros(1000)}, SCHEMA)) == 1000


def test_ids_that_are_repaired_first_meet(monkeypatch) -> None:
    """The broken twin: bytes become a text, and what is no UTF-8 becomes one and the same mark."""
    monkeypatch.setattr(ids, "_written", lambda value: value.decode("utf-8", "replace").encode())
    customers = objects([b"\xff%c" % (128 + n) for n in range(100)])
    assert sums(Sensitive.read({"who": customers, "x": np.zeros(100)}, SCHEMA)) < 10
