"""Which tables are wide: rows of numbers, too many to count column by column, and few enough for all their products."""

from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Schema

#: Second moments of more entries would take too long and say too little.
MOST_ENTRIES = 2_048
_MOST_CLASSES = 32
_MORE_NUMBERS_THAN = 100


def is_wide(schema: Schema) -> bool:
    """Whether moments of whole rows serve better than tables of single columns: by public facts alone.

    More than a hundred columns are numbers, and these are at least four fifths of all; classes are few, if there are any.
    Where categories are still to be discovered nobody knows how many entries a row will have: such a table is not wide.
    """
    numbers, target = sum(c.is_number for c in schema.features), schema.target_column
    few_classes = target is None or (target.is_coded and target.size <= _MOST_CLASSES)
    if numbers <= _MORE_NUMBERS_THAN or 5 * numbers < 4 * len(schema.features) or not few_classes:
        return False
    is_known = not any(column.discover and column.is_coded for column in schema.features)
    return is_known and Encoder(schema.features).width <= MOST_ENTRIES
