"""A draft of several tables: which hangs on which, by names alone."""

from pathlib import Path

import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import SchemaError, SourceError
from sfumato.lab.dry_run.drafting import draft_schema
from sfumato.private.intake.related_tables import Related, related

PATIENTS = pd.DataFrame({"patient_id": [1], "age": [41], "smoker": [True]})
VISITS = pd.DataFrame({"id": [7], "patient_id": [1], "day": [3], "ward": ["x"]})
TESTS = pd.DataFrame({"visit_id": [7], "patient_id": [1], "value": [0.5]})


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    PATIENTS.to_csv(tmp_path / "patients.csv", index=False)
    VISITS.to_parquet(tmp_path / "visits.parquet")
    TESTS.to_parquet(tmp_path / "tests.parquet")
    return tmp_path


def test_a_folder_of_several_tables_is_drafted_as_such(hospital: Path) -> None:
    text = draft_schema(hospital)
    with pytest.raises(SchemaError, match="'visits' has no columns"):
        sf.Schema.parse(text)  # nobody's guess stands for what is not known
    for guess, known in (("LOW..HIGH", "0..9"), ("A | B", "x | y")):
        text = text.replace(guess, known)
    completed = "\n".join(line[2:] if line.endswith("remove the first #") else line for line in text.splitlines())
    schema = sf.Schema.parse(completed.replace('# order = "day"', 'order = "day"'))
    visits, tests = schema.tables
    assert (schema.persons, schema.unit.person) == ("patients", "patient_id")
    assert (visits.key, visits.own_key, visits.order) == ("patient_id", "id", "day")
    assert (tests.parent, tests.key, tests.person_key) == ("visits", "visit_id", "patient_id")
    assert [column.name for column in schema.columns] == ["age", "smoker"]
    assert draft_schema({"patients": PATIENTS, "visits": VISITS, "tests": TESTS}).count("[tables.") == 6


def test_parts_of_one_table_stay_one(tmp_path: Path) -> None:
    for year in ("2023", "2024"):
        PATIENTS.to_parquet(tmp_path / f"{year}.parquet")
    assert "[tables." not in draft_schema(tmp_path)


def test_what_is_for_one_table_says_so(hospital: Path) -> None:
    with pytest.raises(SourceError, match="holds several tables"):
        draft_schema(hospital, types=True)


def test_what_leads_to_no_person_and_what_cannot_be_told() -> None:
    names = {"customers": ["customer"], "orders": ["order", "customer", "shop_id"], "shops": ["id", "town"]}
    names["lines"] = ["order", "price"]
    tables, others = related(names)
    assert tables[0] == Related("customers", "customer")
    assert [(table.name, table.parent) for table in tables[1:]] == [("orders", "customers"), ("lines", "orders")]
    assert others == ["shops"]
    with pytest.raises(SourceError, match="do not tell which of the tables"):
        related({"one": ["x", "y"], "two": ["p", "q"]})
