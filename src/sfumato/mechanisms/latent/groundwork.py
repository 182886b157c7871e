"""What comes before any encoder: how long rows are, how many each class has, and their mean."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.clusters import (
    clipped,
    counts_and_sums,
    in_group,
    length_block,
    length_cell,
    mean_square,
    typical_length,
)
from sfumato.mechanisms.common.counted_classes import class_rates
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.common.prepared import VECTOR
from sfumato.mechanisms.latent.rows import LatentRows, Vectors
from sfumato.public.plan.doors import Doors, GroupOf, Measured
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch

#: At vectors, at vectors about the mean of their class, and at codes.
_LOOKS = 3
#: The scale of lengths ends a little above the longest: of tables, all vectors are that long, and the last cell is open.
_ABOVE = 1.01
#: The part of the groundwork that lengths are given.
_LENGTHS = 0.15
#: How many times the noise of its count a class is given in rows that are like all rows.
_PRIOR = 2.0


@dataclass(frozen=True)
class Length:
    """Where nearly all lengths end, and their mean square."""

    typical: float
    mean_square: float


@dataclass(frozen=True)
class Groundwork:
    """Noisy rows of each class, the mean of each, and how far rows lie from the mean of their class."""

    counts: Measured
    means: Vectors = field(repr=False)
    about_means: Length

    @property
    def total(self) -> float:
        """The noisy number of all rows, at least 1."""
        return max(float(self.counts.values.sum()), 1.0)

    @property
    def rates(self) -> Vectors:
        """The part of the rows that each class has."""
        return class_rates(self.counts.values)


def groundwork_steps(rows: LatentRows, *, share: float) -> tuple[Step, ...]:
    """Histograms of lengths, then counts and sums of each class."""
    return (
        Step(name="lengths", blocks=(length_block(),), uses=_LOOKS, share=_LENGTHS * share),
        Step(name="classes", blocks=counts_and_sums(rows.mixed.n_classes, rows.width), share=(1 - _LENGTHS) * share),
    )


def measure_groundwork(view: Doors, rows: LatentRows) -> Groundwork:
    """Prepare the vectors, and measure their classes."""
    view.prepare(VECTOR, rows.vectors)
    radius = measure_length(view, lambda batch: batch[VECTOR], longest=_ABOVE * rows.longest).typical
    n_classes = rows.mixed.n_classes

    def of_class(batch: Batch) -> dict[str, NDArray[np.generic]]:
        return in_group(rows.mixed.labels(batch), clipped(batch[VECTOR], radius) / radius, n_classes)

    noisy = view.noisy_sum("classes", of_class)
    counts, sums = noisy["counts"], scaled(noisy["sums"], radius, n_classes, -1).values
    total = max(float(counts.values.sum()), 1.0)
    overall = sums.sum(axis=0) / total
    # A class of few rows is drawn towards all of them.
    prior = _PRIOR * counts.stddev
    kept = np.maximum(counts.values, 0.0)[:, None]
    means = np.stack([rows.mean_of(mean) for mean in (sums + prior * overall) / (kept + prior)])
    longest = 2 * rows.longest
    about = measure_length(view, lambda batch: batch[VECTOR] - means[rows.mixed.labels(batch)], longest=longest)
    return Groundwork(counts, means, about)


def measure_length(view: Doors, vectors: GroupOf, *, longest: float) -> Length:
    """One look at the lengths of what a map makes of rows, on a scale that ends at the longest possible one."""
    noisy = view.noisy_sum("lengths", lambda batch: {"length": length_cell(vectors(batch), longest)})["length"]
    typical = typical_length(noisy.values, stddev=noisy.stddev, longest=longest)
    return Length(typical, mean_square(noisy.values, typical, longest=longest))
