"""Persons with all that hangs on them: whose rows are whose, which count, and what one person changes."""

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from schemas import HOSPITAL
from sfumato.errors import SourceError
from sfumato.private.intake import together
from sfumato.private.intake.histories import HistorySource
from sfumato.private.intake.sensitive import Sensitive, _source_of, open_persons, with_key

KEY = bytes(range(32))
PATIENTS = pd.DataFrame(
    {"patient": ["ann", "bob", "eve", "kim"], "age": [30, 40, 50, 60], "sex": list("fmfm"), "died": [0, 1, 0, 0]}
)
VISITS = pd.DataFrame(
    {
        "patient": ["eve", "ann", "eve", "bob", "eve"],
        "day": [9, 4, 2, 7, 2],
        "test": ["heart", "blood", "blood", "death", "heart"],
        "value": [1.0, 2.0, 3.0, None, 5.0],
    }
)
BILLS = pd.DataFrame({"who": ["kim", "kim"], "paid": [True, False]})
TABLES = {"patients": PATIENTS, "visits": VISITS, "bills": BILLS}


def source_of(data: Any, schema: sf.Schema = HOSPITAL, key: bytes = KEY) -> HistorySource:
    source = _source_of(with_key(Sensitive.read(data, schema), key))
    assert isinstance(source, HistorySource)
    return source


def persons(data: Any, schema: sf.Schema = HOSPITAL, *, rows: int = 100, key: bytes = KEY) -> dict[str, Any]:
    """All persons, encoded, by what they are aged: the numbers of persons mean nothing."""
    batches = list(open_persons(with_key(Sensitive.read(data, schema), key), rows=rows))
    joined = {name: np.nan_to_num(np.concatenate([batch[name] for batch in batches]), nan=-1) for name in batches[0]}
    del joined["patient"]
    names = sorted(joined)
    return {joined["age"][at]: {name: joined[name][at].tolist() for name in names} for at in range(len(joined["age"]))}


def test_events_come_to_their_persons_in_order() -> None:
    eve, kim = persons(TABLES)[50], persons(TABLES)[60]
    assert eve["visits.#"] == 3
    assert eve["visits.day"][:3] == [2, 2, 9]
    assert eve["visits.test"][:3] == [0, 1, 1]  # those of one moment as they lie in the data
    assert eve["visits.value"][:3] == [3, 5, 1]
    assert (kim["visits.#"], kim["bills.#"], kim["bills.paid"][:2]) == (0, 2, [1, 0])


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_how_the_data_is_cut_changes_nobody(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = persons(TABLES)
    monkeypatch.setattr(together, "MOST_BYTES", 1)  # one event at a time is held
    assert persons(TABLES, rows=rows) == whole


def test_a_window_of_a_persons_own_counts() -> None:
    rng = np.random.default_rng(0)
    visits = pd.DataFrame(
        {"patient": "eve", "day": rng.permutation(40), "test": "blood", "value": np.zeros(40)}, index=range(40)
    )
    beginnings = set()
    for turn in range(60):
        eve = persons({**TABLES, "visits": visits}, key=bytes([turn]) * 32)[50]
        assert eve["visits.#"] == 6
        assert np.diff(eve["visits.day"]).tolist() == [1.0] * 5  # side by side, in the order
        beginnings.add(eve["visits.day"][0])
    assert len(beginnings) > 20  # and anywhere
    assert min(beginnings) >= 0
    assert max(beginnings) <= 34


def test_who_else_is_there_changes_nobody() -> None:
    """The sensitivity of every door rests on this: a person more is one row more, and all other rows are as they were."""
    rng = np.random.default_rng(1)
    many = {
        "patients": pd.DataFrame({"patient": np.arange(50), "age": np.arange(50), "sex": "f", "died": 0}),
        "visits": pd.DataFrame(
            {"patient": rng.integers(50, size=600), "day": rng.integers(99, size=600), "test": "blood", "value": 1.0}
        ),
        "bills": pd.DataFrame({"who": rng.integers(50, size=90), "paid": rng.random(90) < 0.5}),
    }
    everyone = persons(many)
    for gone in (0, 7, 49):
        names = {"patients": "patient", "visits": "patient", "bills": "who"}
        without = {name: table[table[names[name]] != gone] for name, table in many.items()}
        left = persons(without)
        assert left == {age: row for age, row in everyone.items() if age != gone}
        # The row of the person alone is gone, and its events have become orphans: the same, since these are nobody's.
        assert persons({**many, "patients": without["patients"]}) == left


def test_orphans_doubled_persons_and_rows_of_nobody() -> None:
    visits = pd.concat([VISITS, VISITS.assign(patient=["nobody", None, "", "ann", "ANN"])], ignore_index=True)
    patients = pd.concat([PATIENTS, PATIENTS.iloc[:1].assign(age=31), PATIENTS.iloc[:1].assign(patient=None)])
    source = source_of({"patients": patients, "visits": visits, "bills": BILLS})
    drawn = source.draw()
    assert {name: one.orphans for name, one in drawn.tables.items()} == {
        "visits": 4,
        "bills": 0,
    }  # told apart to the letter
    assert (drawn.numbers >= 0).sum() == 4
    found = persons({"patients": patients, "visits": visits, "bills": BILLS})
    assert (30 in found) != (31 in found)  # one row of a person counts
    assert found.get(30, found.get(31))["visits.#"] == 2


def test_ids_of_all_types_meet() -> None:
    numbers = {
        "patients": PATIENTS.assign(patient=[1, 2, 3, 4]),
        "visits": VISITS.assign(patient=["3", "1 ", "3.0", "x", 3]),
        "bills": BILLS.assign(who=[4.0, np.nan]),
    }
    assert [row["visits.#"] for row in persons(numbers).values()] == [1, 0, 2, 0]
    assert [row["bills.#"] for row in persons(numbers).values()] == [0, 0, 0, 1]


def test_no_events_at_all_and_one_person() -> None:
    none = {"patients": PATIENTS.iloc[:1], "visits": VISITS.iloc[:0], "bills": BILLS.iloc[:0]}
    assert persons(none)[30]["visits.#"] == 0


def test_moments_that_are_missing_come_last() -> None:
    day = replace(HOSPITAL.tables[0].columns[0], missing=True)
    table = replace(HOSPITAL.tables[0], columns=(day, *HOSPITAL.tables[0].columns[1:]))
    schema = replace(HOSPITAL, tables=(table, HOSPITAL.tables[1]))
    eve = persons({**TABLES, "visits": VISITS.assign(day=[None, 4, 2, 7, "soon"])}, schema)[50]
    assert eve["visits.value"][:3] == [3, 1, 5]


def test_a_folder_and_a_database(tmp_path: Path) -> None:
    PATIENTS.to_csv(tmp_path / "patients.csv", index=False)
    VISITS.to_parquet(tmp_path / "visits.parquet")
    BILLS.to_csv(tmp_path / "bills.csv", index=False)
    assert persons(tmp_path) == persons(TABLES)
    BILLS.to_parquet(tmp_path / "bills.parquet")
    with pytest.raises(SourceError, match="has several files for the table 'bills'"):
        source_of(tmp_path)
    (tmp_path / "bills.parquet").unlink()
    (tmp_path / "bills.csv").rename(tmp_path / "Bills.csv")
    with pytest.raises(SourceError, match=r"has no file for the table 'bills'\. Did you mean 'Bills'"):
        source_of(tmp_path)
    (tmp_path / "Bills.csv").unlink()
    (tmp_path / "bills").mkdir()  # in parts
    BILLS.iloc[:1].to_csv(tmp_path / "bills" / "1.csv", index=False)
    BILLS.iloc[1:].to_csv(tmp_path / "bills" / "2.csv", index=False)
    assert persons(tmp_path) == persons(TABLES)
    with sqlite3.connect(tmp_path / "hospital.db") as database:
        for name, table in TABLES.items():
            table.to_sql(name, database, index=False)
    bob = persons(tmp_path / "hospital.db")[40]
    assert (bob["visits.#"], bob["visits.day"][0], bob["visits.test"][0]) == (1, 7, 2)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            {"patients": PATIENTS, "visits": VISITS, "bill": BILLS},
            "has no table 'bills' of the schema. Did you mean 'bill'",
        ),
        ({**TABLES, "visits": VISITS.drop(columns="day")}, "table 'visits': the data has no column for 'day'"),
        ({**TABLES, "bills": None}, "table 'bills': data of type NoneType"),
        ({**TABLES, "bills": BILLS.drop(columns="who")}, "no column for the person column 'who'"),
        (PATIENTS, "is no set of tables"),
        ("nowhere", "is no folder"),
    ],
)
def test_what_is_not_there_is_said(data: Any, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        source_of(data)
