"""Which cells can hold a value that a condition allows: for drawing rows of a part of the model."""

import numpy as np

from sfumato.mechanisms.common.arrays import Flags
from sfumato.mechanisms.common.cells import Cells
from sfumato.public.expressions.domains import FALSE, TRUE, UNKNOWN, Domain, as_some, as_span
from sfumato.public.schema.schema import Column


def cells_within(cells: Cells, domain: Domain, *, decimals: int | None = None) -> Flags:
    """True for every cell from which a released value of the domain can come, and perhaps for a neighbour of one.

    >>> from sfumato.public.expressions.domains import Span
    >>> ages = Cells(Column(name="age", kind="integer", bounds=(0, 5), missing=True))
    >>> cells_within(ages, Span(2, 3)).tolist()
    [False, False, True, True, False, False, False]
    """
    column = cells.column
    if column.is_coded:
        return codes_within(column, domain)
    span = as_span(domain)
    if cells.whole:
        values = cells.middles()
        inside = (values >= span.low) & (values <= span.high)
    else:
        slack = rounding_of(column, decimals)
        low, high = cells.ends()
        inside = (high >= span.low - slack) & (low <= span.high + slack)
    return np.append(inside, span.missing) if cells.has_missing_cell else inside


def rounding_of(column: Column, decimals: int | None = None) -> float:
    """How far a number may move when it is rounded for release."""
    steps = [10.0**-digits for digits in (column.decimals, decimals) if digits is not None]
    return max([0.0 if column.kind == "numeric" else 0.5, *steps])


def codes_within(column: Column, domain: Domain) -> Flags:
    """True for every code of a coded column that the domain holds."""
    some = as_some(domain)
    inside = np.zeros(column.size, dtype=bool)
    if column.kind == "boolean":
        codes = [{FALSE: 0, TRUE: 1, UNKNOWN: 2}[truth] for truth in some.places]
    else:
        codes = [*some.places, *([len(column.categories)] if some.missing else [])]
    inside[[code for code in codes if code < column.size]] = True
    return inside
