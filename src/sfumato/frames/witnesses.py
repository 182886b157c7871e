"""A few rows that show all that a column may hold: what they survive, every row of the column survives."""

from typing import Any

import numpy as np
import pandas as pd

from sfumato.public.schema.schema import Column

_INNER = 0.3819660112501051  # a place between the bounds that is no round number


def witness(column: Column) -> "pd.Series[Any]":
    """Every category, or both bounds and a number between them; and a gap where values may be missing.

    >>> witness(Column(name="age", kind="integer", bounds=(0, 100))).tolist()
    [0, 100, 38]
    """
    if column.is_coded:
        return column.decode(np.arange(column.size))
    inner = column.low + _INNER * (column.high - column.low)
    gap = [np.nan] if column.missing else []
    return column.decode(np.array([column.low, column.high, inner, *gap]))
