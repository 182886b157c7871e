"""Schema files: read, written, and refused with a sentence."""

from dataclasses import replace
from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import schemas
import sfumato as sf
from sfumato import Budget, Column, PrivacyUnit, Schema
from sfumato.errors import BudgetError, SchemaError
from sfumato.private.intake.conforming import conform
from sfumato.public.plan.probe import random_batch
from sfumato.public.schema.column import plain_word
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.one_of import is_yes_or_no
from sfumato.public.spelling import hidden_character

names = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=12)
column_names = names.filter(lambda name: not hidden_character(name))
numbers = st.floats(-1e12, 1e12, allow_nan=False)


@st.composite
def columns(draw, name: str) -> Column:
    kind = draw(st.sampled_from(["numeric", "integer", "categorical", "ordinal", "boolean", "datetime"]))
    missing = draw(st.booleans())
    if kind in ("categorical", "ordinal"):
        values = draw(st.lists(names, min_size=1, max_size=4, unique=True))
        return Column(name=name, kind=kind, categories=tuple(values), missing=missing)
    if kind == "boolean":
        words = draw(st.lists(names, max_size=4, unique_by=plain_word))
        cut = draw(st.integers(0, len(words)))
        return Column(
            name=name, kind=kind, missing=missing, true_words=tuple(words[:cut]), false_words=tuple(words[cut:])
        )
    low = draw(numbers) if kind != "datetime" else float(draw(st.integers(0, 2_000_000_000)))
    return Column(name=name, kind=kind, bounds=(low, low + draw(st.floats(1, 1e6))), missing=missing)


@st.composite
def whole_schemas(draw) -> Schema:
    chosen = draw(st.lists(column_names, min_size=1, max_size=4, unique=True))
    unit = draw(
        st.sampled_from(
            [PrivacyUnit(), PrivacyUnit(relation="replace_one"), PrivacyUnit(person="whose row it is", max_rows=3)]
        )
    )
    made = tuple(draw(columns(name)) for name in chosen)
    target = draw(st.sampled_from([None, *chosen]))
    free = [column.name for column in made if is_yes_or_no(column) and column.name != target]
    group = (tuple(free),) if len(free) > 1 else ()
    key = draw(st.sampled_from(["one_of", "at_most_one_of"]))
    return Schema(columns=made, target=target, rows=draw(st.sampled_from([None, 10])), unit=unit, **{key: group})


@given(whole_schemas())
def test_a_schema_survives_its_file(schema: Schema) -> None:
    again = Schema.parse(schema.to_toml())
    assert again == schema
    assert again.digest() == schema.digest()


def test_dates_are_dates() -> None:
    schema = Schema.parse('[columns.d]\ntype = "datetime"\nbounds = [2020-01-01, 2021-01-01T12:00:00Z]')
    assert schema["d"].bounds == (1577836800.0, 1609502400.0)
    assert str(schema["d"].decode(np.array([1577836800.0]))[0]) == "2020-01-01 00:00:00"


BAD = {
    "no bounds": ('[columns.age]\ntype = "numeric"', "column 'age' has no bounds. Give bounds"),
    "no categories": ('[columns.c]\ntype = "categorical"', "has no categories. List them"),
    "wrong order": ('[columns.a]\ntype = "numeric"\nbounds = [2, 1]', "low before high"),
    "infinite": ('[columns.a]\ntype = "numeric"\nbounds = [0, inf]', "finite"),
    "text bounds": ('[columns.a]\ntype = "numeric"\nbounds = ["a", "b"]', "must be numbers"),
    "three bounds": ('[columns.a]\ntype = "numeric"\nbounds = [1, 2, 3]', r"\[low, high\]"),
    "unknown type": ('[columns.a]\ntype = "number"', "Use one of numeric"),
    "unknown key": ('[columns.a]\ntype = "boolean"\ncolour = 1', "unknown key 'colour'"),
    "unknown section": ('[colums.a]\ntype = "boolean"', r"unknown section \[colums\]"),
    "no type": ("[columns.a]\nmissing = true", "has no type"),
    "no type, but bounds": ("[columns.a]\nbounds = [0, 1]", "has no type"),
    "twice": ('[columns.a]\ntype = "categorical"\ncategories = ["x", "x"]', "a category twice"),
    "group of one": ('[dataset]\none_of = ["a"]\n[columns.a]\ntype = "boolean"', "has 1 columns. List at least two"),
    "group of a stranger": (
        '[dataset]\none_of = ["a", "b"]\n[columns.a]\ntype = "boolean"',
        "one_of names 'b', which is not a column of the schema",
    ),
    "group with a number": (
        '[dataset]\nat_most_one_of = ["a", "b"]\n[columns.a]\ntype = "boolean"\n'
        '[columns.b]\ntype = "integer"\nbounds = [0, 2]',
        "at_most_one_of names 'b', which is no yes or no",
    ),
    "group with missing values": (
        '[dataset]\none_of = ["a", "b"]\n[columns.a]\ntype = "boolean"\n[columns.b]\ntype = "boolean"\nmissing = true',
        "and never missing",
    ),
    "group with the target": (
        '[dataset]\ntarget = "b"\none_of = ["a", "b"]\n[columns.a]\ntype = "boolean"\n[columns.b]\ntype = "boolean"',
        "one_of names the target 'b'",
    ),
    "in two groups": (
        '[dataset]\none_of = ["a", "b"]\nat_most_one_of = [["c", "a"]]\n[columns.a]\ntype = "boolean"\n'
        '[columns.b]\ntype = "boolean"\n[columns.c]\ntype = "boolean"',
        "column 'a' is listed twice",
    ),
    "group of no names": ('[dataset]\none_of = [1, 2]\n[columns.a]\ntype = "boolean"', "must be a list of columns"),
    "group of a name": ('[dataset]\none_of = "a"\n[columns.a]\ntype = "boolean"', "must be a list of columns"),
    "no target": ('[dataset]\ntarget = "b"\n[columns.a]\ntype = "boolean"', "target 'b' is not a column"),
    "no columns": ("[dataset]\n", "has no columns"),
    "not toml": ("columns = [", "not valid TOML"),
    "rows": ('[dataset]\nrows = "many"\n[columns.a]\ntype = "boolean"', "whole number"),
    "no rows": ('[dataset]\nrows = 0\n[columns.a]\ntype = "boolean"', "at least 1"),
    "relation": ('[privacy]\nrelation = "none"\n[columns.a]\ntype = "boolean"', "relation = 'none'"),
    "rows of whom": ('[privacy]\nmax_rows = 3\n[columns.a]\ntype = "boolean"', "without a person column"),
    "person released": ('[privacy]\nperson = "a"\nmax_rows = 3\n[columns.a]\ntype = "boolean"', "cannot be released"),
    "image shape": ('[columns.a]\ntype = "image"', r"give shape"),
    "missing image": ('[columns.a]\ntype = "image"\nshape = [2, 2]\nmissing = true', "cannot be missing"),
    "discover image": ('[columns.a]\ntype = "image"\nshape = [2, 2]\ndiscover = true', "nothing to discover"),
    "words of no boolean": (
        '[columns.a]\ntype = "numeric"\nbounds = [0, 1]\ntrue = ["Y"]',
        "belong to a boolean column",
    ),
    "a word for both": (
        '[columns.a]\ntype = "boolean"\ntrue = ["Y", "1"]\nfalse = [" 1.0"]',
        "'1' as true and as false",
    ),
    "one word": ('[columns.a]\ntype = "boolean"\ntrue = "Y"', "true must be a list"),
    "a word that is none": ('[columns.a]\ntype = "boolean"\nfalse = [{}]', "false must be a list of texts"),
    "missing as text": ('[columns.a]\ntype = "boolean"\nmissing = "yes"', "true or false"),
}


@pytest.mark.parametrize(
    "low",
    [
        "2020-01-31", "2020-01-31T00:00Z", "2020-01-31 01:00+01:00", date(2020, 1, 31), datetime(2020, 1, 31),
        datetime(2020, 1, 31, tzinfo=UTC), pd.Timestamp("2020-01-31"), np.datetime64("2020-01-31"), 1580428800,
    ],
)  # fmt: skip
def test_bounds_of_dates_may_be_dates(low) -> None:
    assert Column(name="d", kind="datetime", bounds=(low, "2021-01-01T00:00")).bounds == (1580428800.0, 1609459200.0)


@pytest.mark.parametrize("day", ["2020-12-31", date(2020, 12, 31), np.datetime64("2020-12-31")])
def test_a_day_as_the_upper_bound_ends_with_its_last_second(day) -> None:
    column = Column(name="d", kind="datetime", bounds=("2020-01-01", day))
    evening = conform({"d": np.array(["2020-12-31T21:00:00"], dtype=object)}, Schema(columns=(column,)))["d"]
    assert column.decode(evening)[0] == pd.Timestamp("2020-12-31T21:00:00")
    assert column.high == pd.Timestamp("2020-12-31T23:59:59").timestamp()
    assert Schema.parse('[columns.d]\ntype = "datetime"\nbounds = [2020-01-01, 2020-12-31]').columns == (column,)
    assert Schema.parse(Schema(columns=(column,)).to_toml()).columns == (column,)


@pytest.mark.parametrize(
    "name", ["a\x07", "new\nline", "\x7f", "age\u202egnp.exe", "\u2066x", "\ufeffid", "a\u2028b", "\ud800"]
)
def test_names_with_characters_that_nobody_sees_are_refused(name) -> None:
    for fault in (
        lambda: Column(name=name, kind="boolean"),
        lambda: Schema(columns=(Column(name="x", kind="boolean"),), unit=PrivacyUnit(person=name)),
    ):
        with pytest.raises(SchemaError, match="control or direction character") as refusal:
            fault()
        assert name not in str(refusal.value)
        assert str(refusal.value).isprintable()
    assert Column(name="الاسم 👩‍👩‍👧 नाम", kind="boolean").name


def test_more_categories_than_can_be_read_in_time_are_refused_at_once(tmp_path) -> None:
    many = tuple(map(str, range(200_001)))
    with pytest.raises(SchemaError, match="has 200,001 categories, and 200,000 are the most"):
        Column(name="zip", kind="categorical", categories=many)
    assert Column(name="zip", kind="categorical", categories=many[1:]).size == 200_000
    (tmp_path / "schema.toml").write_text("#" * (17 << 20))
    with pytest.raises(SchemaError, match=r"more than 16 MB.*categories_file"):
        Schema.load(tmp_path / "schema.toml")


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        ("datetime", "soon"),
        ("numeric", "2020-01-31"),
        ("numeric", "5"),
        ("integer", None),
        pytest.param("numeric", 10**5000, id="huge"),
    ],
)
def test_bounds_that_are_neither_numbers_nor_dates_are_refused_in_a_sentence(kind, bad) -> None:
    with pytest.raises(SchemaError, match="bounds must be numbers, or dates such as 2020-01-31"):
        Column(name="d", kind=kind, bounds=(0, bad))


@pytest.mark.parametrize("bounds", [(), (0,), (0, 1, 2), "01"])
def test_bounds_are_two(bounds) -> None:
    with pytest.raises(SchemaError, match=r"bounds must be \(low, high\)"):
        Column(name="n", kind="numeric", bounds=bounds)


@pytest.mark.parametrize("case", BAD, ids=str)
def test_a_bad_schema_is_refused_with_a_remedy(case: str) -> None:
    text, message = BAD[case]
    with pytest.raises(SchemaError, match=message):
        Schema.parse(text)


def test_words_for_true_and_false_are_read_and_change_no_other_digest() -> None:
    plain = Schema.parse('[columns.a]\ntype = "boolean"')
    told = Schema.parse('[columns.a]\ntype = "boolean"\ntrue = ["Y", "ja", 1]\nfalse = ["N", false]')
    assert told["a"].true_words == ("Y", "ja", "1")
    assert told["a"].false_words == ("N", "false")
    assert told.digest() != plain.digest()
    assert list(told["a"].decode(np.array([0, 1]))) == ["N", "Y"]
    assert list(plain["a"].decode(np.array([0, 1]))) == [False, True]
    assert set(plain.to_json()["columns"][0]) == {"name", "kind", "missing", "categories"}
    assert plain.digest() == "f51cbd34f22670d9f5ef81d31bf5be236757d633fece64cadabaf202fcc56504"
    with pytest.raises(SchemaError, match="tuple of texts"):
        Column(name="a", kind="boolean", true_words="yes")  # type: ignore[arg-type]


def test_a_missing_schema_file_says_how_to_make_one(tmp_path) -> None:
    with pytest.raises(SchemaError, match="sfumato schema DATA"):
        Schema.load(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.load(tmp_path / "binary.toml")


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf")])
def test_epsilon_must_promise_something(epsilon: float) -> None:
    with pytest.raises(BudgetError, match="finite number above 0"):
        Budget(epsilon=epsilon, delta=1e-6)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2.0, float("nan")])
def test_delta_must_lie_between_0_and_1(delta: float) -> None:
    with pytest.raises(BudgetError, match="strictly between 0 and 1"):
        Budget(epsilon=1.0, delta=delta)


def test_delta_must_fit_the_declared_size() -> None:
    Budget(epsilon=1.0, delta=0.999 / 60_000).check_against(60_000)
    for delta in (0.5, 1.667e-5, 1 / 60_000):
        with pytest.raises(BudgetError, match="too large for about 60000 declared rows") as caught:
            Budget(epsilon=1.0, delta=delta).check_against(60_000)
    # The bound, and a tenth of it.
    assert "from 1/rows = 1.7e-05 on it promises nothing" in str(caught.value)
    assert str(caught.value).endswith("Use at most a tenth of that, 1.7e-06.")
    Budget(epsilon=1.0, delta=1.7e-6).check_against(60_000)


def test_delta_must_be_small_where_no_size_is_declared() -> None:
    Budget(epsilon=1.0, delta=1e-3).check_against(None)
    for delta in (0.5, 0.9999, 1.1e-3):
        with pytest.raises(BudgetError, match=r"may be at most 0\.001, and 1e-06 is recommended"):
            Budget(epsilon=1.0, delta=delta).check_against(None)
    # Few rows, declared: the bound is theirs.
    Budget(epsilon=1.0, delta=0.0099).check_against(100)
    schema = replace(schemas.TABLE, rows=None)
    with pytest.raises(BudgetError, match="not declared"):
        sf.plan("auto", schema, Budget(epsilon=1.0, delta=0.5))


@pytest.mark.parametrize("schema", [schemas.TABLE, schemas.IMAGES])
def test_encoded_rows_lie_in_the_unit_box(schema: Schema) -> None:
    encoder = Encoder(schema.features)
    rows = encoder(random_batch(schema, n_rows=200, seed=0))
    assert rows.shape == (200, encoder.width) == (200, len(encoder.names))
    assert rows.min() >= 0
    assert rows.max() <= 1


def test_decoding_gives_what_a_reader_expects() -> None:
    frame = schemas.TABLE.decode(random_batch(schemas.TABLE, n_rows=500, seed=0))
    assert frame["age"].dtype == "int64"
    assert frame["age"].between(18, 90).all()
    assert set(frame["region"].dropna()) == {"north", "south", "east"}
    assert frame["region"].isna().any()
    assert frame["smoker"].dtype == "boolean"
    assert frame["visit"].dt.year.between(2017, 2024).all()


def test_digests_tell_schemas_apart() -> None:
    assert schemas.TABLE.digest() != replace(schemas.TABLE, rows=301).digest()
    assert schemas.TABLE.digest() != schemas.REPLACE.digest()
