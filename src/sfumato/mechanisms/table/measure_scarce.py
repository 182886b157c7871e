"""Classes of which noise hides nearly all: how many rows they have, and in which columns these are exceptions.

Gradients teach nothing about such a class, so some of those that were planned count its rows instead. A row is at an exception in
few columns, so it is short, and counts by so much more: the door cuts off what is longer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats
from sfumato.mechanisms.common.layout import Layout
from sfumato.mechanisms.common.logistic import error_bound
from sfumato.mechanisms.table.columns.binned import BinnedTable
from sfumato.mechanisms.table.joint import maps
from sfumato.mechanisms.table.joint.class_tables import ClassTable
from sfumato.mechanisms.table.joint.exceptions import (
    Exceptions,
    exceptional_bins,
    expected_shares,
    rows_of_scarce,
    scarce_classes,
)
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.public.plan.doors import Doors


@dataclass(frozen=True)
class ScarceStage:
    """Counts exceptions. Whatever it asks for, it asks a door."""

    plan: TablePlan
    view: Doors

    @property
    def uses(self) -> int:
        """How many of the planned gradients count exceptions instead: half."""
        return self.plan.gradients // 2

    def scarce(self, binned: BinnedTable, tables: Sequence[ClassTable], per_class: Floats) -> Flags:
        """Which classes are scarce; none where classes have an order, or are persons', or nobody plans gradients."""
        is_possible = self.plan.n_sets > 1 and self.plan.has("teacher") and not self.plan.number_target
        is_possible &= (
            self.plan.schema.unit.max_rows == 1 and self.uses > 0 and self.plan.settings.joint.counts_exceptions
        )
        if not is_possible or binned.target is None or binned.target.ordered:
            return np.zeros(len(per_class), dtype=np.bool_)
        return scarce_classes(tables, per_class, self.plan.settings.joint)

    def rows(
        self,
        binned: BinnedTable,
        tables: Sequence[ClassTable],
        margins: Sequence[Floats],
        per_class: Floats,
        scarce: Flags,
    ) -> tuple[Floats, list[Exceptions]]:
        """Rows of each class, and of each scarce one how many are exceptions in every column."""
        settings, width = self.plan.settings.joint, self.plan.width + 1
        layout, exceptional = Layout(binned.sizes), [exceptional_bins(margin, settings) for margin in margins]
        longest = error_bound(self.plan.n_sets) * math.sqrt(self.plan.k + 1)
        weight = longest / math.sqrt(settings.scarce_exceptions + 1)  # and one for the row itself
        counts = partial(
            maps.exception_counts,
            exceptional=np.concatenate(exceptional),
            starts=layout.starts,
            scarce=scarce,
            n_sets=self.plan.n_sets,
            width=width,
            weight=weight,
            has_trees=self.plan.has_trees,
        )
        again = [self.view.noisy_sum("teacher", counts)["bins"] for _ in range(self.uses)]
        mean = np.mean([one.values for one in again], axis=0).reshape(self.plan.n_sets, width) / weight
        stddev = again[0].stddev / weight / math.sqrt(self.uses)
        before = binned.cell_stddev**-2 + (float(tables[0].stddev[0]) ** -2 if self.plan.centred else 0.0)
        counted = (before * per_class + stddev**-2 * mean[: len(per_class), -1]) / (before + stddev**-2)
        per_class = np.where(scarce, np.maximum(counted, 0.0), per_class)
        per_class = rows_of_scarce(per_class, scarce, stddev=(before + stddev**-2) ** -0.5)
        return per_class, [
            Exceptions(c, mean[c, layout.starts], stddev, exceptional) for c in np.flatnonzero(scarce).tolist()
        ]

    def expected(
        self,
        joints: Sequence[Floats],
        tables: Sequence[ClassTable],
        margins: Sequence[Floats],
        per_class: Floats,
        exceptions: Sequence[Exceptions],
    ) -> list[Floats]:
        """What to expect of every class in each column."""
        return expected_shares(joints, tables, margins, per_class, exceptions, self.plan.settings.joint)
