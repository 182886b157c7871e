"""What ClustMix measures, stage by stage, and the means that follow: which clusters stay, and what lies around them.

Everything here is a function of noisy numbers, so a cluster that is dropped for its size is dropped for its noisy size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers
from sfumato.mechanisms.common.clusters import length_block, length_cell, mean_square, typical_length
from sfumato.mechanisms.common.counted_classes import class_rates
from sfumato.mechanisms.common.prepared import PLACE, VECTOR
from sfumato.mechanisms.mixing.clustmix.classifier_pull import adapted, cleaned_sums, rule_of
from sfumato.mechanisms.mixing.clustmix.cluster_model import Projection, Rule
from sfumato.mechanisms.mixing.clustmix.tilt import cleaned
from sfumato.public.plan.block import Hot
from sfumato.public.plan.doors import Doors, Measured

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

    counts: Floats
    places: Floats
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
    def rates(self) -> Floats:
        """The part of the rows that each class has."""
        return class_rates(self.counts)

    @property
    def place_of_all(self) -> Floats:
        """The mean place of all rows."""
        part = np.maximum(self.counts, 0.0)
        return np.asarray(part @ self.places / max(float(part.sum()), 1e-9))


@dataclass(frozen=True)
class Clusters:
    """Centres as (class, cluster, entry of a place), which of them are in use, and the least size of a cluster."""

    centres: Floats
    used: Flags
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


@dataclass(frozen=True)
class ClusterMeans:
    """Clusters that were kept: the class of each, its share of all rows, and its mean."""

    label: Integers
    share: Floats
    means: Floats


def means_about_classes(contents: Contents, clusters: Clusters, rates: Floats, bands: Sequence[slice]) -> ClusterMeans:
    """The clusters of all classes, their means about those of their classes; `bands` are entries likely of one size."""
    pieces = []
    for counts, sums, used in zip(contents.counts.values, contents.sums.values, clusters.used, strict=True):
        measured = Measured(sums[used], contents.sums.stddev)
        pieces.append(_of_class(counts[used], measured, bands, least_size=clusters.least_size))
    label = np.concatenate([np.full(len(sizes), c) for c, (sizes, _) in enumerate(pieces)])
    share = np.concatenate([rates[c] * sizes / sizes.sum() for c, (sizes, _) in enumerate(pieces)])
    return ClusterMeans(label, share, np.concatenate([means for _, means in pieces]))


def _of_class(sizes: Floats, sums: Measured, bands: Sequence[slice], *, least_size: int) -> tuple[Floats, Floats]:
    """Sizes and means (about the class's own) of clusters whose noisy size is at least the least one.

    A class without such a cluster becomes one cluster. Noise is taken out in two steps: of the mean over all clusters,
    then of how the clusters differ from it.
    """
    noise, kept = sums.stddev, sizes >= least_size
    if not kept.any():
        size = max(float(sizes.sum()), noise, 1.0)
        return np.ones(1), without_noise(sums.values.sum(axis=0)[None] / size, np.array([noise / size]), bands)
    size = float(sizes[kept].sum())
    pooled = sums.values[kept].sum(axis=0)[None] / size
    pooled = without_noise(pooled, np.array([noise * np.sqrt(kept.sum()) / size]), bands)
    offsets = sums.values[kept] / sizes[kept, None] - pooled
    return sizes[kept], pooled + without_noise(offsets, noise / sizes[kept], bands)


def without_noise(values: Floats, noise: Floats, bands: Sequence[slice]) -> Floats:
    """Wiener's filter, band by band: what is more than noise, over all rows of `values`, says how much of each to keep."""
    out = values.copy()
    for band in bands:
        part = out[:, band]
        signal = max(float(((part**2).mean(axis=1) - noise**2).mean()), 0.0)
        part *= (signal / (signal + noise**2 + 1e-300))[:, None]
    return out


def deviation_around(about_classes: ClusterMeans, squares: Measured, bands: Sequence[slice], *, total: float) -> Floats:
    """The deviation of each entry around its cluster's mean: one level for each band, the same in all classes.

    An entry of one class alone would drown in its noise. What does not stand out of the noise of its band is nothing.
    `squares` are sums about class means, (class, entry).
    """
    left = squares.values.sum(axis=0) / total - about_classes.share @ about_classes.means**2
    noise = squares.stddev * np.sqrt(len(squares.values)) / total
    out = np.zeros_like(left)
    for band in bands:
        level = float(left[band].mean())
        out[band] = level if level > 2 * noise / np.sqrt(band.stop - band.start) else 0.0
    return np.asarray(np.sqrt(out))


def shapes_of(shapes: Measured, *, prior: float) -> Floats:
    """Histograms of each number as probabilities, (class, number, cell); `prior` rows' worth are those of all classes."""
    numbers = np.moveaxis(shapes.values, 1, 0)
    return np.stack([cleaned(noisy, stddev=shapes.stddev, prior=prior) for noisy in numbers], axis=1)


def adapt(
    clusters: ClusterMeans, kernel: KernelStatistic, projection: Projection, classes: ClassMeans, *, alpha: float
) -> tuple[Floats, Rule]:
    """Means moved towards what a classifier asks (alpha from 0, as they are, to 1), and the classifier trained on them."""
    known = cleaned_sums(kernel.gram.values, kernel.cross.values.T, total=classes.total, stddev=kernel.gram.stddev)
    labels, sizes = np.eye(len(classes.counts))[clusters.label], clusters.share * classes.total
    before = projection.points(clusters.means)
    after = adapted(before, labels, sizes, known, firmness=1 - alpha)
    rule = Rule(rule_of(after, labels, sizes, ridge=known.ridge), projection)
    return projection.moved(clusters.means, before=before, after=after), rule
