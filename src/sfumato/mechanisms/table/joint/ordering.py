"""Along which line the values of a column lie: numbers by size, categories by the classes that they go with."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.settings.sizes import SumSizes


def class_line(joints: Sequence[Floats], rates: Floats) -> Floats:
    """A place for each class without an order, so that classes with similar rows are near each other.

    The leading direction of correspondence analysis over all columns.
    """
    ratios = [joint / np.maximum(np.outer(rates, joint.sum(axis=0)), 1e-300) - 1 for joint in joints]
    weighted = [
        np.sqrt(rates)[:, None] * ratio * np.sqrt(joint.sum(axis=0))
        for ratio, joint in zip(ratios, joints, strict=True)
    ]
    if not weighted:
        return np.arange(len(rates), dtype=np.float64)
    line = np.linalg.svd(np.concatenate(weighted, axis=1), full_matrices=False)[0][:, 0] / np.sqrt(
        np.maximum(rates, 1e-12)
    )
    return np.asarray(line if line[np.abs(line).argmax()] > 0 else -line)


@dataclass(frozen=True)
class Line:
    """The bins of a column in order. The last may be of missing values, which may be any: it has no place among the others."""

    order: Integers
    has_missing: bool = False

    @property
    def known(self) -> Integers:
        """Bins with a place."""
        return self.order[:-1] if self.has_missing else self.order


def bin_lines(binnings: Sequence[Binning], joints: Sequence[Floats], line: Floats) -> list[Line]:
    """For every column its bins in order: categories by the mean place of their classes, or by size without any."""
    lines = []
    for binning, joint in zip(binnings, joints, strict=True):
        if binning.cells.is_ordered:
            lines.append(Line(np.arange(binning.size), binning.has_missing_bin))
            continue
        margin = joint.sum(axis=0)
        # Values that differ by rounding alone count as equal, so that every processor has the same order.
        place = line @ joint / np.maximum(margin, 1e-12) if len(line) > 1 else -margin
        lines.append(Line(np.argsort(np.round(place, 9), kind="stable")))
    return lines


def halves(line: Floats, rates: Floats) -> Integers:
    """Two groups of classes with about half of the rows each, along the line; one group where there is one class.

    >>> halves(np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.3, 0.2])).tolist()
    [0, 1, 1]
    """
    if len(line) == 1:
        return np.zeros(1, dtype=np.int64)
    order = np.argsort(np.round(line, 9), kind="stable")
    upto = np.cumsum(rates[order])
    first = int(np.clip(np.abs(upto[:-1] - 0.5).argmin() + 1, 1, len(line) - 1))
    half = np.ones(len(line), dtype=np.int64)
    half[order[:first]] = 0
    return half


def category_levels(rows_over_noise: float, sizes: SumSizes) -> int:
    """Levels of categories: as many as keep so many rows in a cell, if they are spread evenly, that noise does not explain them."""
    return int(
        np.clip(rows_over_noise / (sizes.cell_least * sizes.pair_levels), sizes.pair_levels, sizes.category_levels)
    )


def most_levels(cells: Cells, ordered: int, *, of_categories: int) -> int:
    """Into how many levels a column is joined where `ordered` of one with an order are enough: more of categories.

    Neighbours along an order are alike. Categories that go with the same classes need not be: a number may move the target up in
    one and down in the next.
    """
    return ordered if cells.is_ordered else max(ordered, of_categories)


def levels_of(mass: Floats, order: Integers, *, most: int) -> Integers:
    """Bins joined to at most `most` levels of about equal mass, along an order. A heavy bin is a level of its own.

    >>> levels_of(np.array([1.0, 1.0, 6.0, 1.0, 1.0]), np.arange(5), most=3)
    array([0, 0, 1, 2, 2])
    """
    if len(mass) <= most:
        return np.argsort(order)
    weight = np.maximum(mass[order], 0.0) + 1e-12
    middle = np.cumsum(weight) - weight / 2
    level = np.empty(len(mass), dtype=np.int64)
    level[order] = np.minimum((middle / weight.sum() * most).astype(np.int64), most - 1)
    return np.unique(level, return_inverse=True)[1].astype(np.int64)
