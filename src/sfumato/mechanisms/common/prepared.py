"""Columns that mechanisms compute once for all later doors. Their names have a space in front, as no column of a table has."""

import numpy as np
from numpy.typing import NDArray

from sfumato.public.schema.schema import Batch

#: A row as a point; the same among the leading directions alone.
VECTOR, PLACE = " vector", " place"
#: What a teacher sees of a row.
INPUTS = " inputs"
#: A row of a table: the cell and the bin of each column, and what a rule says of it.
CODES, BINS, RULE = " codes", " bins", " rule"


def whole_numbers(prepared: NDArray[np.float32]) -> NDArray[np.int64]:
    """Prepared codes, which no row has below 0; what is not a number is the first one."""
    return np.fmax(prepared, 0).astype(np.int64)


def bins_and_labels(batch: Batch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The prepared bins of each row, and its class."""
    prepared = whole_numbers(batch[BINS])
    return prepared[:, :-1], prepared[:, -1]
