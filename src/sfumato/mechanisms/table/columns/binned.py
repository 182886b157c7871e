"""What the first stage gives: the bins of every column, and the classes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sfumato.mechanisms.common.arrays import Integers
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.columns.code_tables import CodeTable
from sfumato.mechanisms.table.columns.features import Feature
from sfumato.public.plan.measured import Measured
from sfumato.public.schema.following import Known


@dataclass(frozen=True)
class BinnedTable:
    """The bins of every column, and the classes; `total` rows, with noise `total_stddev`.

    `cell_stddev` is the noise in a fine count, `margin_stddevs` that of each column: less, where a rule has counted it too.

    `rules` are what was counted of columns that follow from others, by their names.

    Where persons may be shortened, `in_full` holds the rows of each class, every one of them counted.
    """

    features: tuple[Feature, ...]
    binnings: tuple[Binning, ...]
    target: Binning | None
    total: float
    total_stddev: float
    cell_stddev: float
    margin_stddevs: tuple[float, ...]
    in_full: Measured | None = None
    codes: Mapping[int, CodeTable] = field(default_factory=dict)
    rules: Mapping[str, Known] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bins of each column."""
        return tuple(binning.size for binning in self.binnings)

    @property
    def better_known(self) -> tuple[bool, ...]:
        """Columns that a rule has counted too."""
        return tuple(stddev < self.cell_stddev for stddev in self.margin_stddevs)

    @property
    def n_classes(self) -> int:
        """Classes that a row can have."""
        return 1 if self.target is None else self.target.size

    @property
    def cells_of_class(self) -> Integers:
        """How many cells make up each class."""
        return np.bincount([0] if self.target is None else self.target.bin_of, minlength=self.n_classes)
