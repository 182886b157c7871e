"""Schemas that the tests share."""

from dataclasses import replace

import numpy as np

from sfumato import Column, PrivacyUnit, Schema

TABLE = Schema(
    columns=(
        Column(name="age", kind="integer", bounds=(18, 90)),
        Column(name="pressure", kind="numeric", bounds=(60, 200), missing=True),
        Column(name="region", kind="categorical", categories=("north", "south", "east"), missing=True),
        Column(name="smoker", kind="boolean"),
        Column(name="visit", kind="datetime", bounds=(1.5e9, 1.7e9)),
        Column(name="ill", kind="categorical", categories=("no", "yes")),
    ),
    target="ill",
    rows=300,
)
NO_TARGET = replace(TABLE, target=None)
REPLACE = replace(TABLE, unit=PrivacyUnit(relation="replace_one"))
PERSONS = replace(TABLE, unit=PrivacyUnit(person="patient", max_rows=3))
#: What discovery must find: two numbers and two texts of persons with several rows.
OPEN = Schema(
    columns=(
        Column(name="age", kind="integer", discover=True),
        Column(name="income", kind="numeric", discover=True),
        Column(name="town", kind="categorical", discover=True),
        Column(name="trade", kind="categorical", discover=True),
        Column(name="ill", kind="categorical", categories=("no", "yes")),
    ),
    target="ill",
    unit=PrivacyUnit(person="patient", max_rows=2),
)
IMAGES = Schema(
    columns=(
        Column(name="image", kind="image", shape=(6, 6)),
        Column(name="label", kind="categorical", categories=("a", "b", "c")),
    ),
    target="label",
    rows=300,
)


def open_rows(n_rows: int = 12_000) -> dict[str, np.ndarray]:
    """Made-up rows for OPEN: enough of each text to pass."""
    rng = np.random.default_rng(0)
    return {
        "age": rng.integers(18, 91, n_rows),
        "income": rng.lognormal(10, 1, n_rows),
        "town": rng.choice(["Pisa", "Rome", "Siena"], n_rows),
        "trade": rng.choice(["baker", "smith"], n_rows),
        "ill": rng.choice(["no", "yes"], n_rows),
        "patient": np.arange(n_rows) // OPEN.unit.max_rows,
    }


HOSPITAL_TOML = """
[dataset]
target = "died"
rows = 2000

[tables.patients]
key = "patient"

[tables.patients.columns.age]
type = "integer"
bounds = [0, 100]

[tables.patients.columns.sex]
type = "categorical"
categories = ["f", "m"]
missing = true

[tables.patients.columns.died]
type = "boolean"

[tables.visits]
parent = "patients"
order = "day"
kind = "test"
last = ["death"]
max_rows = 6

[tables.visits.columns.day]
type = "integer"
bounds = [0, 3650]

[tables.visits.columns.test]
type = "categorical"
categories = ["blood", "heart", "death"]

[tables.visits.columns.value]
type = "numeric"
bounds = [0, 100]
missing = true

[tables.bills]
parent = "patients"
parent_key = "who"
max_rows = 3

[tables.bills.columns.paid]
type = "boolean"
"""
#: Persons with two tables of events: one in order, of several sorts; and one of plain rows.
HOSPITAL = Schema.parse(HOSPITAL_TOML)


#: Visits on which tests hang, and nothing else: a person is a key.
WARD = Schema.parse("""
[dataset]
rows = 2000

[tables.patients]
key = "patient"

[tables.visits]
key = "visit"
parent = "patients"
order = "day"
max_rows = 4

[tables.visits.columns.day]
type = "integer"
bounds = [0, 365]

[tables.tests]
parent = "visits"
order = "day"
kind = "what"
max_rows = 3

[tables.tests.columns.day]
type = "integer"
bounds = [0, 365]

[tables.tests.columns.what]
type = "categorical"
categories = ["blood", "heart"]

[tables.tests.columns.value]
type = "numeric"
bounds = [0, 100]
""")
#: A table of events alone: everybody whom it names is a person.
LOG = Schema.parse("""
[dataset]
rows = 2000

[tables.log]
key = "user"
order = "time"
max_rows = 5

[tables.log.columns.time]
type = "datetime"
bounds = ["2024-01-01", "2025-01-01"]

[tables.log.columns.page]
type = "categorical"
categories = ["home", "shop", "help"]
""")
