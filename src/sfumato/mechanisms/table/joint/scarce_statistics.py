"""What a row of a scarce class says in the place of its bins: where it lies along each column, and what is rare about it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers
from sfumato.mechanisms.common.layout import side_by_side
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.joint.copula import normal_scores
from sfumato.mechanisms.table.settings.joint import JointSettings


@dataclass(frozen=True, eq=False)
class Statistics:
    """Numbers that a row says: of which column each is, its value in every bin there, and whether it is a place along a line.

    All numbers of a row together are shortened to a length of `longest`.
    """

    columns: Integers
    values: Floats
    along: Flags
    longest: float

    def of(self, bins: Integers) -> Floats:
        """The numbers of each row."""
        own = self.values[np.arange(len(self.columns)), bins[:, self.columns]]
        length = np.sqrt((own**2).sum(axis=1, keepdims=True))
        return np.asarray(own / np.maximum(length / self.longest, 1.0))

    def means(self, shares: Sequence[Floats]) -> Floats:
        """What rows with these shares of the bins, (class, bin) of every column, say on average: (class, number)."""
        means = np.empty((len(shares[0]), len(self.columns)))
        for i, (j, value) in enumerate(zip(self.columns, self.values, strict=True)):
            means[:, i] = shares[j] @ value[: shares[j].shape[1]]
        return means


def statistics_of(
    binnings: Sequence[Binning], margins: Sequence[Floats], settings: JointSettings, *, longest: float
) -> Statistics:
    """Of a column with an order its normal score, and whether the bin is a rare one; of categories, which one it is."""
    columns, values, along = [], [], []
    for j, (binning, margin) in enumerate(zip(binnings, margins, strict=True)):
        size, rare = len(margin), rare_bins(margin, settings)
        line = np.arange(2 if size == 2 else binning.ordered)
        own = []
        if len(line) > 1:
            own.append(normal_scores(margin[None], line, farthest=settings.score_farthest)[0])
        along += [True] * len(own)
        if size > 2:
            beside = np.flatnonzero(~rare[len(line) :]) + len(line)
            own += [settings.scarce_category * (np.arange(size) == b) for b in beside]
            own += [settings.score_farthest * rare] * int(rare.any())
        along += [False] * (len(own) - (len(line) > 1))
        columns += [j] * len(own)
        values += own
    table = side_by_side(values) if values else np.zeros((0, 1))
    of_column = np.array(columns, dtype=np.int64)
    return Statistics(of_column, settings.scarce_scale * table, np.array(along, dtype=np.bool_), longest)


def rare_bins(margin: Floats, settings: JointSettings) -> Flags:
    """The rarest bins of a column, as many as have few rows together."""
    order = np.argsort(margin, kind="stable")
    rare = np.zeros(len(margin), dtype=np.bool_)
    rare[order[np.cumsum(margin[order]) <= settings.scarce_part]] = True
    return rare
