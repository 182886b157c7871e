"""Second stage: how many rows each class has, and the noisy table of (class, bin) of every column."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.binned import Binned
from sfumato.public.doors import Measured

#: A class is rare when its count is below this many standard deviations of what the teacher's budget could count.
_RARE = 30.0


@dataclass(frozen=True)
class ClassCounts:
    """Rows of each class.

    `estimates` may be negative; their `precision` is relative to that of a cell's count. A class that no value falls into
    is not `possible`, and never drawn. `total_stddev` is the noise in the number of all rows.
    """

    estimates: NDArray[np.float64]
    precision: float
    possible: NDArray[np.bool_]
    total_stddev: float

    @property
    def counts(self) -> NDArray[np.float64]:
        """At least nothing; one each where nothing is left."""
        counts = np.where(self.possible, np.maximum(self.estimates, 0.0), 0.0)
        return counts if counts.sum() > 0 else self.possible.astype(np.float64)

    @property
    def total(self) -> float:
        """The noisy number of rows."""
        return float(self.counts.sum())

    @property
    def rates(self) -> NDArray[np.float64]:
        """The probability of each class."""
        return self.counts / self.total


@dataclass(frozen=True)
class ClassTable:
    """A column's noisy counts by class, and the noise on those of each class."""

    counts: NDArray[np.float64]
    stddev: NDArray[np.float64]


def class_tables(binned: Binned, measured: Measured) -> list[ClassTable]:
    """The tables of all columns."""
    shape = binned.shape
    tables = shape.bins.split(measured.values.reshape(shape.n_classes, shape.bins.width))
    return [ClassTable(table, np.full(shape.n_classes, measured.stddev)) for table in tables]


def count_classes(binned: Binned, tables: list[ClassTable]) -> ClassCounts:
    """From the target's own counts and from every column's, by their precision."""
    n_classes, target = binned.shape.n_classes, binned.target
    estimates, precision = np.zeros(n_classes), 0.0
    possible = np.ones(n_classes, dtype=bool)
    in_total = 0.0  # the variance of the sum of all estimates, before they are divided by their precision
    if target is not None:
        estimates += np.bincount(target.bin_of, weights=binned.cell_counts[-1], minlength=n_classes)
        precision += 1.0
        in_total += len(target.bin_of)
        possible = np.bincount(target.bin_of, minlength=n_classes) > 0
    for table, size in zip(tables, binned.shape.bin_sizes, strict=bool(tables)):
        gain = (binned.cells.stddev / table.stddev[0]) ** 2
        estimates += table.counts.sum(axis=1) * gain / size
        precision += gain / size
        in_total += n_classes * gain / size
    stddev = binned.cells.stddev * float(np.sqrt(in_total)) / max(precision, 1e-12)
    return ClassCounts(estimates / max(precision, 1e-12), precision, possible, stddev)


def rare_class(classes: ClassCounts, *, recount_stddev: float) -> int | None:
    """One of two classes that has too few rows for a teacher.

    Args:
        classes: The noisy counts of all.
        recount_stddev: The noise that a count by the teacher's budget would have.
    """
    if len(classes.counts) != 2:
        return None
    at = int(np.argmin(classes.counts))
    return at if classes.counts[at] < _RARE * recount_stddev else None


def with_recounted_class(
    classes: ClassCounts, rare: int, again: float, *, stddev: float, cell_stddev: float
) -> ClassCounts:
    """The counts of the classes, the rare one's improved by a second count with noise of its own."""
    gain = (cell_stddev / stddev) ** 2
    estimates = classes.estimates.copy()
    estimates[rare] = (classes.precision * estimates[rare] + gain * again) / (classes.precision + gain)
    return replace(classes, estimates=estimates)


def with_recounted_bins(table: ClassTable, rare: int, again: Measured) -> ClassTable:
    """A column's table, the rare class's row improved by second counts."""
    counts, stddev = table.counts.copy(), table.stddev.copy()
    first, second = stddev[rare] ** -2, again.stddev**-2
    counts[rare] = (first * counts[rare] + second * again.values) / (first + second)
    stddev[rare] = (first + second) ** -0.5
    return ClassTable(counts, stddev)
