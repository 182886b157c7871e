"""The public sizes of the tables that a schema leads to."""

from dataclasses import dataclass

from sfumato.mechanisms.table.cells import Cells
from sfumato.mechanisms.table.layout import Layout
from sfumato.mechanisms.table.pairs import all_pairs


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How many cells, bins, classes, levels and fine tables there are, whatever the rows hold."""

    features: tuple[Cells, ...]
    target: Cells | None
    bin_sizes: tuple[int, ...]
    n_classes: int
    n_levels: int
    n_links: int

    @property
    def columns(self) -> tuple[Cells, ...]:
        """All columns, the target last."""
        return self.features if self.target is None else (*self.features, self.target)

    @property
    def cells(self) -> Layout:
        """The fine counts of every column."""
        return Layout(tuple(c.count for c in self.columns))

    @property
    def bins(self) -> Layout:
        """The bins of every column but the target."""
        return Layout(self.bin_sizes)

    @property
    def number_runs(self) -> list[tuple[int, int]]:
        """Where the bins of each number start and stop, the one for missing values left out."""
        starts = self.bins.starts.tolist()
        return [
            (start, start + size - int(cells.has_missing_cell))
            for start, size, cells in zip(starts, self.bin_sizes, self.features, strict=True)
            if not cells.column.is_coded
        ]

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """How many levels each column has in the table of a pair."""
        return tuple(min(size, self.n_levels) for size in self.bin_sizes)

    @property
    def pairs(self) -> Layout:
        """A coarse table for every pair of columns."""
        sizes = self.level_sizes
        return Layout(tuple(sizes[i] * sizes[j] for i, j in all_pairs(len(sizes))))

    @property
    def links(self) -> Layout:
        """Fine tables, each with room for the two columns with the most bins."""
        most = max(self.bin_sizes)
        return Layout((most * most,) * self.n_links)
