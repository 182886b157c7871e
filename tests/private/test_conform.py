"""Raw rows of any make become the same encoded rows, each row on its own, and none of them raises."""

import math
import warnings
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import SourceError
from sfumato.private.intake.conforming import LARGEST, conform
from sfumato.private.intake.scalars import FALSE_WORDS, TRUE_WORDS
from sfumato.private.intake.values import Coded, to_numbers, to_texts
from sfumato.public.schema.column import plain_word
from sfumato.public.schema.schema import Column, Schema

AGE = Column(name="age", kind="integer", bounds=(17, 90))
PAY = Column(name="pay", kind="numeric", bounds=(-1.5, 1.5), missing=True)
DAY = Column(name="day", kind="datetime", bounds=(0.0, 4e9), missing=True)
SEX = Column(name="sex", kind="categorical", categories=("f", "m", "3"), missing=True)
JOB = Column(name="job", kind="ordinal", categories=("low", "?", "None"))
YES = Column(name="yes", kind="boolean")
FREE = Column(name="free", kind="categorical", discover=True)
WIDE = Column(name="wide", kind="numeric", discover=True)
EVERY = (AGE, PAY, DAY, SEX, JOB, YES, FREE, WIDE)


def one(column, values):
    return conform({column.name: values}, Schema(columns=(column,)))[column.name]


def objects(*values):
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


@pytest.mark.parametrize(
    "values",
    [
        np.array([20, 100, 5]),
        np.array([20, 100, 5], dtype=np.int8),
        np.array([20.2, 1e300, -np.inf]),
        np.array(["20", " 100 ", "5e0"]),
        np.array([b"20", b"1e999", b"-inf"]),
        objects(20, 10**400, Decimal("5")),
        objects("20", np.float32(100), b"5"),
        pa.array(["20", "inf", "-7"]),
        pa.array([b"20", b" 1_00", b"-7"], pa.binary()),
        pa.array(["20", "100", "5"]).dictionary_encode(),
        pa.array([Decimal("20.1"), Decimal("100"), Decimal("5")]),
        pa.array([20, 100, 5], pa.uint64()),
        pa.chunked_array([["20"], ["100", "5"]]),
    ],
)
def test_numbers_of_every_make_are_clipped_to_their_bounds(values):
    assert one(AGE, values).tolist() == [20.0, 90.0, 17.0]
    assert one(AGE, values).dtype == np.float64


def test_a_number_that_cannot_be_read_is_missing_or_the_centre():
    bad = objects("x", None, float("nan"), "", object(), [1], {"a": 1}, Decimal("sNaN"), pd.NaT, pd.NA, 1j, "1\0")
    assert np.isnan(one(PAY, bad)).all()
    assert one(AGE, bad).tolist() == [54.0] * len(bad)


def test_whole_numbers_stay_within_bounds_that_are_not_whole():
    column = Column(name="n", kind="integer", bounds=(0.5, 3.6))
    assert one(column, np.array([-9.0, 9.0, 2.4])).tolist() == [1.0, 3.0, 2.0]


@pytest.mark.parametrize(
    "values",
    [
        np.array(["2020-01-31", "1970-01-01T01:00:00+01:00", "nonsense"]),
        np.array(["2020-01-31", "1970-01-01", "NaT"], dtype="M8[D]"),
        np.array(["2020-01-31", "1970-01-01", "NaT"], dtype="M8[ns]"),
        objects(date(2020, 1, 31), datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), pd.NaT),
        objects(pd.Timestamp("2020-01-31"), np.datetime64("1970-01-01"), None),
        pa.array([date(2020, 1, 31), date(1970, 1, 1), None]),
        pa.array([datetime(2020, 1, 31), datetime(1970, 1, 1), None], pa.timestamp("ms", tz="UTC")),
        np.array([1580428800, 0, np.nan]),
        np.array(["1580428800", "0", "?"]),
    ],
)
def test_dates_of_every_make_are_seconds(values):
    seconds = datetime(2020, 1, 31, tzinfo=UTC).timestamp()
    np.testing.assert_array_equal(one(DAY, values), [seconds, 0.0, np.nan])


def test_dates_beyond_the_calendar_raise_nothing():
    years = np.array([2**62, -(2**62), 50], dtype=np.int64).view("M8[Y]")
    assert one(DAY, years).tolist() == [4e9, 0.0, 1577836800.0]
    far = pa.array([2**31 - 1, 0], pa.int32()).view(pa.date32())
    assert one(DAY, far).tolist() == [4e9, 0.0]
    assert one(SEX, far).tolist() == [3, 3]


@pytest.mark.parametrize(
    "values",
    [
        np.array(["f", "m ", "3", "x"]),
        np.array(["f", "m", "3.0", "nan"]),
        objects("f", b"m", 3, None),
        objects(" f", "m", 3.0, float("nan")),
        objects("f", "m", Decimal("3.00"), pd.NA),
        pa.array(["f", "m", "3", None]),
        pa.array([b"f", b"m", b"3", b"\xff"]),
        pa.array(["f", "m", "3", None]).dictionary_encode(),
        Coded(objects("m", "f", 3), np.array([1, 0, 2, -1])),
    ],
)
def test_texts_of_every_make_become_codes(values):
    assert one(SEX, values).tolist() == [0, 1, 2, 3]
    assert one(SEX, values).dtype == np.int64


def test_words_for_missing_are_missing_unless_declared():
    assert one(JOB, np.array(["?", "None", "NA", ""])).tolist() == [1, 2, 0, 0]
    assert one(FREE, objects("?", "", " NA", None, "nan", " a ", 3.0)).tolist() == [None] * 5 + ["a", "3"]
    declared = Column(name="free", kind="categorical", discover=True, categories=("?",))
    assert one(declared, objects("?", "NA")).tolist() == ["?", None]


def test_whole_numbers_match_however_they_are_written():
    column = Column(name="c", kind="categorical", categories=("1", "2.0", "007"), missing=True)
    for values in ([1, 2, 7], [1.0, 2.0, 7.0], ["1", "2", "7"], ["1.0", "2.00", "7.0"]):
        assert one(column, np.array(values)).tolist() == [0, 1, 3]
    assert one(column, pa.array([1, 2, None])).tolist() == [0, 1, 3]
    assert one(Column(name="c", kind="categorical", categories=("0.1", "x")), np.array([0.1], np.float32)).tolist() == [
        0
    ]


def test_booleans_in_every_spelling():
    values = objects(True, "TRUE", "yes", 1, 1.0, " 1 ", np.bool_(True), False, "No", 0, "x", None)
    assert one(YES, values).tolist() == [1] * 7 + [0] * 5
    assert one(YES, np.array([True, False])).tolist() == [1, 0]
    assert one(YES, pa.array([True, None])).tolist() == [1, 0]
    for categories in (("false", "true"), ("False", "True"), ("0", "1")):
        column = Column(name="c", kind="categorical", categories=categories)
        for values in (np.array([False, True]), np.array(["False", "True"]), pa.array([False, True])):
            assert one(column, values).tolist() == [0, 1]


def test_booleans_in_the_words_of_several_languages():
    true = [
        "Y",
        "y",
        "T",
        "t",
        "Yes",
        "JA",
        "j",
        "oui",
        "Si",
        "sí",
        "wahr",
        "TRUE",
        "on",
        "1",
        "1.0",
        " y ",
        "\tJa\n",
        b"Y",
    ]
    false = ["N", "n", "F", "f", "No", "NEIN", "non", "no", "Falsch", "FALSE", "off", "0", "0.0", " n ", "0.00", b"N"]
    maybe = Column(name="yes", kind="boolean", missing=True)
    for column in (YES, maybe):
        assert one(column, objects(*true)).tolist() == [1] * len(true)
        assert one(column, objects(*false)).tolist() == [0] * len(false)
    texts = [word for word in (*true, *false) if isinstance(word, str)]
    assert one(maybe, pa.array(texts)).tolist() == one(maybe, objects(*texts)).tolist()
    assert one(maybe, objects("perhaps", "", "NA", None, 2, 0.5)).tolist() == [2] * 6
    assert not set(TRUE_WORDS) & set(FALSE_WORDS)
    assert [plain_word(word) for word in (*TRUE_WORDS, *FALSE_WORDS)] == [*TRUE_WORDS, *FALSE_WORDS]


def test_declared_words_for_true_and_false_go_before_the_usual_ones():
    column = Column(name="c", kind="boolean", missing=True, true_words=("Positiv", "2", "n"), false_words=("", "1.0"))
    values = objects("positiv ", "POSITIV", 2, 2.0, "2.00", "N", "ja", "", " ", 1, "1", "nein", "?", None)
    assert one(column, values).tolist() == [1] * 7 + [0] * 5 + [2] * 2


def test_equal_keys_of_different_types_do_not_meet():
    column = Column(name="c", kind="categorical", categories=("x", "True", "1"))
    assert one(column, objects(1, True, 1.0)).tolist() == [2, 1, 2]
    assert one(column, objects(True, 1)).tolist() == [1, 2]


def test_undiscovered_numbers_stay_finite_and_unclipped():
    values = one(WIDE, objects("inf", -math.inf, 1e308, "12.5", "x"))
    np.testing.assert_array_equal(values, [LARGEST, -LARGEST, LARGEST, 12.5, np.nan])


PICTURE = Column(name="picture", kind="image", shape=(2, 3), bounds=(0.0, 1.0))


@pytest.mark.parametrize("shape", [(4, 2, 3), (4, 6), (4, 2, 3, 1), (4, 1, 2, 3)])
def test_images_take_the_shape_of_the_schema(shape):
    pixels = np.linspace(-1, 2, 24).reshape(shape)
    pixels.flat[0] = np.nan
    pixels.flat[1] = np.inf
    out = one(PICTURE, pixels)
    assert out.shape == (4, 2, 3)
    assert out.dtype == np.float32
    assert out.flat[0] == 0.0
    assert out.flat[1] == 1.0
    assert out.min() >= 0
    assert out.max() <= 1


def test_channels_first_becomes_channels_last():
    column = Column(name="p", kind="image", shape=(2, 5, 3))
    pixels = np.arange(30, dtype=np.uint8).reshape(1, 3, 2, 5)
    np.testing.assert_array_equal(one(column, pixels)[0], np.moveaxis(pixels[0], 0, -1))


@pytest.mark.parametrize(
    "values", [np.zeros((4, 5)), np.zeros((4, 3, 2)), np.zeros(4), pa.array([[1, 2]], pa.list_(pa.int8(), 2))]
)
def test_a_wrong_shape_is_structure_and_refused(values):
    with pytest.raises(SourceError, match="picture"):
        one(PICTURE, values)


def test_a_wrong_length_of_one_list_is_a_blank_picture():
    good = [1.0, 0, 0, 0, 0, 1.0]
    for values in (
        pa.array([good, [1.0], None]),
        objects(good, [1.0], None),
        objects(np.array(good).reshape(2, 3), [[1], [2, [3]]], "secret"),
        pa.array([[good[:3], good[3:]], [[1.0]], None]),
    ):
        out = one(PICTURE, values)
        np.testing.assert_array_equal(out[0].ravel(), good)
        assert not out[1:].any()


def test_image_bounds_hold_after_narrowing():
    column = Column(name="p", kind="image", shape=(1, 2), bounds=(0.1, 0.7))
    out = one(column, np.array([[-1e308, 1e308]])).astype(np.float64)
    assert out.min() >= 0.1
    assert out.max() <= 0.7


def test_a_type_that_holds_no_single_value_is_refused_by_name():
    for values in (pa.array([{"a": 1}]), np.array([1j]), np.zeros((3, 2))):
        with pytest.raises(SourceError, match="'age'"):
            one(AGE, values)
    with pytest.raises(SourceError, match="'sex' of the schema is not in the data"):
        conform({}, Schema(columns=(SEX,)))


def test_no_rows_are_rows():
    for empty in (
        np.zeros(0),
        objects(),
        pa.array([], pa.binary()),
        pa.array([], pa.string()).dictionary_encode(),
    ):
        for column in EVERY:
            assert len(one(column, empty)) == 0


def test_a_dictionary_larger_than_the_chunk_is_not_walked():
    words = pa.array([str(n) for n in range(1000)])
    coded = pa.DictionaryArray.from_arrays(pa.array([7, None, 999], pa.int32()), words)
    assert to_texts(coded).private_values == ["7", "999"]
    np.testing.assert_array_equal(to_numbers(coded), [7.0, np.nan, 999.0])


TEXTS = st.none() | st.text(max_size=8) | st.binary(max_size=8) | st.sampled_from(["f", " f", "3", "3.0", "?", "yes"])
SCALARS = st.one_of(
    st.none(),
    st.text(max_size=6),
    st.sampled_from(["1", "1.0", " 1", "true", "True", "f", "m ", "3.0", "?", "", "inf", "2020-01-31", "1e999"]),
    st.sampled_from(["nan", "9007199254740993", "18446744073709551615", "-1"]),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.binary(max_size=4),
    st.decimals(),
    st.datetimes(),
)  # fmt: skip


def same(left, right):
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], strict=True)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(rows=st.lists(SCALARS, min_size=1, max_size=12), data=st.data())
def test_each_row_alone_decides_its_encoding_for_objects(rows, data):
    check_row_wise(objects(*rows), data)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    rows=st.lists(
        st.none() | st.text(max_size=8) | st.binary(max_size=8) | st.sampled_from(["a", " a", "3", "?", "yes"]),
        min_size=1,
        max_size=12,
    ),
    data=st.data(),
)
def test_each_row_alone_decides_its_encoding_for_bytes(rows, data):
    raw = [v.encode("utf-8", "surrogatepass") if isinstance(v, str) else v for v in rows]
    check_row_wise(
        np.asarray([None, *raw], dtype=object)[1:], data, wrap=lambda part: pa.array(list(part), pa.binary())
    )


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(st.floats() | st.integers(0, 3).map(float), min_size=1, max_size=12), data=st.data())
def test_each_row_alone_decides_its_encoding_for_floats(rows, data):
    check_row_wise(np.array(rows), data)


def check_row_wise(values, data, wrap=lambda part: part):
    schema = Schema(columns=EVERY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning about a row is an output too
        whole = conform({c.name: wrap(values) for c in EVERY}, schema)
        order = np.array(data.draw(st.permutations(range(len(values)))))
        moved = conform({c.name: wrap(values[order]) for c in EVERY}, schema)
        cut = data.draw(st.integers(0, len(values)))
        parts = [conform({c.name: wrap(part) for c in EVERY}, schema) for part in (values[:cut], values[cut:])]
    same({name: array[order] for name, array in whole.items()}, moved)
    same(whole, {name: np.concatenate([part[name] for part in parts]) for name in whole})
    check_encoded(whole)


def check_encoded(batch):
    for column in EVERY:
        values = batch[column.name]
        if column.is_coded and not column.discover:
            assert ((values >= 0) & (values < column.size)).all()
        elif column.is_number and not column.discover:
            assert (np.isnan(values) & column.missing | (values >= column.low) & (values <= column.high)).all()
        elif column.is_number:
            assert (np.isnan(values) | np.isfinite(values)).all()


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    text=st.text(max_size=8)
    | st.from_regex(r"\s?[+-]?[0-9]*\.?[0-9]*(e[+-]?[0-9]{1,3})?\s?", fullmatch=True)
    | st.floats().map(repr)
)
def test_arrow_and_python_read_a_number_the_same_way(text):
    fast = one(WIDE, pa.array([text.encode("utf-8", "surrogatepass")]))
    slow = one(WIDE, objects(text))
    np.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize("rows", [[[[1.0, 2, 3], [4, 5, 6]]], [[[1.0, 2, 3], [4, 5, 6]]] * 2, [[[1.0]], [[2.0]]]])
def test_nested_lists_that_are_all_even_are_pictures_too(rows):
    column = Column(name="picture", kind="image", shape=(2, 3))
    expected = [row if np.size(row) == 6 else np.zeros((2, 3)) for row in rows]
    np.testing.assert_array_equal(one(column, pa.array(rows)), np.array(expected))


def test_special_numbers_of_every_make_are_missing_and_each_row_alone_decides():
    column = Column(name="x", kind="integer", bounds=(0, 30), special=(999, -1))
    schema = Schema(columns=(column,))
    rows = np.array(["999", 999, 999.0, b"-1", "999.0", "31", 7, "-2", None, "998.6"], dtype=object)
    together = conform({"x": rows}, schema)["x"]
    np.testing.assert_array_equal(together, [np.nan] * 5 + [30, 7, 0, np.nan, 30])
    alone = [conform({"x": rows[at : at + 1]}, schema)["x"][0] for at in range(len(rows))]
    np.testing.assert_array_equal(together, alone)
