"""How many rows a release has: as many as were declared or its mechanism needs, as many as somebody asks for, or many.

Rows are drawn from a model, so no number of them costs budget. All that is decided here follows from the schema, from the
mechanism's settings and from the noisy number of private rows.
"""

import operator
from dataclasses import dataclass, replace
from typing import Any, Literal

from sfumato.errors import ModelError
from sfumato.mechanism import Learner
from sfumato.model import FixedModel, Model, check_row_count
from sfumato.public.plan.row_counts import Holding, Recommended, Recommending
from sfumato.public.schema.schema import Schema

#: A number of rows; `many`, as many as serve a learner best; or nothing, for as many as were declared or the mechanism needs.
AskedRows = int | Literal["many"] | None


@dataclass(frozen=True)
class PlannedRows:
    """What is known before any row is read. `default` is None where the noisy number of rows will decide."""

    default: int | None
    many: Recommended | None
    held: int | None
    is_model: bool = False
    declared: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        many = None if self.many is None or self.default is None else self.many.rows
        return {"default": self.default, "many": many, "held": self.held}

    @property
    def sentences(self) -> list[str]:
        """For a plan."""
        if self.is_model:
            return ["None: the release is a trained model, which predicts the target. See sfumato predict."]
        if self.held is not None:
            return [f"A fixed set of rows, at most {self.held:,}: more would cost more budget."]
        first = "As many as there seem to be, by a noisy count: rows is not declared."
        if self.default is not None:
            first = f"As many as declared: {self.default:,}."
        if self.many is not None and self.declared is not None and self.declared < (self.default or 0):
            first = f"{self.default:,}, more than the {self.declared:,} declared: {self.many.gain}"
        said = [f"{first} Ask for any other number with --rows N (in Python rows=N): it costs no budget."]
        if self.many is not None:
            number = "" if self.default is None else f"{self.many.rows:,}, "
            gain = "." if self.declared != self.default else f": {self.many.gain}"
            said.append(f"--rows many makes {number}as many as are recommended for training{gain}")
        return said


def planned_rows(mechanism: object, schema: Schema) -> PlannedRows:
    """How many rows a release will have."""
    if isinstance(mechanism, Learner):
        return PlannedRows(None, None, None, is_model=True)
    held = mechanism.held_rows(schema) if isinstance(mechanism, Holding) else None
    if held is not None:
        return PlannedRows(held, None, held)
    many = _many(mechanism, schema, schema.rows or 1)
    default = schema.rows if schema.rows is None or many is None else max(schema.rows, many.default)
    return PlannedRows(default, many, None, declared=schema.rows)


def rows_to_release(asked: AskedRows, *, schema: Schema, mechanism: object, model: Model) -> int:
    """How many rows to draw."""
    if asked is not None and asked != "many":
        try:
            number = operator.index(asked)
        except TypeError:
            raise ModelError(f"rows = {asked!r} must be a whole number, or 'many'.") from None
        check_row_count(number)
        return number
    if isinstance(model, FixedModel):
        return model.default_rows
    n_rows = schema.rows or model.default_rows
    many = _many(mechanism, schema, n_rows)
    if many is None:
        return n_rows
    return many.rows if asked == "many" else max(n_rows, many.default)


def _many(mechanism: object, schema: Schema, n_rows: int) -> Recommended | None:
    """What the mechanism recommends, never fewer than there are."""
    if not isinstance(mechanism, Recommending):
        return None
    found = mechanism.recommended_rows(schema, n_rows)
    return replace(found, rows=max(n_rows, found.rows))
