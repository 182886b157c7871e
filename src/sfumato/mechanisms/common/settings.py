"""Settings and schemas that several mechanisms check alike."""

import math

import numpy as np

from sfumato.errors import PlanError, SchemaError
from sfumato.public.schema.schema import Column, Schema

#: Adam takes first steps of up to ten times its rate; a further ten, so that nobody has to know that.
_MOST_SINGLE = float(np.finfo(np.float32).max) / 100


def require_positive(**settings: float | None) -> None:
    """Refuse settings that must be above 0, by their names; None is left to the mechanism."""
    for name, value in settings.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise PlanError(f"{name} = {value} must be above 0.")


def rows_needed(schema: Schema, *, what: str, why: str = "to choose its sampling rate") -> int:
    """The declared number of rows, for a mechanism that cannot do without."""
    if schema.rows is None:
        raise PlanError(
            f"{what} needs the approximate, public number of rows {why}. "
            "Set rows = N under [dataset] in schema.toml; it need not be exact."
        )
    return schema.rows


def sampling_rate(schema: Schema, *, batch: int, what: str) -> float:
    """The chance of a row to take part in a step of about so many rows."""
    return min(1.0, batch / rows_needed(schema, what=what))


def require_single_precision(**settings: float) -> None:
    """Refuse settings that are too large for a network whose weights are float32, by their names."""
    for name, value in settings.items():
        if value > _MOST_SINGLE:
            raise PlanError(f"{name} = {value:g} is too large: weights are numbers of single precision.")


def require_classes(schema: Schema, learner: str) -> Column:
    """The target, where it has at least two classes."""
    column = schema.target_column
    if column is None:
        raise SchemaError(f'{learner} needs a target to predict. Set target = "NAME" under [dataset] in schema.toml.')
    if not column.is_coded:
        raise SchemaError(
            f"target {column.name!r} is {column.kind}, and {learner} tells classes apart: it needs a categorical, ordinal or "
            "boolean one."
        )
    if column.size < 2:
        raise SchemaError(f"target {column.name!r} has one class alone, so {learner} has nothing to tell apart.")
    return column
