"""What names and types suggest: proposed where it is a public fact, and nothing where it is not."""

import re

import pandas as pd
import pytest
from typer.testing import CliRunner

from command_line import answer_of, run
from sfumato.cli import app
from sfumato.private.intake.drafts import draft_schema
from sfumato.public.schema.proposals import propose
from sfumato.public.schema.schema import Schema
from sfumato.public.spelling import words_of

GUESSES = {
    "age": ("integer", "[0, 110]"),
    "PatientAge": ("integer", "[0, 110]"),
    "age_years": ("integer", "[0, 110]"),
    "Alter": ("integer", "[0, 110]"),
    "fat_percent": ("numeric", "[0, 100]"),
    "latitude": ("numeric", "[-90, 90]"),
    "hour": ("integer", "[0, 23]"),
    "month": ("integer", "[1, 12]"),
    "year_2": ("integer", "[1900, 2100]"),
    "SpO2": ("numeric", "[0, 100]"),
    "dob": ("datetime", "[1900-01-01, 2030-01-01]"),
    "admission_date": ("datetime", ""),
    "weight_kg": ("numeric", ""),
    "is_smoker": ("boolean", ""),
    "has_loan": ("boolean", ""),
    "town": ("categorical", ""),
    "age_group": ("categorical", ""),
    "message_count": ("categorical", ""),
    "wage_per_hour": ("categorical", ""),
    "weeks_worked_in_year": ("categorical", ""),
    "date of birth": ("datetime", "[1900-01-01, 2030-01-01]"),
}
DROPPED = [
    "id",
    "patient_id",
    "PassengerId",
    "E-mail",
    "phone2",
    "SSN",
    "uuid",
    "name",
    "last_name",
    "notes",
    "free text",
]
KEPT = ["drug_name", "price_index", "identity", "noted", "text_length", "ward"]
CODES = {
    "sex": 2,
    "country": 249,
    "Country_ISO3": 249,
    "us_state": 51,
    "weekday": 7,
    "blood group": 8,
    "BloodType": 8,
    "icd10_chapter": 22,
    "continent": 7,
}


@pytest.mark.parametrize("name", GUESSES)
def test_a_name_suggests_a_type_and_bounds(name):
    proposed = propose(name, "categorical", is_known=False)
    assert (proposed.kind, proposed.bounds) == GUESSES[name]
    assert not proposed.dropped


@pytest.mark.parametrize("name", DROPPED)
def test_identifiers_and_free_text_are_left_out(name):
    assert propose(name, "categorical", is_known=False).dropped
    assert propose(name, "categorical").dropped
    assert not propose(name, "numeric").dropped  # a fraction identifies nobody by its name
    assert not propose(name, "boolean").dropped


@pytest.mark.parametrize("name", KEPT)
def test_others_are_kept(name):
    assert not propose(name, "categorical", is_known=False).dropped


@pytest.mark.parametrize("name", CODES)
def test_codes_are_written_out(name):
    proposed = propose(name, "categorical")
    assert len(set(proposed.categories)) == len(proposed.categories) == CODES[name]
    assert proposed.missing  # what is spelled otherwise has a place


def test_a_declared_type_goes_before_the_name():
    assert propose("age", "numeric").kind == "numeric"
    assert propose("age", "numeric").bounds == "[0, 110]"
    assert propose("age", "categorical").bounds == ""
    assert propose("sex", "integer").categories == ()
    assert propose("month", "integer").bounds == "[1, 12]"
    assert len(propose("month", "categorical").categories) == 12
    assert propose("dob", "categorical").kind == "categorical"
    assert propose("is_ill", "integer").kind == "integer"
    assert propose("picture", None).kind is None


def test_words():
    assert words_of("") == []
    assert words_of("größeInCM") == ["größe", "in", "cm"]


HEADER = "patient_id,Age,sex,country,notes,dob,is_smoker,town\n"


def test_a_draft_of_known_names_loads_and_what_is_left_out_can_be_undone(tmp_path):
    (tmp_path / "t.csv").write_text(HEADER)
    draft = draft_schema(tmp_path / "t.csv")
    schema = Schema.parse(draft)
    assert [c.name for c in schema.columns] == ["Age", "sex", "country", "dob", "is_smoker", "town"]
    assert [c.name for c in schema.unknown] == ["town"]
    assert '# person = "patient_id"' in draft
    at = draft.index("[columns]")
    undone = draft[:at] + re.sub(r'^# (?=")', "", draft[at:], flags=re.MULTILINE)
    assert [c.name for c in Schema.parse(undone).columns] == HEADER.strip().split(",")
    assert max(map(len, draft.splitlines())) <= 130
    # One line a column, but for the lists of codes that are written out.
    assert all(f'"{name}" = ' in draft for name in HEADER.strip().split(","))


def test_a_draft_depends_on_no_row(tmp_path):
    drafts = set()
    for rows in ("", "1,2,3,4,5,6,7,8\n", "x,y,z,a,b,c,d,e\n" * 3):
        (tmp_path / "t.csv").write_text(HEADER + rows)
        drafts.add(draft_schema(tmp_path / "t.csv"))
    assert len(drafts) == 1


def test_a_table_of_identifiers_alone_keeps_them():
    assert [c.name for c in Schema.parse(draft_schema(pd.DataFrame({"id": ["a"], "name": ["b"]}))).columns] == [
        "id",
        "name",
    ]


# ------------------------------------------------------------------------------------------------------- by questions


def asked(tmp_path, *answers, header="patient_id,age,sex,town\n", more=()):
    (tmp_path / "t.csv").write_text(header)
    return CliRunner().invoke(
        app, ["schema", str(tmp_path / "t.csv"), "--interactive", *more], input="\n".join(answers) + "\n"
    )


def test_enter_takes_every_proposal(tmp_path):
    result = asked(tmp_path, *[""] * 14)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("# A draft")  # questions are not among the answers
    schema, plain = Schema.parse(result.stdout), Schema.parse(draft_schema(tmp_path / "t.csv"))
    assert schema == plain


def test_answers_are_taken_and_bad_ones_asked_again(tmp_path):
    result = asked(
        tmp_path,
        *("", "integr", "integer", "9, 1", "0, 120", "perhaps", "n"),  # the id, the age
        *("", "F, M", "n"),
        *("ordinal", "small, large", "y"),
        *("sexx", "sex", "many", "20,000", "patient_id", "3"),
    )
    assert result.exit_code == 0, result.output
    schema = Schema.parse(result.stdout)
    assert schema["age"].bounds == (0, 120)
    assert not schema["age"].missing
    assert schema["sex"].categories == ("F", "M")
    assert (schema["town"].kind, schema["town"].categories) == ("ordinal", ("small", "large"))
    assert (schema.target, schema.rows, schema.unit.person, schema.unit.max_rows) == ("sex", 20_000, "patient_id", 3)
    for sentence in (
        "Did you mean 'integer'?",
        "low before high",
        "answer y or n",
        "Did you mean 'sex'?",
        "no whole number",
    ):
        assert sentence in result.stderr


def test_a_file_a_list_and_a_drop(tmp_path):
    result = asked(tmp_path, "", "drop", "", '["a, b", 3]', "", "", "file towns.csv", "", "", "", "", more=["--json"])
    assert result.exit_code == 0, result.output
    text = answer_of(result)["schema_toml"]
    (tmp_path / "towns.csv").write_text("Rome\nMilan\n")
    (tmp_path / "schema.toml").write_text(text)
    checked = run("plan", tmp_path / "schema.toml", "--epsilon", 1)
    assert checked.exit_code == 0, checked.output
    assert '"sex" = "categorical a, b | 3 ?"' in text
    assert '# "age" = ' in text


def test_the_column_before_again_and_one_step_back(tmp_path):
    result = asked(
        tmp_path,
        *("numeric", "0, 10", "2", "n"),  # a
        *("ordinal", "x, y", "n"),  # b, by mistake
        *("back", "ditto"),  # c: no, b is as a
        "ditto",  # c
        *("time", "22:00, 06:00", "y"),  # d
        *("", "", ""),
        header="a_rate,b_rate,c_rate,d_rate\n",
    )
    assert result.exit_code == 0, result.output
    schema = Schema.parse(result.stdout)
    assert [(c.kind, c.bounds, c.decimals, c.missing) for c in schema.columns] == [
        *[("numeric", (0, 10), 2, False)] * 3,
        ("time", (79_200, 108_000), None, True),
    ]


def test_the_end_of_the_answers_writes_nothing(tmp_path):
    result = asked(tmp_path, "", "integer")
    assert result.exit_code == 1
    assert result.stdout == ""
    result = asked(tmp_path, "drop", "drop", "drop", "drop")
    assert "every column was dropped" in result.stderr


def test_pictures_have_no_questions(tmp_path):
    (tmp_path / "pictures" / "cat").mkdir(parents=True)
    result = run("schema", tmp_path / "pictures", "--interactive")
    assert "Leave out --interactive" in result.stderr
