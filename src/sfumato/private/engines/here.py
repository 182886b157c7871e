"""The plainest engine: this process alone."""

from collections.abc import Sequence

from sfumato.private.engines.engine import Engine
from sfumato.private.engines.task import Task, Texts, texts_of
from sfumato.private.intake.sensitive import Sensitive
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.sums import Sums
from sfumato.private.rows.prepared import PreparedRows
from sfumato.private.rows.row_alone import RowMap
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Schema


class RowsHere(PreparedRows):
    """Rows in the memory of this process, or in its scratch."""

    def __init__(self, data: Sensitive, *, schema: Schema, keep: bool, primitives: Primitives) -> None:
        """Whatever primitives the View has are those of the rows, twins too."""
        super().__init__(data, schema=schema, keep=keep)
        self._primitives = primitives

    def reduced(self, task: Task, row_map: RowMap) -> Sums:
        """The sums of a task over all rows, batch by batch."""
        return task.over(self, row_map=row_map, primitives=self._primitives)

    def texts(self, names: Sequence[str]) -> Texts:
        """How often each text of some columns occurs."""
        return texts_of(self, names)


class _Here:
    def open(self, data: Sensitive, *, schema: Schema, plan: Plan, primitives: Primitives) -> RowsHere:
        """Rows are kept if the plan passes over them more than once."""
        keep = sum(step.uses for step in plan.steps) > 1
        return RowsHere(data, schema=schema, keep=keep, primitives=primitives)


HERE: Engine = _Here()
