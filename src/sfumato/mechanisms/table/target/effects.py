"""What columns and pairs of columns add to a numeric target: a number for each part of a column and each cell of a pair.

Categories have parts of their own here, many more than they have bins: a sum over rows has no more noise for them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import linalg

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.layout import Layout
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.joint.generator import Generator
from sfumato.mechanisms.table.joint.ordering import levels_of, most_levels
from sfumato.mechanisms.table.settings.target import TargetSettings


@dataclass(frozen=True)
class ColumnParts:
    """A column in parts: the part of each of its cells. The first `ordered` of them lie along a line."""

    of_cell: Integers
    ordered: int

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.of_cell.max()) + 1


@dataclass(frozen=True)
class PairCells:
    """Two columns in levels each, every level of one with every level of the other."""

    left: int
    right: int
    left_of_cell: Integers
    right_of_cell: Integers

    @property
    def shape(self) -> tuple[int, int]:
        """The levels of either column."""
        return int(self.left_of_cell.max()) + 1, int(self.right_of_cell.max()) + 1

    def codes(self, cells: Integers) -> Integers:
        """Where each row lies."""
        left, right = self.left_of_cell[cells[:, self.left]], self.right_of_cell[cells[:, self.right]]
        return np.asarray(left * self.shape[1] + right)


@dataclass(frozen=True)
class Effects:
    """The parts of all columns, and the cells of some pairs: every row has one entry of each."""

    columns: tuple[ColumnParts, ...] = field(repr=False)
    pairs: tuple[PairCells, ...] = field(repr=False)

    @cached_property
    def layout(self) -> Layout:
        """Columns first, then pairs."""
        return Layout((*(c.size for c in self.columns), *(pair.shape[0] * pair.shape[1] for pair in self.pairs)))

    def codes(self, cells: Integers) -> Integers:
        """The entries of each row, from its cells."""
        of_columns = [column.of_cell[cells[:, j]] for j, column in enumerate(self.columns)]
        of_pairs = [pair.codes(cells) for pair in self.pairs]
        return np.asarray(np.stack([*of_columns, *of_pairs], axis=1) + self.layout.starts)

    def prior(self, settings: TargetSettings) -> tuple[Floats, list["Prior"]]:
        """What is assumed before any sum: amounts of size one, of several kinds; and what each adds to every entry.

        A table has amounts of its own, neighbours being alike; an ordered column has a line as well.
        """
        along, among = settings.effect_neighbours, settings.effect_cells
        prior = [
            Prior("column" if c.ordered else "codes", np.eye(c.size) + along * _steps(c.ordered, of=c.size))
            for c in self.columns
        ]
        for rows, columns in (pair.shape for pair in self.pairs):
            steps = np.kron(_steps(rows), np.eye(columns)) + np.kron(np.eye(rows), _steps(columns))
            prior.append(Prior("pair", np.eye(rows * columns) + among * steps))
        lines = []
        for start, column in zip(self.layout.starts, self.columns, strict=False):
            if column.ordered > 2:
                line = np.zeros(self.layout.width)
                line[start : start + column.ordered] = np.linspace(-np.sqrt(3), np.sqrt(3), column.ordered)
                lines.append(line)
                prior.append(Prior("line", np.eye(1)))
        return np.column_stack([np.eye(self.layout.width), *lines]), prior


@dataclass(frozen=True)
class Prior:
    """Amounts that belong together: their kind, and their precision where their size is one."""

    kind: str
    precision: Floats = field(repr=False)


def column_parts(binnings: Sequence[Binning], *, most: int) -> tuple[ColumnParts, ...]:
    """Numbers in their bins; categories each by itself, the fullest of them where there are more than so many."""
    parts = []
    for binning in binnings:
        if not binning.cells.column.is_coded:
            parts.append(ColumnParts(binning.bin_of, binning.ordered))
            continue
        place = np.argsort(np.argsort(-binning.mass, kind="stable"))
        parts.append(ColumnParts(np.minimum(place, max(most, binning.size) - 1), 0))
    return tuple(parts)


def pair_cells(
    generator: Generator, pairs: Sequence[tuple[int, int]], *, levels: int, of_categories: int, cells: int = 0
) -> tuple[PairCells, ...]:
    """Pairs of columns with so many levels each, of about equal mass; of categories perhaps more.

    With room for so many `cells`, the column with more bins has more levels where the other has few.
    """
    binnings = generator.binned.binnings

    def most(j: int) -> int:
        return min(binnings[j].size, most_levels(binnings[j].cells, levels, of_categories=of_categories))

    def in_levels(j: int, *, other: int) -> Integers:
        is_larger = (binnings[j].size, j) > (binnings[other].size, other)
        size = max(most(j), cells // most(other)) if is_larger else most(j)
        return levels_of(generator.margins[j], generator.orders[j], most=size)[binnings[j].bin_of]

    return tuple(PairCells(i, j, in_levels(i, other=j), in_levels(j, other=i)) for i, j in pairs)


def _steps(n: int, *, of: int | None = None) -> Floats:
    """The sum of squared differences of neighbours among the first n of some numbers, as a matrix."""
    steps = np.diff(np.eye(n), axis=0) if n > 1 else np.zeros((0, n))
    return np.asarray(linalg.block_diag(steps.T @ steps, np.zeros(((of or n) - n, (of or n) - n))))
