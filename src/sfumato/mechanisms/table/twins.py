"""Columns that nearly equal another, such as a time that was planned and the time that it was: modelled by their difference.

Bins of either column are wider than what lies between the two, so a delay would be lost, and all that depends on it. Which
columns may be compared is public; where the coarse counts of two look alike, a noisy count says in how many rows they are near.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.cells import Cells
from sfumato.mechanisms.table.features import Feature
from sfumato.public.schema import Batch, Column

#: So many pairs of columns are asked about.
MOST_TWINS = 6

#: The bounds of two columns that are compared: one range is at most so many times as wide as the other.
_WIDER = 4.0
#: A column with no more values than this has a bin for each of them.
_FEW_VALUES = 32
#: Two columns look alike where their quartiles lie this near, in distances between quartiles.
_ALIKE = 0.3
#: Two values are near within this part of the distance between quartiles; and twins are near in so many rows.
_NEAR, _MOSTLY = 0.125, 0.7


@dataclass(frozen=True)
class Twins:
    """A column, the one that it may be near to, and how near that is."""

    column: str
    base: str
    near: float = 0.0
    distance: float = 0.0

    def are_near(self, batch: Batch) -> NDArray[np.bool_]:
        """In which rows they are; a missing value is near to nothing."""
        apart = batch[self.column].astype(np.float64) - batch[self.base].astype(np.float64)
        return np.asarray(np.abs(apart) <= self.near)


def possible_twins(columns: Sequence[Column]) -> list[Twins]:
    """Numbers of one kind with bounds of about the same width: public, whatever the rows hold.

    The one that comes first is what the other is compared with, unless it may be missing.

    >>> names = ("planned", "actual")
    >>> possible_twins([Column(name=name, kind="numeric", bounds=(0, 24)) for name in names])
    [Twins(column='actual', base='planned', near=0.0, distance=0.0)]
    """
    numbers = [c for c in columns if c.is_number and not c.special and Cells(c).inner > _FEW_VALUES]
    found = []
    for at, first in enumerate(numbers):
        for second in numbers[at + 1 :]:
            base, column = (second, first) if first.missing else (first, second)
            if not base.missing and _comparable(base, column):
                found.append(Twins(column.name, base.name))
    return found


def _comparable(one: Column, other: Column) -> bool:
    if (one.kind == "datetime") != (other.kind == "datetime"):
        return False
    widths = sorted((one.high - one.low, other.high - other.low))
    return widths[1] <= _WIDER * widths[0] and max(one.low, other.low) < min(one.high, other.high)


def difference(column: Column, base: Column, *, bend: float) -> Feature:
    """The column as its difference from another."""
    bounds = column.low - base.high, column.high - base.low
    apart = Column(name=column.name, kind="numeric", bounds=bounds, missing=column.missing)
    if column.kind == base.kind == "integer":
        apart = replace(apart, kind="integer")
    return Feature(Cells(apart, bend), base=base.name)


def that_look_alike(
    twins: Sequence[Twins],
    features: Sequence[Feature],
    counts: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]],
) -> list[Twins]:
    """Those whose coarse counts are of much the same numbers, the likest first, with the distance that is near for them.

    Args:
        twins: Pairs of columns.
        features: The columns.
        counts: For each column by name the part of every cell, and noisy counts of the parts.
    """
    named = {name for pair in twins for name in (pair.column, pair.base)}
    cells = {f.cells.column.name: f.cells for f in features if f.is_plain and f.cells.column.name in named}
    quartiles = {name: _quartiles(grid, *counts[name]) for name, grid in cells.items()}
    found = []
    for pair in twins:
        own, other = quartiles[pair.column], quartiles[pair.base]
        between = float(own[1] - own[0])
        distance = float(np.abs(own - other).max())
        if between > 0 and distance <= _ALIKE * between:
            found.append(replace(pair, near=_NEAR * between, distance=distance / between))
    return sorted(found, key=lambda pair: pair.distance)[:MOST_TWINS]


def _quartiles(cells: Cells, part: NDArray[np.int64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first and the third quartile, from noisy counts of parts, spread evenly over the cells of each."""
    part = part[: cells.inner]
    mass = (np.maximum(counts, 0.0) / np.maximum(np.bincount(part, minlength=len(counts)), 1))[part]
    upto = np.cumsum(mass)
    places = np.searchsorted(upto, np.array([0.25, 0.75]) * upto[-1])
    return np.asarray(cells.middles()[np.minimum(places, cells.inner - 1)])


def near_in_most_rows(twins: Sequence[Twins], near: NDArray[np.float64], *, total: float) -> Iterator[Twins]:
    """The pairs that are near in most rows, by noisy counts, the surest first: nothing that is a difference has another.

    >>> pairs = [Twins("b", "a"), Twins("c", "b"), Twins("d", "a")]
    >>> [pair.column for pair in near_in_most_rows(pairs, np.array([99.0, 95.0, 9.0]), total=100.0)]
    ['b']
    """
    bases: set[str] = set()
    differences: set[str] = set()
    for at in np.argsort(-near, kind="stable"):
        pair = twins[at]
        if near[at] < _MOSTLY * total or pair.column in bases | differences or pair.base in differences:
            continue
        bases.add(pair.base)
        differences.add(pair.column)
        yield pair


def added_to(base: NDArray[np.float64], apart: NDArray[np.float64], column: Column) -> NDArray[np.float64]:
    """The values of a column from those of the other and the differences; of whole numbers both are whole first.

    >>> column = Column(name="actual", kind="integer", bounds=(0, 24))
    >>> added_to(np.array([8.6, 23.0]), np.array([1.6, 2.0]), column).tolist()
    [11.0, 24.0]
    """
    if column.kind == "integer":
        base, apart = np.round(base), np.round(apart)
    return np.asarray(np.clip(base + apart, column.low, column.high))
