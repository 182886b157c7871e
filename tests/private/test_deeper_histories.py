"""What hangs on events, persons without columns, and a table of events alone: whose rows are whose, and bad input."""

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from schemas import HOSPITAL, LOG, WARD
from sfumato.errors import SourceError
from sfumato.lab.dry_run.several_tables import dry_run_tables
from sfumato.private.intake.apart import set_apart
from sfumato.private.intake.sensitive import Sensitive, open_persons, with_key

PATIENTS = pd.DataFrame({"patient": ["ann", "bob", "eve"]})
VISITS = pd.DataFrame({"visit": [7, 8, 9], "patient": ["eve", "bob", "eve"], "day": [50, 5, 20]})
TESTS = pd.DataFrame(
    {
        "visit": [9, 7, 9, 8, 1],
        "day": [25, 49, 21, 6, 3],
        "what": ["blood", "heart", "heart", "blood", "blood"],
        "value": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
)
TABLES = {"patients": PATIENTS, "visits": VISITS, "tests": TESTS}


def persons(data: Any, schema: sf.Schema = WARD, key: bytes = bytes(32), rows: int = 100) -> list[dict[str, Any]]:
    """Everybody, encoded, in the order of the data."""
    return encoded(with_key(Sensitive.read(data, schema), key), rows=rows)


def encoded(data: Sensitive, *, rows: int = 100) -> list[dict[str, Any]]:
    schema, batches = data.schema, list(open_persons(data, rows=rows))
    return [
        {name: values[at].tolist() for name, values in batch.items() if name != schema.unit.person}
        for batch in batches
        for at in range(len(batch[str(schema.unit.person)]))
    ]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_tests_come_to_their_visits_in_order(rows: int) -> None:
    ann, bob, eve = persons(TABLES, rows=rows)
    assert (ann["visits.#"], ann["tests.#"]) == (0, 0)
    assert (bob["visits.day"][0], bob["visits.tests.#"][0], bob["tests.value"][0]) == (5, 1, 4)
    assert eve["visits.day"][:2] == [20, 50]
    assert eve["visits.tests.#"][:2] == [2, 1]
    assert eve["tests.value"][:3] == [3, 1, 2]  # by visit, and there by day
    assert eve["tests.day"][:3] == [1, 5, 0]  # since the visit; a test before it is one at once


def test_nobody_else_changes_a_person_even_where_keys_are_doubled() -> None:
    """Two visits of two persons have the key 9: its tests hang on both, whoever of the two is there."""
    doubled = {**TABLES, "visits": pd.concat([VISITS, pd.DataFrame({"visit": [9], "patient": ["bob"], "day": [1]})])}
    _, bob, eve = persons(doubled)
    assert (bob["visits.tests.#"][:2], bob["tests.value"][:3]) == ([2, 1], [3, 1, 4])
    for gone, left in (("bob", [eve]), ("eve", [bob])):
        without = {**doubled, "patients": PATIENTS[PATIENTS["patient"] != gone]}
        assert persons(without)[1:] == left
        assert persons({**without, "visits": doubled["visits"][doubled["visits"]["patient"] != gone]})[1:] == left


def test_every_level_has_a_limit_of_its_own() -> None:
    many = pd.DataFrame({"visit": 9, "day": range(30), "what": "blood", "value": np.arange(30.0)})
    _, _, eve = persons({**TABLES, "tests": many})
    assert eve["tests.#"] == 3
    assert np.diff(eve["tests.value"][:3]).tolist() == [1, 1]


def test_persons_are_set_apart_with_all_that_hangs_on_them() -> None:
    whole, data = persons(TABLES), with_key(Sensitive.read(TABLES, WARD), bytes(32))
    seen = set()
    for turn in range(8):
        sides = [encoded(side) for side in set_apart(data, key=bytes([turn]) * 32, share=0.5)]
        assert sorted(map(str, sides[0] + sides[1])) == sorted(map(str, whole))
        seen.add(len(sides[0]))
    assert len(seen) > 1


def test_a_table_alone_has_those_whom_it_names() -> None:
    log = pd.DataFrame(
        {"user": ["b", "a", "b", None], "time": ["2024-03-02", "2024-02-01", "2024-03-01", "2024-01-01"]}
    )
    log["page"] = ["home", "shop", "help", "home"]
    first, second = persons(log, LOG)
    assert (first["log.#"], first["log.page"][:2], second["log.page"][0]) == (2, [2, 0], 1)
    assert persons({"log": log}, LOG) == [first, second]
    assert persons(log[log["user"] != "b"], LOG) == [second]


def test_a_duckdb_database(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "ward.duckdb")) as database:
        for name, table in TABLES.items():
            database.register("given", table)
            database.execute(f"create table {name} as select * from given")
    assert persons(tmp_path / "ward.duckdb") == persons(TABLES)


def test_a_database_and_a_folder(tmp_path: Path) -> None:
    whole = persons(TABLES)
    with sqlite3.connect(tmp_path / "ward.db") as database:
        for name, table in TABLES.items():
            table.to_sql(name, database, index=False)
    assert persons(tmp_path / "ward.db") == whole
    (tmp_path / "files").mkdir()
    for name, table in TABLES.items():
        table.to_parquet(tmp_path / "files" / f"{name}.parquet")
    assert persons(tmp_path / "files") == whole
    with pytest.raises(SourceError, match="no column for 'visit'"):
        persons({**TABLES, "visits": VISITS.drop(columns="visit")})
    with pytest.raises(SourceError, match="no column for 'patient'"):
        persons({**TABLES, "patients": PATIENTS.rename(columns={"patient": "who"})})


# ------------------------------------------------------------------------------------------------------------ bad input


def test_a_person_with_100_000_events_counts_as_everybody_does() -> None:
    many = pd.DataFrame({"visit": np.arange(100_000), "patient": "eve", "day": np.arange(100_000) % 365})
    ann, bob, eve = persons({**TABLES, "visits": pd.concat([many, VISITS.iloc[1:2]])})
    assert (ann["visits.#"], bob["visits.#"], eve["visits.#"]) == (0, 1, 4)


def test_no_children_at_all_and_one_person() -> None:
    none = {"patients": PATIENTS.iloc[:1], "visits": VISITS.iloc[:0], "tests": TESTS.iloc[:0]}
    assert [(one["visits.#"], one["tests.#"]) for one in persons(none)] == [(0, 0)]
    assert persons({**none, "patients": PATIENTS.iloc[:0]}) == []
    orphans = {**TABLES, "visits": VISITS.iloc[:0]}
    assert [one["tests.#"] for one in persons(orphans)] == [0, 0, 0]


def test_ties_missing_and_impossible_moments() -> None:
    """Ties stay as they lie; what is no day of the schema, as one before birth, is mapped as any value is."""
    visits = VISITS.assign(patient="eve", day=[20, 20, -4000])
    (_, _, eve), tests = persons({**TABLES, "visits": visits}), TESTS.assign(day=[None, "soon", 21, 6, 3])
    assert eve["visits.day"][:3] == [0, 20, 20]
    assert eve["visits.tests.#"][:3] == [2, 1, 1]
    (_, _, eve) = persons({**TABLES, "tests": tests})
    assert np.isfinite(eve["tests.day"]).all()


def test_keys_of_mixed_types_meet() -> None:
    mixed = {
        "patients": pd.DataFrame({"patient": [1, 2, 3]}),
        "visits": VISITS.assign(patient=["3", 2.0, "3"], visit=["7", "8", "9"]),
        "tests": TESTS,
    }
    assert [one["tests.#"] for one in persons(mixed)] == [0, 1, 3]


def test_a_value_that_is_not_in_its_public_table_is_told_to_the_custodian() -> None:
    text = (
        HOSPITAL.to_toml() + '[lookups.sorts]\nkey = "s"\ncolumns = ["s"]\nrows = [["blood"], ["heart"], ["death"]]\n'
    )
    schema = sf.Schema.parse(text.replace('categories = ["blood", "heart", "death"]', 'lookup = "sorts"'))
    patients = pd.DataFrame({"patient": [1], "age": [3], "sex": ["f"], "died": [False]})
    visits = pd.DataFrame({"patient": [1, 1], "day": [1, 2], "test": ["blood", "lungs"], "value": [1.0, 2.0]})
    run = dry_run_tables(
        {"patients": patients, "visits": visits, "bills": pd.DataFrame({"who": [1], "paid": [True]})}, schema
    )
    assert [found.rows for found in run.findings if found.column == "visits.test"] == [1]
