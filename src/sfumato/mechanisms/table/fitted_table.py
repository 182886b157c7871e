"""What was measured of a table, as a generator: all of it noisy numbers and what follows from them."""

from dataclasses import dataclass, field

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.table.columns.binned import BinnedTable
from sfumato.mechanisms.table.columns.shortened_persons import classes_regained
from sfumato.mechanisms.table.joint.population import Population
from sfumato.mechanisms.table.target.labels import ClassLabels
from sfumato.mechanisms.table.target.number_rule import CorrectedNumber
from sfumato.public.budget import PrivacyUnit


@dataclass(frozen=True)
class FittedTable:
    """A population of binned rows, how its classes or numbers are drawn anew, and what follows from what."""

    binned: BinnedTable
    rates: Floats
    population: Population | None = field(repr=False)
    labels: ClassLabels | None = field(default=None, repr=False)
    numbers: CorrectedNumber | None = field(default=None, repr=False)
    rules: dict[str, Integers] = field(default_factory=dict, repr=False)

    @staticmethod
    def of_target(binned: BinnedTable, unit: PrivacyUnit) -> "FittedTable":
        """A table without any other column."""
        rows = np.ones(1) if binned.target is None else np.maximum(binned.target.margin, 1e-9)
        if binned.in_full is not None:
            rows = rows * classes_regained(unit, rows, stddev=binned.cell_stddev, in_full=binned.in_full)
        return FittedTable(binned, rows / rows.sum(), None)
