"""Which kind of frame came in, so that synthetic rows can go out as the same.

All that is kept of the data are the names and types of its columns. Mind that these may follow from rows: pandas reads whole
numbers with one gap as floats. So a frame in memory is its maker's; what is handed on is written by `release`, and has
the types that the schema gives it.
"""

from typing import Any, Protocol

import pandas as pd
import pyarrow as pa

from sfumato.frames.arrow_kind import ArrowKind, PolarsKind
from sfumato.frames.pandas_kind import PandasKind
from sfumato.public.schema.schema import Schema


class FrameKind(Protocol):
    """Names and types of a frame, without its rows."""

    def dress(self, table: pd.DataFrame, schema: Schema) -> Any:
        """A table of the schema as a frame of this kind."""
        ...


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
