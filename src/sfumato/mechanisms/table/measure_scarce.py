"""Classes of which noise hides nearly all: their rows are not counted by bins, but say sums that noise hides less.

They say them in the class tables, in the entries that the bins of their class would have had. Where class tables count codes,
which a sum is not, some of the gradients that were planned are given up for them: gradients teach nothing about such a class.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats
from sfumato.mechanisms.common.logistic import error_bound
from sfumato.mechanisms.table.columns.binned import BinnedTable
from sfumato.mechanisms.table.columns.shortened_persons import Number
from sfumato.mechanisms.table.joint import maps
from sfumato.mechanisms.table.joint.scarce_statistics import Statistics, statistics_of
from sfumato.mechanisms.table.joint.tilting import tilted
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.public.plan.doors import Doors, Measured


@dataclass(frozen=True, eq=False)
class Scarce:
    """The classes that are scarce, and what their rows say."""

    classes: Flags
    statistics: Statistics


@dataclass(frozen=True, eq=False)
class ScarceSums:
    """By class the sums of the statistics of its rows, where it is scarce; and its rows, counted in all ways together."""

    sums: Measured
    rows: Measured


@dataclass(frozen=True)
class ScarceStage:
    """Finds scarce classes and what they are like. Whatever it asks for, it asks a door."""

    plan: TablePlan
    view: Doors

    @property
    def uses(self) -> int:
        """How many of the planned gradients are given up: half, where class tables count codes."""
        return 0 if self.plan.centred else self.plan.gradients // 2

    def find(self, binned: BinnedTable, margins: Sequence[Floats], *, stddev: float) -> Scarce | None:
        """Classes with too few rows for a bin to say anything, where there are others; `stddev` is the noise of a bin.

        There are none where classes have an order, or are very many, or persons', or nobody could be asked.
        """
        settings = self.plan.settings.joint
        is_possible = (
            2 < binned.n_classes <= self.plan.settings.target.tree_classes
            and not self.plan.number_target
            and self.plan.schema.unit.max_rows == 1
        )
        is_possible &= self.plan.centred or (self.uses > 0 and self.plan.n_sets > 1 and self.plan.has("teacher"))
        if not is_possible or not settings.tilts_scarce or binned.target is None or binned.target.ordered:
            return None
        possible = binned.cells_of_class > 0
        scarce = possible & (binned.target.margin < settings.scarce_below * stddev)
        if not scarce.any() or scarce[possible].all():
            return None
        longest = math.sqrt(sum(1 - 1 / size for size in binned.sizes))  # of a row of any other class
        return Scarce(scarce, statistics_of(binned.binnings, margins, settings, longest=longest))

    def ask(self, scarce: Scarce, counted: Measured) -> ScarceSums:
        """The sums, in the place of gradients."""
        n_sets, width = self.plan.n_sets, self.plan.width + 1
        weight = error_bound(n_sets) * math.sqrt(self.plan.k + 1) / math.hypot(scarce.statistics.longest, 1.0)
        sums = partial(
            maps.scarce_sums,
            statistics=scarce.statistics,
            scarce=scarce.classes,
            n_sets=n_sets,
            width=width,
            weight=weight,
            has_trees=self.plan.has_trees,
        )
        again = [self.view.noisy_sum("teacher", sums)["bins"] for _ in range(self.uses)]
        mean = np.mean([one.values for one in again], axis=0).reshape(n_sets, width)[: len(scarce.classes)] / weight
        stddev = again[0].stddev / weight / math.sqrt(self.uses)
        before, now = counted.stddev**-2, stddev**-2
        rows = (before * counted.values + now * mean[:, -1]) / (before + now)
        return ScarceSums(Measured(mean[:, :-1], stddev), Measured(rows, (before + now) ** -0.5))

    def tilted(
        self, scarce: Scarce, answer: ScarceSums, joints: Sequence[Floats], per_class: Floats
    ) -> tuple[Floats, list[Floats]]:
        """Rows of each class and the probabilities of (class, bin), with those of scarce classes made of the others'."""
        settings, plenty = self.plan.settings.joint, ~scarce.classes & (per_class > 0)
        others = [joint[plenty] / np.maximum(joint[plenty].sum(axis=1, keepdims=True), 1e-300) for joint in joints]
        rows, n_statistics = per_class.copy(), len(scarce.statistics.columns)
        of_class = {}
        for c in np.flatnonzero(scarce.classes).tolist():
            sums = Measured(answer.sums.values[c, :n_statistics], answer.sums.stddev)
            counted = Number(float(answer.rows.values[c]), answer.rows.stddev)
            of_class[c] = tilted(scarce.statistics, sums, counted, others, settings)
            rows[c] = of_class[c].rows
        # The largest class has what these add less, of its rows at most half.
        largest = int(np.argmax(per_class))
        most = per_class[scarce.classes].sum() + per_class[largest] / 2
        rows[scarce.classes] *= min(1.0, most / max(rows[scarce.classes].sum(), 1e-300))
        rows[largest] -= rows.sum() - per_class.sum()
        total, out = float(rows.sum()), []
        for j, joint in enumerate(joints):
            margin, joint = joint.sum(axis=0), joint * (rows / np.maximum(per_class, 1e-300))[:, None]
            for c, one in of_class.items():
                share = (1 - settings.ratio_floor) * one.shares[j] + settings.ratio_floor * margin
                joint[c] = rows[c] / total * share
            out.append(np.asarray(joint / joint.sum()))
        return rows, out
