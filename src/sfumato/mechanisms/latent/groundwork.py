"""What comes before any encoder: how long rows are, their groups, how many each group has, and its mean."""

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
from sfumato.mechanisms.latent.groups import Groups, group_of
from sfumato.mechanisms.latent.rows import Vectors
from sfumato.public.plan.doors import Doors, GroupOf, Measured
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch

#: At vectors, at vectors about the mean of their group, and at codes.
_LOOKS = 3
#: The scale of lengths ends a little above the longest: of tables, all vectors are that long, and the last cell is open.
_ABOVE = 1.01
#: The part of the groundwork that lengths are given.
_LENGTHS = 0.15
#: How many times the noise of its count a group is given in rows that are like all rows.
_PRIOR = 2.0


@dataclass(frozen=True)
class Length:
    """Where nearly all lengths end, and their mean square."""

    typical: float
    mean_square: float


@dataclass(frozen=True)
class Groundwork:
    """Noisy rows of each group, the mean of each, how far rows lie from it, and the odds of its classes."""

    counts: Measured
    means: Vectors = field(repr=False)
    about_means: Length
    labels: Vectors = field(repr=False)

    @property
    def total(self) -> float:
        """The noisy number of all rows, at least 1."""
        return max(float(self.counts.values.sum()), 1.0)

    @property
    def rates(self) -> Vectors:
        """The part of the rows that each group has."""
        return class_rates(self.counts.values)


def groundwork_steps(groups: Groups, *, share: float) -> tuple[Step, ...]:
    """Histograms of lengths, then counts and sums of each group."""
    rows = groups.rows
    return (
        Step(name="lengths", blocks=(length_block(),), uses=_LOOKS, share=_LENGTHS * share),
        Step(name="classes", blocks=counts_and_sums(rows.mixed.n_classes, rows.width), share=(1 - _LENGTHS) * share),
    )


def measure_groundwork(view: Doors, groups: Groups) -> Groundwork:
    """Prepare the vectors and their groups, and measure these."""
    rows = groups.rows
    view.prepare(VECTOR, rows.vectors)
    radius = measure_length(view, lambda batch: batch[VECTOR], longest=_ABOVE * rows.longest).typical
    labels, n_groups = groups.measure(view, radius=radius), rows.mixed.n_classes

    def of_group(batch: Batch) -> dict[str, NDArray[np.generic]]:
        return in_group(group_of(batch), clipped(batch[VECTOR], radius) / radius, n_groups)

    noisy = view.noisy_sum("classes", of_group)
    counts, sums = noisy["counts"], scaled(noisy["sums"], radius, n_groups, -1).values
    total = max(float(counts.values.sum()), 1.0)
    overall = sums.sum(axis=0) / total
    # A group of few rows is drawn towards all of them.
    prior = _PRIOR * counts.stddev
    kept = np.maximum(counts.values, 0.0)[:, None]
    means = np.stack([rows.mean_of(mean) for mean in (sums + prior * overall) / (kept + prior)])
    about = measure_length(view, about_mean(means), longest=2 * rows.longest)
    return Groundwork(counts, means, about, labels)


def about_mean(means: Vectors) -> GroupOf:
    """Vectors from the mean of their group."""
    return lambda batch: batch[VECTOR] - means[group_of(batch)]


def measure_length(view: Doors, vectors: GroupOf, *, longest: float) -> Length:
    """One look at the lengths of what a map makes of rows, on a scale that ends at the longest possible one."""
    noisy = view.noisy_sum("lengths", lambda batch: {"length": length_cell(vectors(batch), longest)})["length"]
    typical = typical_length(noisy.values, stddev=noisy.stddev, longest=longest)
    return Length(typical, mean_square(noisy.values, typical, longest=longest))
