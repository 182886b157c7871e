"""Frames of pandas: nullable numbers, categories in the schema's order, dates with their zone."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sfumato.frames.witnesses import witness
from sfumato.public.schema.schema import Column, Schema

#: What pandas raises over a type that cannot hold a value.
_CANNOT = (TypeError, ValueError, OverflowError, NotImplementedError)


@dataclass(frozen=True)
class ColumnType:
    """The type of one column. Of a categorical one the type of its categories, never they: rows may have made them."""

    label: Hashable
    dtype: Any
    ordered: bool | None = None

    @staticmethod
    def of(label: Hashable, dtype: Any) -> "ColumnType":
        """What may be kept of a type."""
        if isinstance(dtype, pd.CategoricalDtype):
            inner = object if dtype.categories is None else dtype.categories.dtype
            return ColumnType(label, inner, bool(dtype.ordered))
        return ColumnType(label, dtype)


@dataclass(frozen=True)
class PandasKind:
    """The columns of a frame by the names that a schema has for them, in their order."""

    types: dict[str, ColumnType]

    @staticmethod
    def of(frame: pd.DataFrame) -> "PandasKind":
        """The kind of a frame."""
        labels = zip(frame.columns, frame.dtypes, strict=True)
        return PandasKind({str(label): ColumnType.of(label, dtype) for label, dtype in labels})

    def dress(self, table: pd.DataFrame, schema: Schema) -> pd.DataFrame:
        """The table with the types, labels and order of the frame, as far as these can hold what the schema allows."""
        first = [name for name in self.types if name in table.columns]
        names = [*first, *(str(name) for name in table.columns if name not in self.types)]
        columns = [
            _typed(table[name], schema[name], self.types[name]) if name in self.types else table[name] for name in names
        ]
        out = pd.concat(columns, axis=1)
        out.columns = pd.Index([self.types[name].label if name in self.types else name for name in names])
        return out


def _typed(values: "pd.Series[Any]", column: Column, wanted: ColumnType) -> "pd.Series[Any]":
    dtype = _with_gaps(wanted.dtype) if column.missing else wanted.dtype
    tried = witness(column)
    try:
        held = _cast(tried, dtype, wanted.ordered)
        if not _same(held, tried):
            return values
    except _CANNOT:
        return values
    return _cast(values, dtype, wanted.ordered)


def _cast(values: "pd.Series[Any]", dtype: Any, ordered: bool | None) -> "pd.Series[Any]":
    """The values as a type that is able to hold them; the exceptions of pandas where it is not."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return _cast_categories(values, dtype, ordered)
    if ordered is not None or pd.api.types.is_string_dtype(dtype):
        raise TypeError("only a column of categories goes into texts or categories")
    if pd.api.types.is_datetime64_any_dtype(values.dtype) != pd.api.types.is_datetime64_any_dtype(dtype):
        raise TypeError("a date is no number")
    zoned = values.dt.tz_localize("UTC") if isinstance(dtype, pd.DatetimeTZDtype) else values
    return zoned.astype(dtype)


def _cast_categories(values: "pd.Series[Any]", dtype: Any, ordered: bool | None) -> "pd.Series[Any]":
    """Each category once, and then for every row: as texts, or as the numbers that the texts spell."""
    texts: Any = pd.Series(values.cat.categories.astype(object))
    named: Any = texts if pd.api.types.is_string_dtype(dtype) else pd.to_numeric(texts)
    names: Any = pd.Index(named.astype(dtype))
    codes = values.cat.codes.to_numpy()
    if ordered is not None:
        return pd.Series(pd.Categorical.from_codes(codes, names, ordered=ordered), name=values.name)
    taken = names.take(codes, allow_fill=True, fill_value=_gap(dtype))
    return pd.Series(taken, name=values.name).astype(dtype)


def _same(held: "pd.Series[Any]", tried: "pd.Series[Any]") -> bool:
    """Whether numbers survived: whole ones to the last digit, others up to the width of a float."""
    if not pd.api.types.is_numeric_dtype(tried.dtype):
        return True
    was, now = (values.to_numpy(dtype=np.float64, na_value=np.nan) for values in (tried, held))
    close = 1e-6 * np.nanmax(np.abs(was)) if pd.api.types.is_float_dtype(held.dtype) else 0.0
    return bool(np.allclose(was, now, rtol=0.0, atol=close, equal_nan=True))


def _with_gaps(dtype: Any) -> Any:
    """A type for whole numbers or truth that has room for missing ones."""
    if isinstance(dtype, np.dtype) and dtype.kind in "iub":
        return pd.Series([], dtype=dtype).convert_dtypes().dtype
    return dtype


def _gap(dtype: Any) -> Any:
    return None if dtype is object or dtype == np.dtype(object) else getattr(dtype, "na_value", np.nan)
