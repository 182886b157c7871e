"""What a mechanism is audited on where nothing else is said: one public schema for tables, and one for images."""

from dataclasses import replace

from sfumato.errors import PlanError, SfumatoError
from sfumato.mechanism import Mechanism
from sfumato.public.budget import Budget, PrivacyUnit
from sfumato.public.schema.schema import Column, Schema

ROWS = 60_000
_DIGITS = Column(name="digit", kind="categorical", categories=tuple("0123456789"))
IMAGES = Schema(
    columns=(Column(name="image", kind="image", shape=(28, 28), bounds=(0, 255)), _DIGITS), target="digit", rows=ROWS
)
TABLE = Schema(
    columns=(
        Column(name="age", kind="numeric", bounds=(0, 100)),
        Column(name="hours", kind="integer", bounds=(0, 80)),
        Column(name="town", kind="categorical", categories=("Pisa", "Rome", "Siena")),
        Column(name="ill", kind="boolean"),
    ),
    target="ill",
    rows=ROWS,
)


def schema_for(mechanism: Mechanism, budget: Budget) -> Schema:
    """The first of these that the mechanism takes, under the first relation that it can keep."""
    refusal: SfumatoError | None = None
    for schema in (IMAGES, TABLE):
        for relation in ("add_or_remove", "replace_one"):
            asked = replace(schema, unit=PrivacyUnit(relation=relation))
            try:
                for step in mechanism.steps(asked, budget):
                    step.event(noise_multiplier=1.0, unit=asked.unit)
            except SfumatoError as error:
                refusal = refusal or error
            else:
                return asked
    raise PlanError(f"{mechanism.name} takes neither of the schemas that audits know. Give --schema. ({refusal})")
