"""Released rows as mechanisms see rows: the way back from `Schema.decode`."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Schema


def encoded(table: pd.DataFrame, schema: Schema) -> dict[str, NDArray[np.generic]]:
    """Every column of a released table, encoded."""
    return {column.name: _encoded(table[column.name], column) for column in schema.columns}


def _encoded(values: "pd.Series[Any]", column: Column) -> NDArray[np.generic]:
    if column.kind == "boolean":
        plain = values.astype("boolean")
        return np.where(plain.isna(), 2, plain.fillna(False).astype(np.int64)).astype(np.int64)
    if column.is_coded:
        codes = pd.Categorical(values.astype(object), categories=list(column.categories)).codes.astype(np.int64)
        return np.where(codes < 0, column.size - 1, codes)
    if column.kind == "datetime":
        moments = pd.to_datetime(values)
        seconds = moments.to_numpy(dtype="datetime64[s]").astype(np.int64).astype(np.float64)
        return np.where(moments.isna(), np.nan, seconds)
    if column.kind == "time":
        return column.encode(values)
    numbers = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isin(numbers, column.special), np.nan, numbers) if column.special else numbers
