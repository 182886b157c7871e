"""What every learner asks of a schema: a target with classes to tell apart."""

from sfumato.errors import SchemaError
from sfumato.public.schema.schema import Column, Schema


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
