"""Schemas of several tables: read, written, and refused with the reason."""

from dataclasses import replace

import pytest

import sfumato as sf
from schemas import HOSPITAL, HOSPITAL_TOML
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
        ('target = "died"', 'target = "value"', "is not a column of the schema"),
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
