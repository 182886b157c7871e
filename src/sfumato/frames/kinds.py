"""Which kind of frame came in, so that synthetic rows can go out as the same.

All that is kept of the data are the names and types of its columns. Mind that these may follow from rows: pandas reads whole
numbers with one gap as floats. So a frame in memory is its maker's; what is handed on is written by `release`, and has
the types that the schema gives it. Frames of pandas have nullable numbers, categories in the schema's order, dates with their zone;
Arrow's own tables, and polars by way of them, speak Arrow.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.public.schema.clock import DAY
from sfumato.public.schema.schema import Column, Schema

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
        names, types = _in_order(self.types, table), self.types
        held = {column.name: column for column in schema.released}  # keys are texts that no column stands for
        known = {
            name: _typed_pandas(table[name], held[name], types[name])
            for name in names
            if name in types and name in held
        }
        out = pd.concat([known.get(name, table[name]) for name in names], axis=1)
        out.columns = pd.Index([types[name].label if name in types else name for name in names])
        return out


def _in_order(types: Mapping[str, Any], table: pd.DataFrame) -> list[str]:
    """The columns that the frame had, then the others."""
    first = [name for name in types if name in table.columns]
    return [*first, *(str(name) for name in table.columns if name not in types)]


def _typed_pandas(values: "pd.Series[Any]", column: Column, wanted: ColumnType) -> "pd.Series[Any]":
    dtype = _with_gaps(wanted.dtype) if column.missing else wanted.dtype
    tried = witness(column)
    try:
        held = _cast_pandas(tried, dtype, wanted.ordered)
        if not _same(held, tried):
            return values
    except _CANNOT:
        return values
    return _cast_pandas(values, dtype, wanted.ordered)


def _cast_pandas(values: "pd.Series[Any]", dtype: Any, ordered: bool | None) -> "pd.Series[Any]":
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


@dataclass(frozen=True)
class ArrowKind:
    """The columns of a table by name, in their order."""

    types: dict[str, Any]

    def dress(self, table: pd.DataFrame, schema: Schema) -> Any:
        """The table with these types, as far as they can hold what the schema allows."""
        names = _in_order(self.types, table)
        held = {column.name: column for column in schema.released}
        return pa.table({name: _typed_arrow(table[name], held.get(name), self.types.get(name)) for name in names})


@dataclass(frozen=True)
class PolarsKind:
    """The same for a frame of polars. Its enumerations have the schema's categories."""

    arrow: ArrowKind
    enumerated: frozenset[str]

    @staticmethod
    def of(frame: Any) -> "PolarsKind":
        """The kind of a frame: of its first no rows, so that none is copied."""
        import polars  # is there: it made the frame

        head = pa.table(frame.head(0))
        enumerated = frozenset(name for name, kind in frame.schema.items() if isinstance(kind, polars.Enum))
        return PolarsKind(ArrowKind(dict(zip(head.schema.names, head.schema.types, strict=True))), enumerated)

    def dress(self, table: pd.DataFrame, schema: Schema) -> Any:
        """The table as a frame of polars."""
        import polars

        frame: Any = polars.from_arrow(self.arrow.dress(table, schema))
        coded = [column for column in schema.columns if column.name in self.enumerated and column.categories]
        return frame.cast({column.name: polars.Enum(list(column.categories)) for column in coded})


def _typed_arrow(values: "pd.Series[Any]", column: Column | None, wanted: Any) -> Any:
    array = pa.array(values, from_pandas=True)
    if wanted is None or column is None:
        return array
    if column.kind == "time" and pa.types.is_time(wanted):
        seconds = np.mod(column.encode(values), DAY)
        ticks = pa.array(np.nan_to_num(seconds).astype(np.int32), mask=np.isnan(seconds))
        return ticks.cast(pa.time32("s")).cast(wanted)
    try:
        _cast_arrow(pa.array(witness(column), from_pandas=True), wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return array
    return _cast_arrow(array, wanted)


def _cast_arrow(values: Any, wanted: Any) -> Any:
    """The values as a type that is able to hold them; the exceptions of Arrow where it is not."""
    coded = isinstance(values, pa.DictionaryArray)
    if pa.types.is_dictionary(wanted):
        if not coded:
            raise pa.ArrowInvalid("only a column of categories goes into a dictionary")
        names = values.dictionary.cast(wanted.value_type)
        return pa.DictionaryArray.from_arrays(values.indices.cast(wanted.index_type), names, ordered=wanted.ordered)
    if coded:
        values = values.dictionary_decode()
    elif pa.types.is_string(wanted) or pa.types.is_large_string(wanted) or pa.types.is_string_view(wanted):
        raise pa.ArrowInvalid("only a column of categories goes into texts")
    return pc.cast(values, wanted, safe=not pa.types.is_date(wanted))


class FrameKind(Protocol):
    """Names and types of a frame, without its rows."""

    def dress(self, table: pd.DataFrame, schema: Schema) -> Any:
        """A table of the schema as a frame of this kind."""


def kind_of(data: Any) -> FrameKind:
    """The kind of some data: pandas where it is no frame at all.

    >>> kind_of(pd.DataFrame({"age": [41]}))
    PandasKind(types={'age': ColumnType(label='age', dtype=dtype('int64'), ordered=None)})
    >>> kind_of("patients.csv")
    PandasKind(types={})
    """
    if isinstance(data, pd.DataFrame):
        return PandasKind.of(data)
    if isinstance(data, pa.Table):
        return ArrowKind(dict(zip(data.schema.names, data.schema.types, strict=True)))
    if type(data).__module__.partition(".")[0] == "polars" and hasattr(data, "__arrow_c_stream__"):
        return PolarsKind.of(data)
    return PandasKind({})
