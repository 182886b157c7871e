"""Frames that speak Arrow: Arrow's own tables, and polars by way of them."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.frames.witnesses import witness
from sfumato.public.schema.schema import Column, Schema


@dataclass(frozen=True)
class ArrowKind:
    """The columns of a table by name, in their order."""

    types: dict[str, Any]

    def dress(self, table: pd.DataFrame, schema: Schema) -> Any:
        """The table with these types, as far as they can hold what the schema allows."""
        first = [name for name in self.types if name in table.columns]
        names = [*first, *(str(name) for name in table.columns if name not in self.types)]
        columns = {name: _typed(table[name], schema[name], self.types.get(name)) for name in names}
        return pa.table(columns)


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


def _typed(values: "pd.Series[Any]", column: Column, wanted: Any) -> Any:
    array = pa.array(values, from_pandas=True)
    if wanted is None:
        return array
    try:
        _cast(pa.array(witness(column), from_pandas=True), wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return array
    return _cast(array, wanted)


def _cast(values: Any, wanted: Any) -> Any:
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
