"""Rows that are numbered within a person: two names say whose they are, so that nobody's tests count for somebody else."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from schemas import WARD
from sfumato.errors import SchemaError
from sfumato.lab.dry_run.several_tables import dry_run_tables
from sfumato.private.intake.histories import paired
from sfumato.private.intake.persons import hashes
from sfumato.private.intake.sensitive import Sensitive, open_persons, with_key

NAMED = replace(WARD, tables=(WARD.tables[0], replace(WARD.tables[1], person_key="patient")))
TABLES = {
    "patients": pd.DataFrame({"patient": ["ann", "bob"]}),
    "visits": pd.DataFrame({"visit": [1, 2, 1], "patient": ["ann", "ann", "bob"], "day": [5, 9, 7]}),
    "tests": pd.DataFrame(
        {
            "patient": ["bob", "ann", "ann", "eve", None, "bob"],
            "visit": [1, 1, 2, 1, 1, 2],
            "day": 9,
            "what": "blood",
            "value": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        }
    ),
}


def values_of(data: Any, schema: sf.Schema) -> dict[str, list[float]]:
    """The values of everybody's tests, in the order of the table of persons."""
    (batch,) = open_persons(with_key(Sensitive.read(data, schema), bytes(32)), rows=100)
    rows = zip(batch["tests.value"], batch["tests.#"].astype(int), strict=True)
    return dict(zip(data["patients"]["patient"], [values[:number].tolist() for values, number in rows], strict=True))


def test_a_test_hangs_on_the_visit_of_its_own_person() -> None:
    assert values_of(TABLES, NAMED) == {"ann": [2.0, 3.0], "bob": [1.0]}
    # With the key of the visit alone, a person's tests would be those of all who came as often.
    assert values_of(TABLES, WARD)["bob"] == values_of(TABLES, WARD)["ann"][:3]


def test_nobody_else_changes_a_person_and_a_person_goes_with_all_its_rows() -> None:
    rng = np.random.default_rng(0)
    visits = pd.DataFrame({"patient": np.repeat(np.arange(30), 4), "visit": np.tile(np.arange(4), 30), "day": 3})
    tests = pd.DataFrame({"patient": rng.integers(30, size=400), "visit": rng.integers(4, size=400), "day": 5})
    many = {
        "patients": pd.DataFrame({"patient": np.arange(30)}),
        "visits": visits,
        "tests": tests.assign(what="heart", value=rng.random(400) * 100),
    }
    everybody = values_of(many, NAMED)
    for gone in (0, 11, 29):
        without = {name: table[table["patient"] != gone] for name, table in many.items()}
        assert values_of(without, NAMED) == {who: row for who, row in everybody.items() if who != gone}


def test_check_says_where_keys_are_not_a_rows_own() -> None:
    (found,) = [f for f in dry_run_tables(TABLES, WARD).findings if f.column == "visits.visit"]
    assert found.is_fault
    assert found.rows == 2
    assert "person_key" in found.remedy
    run = dry_run_tables(TABLES, NAMED)
    assert [f.column for f in run.findings if "person_key" in f.remedy] == []
    assert [f.rows for f in run.findings if f.column == "tests.visit"] == [
        3
    ]  # eve, nobody, and a visit that bob has not
    assert run.left_out == ()


def test_pairs_are_told_apart() -> None:
    ids = hashes(np.arange(40), bytes(32))
    left, right = np.repeat(np.arange(40), 40), np.tile(np.arange(40), 40)
    assert len(np.unique(paired(ids[left], ids[right]), axis=0)) == 1600


def test_it_is_written_and_read_again() -> None:
    assert 'person_key = "patient"' in NAMED.to_toml()
    assert sf.Schema.parse(NAMED.to_toml()) == NAMED


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('parent = "visits"', 'parent = "visits"\nperson_key = "visit"', "cannot name both a row and the person"),
        (
            'parent = "patients"',
            'parent = "patients"\nperson_key = "who"',
            "hangs on the persons, whom parent_key names",
        ),
        ('parent = "visits"', 'parent = "visits"\nperson_key = "value"', "identifies a person"),
    ],
)
def test_faults_of_it(old: str, new: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        sf.Schema.parse(WARD.to_toml().replace(old, new))
