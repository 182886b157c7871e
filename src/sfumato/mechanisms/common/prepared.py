"""Columns that mechanisms compute once for all later doors. Their names have a space in front, as no column of a table has."""

import numpy as np

from sfumato.mechanisms.common.arrays import Integers, Singles
from sfumato.mechanisms.common.compiled import not_below_zero
from sfumato.public.schema.schema import Batch

#: A row as a point; the same among the leading directions alone.
VECTOR, PLACE = " vector", " place"
#: What a teacher sees of a row.
INPUTS = " inputs"
#: A row of a table: the cell and the bin of each column, and what a rule says of it.
CODES, BINS, RULE = " codes", " bins", " rule"


def whole_numbers(prepared: Singles) -> Integers:
    """Prepared codes, which no row has below 0; what is not a number is the first one."""
    return np.asarray(not_below_zero(prepared))


def bins_and_labels(batch: Batch) -> tuple[Integers, Integers]:
    """The prepared bins of each row, and its class."""
    prepared = batch[BINS]
    return whole_numbers(prepared[:, :-1]), whole_numbers(prepared[:, -1:])[:, 0]
