"""Two sets of synthetic rows that should be one: equal up to what another processor's rounding can change.

Building a model again from the same numbers and seed gives the same rows, but for the last bits of floating-point
sums, whose order differs from processor to processor. Such a bit moves a number by a rounding error, and a whole
number, a date or a category only where a draw falls within a rounding error of a threshold: hardly ever.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.model import Synthetic
from sfumato.public.schema.schema import Schema

#: Numbers this close are the same, in units of their column's bounds.
CLOSE = 1e-6
#: Pixels and soft labels are rounded when they are drawn, to 1/255 and 1/1024: one such step is a rounding error. In units
#: of the bounds: where there are fewer greys, a pixel that changes is one that differs.
ONE_STEP = 1 / 250


def share_different(a: Synthetic, b: Synthetic, schema: Schema) -> float:
    """The part of all cells in which two sets of rows differ by more than a rounding error; 1 where shapes differ.

    >>> from sfumato.public.schema.schema import Column
    >>> schema = Schema(columns=(Column(name="x", kind="numeric", bounds=(0, 100)),))
    >>> rows = [Synthetic(table=pd.DataFrame({"x": [1.0, 2.0, 3.0, third]})) for third in (4.0, 4.00001, 5.0)]
    >>> share_different(rows[0], rows[1], schema), share_different(rows[0], rows[2], schema)
    (0.0, 0.25)
    """
    pairs = _table_pairs(a, b, schema) if a.table is not None else _image_pairs(a, b, schema)
    if pairs is None:
        return 1.0
    n_cells = sum(values.size for values, _, _ in pairs)
    return sum(int(_differ(x, y, within).sum()) for x, y, within in pairs) / max(1, n_cells)


Pairs = list[tuple[NDArray[Any], NDArray[Any], float]]


def _table_pairs(a: Synthetic, b: Synthetic, schema: Schema) -> Pairs | None:
    """Columns side by side, each with how far apart equal numbers may lie; None if they are not the same columns."""
    if a.table is None or b.table is None or len(a) != len(b) or list(a.table.columns) != list(b.table.columns):
        return None
    ranges = {column.name: column.high - column.low for column in schema.columns if column.is_number}
    pairs: Pairs = []
    for name in a.table.columns:
        x, y = _plain(a.table[name]), _plain(b.table[name])
        if x.dtype.kind != y.dtype.kind or _categories(a.table[name]) != _categories(b.table[name]):
            return None
        # A mixture's entry is in units of its bounds already.
        is_fraction = str(a.table[name].dtype).startswith("float")
        pairs.append((x, y, CLOSE * ranges.get(str(name), 1.0) if is_fraction else 0.0))
    return pairs


def _categories(values: "pd.Series[Any]") -> list[Any] | None:
    """Those that no row has as well: a name among them is in the file."""
    return list(values.dtype.categories) if isinstance(values.dtype, pd.CategoricalDtype) else None


def _plain(values: "pd.Series[Any]") -> NDArray[Any]:
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.astype(object).where(values.notna(), None).to_numpy()
    if values.dtype == "boolean" or values.dtype == "Int64":
        return values.to_numpy("float64", na_value=np.nan)
    return values.to_numpy()


def _image_pairs(a: Synthetic, b: Synthetic, schema: Schema) -> Pairs | None:
    if a.classes != b.classes:
        return None
    pairs: Pairs = []
    grey = max((ONE_STEP * (column.high - column.low) for column in schema.images), default=0.0)
    arrays = ((a.images, b.images, grey), (a.labels, b.labels, 0.0), (a.soft_labels, b.soft_labels, ONE_STEP))
    for x, y, within in arrays:
        if (x is None) != (y is None):
            return None
        if x is None or y is None:
            continue
        if x.shape != y.shape or x.dtype != y.dtype:
            return None
        pairs.append((x, y, within))
    return pairs


def _differ(x: NDArray[Any], y: NDArray[Any], within: float) -> NDArray[np.bool_]:
    if x.dtype.kind not in "fiu":
        return np.asarray((x != y) & ~(pd.isna(x) & pd.isna(y)))
    left, right = x.astype(np.float64), y.astype(np.float64)
    both_absent = np.isnan(left) & np.isnan(right)
    return np.asarray(~(np.abs(left - right) <= within) & ~both_absent)
