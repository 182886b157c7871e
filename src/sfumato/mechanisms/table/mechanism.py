"""3A for tables: approximate by noisy tables of bins, adapt the labels by a noisy teacher, anonymise by the doors.

Proof: docs/proofs/three-a-table.md. Where the constants come from: docs/research/constants.md.
"""

from dataclasses import dataclass
from typing import ClassVar

from sfumato.errors import SchemaError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.alpha import check_alpha
from sfumato.mechanisms.table.explain import outline_table
from sfumato.mechanisms.table.method import measure_table
from sfumato.mechanisms.table.model import TableModel
from sfumato.mechanisms.table.plan import Blueprint
from sfumato.mechanisms.table.readings import table_readings, wide_readings
from sfumato.mechanisms.table.wide_path.method import Wide, is_wide
from sfumato.model import Model
from sfumato.public.budget import Budget
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.outline import Outline
from sfumato.public.plan.reading import Reading
from sfumato.public.plan.row_counts import Recommended
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema

#: Rows to train on: so many for each private one, up to so many in all.
_FOR_EACH, _MANY = 8, 300_000
_GAIN = (
    "labels are drawn by chance, which averages out. On the benchmarks a learner gained up to .033 of AUC by it, most where "
    "a class is rare and categories are many."
)


@register
@dataclass(frozen=True, kw_only=True)
class ThreeATable:
    """The default for tables.

    Args:
        alpha: Where labels come from, from faithful (0: the generator's own) to predictive (1: the teacher's).
    """

    name: ClassVar[str] = "3a-table"
    alpha: float = 1.0

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Which sums are asked for: chosen from the schema and the budget alone."""
        check_alpha(self.alpha)
        if schema.images:
            raise SchemaError("3a-table is for tables. Use a mechanism for images.")
        return Wide(schema).steps() if is_wide(schema) else Blueprint(schema, budget).steps()

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Ask the doors, each step with what the steps before it have shown."""
        if is_wide(schema):
            return Wide(schema).measure(view)
        return {"fitted": measure_table(Blueprint(schema, view.budget), view)}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> Model:
        """Fit the generator to the noisy tables and give it its labels: no row is read."""
        if is_wide(schema):
            return Wide(schema).build(measurements, alpha=self.alpha)
        return TableModel(schema, measurements["fitted"], self.alpha)

    def readings(self, schema: Schema) -> tuple[Reading, ...]:
        """What the noise means for each column."""
        return wide_readings(schema) if is_wide(schema) else table_readings(schema)

    def recommended_rows(self, schema: Schema, n_rows: int) -> Recommended:
        """Several for each private row where these are few: labels are drawn by chance, and more rows average it out."""
        rows = max(n_rows, min(_FOR_EACH * n_rows, _MANY))
        return Recommended(rows, _GAIN)

    def outline(self, schema: Schema, budget: Budget) -> Outline:
        """The path that a table takes, and what is left out on it."""
        return outline_table(schema, budget)
