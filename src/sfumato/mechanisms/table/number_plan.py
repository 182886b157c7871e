"""What is asked of private rows to correct a rule for a number as target: public, from the schema and the budget alone."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.features import Feature
from sfumato.mechanisms.table.settings.table import TableSettings
from sfumato.public.budget import PrivacyUnit
from sfumato.public.plan.block import Block, Dense, Hot

#: The blocks of the corrections of a number: parts of columns, those of long categories, and cells of pairs.
PARTS, LONG_PARTS, PAIRS = "parts", "long parts", "pairs"


@dataclass(frozen=True)
class NumberPlan:
    """The columns as they stand, and with all groups joined; the bins of each, and cells of all pairs of them, at most."""

    columns: tuple[tuple[Feature, ...], ...]
    bins: tuple[tuple[int, ...], ...]
    pair_cells: int
    rows_over_noise: float  #: all rows, over the noise of a count that has the whole budget
    is_small: bool  #: too little is known of the table for pairs
    share: float
    unit: PrivacyUnit
    settings: TableSettings

    @property
    def looks(self) -> int:
        """How often errors are asked for: the second time of pairs that stood out."""
        return self.settings.sizes.number_looks if self.n_pairs else 1

    @property
    def counts_rows(self) -> bool:
        """Whether rows are counted beside their errors: persons may be shortened."""
        return self.unit.max_rows > 1 and self.settings.sizes.counted_row > 0

    @cached_property
    def most_parts(self) -> int:
        """The largest number of parts of a category: as many as all columns have room for."""
        sizes = self.settings.sizes
        fitting = (m for m in range(sizes.most_parts, 1, -1) if max(map(sum, self._parts(m))) <= sizes.all_parts)
        return next(fitting, 1)

    @property
    def all_parts(self) -> int:
        """The parts of all columns, at most."""
        return max(map(sum, self._parts(self.most_parts)))

    def _parts(self, most: int) -> list[list[int]]:
        """The parts of each column, if a category has at most so many, or its bins: numbers have their bins."""
        return [
            [
                max(b, min(f.cells.count, most)) if f.cells.column.is_coded else b
                for f, b in zip(some, bins, strict=True)
            ]
            for some, bins in zip(self.columns, self.bins, strict=True)
        ]

    def has_many_parts(self, cells: Cells) -> bool:
        """Whether a category has so many parts that their sums are a block of their own."""
        return cells.column.is_coded and min(cells.count, self.most_parts) > self.settings.sizes.category_bins

    @cached_property
    def n_pairs(self) -> int:
        """Of how many pairs of columns it is asked what they add; none where noise would hide that."""
        sizes, k = self.settings.sizes, len(self.columns[0])
        if not 2 <= k <= sizes.most_paired or self.is_small:
            return 0
        most = min(k * (k - 1) // 2, sizes.number_pairs)
        share = self.share * self.settings.budget.pairs_of_number / sizes.number_looks
        visible = self.rows_over_noise * math.sqrt(share / most) / sizes.pair_levels**2
        return most if visible >= sizes.pair_visible else 0

    def blocks(self) -> tuple[Block, ...]:
        """The error of a row at its parts, at its cells of pairs, and along what the rule says; with it its square.

        Persons are shortened in every block by itself, so each counts its rows too; but for pairs, whose cells are too many.
        """
        along = self.counting("along", 2, norm=math.sqrt(2), share=self.settings.budget.trees)
        return *map(self._of_persons, self.hots()), along

    def _of_persons(self, hot: Hot) -> Block:
        if not self.counts_rows or hot.name == PAIRS:
            return hot
        return self.counting(hot.name, hot.width, norm=hot.l2_bound, share=hot.share)

    def counting(self, name: str, width: int, *, norm: float, share: float = 1.0) -> Dense:
        """A block of vectors of this norm, in which rows of persons are counted besides."""
        counted = self.settings.sizes.counted_row if self.counts_rows else 0.0
        return Dense(name=name, width=width + int(self.counts_rows), l2_bound=math.hypot(norm, counted), share=share)

    def hots(self) -> tuple[Hot, ...]:
        """The tables of parts and of pairs."""
        sizes, budget = self.settings.sizes, self.settings.budget
        pairs: tuple[Hot, ...] = ()
        of_pairs = budget.pairs_of_number if self.n_pairs else 0.0
        if self.n_pairs:
            largest = max(sizes.pair_levels, sizes.category_levels) ** 2
            closer = min(self.n_pairs, sizes.close_pairs) * sizes.close_levels**2
            cells = max(min(self.pair_cells, self.n_pairs * largest), closer)
            pairs = (Hot(name=PAIRS, width=cells, n_hot=self.n_pairs, weighted=True, share=of_pairs),)
        return *self._parts_blocks(1 - of_pairs - budget.trees), *pairs

    def _parts_blocks(self, share: float) -> tuple[Hot, ...]:
        """Sums at a row's parts; those of long categories are a block of their own, since they need more.

        What noise of one size does to a rule with p parts grows like p squared, so precision as p leaves the least error; but
        no more of them are reckoned with than the rows can distinguish.
        """
        most = self.rows_over_noise / self.settings.sizes.rows_per_part
        blocks, needs = [], []
        for name, is_long in ((PARTS, False), (LONG_PARTS, True)):
            sizes = [
                [size for f, size in zip(some, of_some, strict=True) if self.has_many_parts(f.cells) == is_long]
                for some, of_some in zip(self.columns, self._parts(self.most_parts), strict=True)
            ]
            n_hot = max(map(len, sizes))
            if n_hot:
                blocks.append(Hot(name=name, width=max(*map(sum, sizes), n_hot), n_hot=n_hot, weighted=True))
                needs.append(max(sum(min(size, most) for size in some) for some in sizes))
        return tuple(replace(block, share=share * need / sum(needs)) for block, need in zip(blocks, needs, strict=True))
