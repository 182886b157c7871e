"""From noisy stacked sums to a mixture: which clusters stay, their means without most of the noise, and their labels.

Everything here is a function of noisy numbers, so a cluster that is dropped for its size is dropped for its noisy size.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Measurements
from sfumato.mechanisms.clustmix.classifier_pull import adapted, cleaned_sums, rule_of, with_bias
from sfumato.mechanisms.clustmix.cluster_space import ClusterSpace
from sfumato.mechanisms.clustmix.tilt import cleaned

Vectors = NDArray[np.float64]


@dataclass(frozen=True)
class Rule:
    """A linear classifier on public features of a vector: one column of weights for each class."""

    weights: Vectors
    frame: Vectors
    about: Vectors
    unit: float

    def probabilities(self, vectors: Vectors) -> Vectors:
        """What it says of vectors, as probabilities."""
        said = np.clip(with_bias((vectors - self.about) @ self.frame / self.unit) @ self.weights, 1e-6, 1.0)
        shares: Vectors = said / said.sum(axis=1, keepdims=True)
        return shares


@dataclass(frozen=True)
class Mixture:
    """Clusters: the class of each, its share of the rows and its mean; and for each class how rows lie around means.

    `deviation` is that of each entry of an image in any class, `shapes` holds a histogram of each number of a table.
    """

    label: NDArray[np.int64]
    share: Vectors
    means: Vectors
    deviation: Vectors | None
    shapes: Vectors | None
    n_classes: int
    total: float
    rule: Rule | None
    alpha: float

    def soft_labels(self, vectors: Vectors, cluster: NDArray[np.int64]) -> Vectors:
        """Between the class of the cluster (alpha = 1) and what the classifier says (alpha = 0)."""
        if self.rule is None:
            return np.eye(self.n_classes)[self.label[cluster]]
        soft: Vectors = (1 - self.alpha) * self.rule.probabilities(vectors)
        soft[np.arange(len(soft)), self.label[cluster]] += self.alpha
        return soft


def mixture_from(found: Measurements, space: ClusterSpace, frames: tuple[Vectors, Vectors], *, alpha: float) -> Mixture:
    """Read the measurements as a mixture.

    Args:
        found: What ClustMix measured.
        space: What rows become.
        frames: The directions of clustering and of the kernel.
        alpha: The trade-off of `adapted` and `Mixture.soft_labels`.
    """
    whole, noise, least = (float(value) for value in found["scales"])
    base = np.asarray(found["class_means"]) @ frames[0].T
    rates = _rates(found["class_counts"])
    pieces = [_clusters_of_class(found, c, space.bands, noise=noise, least=least) for c in range(len(rates))]
    label = np.concatenate([np.full(len(sizes), c) for c, (sizes, _) in enumerate(pieces)])
    share = np.concatenate([rates[c] * sizes / sizes.sum() for c, (sizes, _) in enumerate(pieces)])
    about_class = np.concatenate([means for _, means in pieces])
    deviation = _deviation(found, share, about_class, space.bands) if "squares" in found else None
    shapes = _shapes(found, least=least) if "shapes" in found else None
    means, total = about_class + base[label], max(float(np.maximum(found["class_counts"], 0).sum()), 1.0)
    rule = None
    if "gram" in found:
        means, rule = _adapt(found, means, label, share * total, frames[1], rates @ base, whole, total, alpha=alpha)
    return Mixture(label, share, means, deviation, shapes, len(rates), total, rule, alpha)


def _rates(counts: NDArray[np.generic]) -> Vectors:
    kept = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
    return kept / kept.sum() if kept.sum() > 0 else np.full(len(kept), 1 / len(kept))


def _clusters_of_class(
    found: Measurements, c: int, bands: Sequence[slice], *, noise: float, least: float
) -> tuple[Vectors, Vectors]:
    """Sizes and means (about the class's own) of clusters whose noisy size is at least the least one.

    A class without such a cluster becomes one cluster. Noise is taken out in two steps: of the mean over all clusters,
    then of how the clusters differ from it.
    """
    used = np.asarray(found["used"][c]) > 0
    sizes = np.asarray(found["counts"][c], dtype=np.float64)[used]
    sums = np.asarray(found["sums"][c], dtype=np.float64)[used]
    kept = sizes >= least
    if not kept.any():
        size = max(float(sizes.sum()), noise, 1.0)
        return np.ones(1), without_noise(sums.sum(axis=0)[None] / size, np.array([noise / size]), bands)
    size = float(sizes[kept].sum())
    pooled = sums[kept].sum(axis=0)[None] / size
    pooled = without_noise(pooled, np.array([noise * np.sqrt(kept.sum()) / size]), bands)
    apart = sums[kept] / sizes[kept, None] - pooled
    return sizes[kept], pooled + without_noise(apart, noise / sizes[kept], bands)


def without_noise(values: Vectors, noise: Vectors, bands: Sequence[slice]) -> Vectors:
    """Wiener's filter, band by band: what is more than noise, over all rows of `values`, says how much of each to keep.

    Args:
        values: Signal and noise, one vector a row.
        noise: The standard deviation of the noise in each row.
        bands: Entries that are likely to be of one size.
    """
    out = values.copy()
    for band in bands:
        part = out[:, band]
        signal = max(float(((part**2).mean(axis=1) - noise**2).mean()), 0.0)
        part *= (signal / (signal + noise**2 + 1e-300))[:, None]
    return out


def _deviation(found: Measurements, share: Vectors, means: Vectors, bands: Sequence[slice]) -> Vectors:
    """The deviation of each entry around its cluster's mean: one level for each band, the same in all classes.

    An entry of one class alone would drown in its noise. What does not stand out of the noise of its band is nothing.
    """
    total = max(float(np.maximum(found["class_counts"], 0).sum()), 1.0)
    left = np.asarray(found["squares"], dtype=np.float64).sum(axis=0) / total - share @ means**2
    noise = float(found["square_noise"][0]) * np.sqrt(len(found["squares"])) / total
    out = np.zeros_like(left)
    for band in bands:
        level = float(left[band].mean())
        out[band] = level if level > 2 * noise / np.sqrt(band.stop - band.start) else 0.0
    deviation: Vectors = np.sqrt(out)
    return deviation


def _shapes(found: Measurements, *, least: float) -> Vectors:
    stddev = float(found["shape_noise"][0])
    noisy = np.asarray(found["shapes"])
    return np.stack([cleaned(noisy[:, at], stddev=stddev, prior=least) for at in range(noisy.shape[1])], axis=1)


def _adapt(
    found: Measurements,
    means: Vectors,
    label: NDArray[np.int64],
    sizes: Vectors,
    frame: Vectors,
    about: Vectors,
    unit: float,
    total: float,
    *,
    alpha: float,
) -> tuple[Vectors, Rule]:
    known = cleaned_sums(
        np.asarray(found["gram"]), np.asarray(found["cross"]).T, total=total, stddev=float(found["kernel_noise"][0])
    )
    classes = np.eye(known.cross.shape[1])[label]
    points = (means - about) @ frame / unit
    moved = adapted(points, classes, sizes, known, alpha=alpha)
    rule = Rule(rule_of(moved, classes, sizes, ridge=known.ridge), frame, about, unit)
    return means + unit * (moved - points) @ frame.T, rule
