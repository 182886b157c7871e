"""Two products that should be one: equal, equal but for a processor's rounding, near, or different.

Building again from the same integers and seed repeats every operation, but another processor may add in another order or use
another library's logarithm. docs/proofs/rebuilt-rows.md derives how far that moves a number that nothing amplifies: less than
2^-30 of its bounds, and nothing that is a word, a date or a whole number.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.model import Synthetic, Weights
from sfumato.public.schema.schema import Column, Schema

#: Rounding, in units of a column's bounds: sums of up to 2^21 numbers in float64 in any order; once more for float32.
ROUNDING, ROUNDING_OF_SINGLE = 2.0**-30, 2.0**-22
#: Near, but more than rounding: what solvers and training make of it. In units of the bounds; of an array's largest weight.
NEAR, NEAR_WEIGHT = 1e-6, 1e-3
#: Pixels and soft labels are rounded when they are drawn, to 1/255 and 1/1024: near is one such step. Fewer greys have none.
ONE_STEP = 1 / 250


@dataclass(frozen=True)
class Difference:
    """How two products differ."""

    cells: int  # all of them
    beyond_rounding: int  # cells that differ by more than rounding
    units: int  # all rows, pictures or weights
    far: int  # units with a cell that is not even near

    def __add__(self, other: "Difference") -> "Difference":
        """Of these units and of others."""
        return Difference(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def share(self) -> float:
        """The part of the cells that differ by more than rounding."""
        return self.beyond_rounding / max(1, self.cells)


@dataclass(frozen=True)
class _Pair:
    """Two arrays of as many units each, and how far apart two of their numbers are for rounding, or near."""

    x: NDArray[Any]
    y: NDArray[Any]
    rounding: float = 0.0
    near: float = 0.0

    def apart(self, within: float) -> NDArray[np.bool_]:
        x, y = self.x, self.y
        if x.dtype.kind not in "fiu":
            return np.asarray((x != y) & ~(pd.isna(x) & pd.isna(y)))
        if x.dtype.kind != "f":
            return np.asarray(np.abs(x.astype(np.int64) - y.astype(np.int64)) > within)
        left, right = x.astype(np.float64), y.astype(np.float64)
        with np.errstate(invalid="ignore"):  # an infinite number less itself: it is no release's, and never within
            return np.asarray(~(np.abs(left - right) <= within) & ~(np.isnan(left) & np.isnan(right)))


def rows_differ(a: Synthetic, b: Synthetic, schema: Schema) -> Difference:
    """How two sets of rows differ; all of them where their shapes or columns do.

    >>> from sfumato.public.schema.schema import Column
    >>> schema = Schema(columns=(Column(name="x", kind="numeric", bounds=(0, 100)),))
    >>> rows = [Synthetic(table=pd.DataFrame({"x": [1.0, 2.0, 3.0, last]})) for last in (4.0, 4 + 1e-8, 4 + 1e-6, 5.0)]
    >>> [(d.beyond_rounding, d.far) for d in (rows_differ(rows[0], other, schema) for other in rows)]
    [(0, 0), (0, 0), (1, 0), (1, 1)]
    """
    if a.table is None:
        return _difference(_image_pairs(a, b, schema), units=len(a))
    difference = _difference(_table_pairs(a.table, b.table, schema.released), units=len(a))
    for table in schema.tables:
        one, two = a.tables.get(table.name), b.tables.get(table.name)
        difference += _difference(_table_pairs(one, two, table.columns), units=0 if one is None else len(one))
    return difference


def weights_differ(a: Weights, b: Weights) -> Difference:
    """How the weights of two models differ; all of them where their shapes do.

    >>> found = weights_differ({"w": np.array([1.0, 2.0])}, {"w": np.array([1.0, 2.1])})
    >>> found.far, found.share
    (1, 0.5)
    """
    units = sum(values.size for values in a.values())
    if list(a) != list(b) or any(a[name].shape != b[name].shape or a[name].dtype != b[name].dtype for name in a):
        return _difference(None, units=units)
    pairs = []
    for name, values in a.items():
        largest = float(np.abs(values).max(initial=0.0)) if values.dtype.kind == "f" else 0.0
        pairs.append(_Pair(values.ravel(), b[name].ravel(), _rounding(values.dtype) * largest, NEAR_WEIGHT * largest))
    beyond = sum(int(pair.apart(pair.rounding).sum()) for pair in pairs)
    return Difference(units, beyond, units, far=sum(int(pair.apart(pair.near).sum()) for pair in pairs))


def _difference(pairs: list[_Pair] | None, *, units: int) -> Difference:
    """The first axis of every pair is the same rows."""
    if pairs is None:
        return Difference(max(1, units), max(1, units), units, max(1, units))
    far = np.zeros(units, dtype=bool)
    for pair in pairs:
        far |= pair.apart(pair.near).reshape(units, -1).any(axis=1)
    beyond = sum(int(pair.apart(pair.rounding).sum()) for pair in pairs)
    return Difference(sum(pair.x.size for pair in pairs), beyond, units, int(far.sum()))


def _rounding(kind: np.dtype[Any]) -> float:
    """Of whole numbers none, whatever bits they have."""
    return 0.0 if kind.kind != "f" else ROUNDING if kind.itemsize == 8 else ROUNDING_OF_SINGLE


def _table_pairs(a: pd.DataFrame | None, b: pd.DataFrame | None, columns: Sequence[Column]) -> list[_Pair] | None:
    """Columns side by side; None if they are not the same columns."""
    if a is None or b is None or len(a) != len(b) or list(a.columns) != list(b.columns):
        return None
    ranges = {column.name: column.high - column.low for column in columns if column.is_number}
    pairs = []
    for name in a.columns:
        x, y = _plain(a[name]), _plain(b[name])
        if a[name].dtype != b[name].dtype or _categories(a[name]) != _categories(b[name]):
            return None
        is_fraction = x.dtype.kind == "f" and str(a[name].dtype).startswith("float")
        # A mixture's entry is in units of its bounds already.
        width = ranges.get(str(name), 1.0) if is_fraction else 0.0
        pairs.append(_Pair(x, y, _rounding(x.dtype) * width, NEAR * width))
    return pairs


def _categories(values: "pd.Series[Any]") -> list[Any] | None:
    """Those that no row has as well: a name among them is in the file."""
    return list(values.dtype.categories) if isinstance(values.dtype, pd.CategoricalDtype) else None


def _plain(values: "pd.Series[Any]") -> NDArray[Any]:
    if isinstance(values.dtype, pd.CategoricalDtype) or values.dtype in ("boolean", "Int64"):
        return values.astype(object).where(values.notna(), None).to_numpy()
    return values.to_numpy()


def _image_pairs(a: Synthetic, b: Synthetic, schema: Schema) -> list[_Pair] | None:
    if a.classes != b.classes:
        return None
    pairs = []
    grey = max((column.high - column.low for column in schema.images), default=1.0)
    for x, y, width, step in (
        (a.images, b.images, grey, ONE_STEP),
        (a.labels, b.labels, 1.0, 0.0),
        (a.soft_labels, b.soft_labels, 1.0, ONE_STEP),
    ):
        if x is None and y is None:
            continue
        if x is None or y is None or x.shape != y.shape or x.dtype != y.dtype:
            return None
        pairs.append(_Pair(x, y, _rounding(x.dtype) * width, step * width))
    return pairs
