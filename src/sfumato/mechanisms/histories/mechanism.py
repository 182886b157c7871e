"""3A for persons with histories: a person is a row, so one person changes every sum by at most its bound.

Proof: docs/proofs/histories.md.

counts and values of events -> persons, with what is known of their events, as a table -> sorts, gaps and changes
"""

from dataclasses import dataclass, field
from typing import ClassVar

from sfumato.errors import SchemaError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.alpha import check_alpha
from sfumato.mechanisms.histories.measure import measure_histories
from sfumato.mechanisms.histories.model import HistoryModel
from sfumato.mechanisms.histories.plan import HistoryPlan
from sfumato.mechanisms.histories.settings import HistorySettings
from sfumato.mechanisms.table.model import TableModel
from sfumato.model import Model
from sfumato.public.budget import Budget
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema


@register
@dataclass(frozen=True, kw_only=True)
class ThreeATables:
    """The default where a schema has several tables.

    Args:
        alpha: Where the persons' labels come from, from faithful (0: the generator's own) to predictive (1: the corrected
            rule's), as in `3a-table`.
        settings: Every number that the method is tuned by.
    """

    name: ClassVar[str] = "3a-tables"
    takes_tables: ClassVar[bool] = True
    alpha: float = 1.0
    settings: HistorySettings = field(default_factory=HistorySettings)

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Which sums are asked for: chosen from the schema and the budget alone."""
        check_alpha(self.alpha)
        if not schema.tables:
            raise SchemaError("3a-tables is for persons with tables of events. Declare [tables.NAME], or use 3a-table.")
        return HistoryPlan(schema, budget, self.settings).steps()

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Ask the doors, each step with what the steps before it have shown."""
        return {
            "budget": view.budget,
            "fitted": measure_histories(HistoryPlan(schema, view.budget, self.settings), view),
        }

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> Model:
        """Persons and histories from noisy numbers: no row is read."""
        plan, fitted = HistoryPlan(schema, measurements["budget"], self.settings), measurements["fitted"]
        persons = TableModel(plan.persons, fitted.persons, self.alpha, self.settings.table.sampling)
        return HistoryModel(plan, fitted, persons, fitted.events).without_clip(seed=seed)
