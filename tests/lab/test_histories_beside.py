"""Persons with events beside others: read as a release reads them, measured as declared, whatever is empty."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from schemas import HOSPITAL, LOG, WARD
from sfumato.errors import SourceError
from sfumato.lab.assess.aggregates import as_rows
from sfumato.lab.assess.beside_histories import histories_beside
from sfumato.lab.assess.histories import read_persons, released_persons
from sfumato.lab.assess.relations import Related, differences
from sfumato.present.beside import private_page
from sfumato.private.intake.sensitive import open_histories

PATIENTS = pd.DataFrame(
    {"patient": ["a", "b", "c"], "age": [30, 50, 70], "sex": ["f", "m", None], "died": [True, False, True]}
)
VISITS = pd.DataFrame(
    {
        "patient": ["c", "a", "nobody", "c", "a", "c"],
        "day": [9, 20, 3, 4, 5, 4],
        "test": ["death", "heart", "blood", "blood", "blood", "heart"],
        "value": [np.nan, 70.0, 1.0, 10.0, 30.0, 90.0],
    }
)
BILLS = pd.DataFrame({"who": ["a", "a"], "paid": [True, False]})
HOSPITAL_DATA = {"patients": PATIENTS, "visits": VISITS, "bills": BILLS}
LOG_DATA = pd.DataFrame(
    {
        "user": [1, 1, 2],
        "time": pd.to_datetime(["2024-02-01T00:00", "2024-02-04T12:00", "2024-03-01T00:00"]),
        "page": ["home", "shop", "help"],
    }
)


def test_events_stand_as_a_release_reads_them() -> None:
    visits, bills = read_persons(HOSPITAL_DATA, HOSPITAL).events()
    assert visits.number.tolist() == [2, 0, 3]
    assert visits.whose.tolist() == [0, 0, 2, 2, 2]
    assert visits.rows["day"].tolist() == [5, 20, 4, 4, 9]  # and who names nobody is nobody's
    assert visits.gaps().tolist() == [15, 0, 5]
    assert bills.number.tolist() == [2, 0, 0]
    assert bills.gaps().tolist() == []


def test_more_events_than_count_leave_a_window_and_always_the_same() -> None:
    few = replace(HOSPITAL, tables=(replace(HOSPITAL.tables[0], max_rows=2), HOSPITAL.tables[1]))
    once, again = (next(iter(read_persons(HOSPITAL_DATA, few).events())) for _ in range(2))
    assert once.number.tolist() == [2, 0, 2]
    assert once.rows["day"].tolist() == again.rows["day"].tolist()
    drawn = open_histories(HOSPITAL_DATA, few).draw().tables["visits"]
    assert drawn.counts.tolist() == once.number.tolist()


def test_aggregates_are_of_each_person() -> None:
    schema, rows = as_rows(read_persons(HOSPITAL_DATA, HOSPITAL))
    assert schema.target == "died"
    assert not schema.tables
    assert set(rows) == {column.name for column in schema.columns}
    known = {name: rows[f"visits.{name}"].tolist() for name in ("number", "number of blood")}
    assert known == {"number": [2, 0, 3], "number of blood": [1, 0, 1]}
    np.testing.assert_equal(rows["visits.first day"], [5, np.nan, 4])
    np.testing.assert_equal(rows["visits.last value of heart"], [70, np.nan, 90])
    np.testing.assert_equal(rows["visits.mean value of death"], [np.nan] * 3)
    assert schema.decode(rows)["bills.last paid"].tolist() == [False, pd.NA, pd.NA]


def test_what_hangs_on_an_event_is_told_by_it() -> None:
    visits = pd.DataFrame({"patient": ["a", "a"], "visit": ["x", "y"], "day": [100, 10]})
    tests = pd.DataFrame(
        {"visit": ["x", "x", "y"], "day": [104, 103, 10], "what": ["blood", "heart", "blood"], "value": [1.0, 2.0, 3.0]}
    )
    data = {"patients": pd.DataFrame({"patient": ["a", "b"]}), "visits": visits, "tests": tests}
    of_visits, of_tests = read_persons(data, WARD).events()
    assert [of_visits.name_of(column) for column in of_visits.table.columns] == ["day", "number of tests of a row"]
    assert of_visits.rows["tests.#"].tolist() == [1, 2]
    assert of_tests.rows["day"].tolist() == [0, 3, 4]  # since the visit
    assert of_tests.gaps().tolist() == [1]  # of two visits nothing lies between
    found = histories_beside(
        data, sf.Synthetic(table=data["patients"], tables={"visits": visits, "tests": tests}), WARD
    )
    assert [table["name"] for table in found["tables"]] == ["visits", "tests"]
    assert "day since that of visits" in [card["name"] for card in found["tables"][1]["cards"]]
    assert "names no target" in found["why_no_lesson"]


def test_events_alone_and_dates() -> None:
    made = sf.Synthetic(table=pd.DataFrame({"user": [1, 2]}), tables={"log": LOG_DATA})
    (events,) = released_persons(made, LOG).events()
    assert events.gaps().tolist() == [3.5]
    (log,) = histories_beside(LOG_DATA, made, LOG)["tables"]
    assert [card["name"] for card in log["cards"][:2]] == [
        "number of log of a person",
        "from one to the next of a person, days",
    ]


@pytest.mark.parametrize("empty", [("real",), ("synthetic",), ("real", "synthetic")])
def test_tables_without_events_are_shown(empty) -> None:
    none = {**HOSPITAL_DATA, "visits": VISITS.iloc[:0], "bills": BILLS.iloc[:0]}
    real, made = (none if which in empty else HOSPITAL_DATA for which in ("real", "synthetic"))
    tables = {name: made[name] for name in ("visits", "bills")}
    found = histories_beside(real, sf.Synthetic(table=made["patients"], tables=tables), HOSPITAL)
    assert "there are none" in " ".join(found["tables"][1]["cards"][1]["sentences"])
    assert "visits" in private_page(found, claim={"in_words": ""}, release="made", warnings=[])
    one, other = (read_persons(data, HOSPITAL).related()["visits"] for data in (real, made))
    (off,) = differences(one, other)
    assert off["child", "value"] == (0 if len(empty) == 2 else 1)


def test_nobody_is_no_comparison() -> None:
    nobody = {name: table.iloc[:0] for name, table in HOSPITAL_DATA.items()}
    with pytest.raises(SourceError, match="no persons"):
        read_persons(nobody, HOSPITAL)


def test_distances_are_those_of_the_rows() -> None:
    persons = pd.DataFrame({"sex": ["f", "m"]})
    one = _related(persons, ["a", "b", "a", "b"], [0.0, 1, 0, 1])
    other = _related(persons, ["b", "a", "b", "a"], [0.0, 1, 0, 9])
    same, off = differences(one, one, other)
    assert set(same.values()) == {0}
    assert off["child", "kind"] == off["number",] == off["parent", "sex"] == 0
    assert off["kinds",] == 1
    assert off["gap",] == 0.5
    assert off["pair", "sex", "kind"] == 0


def _related(persons: pd.DataFrame, kinds: list[str], days: list[float]) -> Related:
    whose = np.array([0, 0, 1, 1])
    return Related(persons, pd.DataFrame({"day": days, "kind": kinds}), whose, whose, order="day", kind="kind")
