"""Schemas that the tests share."""

from dataclasses import replace

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
IMAGES = Schema(
    columns=(
        Column(name="image", kind="image", shape=(6, 6)),
        Column(name="label", kind="categorical", categories=("a", "b", "c")),
    ),
    target="label",
    rows=300,
)
