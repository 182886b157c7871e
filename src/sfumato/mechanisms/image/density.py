"""Approximate: images as clusters within classes, with one covariance around them for each class.

Everything is measured on the coefficients of a public basis, coarse to fine: class means, then clusters of what is
left of each image, then products of what is left after that. Each stage clips to a length that an earlier noisy
histogram of lengths suggests, so no bound has to be known.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.clusters import (
    about_nearest,
    clipped,
    counts_and_sums,
    in_group,
    length_block,
    length_cell,
    lloyd,
    public_start,
    typical_length,
)
from sfumato.mechanisms.common.pictures import cosine_coefficients, labels_of, n_channels, n_classes
from sfumato.mechanisms.common.shrink import shrunk_covariance
from sfumato.public.block import Outer
from sfumato.public.doors import Doors
from sfumato.public.schema import Batch, Column, Schema
from sfumato.public.step import Step


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
        lengths = (length_block(),)
        products = Outer(name="products", shape=(k, k), l2_bound=1.0, groups=classes)
        clusters = counts_and_sums(classes * self.clusters, k)
        return [
            Step(name="lengths", blocks=lengths, share=0.02 * share),
            Step(name="classes", blocks=counts_and_sums(classes, k), share=0.14 * share),
            Step(name="lengths about classes", blocks=lengths, share=0.02 * share),
            Step(name="clusters", blocks=clusters, share=0.18 * share, uses=self.rounds),
            Step(name="lengths about clusters", blocks=lengths, share=0.02 * share),
            Step(name="products", blocks=(products,), share=0.62 * share),
        ]

    def measure(self, view: Doors, schema: Schema) -> dict[str, NDArray[Any]]:
        """Class counts and means, cluster centres and weights, and loadings of the covariance."""
        image, k, classes = schema.images[0], self.width(schema), n_classes(schema)
        view.prepare("vector", lambda batch: _vectors(batch[image.name], image, k))
        radius = _length(view, "lengths", image)
        noisy = view.noisy_sum("classes", lambda b: in_group(labels_of(b, schema), b["vector"] / radius, classes))
        counts = noisy["counts"].values
        means = radius * noisy["sums"].values.reshape(classes, k) / np.maximum(counts, 1.0)[:, None]

        view.prepare("vector", lambda b: clipped(b["vector"], radius) - means[labels_of(b, schema)])
        spread = _length(view, "lengths about classes", image)
        centres, weights = lloyd(
            view,
            "clusters",
            public_start(classes, self.clusters, k, spread=spread),
            labels=lambda batch: labels_of(batch, schema),
            vector="vector",
            spread=spread,
            rounds=self.rounds,
        )

        view.prepare("vector", lambda b: about_nearest(clipped(b["vector"], spread), labels_of(b, schema), centres))
        reach = _length(view, "lengths about clusters", image)

        def twice(batch: Batch) -> dict[str, NDArray[Any]]:
            scaled = batch["vector"] / reach
            group = [labels_of(batch, schema)[:, None]] if classes > 1 else []
            return {"products": np.concatenate([scaled, scaled, *group], axis=1)}

        products = view.noisy_sum("products", twice)["products"]
        moments = products.values.reshape(classes, k, k)
        loadings = [
            reach * shrunk_covariance(moment, count=float(n), stddev=products.stddev)
            for moment, n in zip(moments, counts, strict=True)
        ]
        return {
            "class_counts": counts,
            "class_noise": np.array([noisy["counts"].stddev]),
            "means": means,
            "centres": centres,
            "weights": weights,
            "loadings": np.stack(loadings).astype(np.float32),
        }


def _vectors(images: NDArray[Any], column: Column, k: int) -> NDArray[np.float64]:
    """Cosine coefficients, one channel after another."""
    return cosine_coefficients(images, column, k // n_channels(column)).reshape(len(images), k)


def _length(view: Doors, step: str, column: Column) -> float:
    """Where nearly all lengths of the vectors end."""
    longest = float(np.sqrt(np.prod(column.shape)))
    noisy = view.noisy_sum(step, lambda batch: {"length": length_cell(batch["vector"], longest)})
    return typical_length(noisy["length"].values, stddev=noisy["length"].stddev, longest=longest)
