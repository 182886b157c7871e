"""What a baseline is: it reads real rows and gives back a model. Nothing of it passes a door, and nothing is promised."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from sfumato.errors import SchemaError, SourceError
from sfumato.model import Model, Synthetic
from sfumato.outlook.row_counts import AskedRows, rows_to_release
from sfumato.pieces import draw_pieces, joined
from sfumato.private.intake.conforming import conform
from sfumato.private.intake.sources import open_source
from sfumato.public.budget import PrivacyUnit
from sfumato.public.schema.schema import Batch, Schema, n_rows_of

_ROWS_AT_ONCE = 65_536


@dataclass(frozen=True)
class FittedBaseline:
    """A model that has seen private rows as they are, and what it says of itself. Never hand it on as private."""

    baseline: "Baseline"
    schema: Schema
    seed: int
    model: Model = field(repr=False)
    notes: tuple[str, ...] = ()

    def sample(self, rows: AskedRows = None, *, seed: int | None = None) -> Synthetic:
        """Rows of the model, as many as asked for, else as many as are declared, else as there are."""
        n_rows = rows_to_release(rows, schema=self.schema, mechanism=self.baseline, model=self.model)
        return joined(draw_pieces(self.model, n_rows, schema=self.schema, seed=self.seed if seed is None else seed))


@runtime_checkable
class Baseline(Protocol):
    """A frozen dataclass of settings with one method."""

    name: ClassVar[str]

    def check(self, schema: Schema) -> None:
        """Refuse what it cannot do, before any row is read."""

    def fit(
        self, data: Any, schema: Schema, *, seed: int = 0, on_step: Callable[[str], None] = lambda name: None
    ) -> FittedBaseline:
        """Learn from real rows, WITHOUT privacy."""


def read_rows(data: Any, schema: Schema) -> Batch:
    """All rows in memory, encoded, and WITHOUT privacy: for baselines alone."""
    if schema.unknown:
        raise SchemaError(
            f"column {schema.unknown[0].name!r} is left for a private discovery, which a baseline has not. "
            "Write its bounds or categories into the schema."
        )
    # Whose the rows are is nothing to a baseline, and made-up rows are nobody's.
    schema = replace(schema, unit=PrivacyUnit())
    names = [column.name for column in schema.columns]
    chunks = [conform(raw, schema) for raw in open_source(data, schema).chunks(names, rows=_ROWS_AT_ONCE)]
    batch = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in names} if chunks else {}
    if not batch or not n_rows_of(batch):
        raise SourceError("there are no rows to learn from.")
    return batch
