"""What warnings need to know of the synthetic rows, counted piece by piece."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.model import FixedModel, Model, Synthetic
from sfumato.public.schema.schema import Column, Schema

#: Places of a range that numbers are counted in. Values that cannot be read are put at the very middle: a release has them
#: there, or all above it in one part of a histogram; values that merely lie about the middle are on both sides of it.
PLACES = ("lower", "upper", "middle", "middle")
#: How near to a place a number lies in it. Long tails make many columns lie near their lower bound, and hardly any near the upper.
_NEAR_LOWER, _NEAR_UPPER, _EXACT, _PART = 0.01, 1 / 32, 1 / 1024, 1 / 32


@dataclass(frozen=True)
class ColumnTally:
    """Rows of one column: of each code, the missing one last, or of numbers in each of `PLACES`."""

    values: NDArray[np.int64]
    known: int
    missing: int

    def __add__(self, other: "ColumnTally") -> "ColumnTally":
        return ColumnTally(self.values + other.values, self.known + other.known, self.missing + other.missing)


@dataclass
class Tally:
    """Counts of the rows of a model. Those of a fixed one are mixtures or summaries: their shares are not those of the data."""

    schema: Schema
    model: Model = field(repr=False)
    n_rows: int = 0
    classes: NDArray[np.int64] | None = None  # rows of each class, the missing one last
    columns: dict[str, ColumnTally] = field(default_factory=dict)  # of tables

    def passing(self, pieces: Iterable[Synthetic]) -> Iterator[Synthetic]:
        """The pieces as they are, each counted when its turn comes."""
        for piece in pieces:
            self.add(piece)
            yield piece

    def add(self, piece: Synthetic) -> None:
        """Count some more rows."""
        self.n_rows += len(piece)
        if isinstance(self.model, FixedModel):
            return
        table, target = piece.table, self.schema.target_column
        for column in self.schema.columns:
            if table is not None and column.name in table:
                counted = (_codes if column.is_coded else _places)(table[column.name], column)
                before = self.columns.get(column.name)
                self.columns[column.name] = counted if before is None else before + counted
        if target is not None and target.is_coded and target.name in self.columns:
            self.classes = self.columns[target.name].values
        elif target is not None and piece.labels is not None:
            rows = np.bincount(piece.labels, minlength=len(piece.classes))
            self.classes = rows if self.classes is None else self.classes + rows


def _codes(values: "pd.Series[Any]", column: Column) -> ColumnTally:
    found = values.value_counts().to_dict()
    counts = [int(found.get(word, 0)) for word in column.written]
    missing = int(values.isna().sum())
    return ColumnTally(np.array([*counts, len(values) - sum(counts)]), len(values) - missing, missing)


def _places(values: "pd.Series[Any]", column: Column) -> ColumnTally:
    known = values.dropna()
    if column.kind == "time":
        known = pd.Series(column.encode(known))
    missing = len(values) - len(known)
    known = known if column.special_as is None else known[known != column.special_as]
    if column.kind == "datetime":
        known = (known - pd.Timestamp(0)) / pd.Timedelta(seconds=1)
    at = (known.to_numpy(dtype=np.float64) - column.low) / (column.high - column.low)
    above = (at >= 0.5) & (at <= 0.5 + _PART)
    near = (at <= _NEAR_LOWER, at >= 1 - _NEAR_UPPER, np.abs(at - 0.5) <= _EXACT, above)
    return ColumnTally(np.array([there.sum() for there in near]), len(known), missing)
