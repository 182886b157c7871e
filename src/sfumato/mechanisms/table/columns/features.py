"""What is modelled: the columns of the table, with the booleans of a one-hot group as the one category that they spell out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers, Values
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.calendar import rhythm_code, rhythms_of
from sfumato.mechanisms.table.settings.sizes import SumSizes
from sfumato.public.schema.one_of import OneOf, is_yes_or_no
from sfumato.public.schema.schema import Batch, Column

#: What follows the stem of a name: a number, or the last word.
_ENDING = re.compile(r"([_ .=-][^_ .=-]*|\d+)$")


@dataclass(frozen=True)
class Feature:
    """A column; or, with `group`, the category of which each member is one value. With `date`, a rhythm of that column.

    A group that is `declared` has a place for every row; in one that was discovered, the last value is none or several. With a
    `reference`, the difference of a column from that one.
    """

    cells: Cells
    group: OneOf | None = None
    declared: bool = False
    date: str | None = None
    rhythm: str = ""
    reference: Column | None = None

    def code(self, batch: Batch) -> Integers:
        """The cell of each row."""
        if self.date is not None:
            return self.cells.code(rhythm_code(self.rhythm, batch[self.date].astype(np.float64)))
        if self.group is None:
            own = batch[self.cells.column.name]
            return self.cells.code(own if self.reference is None else self.numbers(batch))
        return self.group.code(batch) if self.declared else one_of(self.group.members, batch)

    def numbers(self, batch: Batch) -> Floats:
        """The values of a column of numbers."""
        own = batch[self.cells.column.name].astype(np.float64)
        if self.reference is None:
            return own
        return own - or_centre(batch[self.reference.name].astype(np.float64), self.reference)

    def decode(self, cells: Integers, values: Values) -> dict[str, Values]:
        """The columns of the table that it stands for."""
        if self.group is None:
            return {self.cells.column.name: values}
        return dict(self.group.spelled(cells))


def or_centre(values: Floats, column: Column) -> Floats:
    """The centre of the bounds in the place of missing numbers, so that a distance from there is always known."""
    return np.where(np.isnan(values), column.centre, values)


def one_of(members: Sequence[str], batch: Batch) -> Integers:
    """Which member is set, where exactly one is; else the number of members."""
    is_set = np.stack([batch[name] for name in members], axis=1) == 1
    return np.where(is_set.sum(axis=1) == 1, is_set.argmax(axis=1), len(members))


def stem_of(name: str) -> str | None:
    """A name without its ending; None where it has none.

    >>> [stem_of(name) for name in ("soil_1", "q12", "age")]
    ['soil', 'q', None]
    """
    stem = _ENDING.sub("", name)
    return stem if stem != name else None


def candidate_groups(
    columns: Sequence[Column], *, declared: Sequence[OneOf] = (), smallest: int = 3
) -> list[tuple[str, ...]]:
    """Neighbouring yes-or-no columns whose names differ in their ending only: public, whatever the rows hold.

    Columns of a declared group need no finding.

    >>> names = ["soil_1", "soil_2", "soil_3", "age", "wet"]
    >>> candidate_groups([Column(name=name, kind="boolean") for name in names])
    [('soil_1', 'soil_2', 'soil_3')]
    """
    runs: list[tuple[str | None, list[str]]] = []
    known = {name for group in declared for name in group.members}
    for column in columns:
        stem = stem_of(column.name) if is_yes_or_no(column) and column.name not in known else None
        if stem and runs and runs[-1][0] == stem:
            runs[-1][1].append(column.name)
        else:
            runs.append((stem, [column.name]))
    return [tuple(names) for stem, names in runs if stem and len(names) >= smallest]


def exactly_one(counts: Floats, *, least: float) -> Flags:
    """Which candidates are groups, from noisy counts of rows with another number and with exactly one member.

    Of a group at least this part of all rows has exactly one.
    """
    others, ones = counts.reshape(-1, 2).T
    return np.asarray(ones > least * (ones + others))


def features_of(
    columns: Sequence[Column],
    groups: Sequence[tuple[str, ...]],
    sizes: SumSizes,
    *,
    bend: float,
    declared: Sequence[OneOf] = (),
) -> tuple[Feature, ...]:
    """The columns in their order, each group in the place of its first member; numbers on a grid with this bend."""
    joined = [*declared, *(OneOf(group, or_none=True) for group in groups)]
    of_group = {name: group for group in joined for name in group.members}
    features = []
    for column in columns:
        group = of_group.get(column.name)
        if group is None:
            features.append(Feature(Cells(column, bend, n_places=sizes.cells)))
            rhythms = rhythms_of(column, periods=sizes.calendar_periods)
            features += [Feature(c, date=column.name, rhythm=name) for name, c in rhythms.items()]
        elif column.name == group.members[0]:
            # Members may have any names; their numbers are sure to differ.
            categories = tuple(map(str, range(group.size)))
            merged = Column(name="+".join(group.members), kind="categorical", categories=categories)
            features.append(Feature(Cells(merged), group, declared=group in declared))
    return tuple(features)
