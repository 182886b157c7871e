"""Schemas of several tables: read, written, and refused with the reason."""

from dataclasses import replace

import pytest

import sfumato as sf
from schemas import HOSPITAL, HOSPITAL_TOML, LOG, WARD
from sfumato.errors import SchemaError


def test_it_is_written_as_it_is_read() -> None:
    again = sf.Schema.parse(HOSPITAL.to_toml())
    assert again == HOSPITAL
    assert again.digest() == HOSPITAL.digest()
    assert HOSPITAL.tables[0].order == "day"


def test_the_unit_names_all_that_hangs_on_a_person() -> None:
    assert HOSPITAL.unit.describe() == (
        "one person (column 'patient') with all that hangs on it ('visits', at most 6 rows used and 'bills', "
        "at most 3 rows used), added or removed"
    )
    alone = replace(HOSPITAL, tables=HOSPITAL.tables[:1])
    assert alone.unit.tables == (("visits", 6),)  # it follows from the tables, whatever was given


def test_another_limit_is_another_schema() -> None:
    other = replace(HOSPITAL, tables=(replace(HOSPITAL.tables[0], max_rows=7), HOSPITAL.tables[1]))
    assert other.digest() != HOSPITAL.digest()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('parent = "patients"\norder', 'parent = "visits"\norder', "is its own parent. Rows that lead to other rows"),
        ('parent = "patients"\norder', 'parent = "bills"\norder', "table 'bills' has no key, by which 'visits' could"),
        ('parent = "patients"\norder', 'parent = ["patients", "bills"]\norder', "parent is the one table"),
        ('parent = "patients"', 'parent = "bills"', "hangs on itself by way of"),
        ('parent = "patients"\norder', 'parent = "pacients"\norder', "Did you mean 'patients'"),
        ('parent = "patients"\norder', "order", "hang on no other"),
        ("max_rows = 6", "", "does not say how many of its rows count"),
        ("max_rows = 6", "max_rows = 0", "must be a whole number from 1"),
        ('order = "day"', 'order = "test"', "must name one of its columns, a number or a date"),
        ('kind = "test"', 'kind = "value"', "must name one of its columns, with categories"),
        ('last = ["death"]', 'last = ["life"]', "must be a category of its kind"),
        ('key = "patient"', "", "has no key"),
        ('last = ["death"]', 'last = ["blood", "heart", "death"]', "after every sort nothing happens any more"),
        ('target = "died"', 'target = "value"', "It is one of 'visits', and a target is a column of the persons"),
        ('target = "died"', 'target = "did"', "is not a column of the persons. Did you mean 'died'"),
        ("[tables.bills", "[tables.VISITS", "two tables have the same name"),
        ("[tables.visits.columns.value]", "[tables.visits.columns.patient]", "identifies a person"),
        ("[tables.patients.columns.age]", '[tables.patients.columns."visits.day"]', "could be one of table 'visits'"),
        ("[tables.patients]", '[privacy]\nperson = "patient"\n[tables.patients]', "Remove person and max_rows"),
        (
            "[tables.patients]",
            '[columns.x]\ntype = "boolean"\n[tables.patients]',
            "columns belong to one of the tables",
        ),
    ],
)
def test_what_cannot_be_bounded_is_refused(old: str, new: str, reason: str) -> None:
    with pytest.raises(SchemaError) as refused:
        sf.Schema.parse(HOSPITAL_TOML.replace(old, new))
    assert reason in str(refused.value)


def test_a_fault_in_a_column_of_a_table_is_told_with_its_line() -> None:
    broken = HOSPITAL_TOML.replace("bounds = [0, 3650]", "bounds = [3650]")
    with pytest.raises(SchemaError, match=r"line \d+, \[tables.visits.columns.day\]: column 'day': bounds must be"):
        sf.Schema.parse(broken)


HOSPITALS = """
[dataset]
rows = 2000

[lookups.hospitals]
key = "code"
columns = ["code", "town"]
rows = [["A", "Rome"], ["B", "Pisa"]]

[tables.patients]
key = "patient"

[tables.visits]
parent = "patients"
max_rows = 3

[tables.visits.columns.hospital]
type = "categorical"
lookup = "hospitals"
"""


def test_a_public_table_gives_the_categories_and_stays_with_the_schema(tmp_path) -> None:
    schema = sf.Schema.parse(HOSPITALS)
    assert schema.tables[0]["hospital"].categories == ("A", "B")
    assert sf.Schema.parse(schema.to_toml()) == schema
    assert schema.lookups[0].frame["town"].tolist() == ["Rome", "Pisa"]
    (tmp_path / "hospitals.csv").write_text("code,town\nA,Rome\nB,Pisa\n")
    (tmp_path / "schema.toml").write_text(
        HOSPITALS.replace('columns = ["code", "town"]\nrows = [["A", "Rome"], ["B", "Pisa"]]', 'file = "hospitals.csv"')
    )
    assert sf.Schema.load(tmp_path / "schema.toml") == schema
    alone = '[lookups.towns]\nkey = "t"\ncolumns = ["t"]\nrows = [["Rome"]]\n[columns.town]\ntype = "categorical"\nlookup = "towns"'
    assert sf.Schema.parse(sf.Schema.parse(alone).to_toml()) == sf.Schema.parse(alone)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('lookup = "hospitals"', 'lookup = "hospital"', "Did you mean 'hospitals'"),
        ('key = "code"', 'key = "cod"', "has no column 'cod' for its key"),
        ('["B", "Pisa"]', '["A", "Pisa"]', "each with a key of its own"),
        ('["B", "Pisa"]', '["B"]', "a cell for each of its columns"),
        ('lookup = "hospitals"', 'lookup = "hospitals"\ncategories = ["A"]', "Keep one of them"),
        ('key = "code"', 'file = "x.csv"', "beside the schema file"),
        (
            '[tables.visits]\nparent = "patients"',
            '[tables.visits]\nkey = "patient"\nparent = "patients"',
            "Give two columns",
        ),
        (
            '[tables.visits.columns.hospital]\ntype = "categorical"\nlookup = "hospitals"',
            "",
            "table 'visits' has no columns",
        ),
        ("max_rows = 3", "max_rows = 1001", "must be a whole number from 1 to 1000"),
    ],
)
def test_what_does_not_fit_a_public_table_is_refused(old: str, new: str, reason: str) -> None:
    with pytest.raises(SchemaError) as refused:
        sf.Schema.parse(HOSPITALS.replace(old, new))
    assert reason in str(refused.value)


def test_levels_together_have_a_limit() -> None:
    deep = WARD.to_toml().replace("max_rows = 4", "max_rows = 400")
    with pytest.raises(SchemaError, match="a person may have 1200 rows of it, max_rows of all levels together"):
        sf.Schema.parse(deep)
    assert sf.Schema.parse(WARD.to_toml()) == WARD
    assert dict(WARD.unit.tables) == {"visits": 4, "tests": 12}
    assert sf.Schema.parse(LOG.to_toml()) == LOG
