"""From noisy class tables to probabilities: of each bin, and of each bin together with each class."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.binned import Binned
from sfumato.mechanisms.table.class_counts import ClassCounts, ClassTable
from sfumato.mechanisms.table.pairs import excess_of
from sfumato.mechanisms.table.smooth import to_simplex

#: This part of every class looks like all rows, so that no value is impossible. More of a rare class: its columns
#: are drawn one by one, so without it no row of the class would be as plain in most columns as many real ones are.
_FLOOR = 0.01
_RARE_FLOOR = 0.25


def margins_of(binned: Binned, tables: Sequence[ClassTable], *, total: float) -> list[NDArray[np.float64]]:
    """The probability of each bin, from fine cells and class tables by their precision."""
    cell_stddev, n_classes = binned.cells.stddev, binned.shape.n_classes
    out = []
    for binning, fine, table in zip(binned.features, binned.cell_counts, tables, strict=False):
        sizes = np.bincount(binning.bin_of, minlength=binning.size)
        first = np.bincount(binning.bin_of, weights=fine, minlength=binning.size)
        gain = n_classes * table.stddev[0] ** 2 / cell_stddev**2 / np.maximum(sizes, 1)
        merged = np.where(sizes > 0, (first * gain + table.counts.sum(axis=0)) / (gain + 1), -cell_stddev * 1e3)
        out.append(to_simplex(merged, total=total) / total)
    return out


def joint_of(
    margin: NDArray[np.float64], table: ClassTable, classes: ClassCounts, *, rare: int | None
) -> NDArray[np.float64]:
    """The probability of (class, bin): each class shrunk towards all rows, as far as noise explains the difference.

    Args:
        margin: The probability of each bin.
        table: The noisy counts.
        classes: The noisy counts of the classes.
        rare: A class with few rows.
    """
    rows = []
    for counts, total, stddev in zip(table.counts, classes.counts, table.stddev, strict=True):
        expected = total * margin
        excess, sure = excess_of(counts, expected, noise=float(stddev))
        apart = np.where(margin > 0, counts - expected, 0.0)
        kept = excess / max(float((apart**2).sum()), 1e-12) if sure else 0.0
        rows.append(to_simplex(expected + min(kept, 1.0) * apart, total=max(float(total), 1e-9)))
    plain = np.where(np.arange(len(rows)) == rare, _RARE_FLOOR, _FLOOR)[:, None]
    own = np.where(margin > 0, np.stack(rows), 0.0) / classes.total
    joint = (1 - plain) * own + plain * classes.rates[:, None] * margin
    return np.asarray(joint / joint.sum())
