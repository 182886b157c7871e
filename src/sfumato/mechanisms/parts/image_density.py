"""Approximate: images as clusters within classes, with one covariance around them for each class.

Everything is measured on the coefficients of a public basis, coarse to fine: class means, then clusters of what is
left of each image, then products of what is left after that. Each stage clips to a length that an earlier noisy
histogram of lengths suggests, so no bound has to be known.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.dct import cosine_basis
from sfumato.mechanisms.parts.image_shrink import shrunk_covariance, shrunk_means
from sfumato.public.doors import Doors
from sfumato.public.encoding import one_hot
from sfumato.public.schema import Batch, Column, Schema
from sfumato.public.step import Block, Step

Vectors = NDArray[np.float64]

_LENGTH_CELLS = 64
_CLIP_QUANTILE = 0.95


def n_channels(column: Column) -> int:
    """One for grey images."""
    return column.shape[2] if len(column.shape) == 3 else 1


def n_classes(schema: Schema) -> int:
    """One where there is no target."""
    return schema.require_coded_target().size if schema.target else 1


def labels_of(batch: Batch, schema: Schema) -> NDArray[np.int64]:
    """The class of each row; 0 where there is no target."""
    if schema.target is None:
        return np.zeros(len(batch[schema.images[0].name]), dtype=np.int64)
    return batch[schema.target].astype(np.int64)


def unit_box(images: NDArray[Any], column: Column) -> NDArray[np.float32]:
    """Pixels scaled by their bounds."""
    return ((images.astype(np.float32) - column.low) / (column.high - column.low)).astype(np.float32)


@dataclass(frozen=True)
class ImageDensity:
    """Settings of the density."""

    coefficients: int
    clusters: int
    rounds: int

    def width(self, schema: Schema) -> int:
        """How many coefficients describe an image, over all channels."""
        image = schema.images[0]
        return min(self.coefficients, image.shape[0] * image.shape[1]) * n_channels(image)

    def steps(self, schema: Schema, *, share: float) -> list[Step]:
        """Sums over everyone; nearly all of the precision goes to the products."""
        k, classes = self.width(schema), n_classes(schema)
        lengths = (Block(name="length", width=_LENGTH_CELLS, hot=1),)
        products = Block(name="products", width=classes * k * k, outer=(k, k), l2_bound=1.0, groups=classes)
        clusters = _counts_and_sums(classes * self.clusters, k)
        return [
            Step(name="lengths", blocks=lengths, share=0.02 * share),
            Step(name="classes", blocks=_counts_and_sums(classes, k), share=0.14 * share),
            Step(name="lengths about classes", blocks=lengths, share=0.02 * share),
            Step(name="clusters", blocks=clusters, share=0.18 * share, uses=self.rounds),
            Step(name="lengths about clusters", blocks=lengths, share=0.02 * share),
            Step(name="products", blocks=(products,), share=0.62 * share),
        ]

    def measure(self, view: Doors, schema: Schema) -> dict[str, NDArray[Any]]:
        """Class counts and means, cluster centres and weights, and loadings of the covariance."""
        image, k, classes = schema.images[0], self.width(schema), n_classes(schema)
        view.prepare("vector", lambda batch: _coefficients(batch[image.name], image, k))
        radius = _length(view, "lengths", lambda batch: batch["vector"], image)
        noisy = view.noisy_sum("classes", lambda b: _in_group(labels_of(b, schema), b["vector"] / radius, classes))
        counts = noisy["counts"]
        means = radius * noisy["sums"].reshape(classes, k) / np.maximum(counts, 1.0)[:, None]

        view.prepare("vector", lambda b: _clipped(b["vector"], radius) - means[labels_of(b, schema)])
        spread = _length(view, "lengths about classes", lambda batch: batch["vector"], image)
        centres, weights = self._cluster(view, schema, spread=spread)

        view.prepare("vector", lambda b: _about_nearest(_clipped(b["vector"], spread), labels_of(b, schema), centres))
        reach = _length(view, "lengths about clusters", lambda batch: batch["vector"], image)

        def twice(batch: Batch) -> dict[str, NDArray[Any]]:
            scaled = batch["vector"] / reach
            group = [labels_of(batch, schema)[:, None]] if classes > 1 else []
            return {"products": np.concatenate([scaled, scaled, *group], axis=1)}

        moments = view.noisy_sum("products", twice)["products"].reshape(classes, k, k)
        stddev = view.noise_stddev("products", "products")
        loadings = [
            reach * shrunk_covariance(m, count=float(n), stddev=stddev) for m, n in zip(moments, counts, strict=True)
        ]
        return {
            "class_counts": counts,
            "means": means,
            "centres": centres,
            "weights": weights,
            "loadings": np.stack(loadings).astype(np.float32),
        }

    def _cluster(self, view: Doors, schema: Schema, *, spread: float) -> tuple[Vectors, Vectors]:
        """Lloyd's rounds with noisy sums. Given private centres, the nearest one is a function of the row alone."""
        k, classes = self.width(schema), n_classes(schema)
        centres = _public_start(classes, self.clusters, k, spread=spread)
        weights = np.ones((classes, self.clusters))
        for _ in range(self.rounds):

            def assigned(batch: Batch, centres: Vectors = centres) -> dict[str, NDArray[Any]]:
                label = labels_of(batch, schema)
                nearest = label * self.clusters + _nearest(batch["vector"], label, centres)
                return _in_group(nearest, batch["vector"] / spread, classes * self.clusters)

            noisy = view.noisy_sum("clusters", assigned)
            stddev = spread * view.noise_stddev("clusters", "sums")
            found = shrunk_means(spread * noisy["sums"].reshape(-1, k), noisy["counts"], stddev=stddev)
            centres = found.reshape(classes, self.clusters, k)
            weights = np.maximum(noisy["counts"], 1.0).reshape(classes, self.clusters)
        return centres, weights


def _counts_and_sums(groups: int, k: int) -> tuple[Block, ...]:
    """How many rows are in each group, and the sum of their vectors, which have norm at most 1."""
    sums = Block(name="sums", width=groups * k, outer=(groups, k), l2_bound=1.0, share=0.8)
    return (Block(name="counts", width=groups, hot=1, share=0.2), sums)


def _in_group(group: NDArray[np.int64], vectors: NDArray[Any], groups: int) -> dict[str, NDArray[Any]]:
    return {"counts": group, "sums": np.concatenate([one_hot(group, size=groups), vectors], axis=1)}


def _coefficients(images: NDArray[Any], column: Column, k: int) -> NDArray[np.float32]:
    """Cosine coefficients of each channel, one channel after another."""
    channels = n_channels(column)
    pixels = unit_box(images, column).reshape(len(images), -1, channels).transpose(0, 2, 1)
    basis = cosine_basis(column.shape[0], column.shape[1], k // channels)
    return (pixels @ basis).reshape(len(images), k)


def _clipped(vectors: NDArray[Any], bound: float) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    shorter: Vectors = vectors * np.minimum(1.0, bound / np.maximum(lengths, 1e-12))
    return shorter


def _nearest(vectors: NDArray[Any], label: NDArray[np.int64], centres: Vectors) -> NDArray[np.int64]:
    """The nearest centre of the row's own class."""
    nearest = np.zeros(len(vectors), dtype=np.int64)
    for c in np.unique(label):
        mine = np.flatnonzero(label == c)
        distance = (centres[c] ** 2).sum(axis=1) - 2 * vectors[mine] @ centres[c].T
        nearest[mine] = distance.argmin(axis=1)
    return nearest


def _about_nearest(vectors: Vectors, label: NDArray[np.int64], centres: Vectors) -> Vectors:
    left: Vectors = vectors - centres[label, _nearest(vectors, label, centres)]
    return left


def _public_start(classes: int, clusters: int, k: int, *, spread: float) -> Vectors:
    """Public random places among the lowest frequencies, where images of a class differ most."""
    low = min(25, k)
    centres = np.zeros((classes, clusters, k))
    centres[:, :, :low] = np.random.default_rng(3).normal(size=(classes, clusters, low)) * 0.5 * spread / np.sqrt(low)
    return centres


def _length(view: Doors, step: str, vectors: Callable[[Batch], NDArray[Any]], column: Column) -> float:
    """Where nearly all lengths end, by a noisy histogram on a public scale."""
    longest = float(np.sqrt(np.prod(column.shape)))
    noisy = view.noisy_sum(step, lambda b: {"length": np.linalg.norm(vectors(b), axis=1) / longest * _LENGTH_CELLS})
    kept = np.where(noisy["length"] > 2 * view.noise_stddev(step, "length"), noisy["length"], 0.0)
    if kept.sum() <= 0:
        return longest / 2  # nothing rises above the noise
    upto = np.cumsum(kept) / kept.sum()
    return longest * float(np.searchsorted(upto, _CLIP_QUANTILE) + 1) / _LENGTH_CELLS
