"""What all tables say together: class rates, tables of every column by class, correlations, and rows that agree with them."""

from dataclasses import dataclass, field

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers
from sfumato.mechanisms.table.columns.binned import BinnedTable
from sfumato.mechanisms.table.joint.ordering import Line
from sfumato.mechanisms.table.joint.pairs import Levels
from sfumato.mechanisms.table.joint.population import Population
from sfumato.mechanisms.table.joint.whole_table import WholeTable


@dataclass(frozen=True)
class Generator:
    """What all tables say together."""

    binned: BinnedTable
    rates: Floats
    joints: list[Floats]
    lines: list[Line]
    levels: Levels
    correlation: Floats
    population: Population = field(repr=False)
    whole: WholeTable | None = None
    rare_stddev: float | None = None  # the noise in a count of a class that was counted again, all counts together
    scarce: Flags | None = None  # the classes of which noise hides nearly all, where there are any
    spent: int = 0  # gradients that were given up for their sums

    @property
    def margins(self) -> list[Floats]:
        """The probability of each bin."""
        return [joint.sum(axis=0) for joint in self.joints]

    @property
    def orders(self) -> list[Integers]:
        """The bins of each column in order."""
        return [line.order for line in self.lines]

    @property
    def rate_ratios(self) -> Floats:
        """A class's rate over its part of the population's rows: less than 1 where they are many for their weight."""
        rows = np.bincount(self.population.labels, minlength=len(self.rates)) / len(self.population.labels)
        return np.where(rows > 0, self.rates / np.maximum(rows, 1e-300), 1.0)
