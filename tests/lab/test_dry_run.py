"""The custodian's dry run: each fault is found where it is and nowhere else, it says that it is not private, and writes nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import SCHEMA, answer_of, patients, run
from sfumato import Column, PrivacyUnit, Schema
from sfumato.lab.dry_run.finding import NOT_PRIVATE, look_of
from sfumato.lab.dry_run.reading import dry_run

N = 2_000
PLAIN = Schema.parse(SCHEMA.replace("rows = 400", f"rows = {N}"))


def words(checked, column=None):
    return [f.what for f in checked.findings if f.column == column]


def text_table(**changed):
    return patients(N).astype(str).assign(**changed)


def half(value, other):
    return np.where(np.arange(N) % 2 == 0, value, other)


def test_an_honest_table_has_nothing_to_find():
    checked = dry_run(patients(N), PLAIN)
    assert checked.rows == N
    assert checked.findings == ()
    assert checked.left_out == ()


CASES = {
    "text among numbers": ({"age": half("41", "unknown")}, "age", "look like no numbers"),
    "decimal commas": ({"weight": half("80.5", "80,5")}, "weight", "look like decimal commas"),
    "thousands": ({"weight": half("80.5", "1,080.5")}, "weight", "look like thousands separators"),
    "units": ({"weight": half("80.5", "80 kg")}, "weight", "look like numbers with a unit"),
    "missing": ({"age": half("41", "")}, "age", "missing, though not declared so: they become the middle"),
    "below": ({"weight": half("80", "2")}, "weight", "below the bounds"),
    "above": ({"weight": half("80", "inf")}, "weight", "above the bounds"),
    "fractions": ({"age": half("41", "41.5")}, "age", "no whole numbers"),
    "a stranger": ({"town": half("rome", "moon")}, "town", "outside of the categories: they become missing"),
    "words": ({"ill": half("krank", "gesund")}, "ill", "neither true nor false: they become false"),
    "one class": ({"ill": half("no", "no")}, "ill", "the target has one value in all rows"),
    "nan as a text": ({"ill": half("nan", "true")}, "ill", "missing, though not declared so: they become false"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_fault_is_found_in_its_column(case):
    changed, column, what = CASES[case]
    checked = dry_run(text_table(**changed), PLAIN)
    assert any(what in said for said in words(checked, column)), words(checked, column)
    assert checked.faults
    assert {finding.column for finding in checked.faults} == {column}


def test_words_that_a_release_would_not_give_back_are_noted():
    checked = dry_run(text_table(ill=half("Yes", "No")), PLAIN)
    (finding,) = checked.findings
    assert not finding.is_fault
    assert "No and Yes: a release writes False and True" in finding.what
    assert finding.remedy == 'To have your words back: true = ["Yes"], false = ["No"].'
    told = Schema.parse(
        SCHEMA.replace("rows = 400", f"rows = {N}").replace('"boolean"', '"boolean"\ntrue = ["Yes"]\nfalse = ["No"]')
    )
    assert not dry_run(text_table(ill=half("Yes", "No")), told).findings


def test_shares_and_examples_are_those_of_the_rows():
    rows = np.where(np.arange(N) < 30, "x" * 80, np.where(np.arange(N) < 130, "?!", "41"))
    (finding,) = dry_run(text_table(age=rows), PLAIN).findings
    assert (finding.rows, finding.share) == (130, 130 / N)
    assert finding.examples == ("?!", "x" * 27 + "...")
    few = np.where(np.arange(N) < 3, 200, np.arange(N) % 70 + 18).astype(str)  # outliers are there to be cut
    checked = dry_run(text_table(age=few), PLAIN)
    assert [f.rows for f in checked.findings] == [3]
    assert not checked.faults


def test_dates_in_several_formats():
    schema = Schema(columns=(Column(name="day", kind="datetime", bounds=(0, 4e9), missing=True),))
    days = np.array(["2020-01-31", "31.01.2020", "Jan 31, 2020", "1/31/20"])[np.arange(N) % 4]
    (finding,) = dry_run({"day": days}, schema).findings
    assert finding.rows == N * 3 // 4
    assert "not ISO 8601" in finding.what
    assert look_of(["\ufffd5"], date=True)[0] == "bytes that are no UTF-8"


def test_categories_that_differ_in_capitals_or_bytes(tmp_path):
    (finding,) = dry_run(text_table(town=half("rome", "ROME")), PLAIN).findings
    assert "capitals" in finding.remedy
    table = text_table(town=half("rome", "Zürich"))
    table.to_csv(tmp_path / "t.csv", index=False, encoding="latin-1")
    (finding,) = dry_run(tmp_path / "t.csv", PLAIN).findings
    assert "iconv" in finding.remedy


def test_rows_that_are_not_as_many_as_declared():
    assert not dry_run(patients(N), replace(PLAIN, rows=1_500)).findings  # a rounded size
    assert "of the 20,000 that the schema declares" in words(dry_run(patients(N), replace(PLAIN, rows=20_000)))[0]
    exactly = replace(PLAIN, unit=PrivacyUnit(relation="replace_one"), rows=1_999)
    assert "exactly" in dry_run(patients(N), exactly).findings[0].remedy


def test_persons_with_more_rows_than_are_kept():
    schema = replace(PLAIN, unit=PrivacyUnit(person="who", max_rows=2), rows=None)
    who = np.array([f"p{i // 4}" for i in range(N)], dtype=object)
    who[:100] = None  # 25 persons
    (nobody, over) = dry_run(patients(N).assign(who=who), schema).findings
    assert (nobody.is_fault, over.is_fault) == (True, False)  # the limit was chosen
    assert over.rows == (N - 100) // 2
    assert "475 of 475 persons" in over.what
    assert nobody.rows == 100
    assert not dry_run(patients(N).assign(who=np.arange(N)), schema).findings


def test_lines_that_are_left_out_are_counted(tmp_path):
    text = patients(N).to_csv(index=False)
    (tmp_path / "t.csv").write_text(text + "1;80;rome;true\n" * 100)
    (finding,) = dry_run(tmp_path / "t.csv", PLAIN).findings
    assert finding.rows == 100
    assert "too few fields" in finding.what


def school(rng):
    level = rng.integers(0, 3, N)
    return pd.DataFrame({"level": np.array(["low", "mid", "high"])[level], "years": level * 4 + 8, "long": level > 0})


SCHOOL = Schema(
    columns=(
        Column(name="level", kind="categorical", categories=("low", "mid", "high")),
        Column(name="years", kind="integer", bounds=(0, 20)),
        Column(name="long", kind="boolean"),
    )
)


def test_columns_that_determine_each_other():
    table = school(np.random.default_rng(0))
    said = {f.column: f.what for f in dry_run(table, SCHOOL).findings}
    assert said == {"level": "says the same as 'years', in every row", "long": "follows from 'level', in every row"}
    table.loc[N - 1] = ["mid", 8, False]  # rows in the end that speak against it
    table.loc[N - 2] = ["low", 8, True]
    assert not dry_run(table, SCHOOL).findings


def test_a_declared_dependence_is_held_to_its_word(monkeypatch):
    table = school(np.random.default_rng(0))
    columns = [replace(c, depends_on=("level",)) if c.name == "years" else c for c in SCHOOL.columns]
    schema = replace(SCHOOL, columns=tuple(columns))
    assert words(dry_run(table, schema), "level") == []  # declared already
    table.loc[:99, "years"] = 3
    monkeypatch.setattr("sfumato.lab.dry_run.reading._CHUNK_CELLS", 900)
    (broken,) = dry_run(table, schema).faults
    assert (broken.column, broken.rows) == ("years", 100)
    assert "of the same 'level'" in broken.what


def test_what_tells_the_target_is_a_question():
    table = school(np.random.default_rng(0))
    found = {f.column: f.remedy for f in dry_run(table, replace(SCHOOL, target="long")).findings}
    assert "known at the time" in found["long"]


def test_a_few_rows_determine_nothing():
    assert not dry_run(school(np.random.default_rng(0))[:30], SCHOOL).findings


def test_groups_declared_and_not():
    which = np.random.default_rng(1).integers(0, 3, N)
    table = pd.DataFrame({f"soil_{i}": which == i for i in range(3)})
    schema = Schema(columns=tuple(Column(name=name, kind="boolean") for name in table))
    assert any("exactly one is set" in said for said in words(dry_run(table, schema)))
    declared = replace(schema, one_of=(tuple(table),))
    assert not words(dry_run(table, declared))
    table.loc[:99, "soil_0"] = table.loc[:99, "soil_1"] = True
    (several,) = [f for f in dry_run(table, declared).findings if f.column is None]
    assert "several set" in several.what
    assert several.rows == 100


def test_two_columns_of_a_declared_group_are_no_dependence():
    which = np.random.default_rng(1).random(N) < 0.5
    table = pd.DataFrame({"wet": which, "dry": ~which})
    schema = Schema(columns=(Column(name="wet", kind="boolean"), Column(name="dry", kind="boolean")))
    assert [f.column for f in dry_run(table, schema).findings] == ["wet"]
    assert not dry_run(table, replace(schema, one_of=(("wet", "dry"),))).findings


def test_chunks_change_nothing(monkeypatch):
    table, whole = text_table(town=half("moon", "rome"), age=half("?", "200")), []
    for cells in (1 << 21, 1 << 8):
        monkeypatch.setattr("sfumato.lab.dry_run.reading._CHUNK_CELLS", cells)
        whole.append(dry_run(table, PLAIN).to_json())
    assert whole[0] == whole[1]


def test_pictures_are_counted_only():
    image = Column(name="image", kind="image", shape=(2, 2))
    schema = Schema(columns=(image, Column(name="label", kind="categorical", categories=("0", "1"))), target="label")
    rows = {"image": np.zeros((40, 2, 2)), "label": np.arange(40) % 3}
    assert [f.rows for f in dry_run(rows, schema).findings] == [13]
    assert dry_run({"image": rows["image"]}, Schema(columns=(image,))).rows == 40


def test_the_command_says_what_it_is_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA)
    patients().assign(note="x").to_csv("patients.csv", index=False)
    good = run("check", "patients.csv", "--schema", "schema.toml")
    assert good.exit_code == 0
    assert "Not in the schema, so not released: note" in good.stdout
    patients().assign(town="moon").to_csv("patients.csv", index=False)
    bad = run("check", "patients.csv", "--schema", "schema.toml")
    assert bad.exit_code == 4
    flat = " ".join(bad.stdout.split())
    assert flat.startswith(f"NOT PRIVATE. {NOT_PRIVATE}")
    assert flat.endswith(NOT_PRIVATE)
    assert "'moon'" in flat
    assert (
        max(map(len, run("check", "patients.csv", "--schema", "schema.toml", COLUMNS="80").stdout.splitlines())) <= 80
    )
    told = run("check", "patients.csv", "--schema", "schema.toml", "--json")
    assert told.exit_code == 4
    answer = answer_of(told)
    assert answer["warning"] == NOT_PRIVATE
    assert [f["examples"] for f in answer["findings"]] == [["moon"]]
    assert {file.name for file in tmp_path.iterdir()} == {"patients.csv", "schema.toml"}


@pytest.mark.parametrize(
    ("values", "what", "is_fault"),
    [
        (np.arange(N) / 7, "look like numbers", True),
        (np.datetime64("2020-01-01") + np.arange(N) % 90, "look like dates", True),
        (half("yes", "no"), "look like true or false", False),
        (
            np.where(np.arange(N) < 50, "Nowhere-on-Sea", "Aston"),
            "hold one of 1 texts (of 2) that fewer than about",
            True,
        ),
    ],
)
def test_what_discovery_would_not_find_is_told_before(values, what, is_fault):
    schema = Schema(columns=(Column(name="open", kind="categorical", discover=True),), rows=N)
    (finding,) = dry_run({"open": np.asarray(values).astype(str)}, schema).findings
    assert what in finding.what
    assert finding.is_fault == is_fault
    assert not dry_run({"open": half("Aston", "Bury")}, schema).findings
    (gaps,) = dry_run({"open": half("Aston", "")}, schema).findings
    assert "missing, though not declared so" in gaps.what


def test_points_that_may_separate_thousands_are_asked_about():
    costs = [f"{n // 1000}.{n % 1000:03d}" for n in range(40_000, 40_000 + N)]
    (finding,) = dry_run(text_table(weight=costs), PLAIN).findings
    assert "three digits after every point" in finding.what
    assert not finding.is_fault  # it may be so


NARROW = Column(name="x", kind="numeric", bounds=(0, 1_000_000))


@pytest.mark.parametrize(
    ("column", "values", "what"),
    [
        (NARROW, np.linspace(20, 300, N), "lie together in a 100th of the bounds"),
        (replace(NARROW, bounds=(0, 20_000)), np.linspace(20, 300, N), None),
        (NARROW, np.full(N, 7.0), "hold one and the same value"),
        (replace(NARROW, missing=True), np.full(N, np.nan), "hold no value"),
        (replace(NARROW, missing=True), np.where(np.arange(N) % 2, 7e5, np.nan), "lie together"),
        (Column(name="x", kind="categorical", categories=("a", "b")), np.full(N, "a"), "hold one and the same value"),
        (Column(name="x", kind="categorical", categories=("a", "b")), half("a", "b"), None),
        (Column(name="x", kind="categorical", discover=True), np.full(N, "a"), "hold one and the same value"),
        (Column(name="x", kind="boolean", missing=True), np.full(N, ""), "hold no value"),
    ],
)
def test_bounds_that_are_far_too_wide_and_columns_that_tell_nothing_are_noted(column, values, what):
    findings = dry_run({"x": values}, Schema(columns=(column,), rows=N)).findings
    assert [what in finding.what for finding in findings] == ([] if what is None else [True])
    assert not any(finding.is_fault for finding in findings)


def test_codes_with_zeros_in_front_are_no_numbers_and_other_spellings_are_told():
    schema = Schema(columns=(Column(name="x", kind="categorical", discover=True),), rows=N)
    zips = np.array([f"{n:05d}" for n in np.arange(N) % 5 + 1_000])
    assert not dry_run({"x": zips}, schema).findings
    for text in ("{},5", "31.01.{}", "1,234,{:03d}"):
        values = np.array([text.format(n) for n in np.arange(N) % 900 + 100])
        (finding,) = dry_run({"x": values}, schema).faults
        assert "look like" in finding.what
        assert "Write" in finding.remedy


def test_bytes_that_are_no_utf_8_are_told_of_where_categories_are_sought(tmp_path):
    """A file in Latin-1 is read, and its umlauts would be released as marks of a lost letter."""
    towns = pd.DataFrame({"age": np.arange(400) % 50, "town": ["Köln", "Rom"] * 200})
    towns.to_csv(tmp_path / "t.csv", index=False, encoding="latin-1")
    schema = Schema.parse('[columns]\nage = "integer 0..110"\ntown = "categorical discover"')
    (told,) = [f for f in dry_run(tmp_path / "t.csv", schema).findings if "UTF-8" in f.what]
    assert told.rows == 200
    assert told.is_fault
    assert "iconv" in told.remedy
