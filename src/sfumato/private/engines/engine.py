"""What an engine is: it keeps the rows of a release somewhere, and gives back exact integers."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from sfumato.private.engines.task import Task, Texts
from sfumato.private.intake.sensitive import Sensitive
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.sums import Sums
from sfumato.private.rows.batches import Piece
from sfumato.private.rows.row_alone import RowMap
from sfumato.public.plan.doors import GroupOf, PerRecord
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Batch, Schema


class Rows(Protocol):
    """The rows of one release, wherever they are kept."""

    rows: int
    public: Batch
    remarks: list[str]

    def row_map(self, per_record: PerRecord, *, most_rows: int = ...) -> RowMap:
        """A map, tried on public rows."""
        ...

    def prepare(self, name: str, per_record: GroupOf) -> object:
        """Add a column that is computed from each row alone."""
        ...

    def reduced(self, task: Task, row_map: RowMap) -> Sums:
        """The exact sums of a task over all rows; `row_map` is its map, tried here."""
        ...

    def texts(self, names: Sequence[str]) -> Texts:
        """How often each text of some columns occurs."""
        ...

    def __iter__(self) -> Iterator[Piece]:
        """All rows, here: for doors that need them in one place."""
        ...

    def close(self) -> None:
        """Forget the rows."""
        ...


class Engine(Protocol):
    """A way to keep rows. Nothing but this knows which one runs."""

    def open(self, data: Sensitive, *, schema: Schema, plan: Plan, primitives: Primitives) -> Rows:
        """The rows of a dataset, for the steps of a plan."""
        ...
