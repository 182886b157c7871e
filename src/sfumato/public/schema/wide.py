"""Which tables are wide: rows of numbers, too many to count column by column, and few enough for all their products."""

from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Schema

#: Second moments of more entries would take too long and say too little.
MOST_ENTRIES = 2_048
_MOST_CLASSES = 32
_MORE_NUMBERS_THAN = 100
#: Classes are many, and have few rows each.
_MANY_CLASSES, _FEW_ROWS = 16, 64
_SEVERAL_NUMBERS = 20


def is_wide(schema: Schema) -> bool:
    """Whether moments of whole rows serve better than tables of single columns: by public facts alone.

    More than a hundred columns are numbers, and these are at least four fifths of all; classes are few, if there are any.
    Where categories are still to be discovered nobody knows how many entries a row will have: such a table is not wide.
    """
    target = schema.target_column
    few_classes = target is None or (target.is_coded and target.size <= _MOST_CLASSES)
    return few_classes and _has_numbers(schema, more_than=_MORE_NUMBERS_THAN)


def has_few_rows_each(schema: Schema) -> bool:
    """Whether classes are so many, and have so few rows, that counts by class are noise: the declared rows say so.

    The mean of a class is then what can be measured of it, and only of rows of numbers.
    """
    target = schema.target_column
    if target is None or not target.is_coded or target.discover or schema.rows is None or target.size < _MANY_CLASSES:
        return False
    return schema.rows <= _FEW_ROWS * target.size and _has_numbers(schema, more_than=_SEVERAL_NUMBERS)


def _has_numbers(schema: Schema, *, more_than: int) -> bool:
    """Whether more columns than this are numbers, at least four fifths of all, and moments of the rows can be measured."""
    numbers = sum(c.is_number for c in schema.features)
    if numbers <= more_than or 5 * numbers < 4 * len(schema.features) or schema.images:
        return False
    is_known = not any(column.discover and column.is_coded for column in schema.features)
    return is_known and Encoder(schema.features).width <= MOST_ENTRIES
