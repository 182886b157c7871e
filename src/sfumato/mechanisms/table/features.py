"""What is modelled: the columns of the table, with the booleans of a one-hot group as the one category that they spell out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.cells import Cells
from sfumato.mechanisms.table.rhythm import rhythm_code, rhythms_of
from sfumato.public.schema import Batch, Column

#: What follows the stem of a name: a number, or the last word.
_ENDING = re.compile(r"([_ .=-][^_ .=-]*|\d+)$")
_SMALLEST_GROUP = 3

#: Nearly all rows must have exactly one of a group, or it is none.
_EXACTLY_ONE = 0.95


@dataclass(frozen=True)
class Feature:
    """A column; or, with `members`, the category of which each member is one value (the last value: none or several).

    With `date`, a rhythm of that column.
    """

    cells: Cells
    members: tuple[str, ...] = ()
    date: str | None = None
    rhythm: str = ""

    def code(self, batch: Batch) -> NDArray[np.int64]:
        """The cell of each row."""
        if self.date is not None:
            return self.cells.code(rhythm_code(self.rhythm, batch[self.date].astype(np.float64)))
        if not self.members:
            return self.cells.code(batch[self.cells.column.name])
        return one_of(self.members, batch)

    def numbers(self, batch: Batch) -> NDArray[np.float64]:
        """The values of a column of numbers."""
        return batch[self.cells.column.name].astype(np.float64)

    def decode(self, cells: NDArray[np.int64], values: NDArray[np.generic]) -> dict[str, NDArray[np.generic]]:
        """The columns of the table that it stands for."""
        if not self.members:
            return {self.cells.column.name: values}
        return {name: (cells == at).astype(np.int64) for at, name in enumerate(self.members)}


def one_of(members: Sequence[str], batch: Batch) -> NDArray[np.int64]:
    """Which member is set, where exactly one is; else the number of members."""
    held = np.stack([batch[name] for name in members], axis=1) == 1
    return np.where(held.sum(axis=1) == 1, held.argmax(axis=1), len(members))


def candidate_groups(columns: Sequence[Column]) -> list[tuple[str, ...]]:
    """Neighbouring yes-or-no columns whose names differ in their ending only: public, whatever the rows hold.

    >>> names = ["soil_1", "soil_2", "soil_3", "age", "wet"]
    >>> candidate_groups([Column(name=name, kind="boolean") for name in names])
    [('soil_1', 'soil_2', 'soil_3')]
    """
    runs: list[tuple[str | None, list[str]]] = []
    for column in columns:
        stem = _ENDING.sub("", column.name) if _is_yes_or_no(column) else None
        stem = stem if stem != column.name else None
        if stem and runs and runs[-1][0] == stem:
            runs[-1][1].append(column.name)
        else:
            runs.append((stem, [column.name]))
    return [tuple(names) for stem, names in runs if stem and len(names) >= _SMALLEST_GROUP]


def _is_yes_or_no(column: Column) -> bool:
    return not column.missing and (
        column.kind == "boolean" or (column.kind == "integer" and column.bounds == (0.0, 1.0))
    )


def exactly_one(counts: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which candidates are groups, from noisy counts of rows with another number and with exactly one member."""
    others, ones = counts.reshape(-1, 2).T
    return np.asarray(ones > _EXACTLY_ONE * (ones + others))


def features_of(columns: Sequence[Column], groups: Sequence[tuple[str, ...]], *, bend: float) -> tuple[Feature, ...]:
    """The columns in their order, each group in the place of its first member; numbers on a grid with this bend."""
    of_group = {name: group for group in groups for name in group}
    features = []
    for column in columns:
        group = of_group.get(column.name)
        if group is None:
            features.append(Feature(Cells(column, bend)))
            features += [Feature(c, date=column.name, rhythm=name) for name, c in rhythms_of(column).items()]
        elif column.name == group[0]:
            merged = Column(name="+".join(group), kind="categorical", categories=(*group, "none or several"))
            features.append(Feature(Cells(merged), group))
    return tuple(features)
