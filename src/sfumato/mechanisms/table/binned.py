"""First stage: the bins of every column, cut by noisy counts of its cells."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.bins import Binning, bin_column
from sfumato.mechanisms.table.shape import Shape
from sfumato.public.doors import Measured
from sfumato.public.schema import Batch, n_rows_of

#: A bin of a number should hold this many standard deviations of its class counts.
_LEAST = 4.0


@dataclass(frozen=True)
class Binned:
    """The counts of the cells, and the bins that follow from them.

    `target` holds the classes: the target's categories, or about equally full bins of a number.
    """

    shape: Shape
    cells: Measured
    features: tuple[Binning, ...]
    target: Binning | None

    @property
    def cell_counts(self) -> list[NDArray[np.float64]]:
        """The noisy counts by column, the target's last."""
        return self.shape.cells.split(self.cells.values)

    def bins(self, batch: Batch) -> NDArray[np.int64]:
        """The bin of each row in every column."""
        return np.stack([b.code(batch[b.cells.column.name]) for b in self.features], axis=1)

    def label(self, batch: Batch) -> NDArray[np.int64]:
        """The class of each row; 0 where there is no target."""
        if self.target is None:
            return np.zeros(n_rows_of(batch), dtype=np.int64)
        return self.target.code(batch[self.target.cells.column.name])

    def class_codes(self, batch: Batch) -> NDArray[np.int64]:
        """For each row the place of its bins in the tables of its class."""
        bins = self.shape.bins
        return self.bins(batch) + bins.starts + self.label(batch)[:, None] * bins.width


def bin_columns(shape: Shape, cells: Measured, *, class_stddev: float) -> Binned:
    """Cut every column into bins.

    Args:
        shape: The sizes of all tables.
        cells: The noisy counts of the cells.
        class_stddev: The noise that the counts of the bins are planned to have.
    """
    counts = shape.cells.split(cells.values)
    features = tuple(
        bin_column(
            grid,
            noisy,
            noise=cells.stddev,
            least=_LEAST * class_stddev,
            most=size - int(grid.has_missing_cell),
        )
        for grid, noisy, size in zip(shape.features, counts, shape.bin_sizes, strict=False)
    )
    if shape.target is None:
        return Binned(shape, cells, features, None)
    most = shape.n_classes - int(shape.target.has_missing_cell)
    even = float(np.maximum(counts[-1].sum(), 0.0)) / max(most, 1)
    target = bin_column(shape.target, counts[-1], noise=cells.stddev, least=even, most=most)
    return Binned(shape, cells, features, target)
