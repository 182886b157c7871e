"""What ClustMix measures, stage by stage. Later stages use earlier ones; all of it is noisy, so all of it is public."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.clusters import length_block, length_cell, mean_square, typical_length
from sfumato.mechanisms.common.counted_classes import class_rates
from sfumato.mechanisms.common.prepared import PLACE, VECTOR
from sfumato.public.plan.block import Hot
from sfumato.public.plan.doors import Doors, Measured

Vectors = NDArray[np.float64]

#: Names of the histograms, and the columns whose lengths they count.
_COLUMNS = {"place": PLACE, "vector": VECTOR}


@dataclass(frozen=True)
class Lengths:
    """How long nearly all rows are, and so what they are clipped to: their places among the clusters, and their whole vectors."""

    place: float
    vector: float
    place_mean_square: float


def length_blocks() -> tuple[Hot, ...]:
    """A histogram of either length, with half of the precision each."""
    return tuple(replace(length_block(name), share=0.5) for name in _COLUMNS)


def measure_lengths(view: Doors, step: str, *, longest: float) -> Lengths:
    """Of the prepared columns, on a scale that ends at the `longest` possible one."""
    noisy = view.noisy_sum(step, lambda batch: {name: length_cell(batch[at], longest) for name, at in _COLUMNS.items()})
    place, vector = (
        typical_length(noisy[name].values, stddev=noisy[name].stddev, longest=longest) for name in _COLUMNS
    )
    return Lengths(place, vector, mean_square(noisy["place"].values, place, longest=longest))


@dataclass(frozen=True)
class ClassMeans:
    """Rows of each class, and the mean of their places."""

    counts: Vectors
    places: Vectors
    count_stddev: float

    @property
    def total_stddev(self) -> float:
        """The noise in the number of all rows."""
        return self.count_stddev * math.sqrt(len(self.counts))

    @property
    def total(self) -> float:
        """The noisy number of rows, at least 1."""
        return max(float(np.maximum(self.counts, 0).sum()), 1.0)

    @property
    def rates(self) -> Vectors:
        """The part of the rows that each class has."""
        return class_rates(self.counts)

    @property
    def place_of_all(self) -> Vectors:
        """The mean place of all rows."""
        part = np.maximum(self.counts, 0.0)
        overall: Vectors = part @ self.places / max(float(part.sum()), 1e-9)
        return overall


@dataclass(frozen=True)
class Clusters:
    """Centres as (class, cluster, entry of a place), which of them are in use, and the least size of a cluster."""

    centres: Vectors
    used: NDArray[np.bool_]
    least_size: int


@dataclass(frozen=True)
class Contents:
    """What is in the clusters.

    `counts` is (class, cluster); `sums` is (class, cluster, entry), of vectors about the mean of their class. How rows lie
    around means is told by the `squares` of an image's entries, (class, entry), or by the `shapes` of a table's numbers,
    histograms as (class, number, cell).
    """

    counts: Measured
    sums: Measured
    squares: Measured | None
    shapes: Measured | None


@dataclass(frozen=True)
class KernelStatistic:
    """All that a kernel regression asks of the rows: sums of f f^T and of y f^T, for features in units of `unit`."""

    gram: Measured
    cross: Measured
    unit: float
