"""A class with few rows teaches nothing by gradients: what the teacher would have asked for counts it again instead.

Some of the counts are of bins, some of stretches of a number. What lies in a tail is seen in bins; that many rows have moved a
little is seen in a few stretches, each of which has the noise of one bin. The fewer rows the class has, the less bins say.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.counting import padded
from sfumato.mechanisms.common.layout import Layout, side_by_side
from sfumato.mechanisms.table.columns.binned import Binned, bins_and_labels
from sfumato.mechanisms.table.joint.class_tables import ClassTable
from sfumato.mechanisms.table.joint.ordering import levels_of
from sfumato.mechanisms.table.person_norms import Number, regained
from sfumato.mechanisms.table.plan import Blueprint
from sfumato.mechanisms.table.target.classifier import Bins
from sfumato.public.plan.doors import Doors
from sfumato.public.schema.schema import Batch

#: Stretches of a number, besides its bins.
_STRETCHES = 3
#: Half of the counts are of stretches up to so many rows, in standard deviations of a count; of more rows, fewer.
_FEW = 5.0


@dataclass(frozen=True)
class _Recount:
    """A table of each column, all rows of the class, and the noise of every count."""

    tables: list[NDArray[np.float64]]
    rows: Number

    @property
    def stddev(self) -> float:
        """Of a count."""
        return self.rows.stddev

    def times(self, gain: float) -> "_Recount":
        """Every count so many times."""
        return _Recount([gain * t for t in self.tables], Number(gain * self.rows.value, gain * self.rows.stddev))


def recounted(
    plan: Blueprint,
    view: Doors,
    binned: Binned,
    tables: Sequence[ClassTable],
    per_class: NDArray[np.float64],
    margins: Sequence[NDArray[np.float64]],
    *,
    rare: int,
) -> tuple[list[ClassTable], NDArray[np.float64]]:
    """The class tables and the rows of both classes, with the rarer counted again as often as gradients were planned.

    Args:
        plan: What was planned.
        view: The doors.
        binned: The bins of every column.
        tables: Class tables so far.
        per_class: Rows of each class so far.
        margins: The probability of each bin.
        rare: The rarer class.
    """
    stretches = [
        levels_of(margin, np.arange(binning.size), most=_STRETCHES) if binning.ordered else np.arange(binning.size)
        for binning, margin in zip(binned.binnings, margins, strict=True)
    ]
    before = Number(float(per_class[rare]), float(tables[0].stddev[rare]))
    uses = plan.gradients
    of_stretches = max(1, round(uses / 2 * min(1.0, _FEW * before.stddev / max(before.value, 1e-9))))
    fine = _count(plan, view, [np.arange(size) for size in binned.sizes], rare=rare, uses=uses - of_stretches)
    wide = _count(plan, view, stretches, rare=rare, uses=of_stretches)
    if plan.schema.unit.max_rows > 1:
        # Whose rows are all of this class is shortened most. What it has at each bin is asked; of how many, tables say.
        fine, wide = (one.times(regained(plan.schema.unit, rows=before, counted=one.rows)) for one in (fine, wide))
    told = (before, fine.rows, wide.rows)
    precision = np.array([one.stddev**-2 for one in told])
    rows = float(precision @ [one.value for one in told] / precision.sum())
    per_class = per_class.copy()
    per_class[rare] = np.clip(rows, 1e-6 * binned.total, 0.5 * binned.total)
    per_class[1 - rare] = binned.total - per_class[rare]
    again = [
        table.counted_again(rare, per_class[rare] * margin, at_bins, fine.stddev, at_stretches, wide.stddev, stretch)
        for table, margin, at_bins, at_stretches, stretch in zip(
            tables, margins, fine.tables, wide.tables, stretches, strict=True
        )
    ]
    return again, per_class


def _count(plan: Blueprint, view: Doors, of_bin: Sequence[NDArray[np.int64]], *, rare: int, uses: int) -> _Recount:
    """Rows of a class in every column, its bins joined as `of_bin` says, and all of them: several counts averaged."""
    layout, block = Layout(tuple(int(joined.max()) + 1 for joined in of_bin)), plan.hot("teacher")
    coder, joined = Bins(layout), side_by_side(of_bin)
    every, weight = np.arange(len(of_bin)), math.sqrt(block.n_hot / (len(of_bin) + 1))

    def counts(batch: Batch) -> dict[str, NDArray[np.float64]]:
        bins, labels = bins_and_labels(batch)
        codes = padded(coder.codes(joined[every, bins]), block.n_hot)
        held = weight * (labels == rare)
        nothing = np.zeros((len(bins), 1))
        of_trees = {"trees": nothing} if plan.has_trees else {}
        return {"bins": np.column_stack([codes, held]), "everywhere": nothing, **of_trees}

    again = [view.noisy_sum("teacher", counts)["bins"] for _ in range(uses)]
    mean = np.mean([one.values for one in again], axis=0) / weight
    return _Recount(layout.split(mean), Number(float(mean[layout.width]), again[0].stddev / weight / math.sqrt(uses)))
