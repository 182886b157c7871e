"""What ClustMix measures, stage by stage. Later stages use earlier ones; all of it is noisy, so all of it is public."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.public.plan.doors import Measured

Vectors = NDArray[np.float64]


@dataclass(frozen=True)
class Lengths:
    """How long nearly all rows are, and so what they are clipped to: their places among the clusters, and their whole vectors."""

    place: float
    vector: float
    place_mean_square: float


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
        kept = np.maximum(self.counts, 0.0)
        return kept / kept.sum() if kept.sum() > 0 else np.full(len(kept), 1 / len(kept))

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
