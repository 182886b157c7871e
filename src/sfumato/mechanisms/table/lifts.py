"""How far each class departs from all rows, bin by bin: noisy class tables with the noise taken out.

A class's probabilities are those of all rows times 1 + a, where a is a Gaussian process: along numbers a slope, a smooth
curve and something of every bin's own; among categories each its own. How large a is was learned over all columns: a
class that no column tells apart stays with all rows, and one that few tell apart gets those few (a mixture of sizes whose
weights are fitted by EM, empirical Bayes).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.bins import Binning
from sfumato.mechanisms.table.smooth import rows_to_simplex

_SIZES = np.array([0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4])
_ROUNDS = 30
_COUNT_PRIOR = 0.3  # of each size, so that none is ruled out

#: The parts of a number's departure: slope, smooth curve, each bin's own; and the length over which a curve is smooth.
_SLOPE, _CURVE, _OWN, _LENGTH = 0.6, 0.3, 0.1, 0.15

#: No bin is impossible in a class: this part of every class looks like all rows, and no bin has less than _LEAST of that.
FLOOR = 0.005
_LEAST = 0.02

#: Classes that are worked on together: more would take more memory and no less time.
_AT_ONCE = 256


@dataclass(frozen=True)
class ClassTable:
    """A column's noisy counts by class, centred: what each class has beyond its mean over the bins."""

    counts: NDArray[np.float64]
    stddev: NDArray[np.float64]


def joint_tables(
    tables: Sequence[ClassTable],
    binnings: Sequence[Binning],
    margins: Sequence[NDArray[np.float64]],
    per_class: NDArray[np.float64],
    *,
    floors: NDArray[np.float64],
) -> list[NDArray[np.float64]]:
    """The probabilities of (class, bin) of every column.

    Args:
        tables: What was counted.
        binnings: The columns.
        margins: The probability of each bin.
        per_class: Rows of each class.
        floors: The part of each class that looks like all rows.
    """
    modes = [_modes(binning, margin) for binning, margin in zip(binnings, margins, strict=True)]
    shrunk = [np.zeros_like(table.counts) for table in tables]
    for start in range(0, len(per_class), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        rows = per_class[some, None]
        seen = [
            (table.counts[some] + rows / len(margin) - rows * margin) @ vectors
            for table, margin, (_, vectors) in zip(tables, margins, modes, strict=True)
        ]
        signals = [(_SIZES**2)[:, None] * (rows**2 * values)[:, None] for values, _ in modes]
        variances = [
            signal + table.stddev[some, None, None] ** 2 for signal, table in zip(signals, tables, strict=True)
        ]
        sizes = _learned_sizes(seen, variances)
        for j, (margin, (_, vectors)) in enumerate(zip(margins, modes, strict=True)):
            kept = (sizes[j][:, :, None] * signals[j] / variances[j]).sum(axis=1)
            estimate = rows * margin + (kept * seen[j]) @ vectors.T
            least = _LEAST * rows * margin
            shrunk[j][some] = rows_to_simplex(np.maximum(estimate, least), totals=np.maximum(per_class[some], 1e-9))
    total = float(per_class.sum())
    joints = []
    for table, margin in zip(shrunk, margins, strict=True):
        joint = (1 - floors[:, None]) * table / total + floors[:, None] * per_class[:, None] / total * margin
        joints.append(np.asarray(joint / joint.sum()))
    return joints


def _modes(binning: Binning, margin: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The process's own directions for a class of one row, and the variance along each where its size is 1."""
    kernel, along = np.eye(len(margin)), binning.ordered
    if along:
        middle = np.cumsum(margin[:along]) - margin[:along] / 2
        middle = middle / max(float(margin[:along].sum()), 1e-9) - 0.5
        apart = middle[:, None] - middle
        curve = np.exp(-(apart**2) / (2 * _LENGTH**2))
        kernel[:along, :along] = 12 * _SLOPE * np.outer(middle, middle) + _CURVE * curve + _OWN * np.eye(along)
    values, vectors = np.linalg.eigh(margin[:, None] * kernel * margin)
    return np.maximum(values, 0.0), vectors


def _learned_sizes(
    seen: Sequence[NDArray[np.float64]], variances: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """For each column and class the probability of every size, with the class's weights that go best with all columns.

    Args:
        seen: For each column, by class and mode.
        variances: For each column, by class, size and mode.
    """
    log_likelihood = np.stack(
        [-0.5 * (z[:, None] ** 2 / v + np.log(v)).sum(axis=2) for z, v in zip(seen, variances, strict=True)]
    )
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=2, keepdims=True))
    weights = np.full(likelihood.shape[1:], 1 / len(_SIZES))
    for _ in range(_ROUNDS):
        of_column = likelihood * weights
        of_column /= of_column.sum(axis=2, keepdims=True)
        weights = of_column.sum(axis=0) + _COUNT_PRIOR
        weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(of_column)
