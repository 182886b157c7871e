"""The language of rules and conditions: what it says of rows, what it refuses and where, and that its domains leave nothing out."""

import numpy as np
import pytest

from sfumato.errors import SchemaError
from sfumato.public.expressions.domains import Some, Span
from sfumato.public.expressions.narrowing import narrowed
from sfumato.public.schema.schema import Column, Schema

SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", bounds=(0, 100), missing=True),
        Column(name="weight kg", kind="numeric", bounds=(1, 300)),
        Column(name="größe", kind="numeric", bounds=(0, 2)),
        Column(name="sex", kind="categorical", categories=("f", "m")),
        Column(name="ward", kind="categorical", categories=("icu", "main ward"), missing=True),
        Column(name="stage", kind="ordinal", categories=("I", "II", "III")),
        Column(name="pregnant", kind="boolean", true_words=("ja",), missing=True),
        Column(name="admitted", kind="datetime", bounds=("2020-01-01", "2021-12-31")),
        Column(name="discharged", kind="datetime", bounds=("2020-01-01", "2021-12-31"), missing=True),
    )
)


def some_rows(n_rows: int = 400, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = {}
    for column in SCHEMA.columns:
        if column.is_coded:
            rows[column.name] = rng.integers(0, column.size, n_rows)
        else:
            values = rng.uniform(column.low, column.high, n_rows)
            values = np.round(values) if column.kind != "numeric" else values
            rows[column.name] = np.where(column.missing & (rng.random(n_rows) < 0.2), np.nan, values)
    return rows


ROWS = {
    "age": np.array([70.0, 20.0, np.nan]),
    "weight kg": np.array([80.0, 50.0, 60.0]),
    "größe": np.array([1.6, 2.0, 0.0]),
    "sex": np.array([0, 1, 0]),
    "ward": np.array([0, 1, 2]),
    "stage": np.array([0, 1, 2]),
    "pregnant": np.array([1, 0, 2]),
    "admitted": np.array([1577836800.0, 1580428800.0 + 3600, 1577836800.0]),  # 2020-01-01, 2020-01-31 01:00
    "discharged": np.array([1577836800.0 + 86400, 1580428800.0, np.nan]),
}


@pytest.mark.parametrize(
    ("text", "truths"),
    [
        ("age >= 65", [1, -1, 0]),
        ("ward = 'icu' and age >= 65", [1, -1, 0]),
        ("ward = icu or age < 30", [1, 1, 0]),
        ("age is missing", [-1, -1, 1]),
        ("age is not missing and not ward is missing", [1, 1, -1]),
        ("ward in ('icu', \"main ward\")", [1, 1, 0]),
        ("ward not in (icu)", [-1, 1, 0]),
        ("if pregnant = yes then sex = f", [1, 1, 1]),
        ("if sex = f then pregnant = 'ja'", [1, 1, 0]),
        ("pregnant", [1, -1, 0]),
        ("stage >= II", [-1, 1, 1]),
        ("`weight kg` / größe ** 2 > 20", [1, -1, 0]),  # a division by zero is unknown
        ('"weight kg" <> 50', [1, -1, 1]),
        ("18 <= age < 65", [-1, 1, 0]),
        ("admitted <= discharged", [1, -1, 0]),
        ("discharged - admitted < 1.5", [1, 1, 0]),
        ("admitted = 2020-01-31", [-1, 1, -1]),
        ("admitted > 2020-01-30", [-1, 1, -1]),
        ("admitted <= '2020-01-31'", [1, 1, 1]),
        ("admitted + 1 = discharged", [1, -1, 0]),
        ("max(age, `weight kg`) = 80", [1, -1, 0]),
        ("round(größe, 0) == 2 and abs(-3) = 3", [1, 1, -1]),
        ("true and not false", [1, 1, 1]),
        ("sex = if age < 65 then 'm' else 'f'", [1, 1, 0]),
        ("age is null or age is not null", [1, 1, 1]),
    ],
)
def test_what_is_true_of_rows(text: str, truths: list[int]) -> None:
    asked = SCHEMA.expression(text)
    assert asked.evaluate(ROWS).tolist() == truths
    assert asked.holds(ROWS).tolist() == [truth == 1 for truth in truths]
    assert asked.is_broken(ROWS).tolist() == [truth == -1 for truth in truths]


def test_amounts_and_choices() -> None:
    assert SCHEMA.expression("discharged - admitted", truth=False).evaluate(ROWS)[0] == 1.0
    group = SCHEMA.expression("if age < 65 then 'young' else 'old'", truth=False)
    assert group.node.words == ("young", "old")
    assert group.evaluate(ROWS).tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    ("text", "sentence", "marked"),
    [
        ("agee > 3", "there is no column 'agee'. Did you mean 'age'?", "agee"),
        ("age > 3 and sex = x", "cannot be 'x'", "x"),
        ("age >", "something is missing at the end", ""),
        ("age > > 3", "does not belong here", ">"),
        ("age > 'old'", "there is no column 'old'", "'old'"),
        ("sex < m", "no order", "sex < m"),
        ("age", "where something true or false is wanted", "age"),
        ("sex + 1 > 2", "this is no number", "sex"),
        ("admitted * 2 > discharged", "dates have differences", "admitted * 2"),
        ("age > admitted", "a number cannot be compared with a date", "age > admitted"),
        ("admitted > '2020-13-01'", "is no date", "'2020-13-01'"),
        ("__import__('os').system('x')", "no expression has", "."),
        ("__import__('os')", "there is no function '__import__'", "__import__"),
        ("exec(age) = 1", "there is no function 'exec'", "exec"),
        ("age.__class__ = 1", "there is no column 'age.__class__'", "age.__class__"),
        ("9**9**9 > age", "an exponent must be", "9**9"),
        ("2 ** age > 3", "an exponent must be", "age"),
        ("age > 1e999", "too large", "1e999"),
        ("(lambda: 1)()", "no expression has", ":"),
        ("age > 1; import os", "no expression has", ";"),
        ("not " * 300 + "pregnant", "too large", None),
        ("-" * 1500 + "age > 1", "too large", None),
        (" or ".join(["age = 1"] * 180), "too large", None),
        ("age = 1 or " * 500, "characters", None),
        ("", "empty", None),
        ("round(age, 99) > 1", "whole number of digits", "99"),
        ("`no such` > 3", "there is no column 'no such'", "`no such`"),
        ("if age > 3 then sex else 4 = 3", "", None),
        ("'age' > 3", "'age' in quotes is a text", "'age'"),
        ("age = None", "nothing equals None. Write: is missing", "None"),
        ("аge > 3", "only look alike", "аge"),  # the first letter is Cyrillic
        ("a" * 300 + " > 3", "there is no column 'aaaa", None),
        ("age / 0 > 3", "divides by zero in every row", "age / 0"),
        ("1e200 * 1e200 > age", "no finite number", "1e200 * 1e200"),
        ("sex = if age < 65 then 'm' else 'g'", "column 'sex' cannot be 'g'", "if age"),
        ("age > 06:30", "goes with a column of type time", "06:30"),
    ],
)
def test_what_is_refused_and_where(text: str, sentence: str, marked: str | None) -> None:
    with pytest.raises(SchemaError) as refusal:
        SCHEMA.expression(text)
    said = str(refusal.value)
    assert sentence in said
    if marked is not None:
        _, shown, marks = said.split("\n")
        at = marks.index("^")
        assert shown[at : at + marks.count("^")].startswith(marked) if marked else at == len("    " + text)


TEXTS = [
    "age >= 65 and ward = icu", "age < 10 or sex = f", "not (age < 10 or sex = f)", "admitted <= discharged",
    "discharged - admitted <= 3", "if pregnant then sex = f and age > 12", "stage > I and stage <= III",
    "`weight kg` / 2 + größe * 3 > age", "age - 5 >= `weight kg` * 2", "ward is missing or age in (1, 2, 30)",
    "if age < 18 then stage = I else stage != I", "admitted > 2020-05-05 and discharged < 2020-06-01",
    "ward != icu and pregnant = false", "abs(age - 50) < 5", "min(age, `weight kg`) > 20", "größe ** 2 = 0",
    "admitted + 30 < discharged", "not pregnant is missing", "18 <= age < 20 and not (sex = m)",
    # What can be divided by zero can be any number, on either side, and is unknown there.
    "max(age / (age - 50), `weight kg` / 10) = größe", "min(3, 1.5 / größe) >= age / 50", "(0 - größe) ** -1 > -1",
    "`weight kg` + 1 > 0 * (age / (größe - 1)) or sex = f", "pregnant = if stage = I then sex = f else größe / größe <= 1",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_domains_leave_no_row_out(text: str) -> None:
    asked, rows = SCHEMA.expression(text), some_rows()
    truths = asked.evaluate(rows)
    whole = asked.all_domains
    assert set(truths.tolist()) <= set(asked.node.over(whole).places)
    for holds, or_unknown in ((True, False), (False, False), (True, True)):
        found = narrowed(asked.node, whole, holds=holds, or_unknown=or_unknown)
        kept = (truths == (1 if holds else -1)) | (or_unknown & (truths == 0))
        assert found is not None or not kept.any()
        for name, domain in (found or {}).items():
            values = SCHEMA.expression(f"`{name}`" if name != "pregnant" else "pregnant", truth=False).evaluate(rows)[
                kept
            ]
            if isinstance(domain, Span):
                inside = (values >= domain.low) & (values <= domain.high) | (np.isnan(values) & domain.missing)
            else:
                places = {*domain.places, *([-1] if domain.missing else [])}
                inside = np.isin(values, list(places))
            assert inside.all(), (text, name)


def test_a_conjunction_is_a_box() -> None:
    box = SCHEMA.expression("ward = 'icu' and 65 <= age and sex in (f, m) and age < 80").box()
    assert box.is_exact
    assert box.domains == {"age": Span(65, 79), "ward": Some(frozenset((0,)))}
    assert not SCHEMA.expression("age > 3 or sex = f").box().is_exact
    assert SCHEMA.expression("admitted > 2020-01-30").box().domains["admitted"].low == 1580428800.0


@pytest.mark.parametrize("text", ["age > 100", "age > 50 and age < 20", "sex = ward", "discharged < 2019-01-01"])
def test_what_no_row_can_be_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="no row can be so"):
        SCHEMA.expression(text).box()


def test_names_in_any_script() -> None:
    schema = Schema(columns=(Column(name="年齢", kind="integer", bounds=(0, 9)), Column(name="a`b", kind="boolean")))
    assert schema.expression("年齢 > 3").holds({"年齢": np.array([4.0])}).tolist() == [True]
    assert schema.expression('"a`b"').columns == ("a`b",)


def test_marks_within_a_text_or_a_name_are_written_twice() -> None:
    columns = (
        Column(name="a`b", kind="boolean"),
        Column(name="town", kind="categorical", categories=("O'Hare", 'b "c" \'d')),
    )
    schema = Schema(columns=columns)
    assert schema.expression("`a``b`").columns == ("a`b",)
    for at, text in enumerate(("town = 'O''Hare'", "town = 'b \"c\" ''d'")):
        assert schema.expression(text).box().domains["town"] == Some(frozenset((at,)))


def test_a_time_of_a_day_is_written_as_one() -> None:
    night = Schema(columns=(Column(name="at", kind="time", bounds=("22:00", "06:00")),))
    rows = {"at": np.array([22.5, 23.5, 25.0]) * 3600}
    assert night.expression("at >= 23:00").holds(rows).tolist() == [False, True, True]
    assert night.expression("at < '00:30'").holds(rows).tolist() == [True, True, False]
    with pytest.raises(SchemaError, match="'25:00' is no time of a day"):
        night.expression("at > 25:00")


def test_a_special_code_is_something_missing() -> None:
    asked = Schema(columns=(Column(name="days", kind="integer", bounds=(0, 30), special=(99,)),))
    assert asked.expression("days is missing or days > 3").holds({"days": np.array([np.nan, 2.0])}).tolist() == [
        True,
        False,
    ]
    with pytest.raises(SchemaError, match="99 is a special code of 'days'"):
        asked.expression("days in (3, 99)")
