"""ClustMix as published (Madl, Xu, Choudhury and Howard, 2022, Algorithm 2). NOT private: `clustmix_witness` shows why.

Rows are scaled by their own values (`clustmix_scaling`), cut into slices at random rows, clustered under a least size, the
centroids moved towards a classifier's wish, memberships recomputed slice by slice, and the means released with noise from Eq. 7.

Three things are not said in the paper and chosen here: one number for each column (a code becomes its place among the
categories), as its table counts features; slices of about 2,000 rows; a linear kernel in place of a neural tangent one.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.constrained_mixture import assigned, clusters_within
from sfumato.mechanisms.mixing.clustmix.classifier_pull import BIAS, KernelSums, adapted
from sfumato.public.accounting import least_cluster_size, mu_of_budget

Vectors = NDArray[np.float64]
Codes = NDArray[np.int64]

_SLICE = 2_000


@dataclass(frozen=True, kw_only=True)
class PublishedSettings:
    """Inputs of Algorithm 2. `alpha` weighs the density, as in its Eq. 5."""

    epsilon: float
    delta: float
    sigma_max: float
    alpha: float = 0.5
    seed: int = 0


def published_sigma(rows: int, *, epsilon: float, delta: float, features: int, classes: int) -> float:
    """The noise of Eq. 7 on the mean of a cluster: sqrt(C D) / (l mu).

    >>> round(published_sigma(118, epsilon=1.0, delta=1e-5, features=784, classes=10), 2)
    2.8
    """
    return math.sqrt(classes * features) / (rows * mu_of_budget(epsilon, delta=delta))


def published_least_size(settings: PublishedSettings, *, features: int, classes: int) -> int:
    """The least size of a cluster by Eq. 7, on the safe side of its root."""
    return least_cluster_size(
        epsilon=settings.epsilon,
        delta=settings.delta,
        sigma_max=settings.sigma_max,
        sensitivity=math.sqrt(classes * features),
    )


def number_of_clusters(rows: int, least: int) -> int:
    """Step 5: how many points a class gives, from its exact number of rows."""
    return rows // least


def clusters_of_class(rows: Vectors, least: int, *, seed: int, n_starts: int = 1) -> list[Codes]:
    """Steps 5 and 6: the members of each cluster, slice by slice."""
    members: list[Codes] = []
    for part in _slices(rows, least, seed=seed):
        labels = _clusters(rows[part], least, seed=seed, n_starts=n_starts)
        if labels is not None:
            members += [part[labels == k] for k in range(labels.max() + 1)]
    return members


def centroids(rows: Vectors, members: list[Codes]) -> Vectors:
    """Step 8: the mean of each cluster."""
    return np.stack([rows[mine].mean(axis=0) for mine in members]) if members else np.zeros((0, rows.shape[1]))


def means_of(rows: Vectors, clusters: Codes) -> tuple[Vectors, Codes]:
    """The mean of each cluster, none of them empty, and how many rows it has.

    >>> means, sizes = means_of(np.array([[0.0], [3.0], [1.0]]), np.array([1, 0, 1]))
    >>> means.tolist(), sizes.tolist()
    ([[3.0], [0.5]], [1, 2])
    """
    order, sizes = np.argsort(clusters, kind="stable"), np.bincount(clusters)
    starts = np.cumsum(sizes) - sizes
    return np.add.reduceat(rows[order], starts, axis=0) / sizes[:, None], sizes


def _clusters(rows: Vectors, least: int, *, seed: int, n_starts: int = 1) -> Codes | None:
    """The cluster of each row of a slice; None where it holds too few for one."""
    n_clusters = number_of_clusters(len(rows), least)
    if not n_clusters:
        return None
    return clusters_within(rows, n_clusters=n_clusters, min_size=least, n_starts=n_starts, max_rounds=10, seed=seed)


def publish(rows: Vectors, labels: Codes, *, n_classes: int, settings: PublishedSettings) -> tuple[Vectors, Codes]:
    """Algorithm 2: noisy means and their classes. Rows lie in the unit box, one number for each feature."""
    features = rows.shape[1]
    least = published_least_size(settings, features=features, classes=n_classes)
    slices, points, classes = [], [np.zeros((0, features))], []
    for c in range(n_classes):
        own = np.flatnonzero(labels == c)
        for part in _slices(rows[own], least, seed=settings.seed):
            found = _clusters(rows[own[part]], least, seed=settings.seed)
            if found is not None:
                slices.append(own[part])
                points.append(means_of(rows[own[part]], found)[0])
                classes.append(np.full(len(points[-1]), c))
    if not slices:
        return points[0], np.zeros(0, dtype=np.int64)
    every = np.concatenate(classes)
    moved = _adapted(np.concatenate(points), every, rows, labels, n_classes, alpha=settings.alpha)
    of_one = published_sigma(1, epsilon=settings.epsilon, delta=settings.delta, features=features, classes=n_classes)
    rng, out = np.random.default_rng(settings.seed), []
    for part, wanted in zip(slices, np.split(moved, np.cumsum([len(c) for c in classes])[:-1]), strict=True):
        means, sizes = means_of(rows[part], _nearest_within_sizes(rows[part], wanted, least))
        out.append(means + (of_one / sizes)[:, None] * rng.standard_normal(means.shape))
    return np.concatenate(out), every


def _slices(rows: Vectors, least: int, *, seed: int) -> list[Codes]:
    """Rows cut at random rows of a random feature, into parts that hold at least the least size."""
    n_slices = math.ceil(len(rows) / _SLICE)
    if n_slices <= 1:
        return [np.arange(len(rows))]
    rng = np.random.default_rng([seed, 1])
    order = np.argsort(rows[:, rng.integers(rows.shape[1])], kind="stable")
    cuts = np.sort(rng.choice(len(rows), size=n_slices - 1, replace=False))
    kept: list[int] = []
    for cut in cuts.tolist():
        if cut - (kept[-1] if kept else 0) >= least and len(rows) - cut >= least:
            kept.append(cut)
    return np.split(order, kept)


def _nearest_within_sizes(rows: Vectors, points: Vectors, least: int) -> Codes:
    """Step 14: the nearest adapted point of the same slice, with at least the least size for each."""
    square = (points**2).sum(axis=1) - 2 * rows @ points.T
    return assigned(square, low=least, high=len(rows))[0]


def _adapted(points: Vectors, classes: Codes, rows: Vectors, labels: Codes, n_classes: int, *, alpha: float) -> Vectors:
    """Step 11, with exact sums over the private rows: one more way in which every row reaches every point."""
    about, unit = rows.mean(axis=0), math.sqrt(rows.shape[1])
    inputs = np.column_stack([(rows - about) / unit, np.full(len(rows), BIAS)])
    cross = np.stack([inputs[labels == c].sum(axis=0) for c in range(n_classes)], axis=1)
    known = KernelSums(inputs.T @ inputs, cross, len(rows), 1e-3 * len(rows) / inputs.shape[1])
    sizes = np.full(len(points), len(rows) / len(points))
    moved = adapted((points - about) / unit, np.eye(n_classes)[classes], sizes, known, firmness=alpha)
    return np.asarray(about + unit * moved)
