"""Approximate: images as clusters within classes, with one covariance around them for each class.

Everything is measured on the coefficients of a public basis, coarse to fine: the mean, then class means of what is left of
each image, then clusters, then products of what is left after that. Each stage clips to a length that an earlier noisy
histogram of lengths suggests, so no bound has to be known.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common import clusters
from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.common.classed_rows import ClassedRows
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.common.pictures import cosine_coefficients, n_channels, n_classes, unit_box, waves_of
from sfumato.mechanisms.common.prepared import VECTOR
from sfumato.mechanisms.common.shrink import class_covariances, shrunk_means
from sfumato.public.plan.block import Outer
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch, Column, Schema, n_rows_of

#: What clusters get where products get 1; what each histogram of lengths, the mean of all and textures get where class means get 1.
_CLUSTERS, _LENGTHS, _MEAN, _TEXTURE = 0.29, 0.14, 0.3, 0.3


@dataclass(frozen=True)
class ImageDensity:
    """Settings as of `ThreeAImage`; `first_moments` is what class means get, where products of coefficients get 1.

    Coefficients are of waves across channels, or of each channel by itself; `texture` says how strong all other waves are.
    `one_shape`: all classes have the same covariance about their means, which is measured once.
    """

    coefficients: int
    clusters: int
    first_moments: float
    rounds: int = 1
    by_channel: bool = False
    texture: bool = False
    one_shape: bool = False

    def width(self, schema: Schema) -> int:
        """How many coefficients describe an image, over all channels."""
        image = schema.images[0]
        return min(self.coefficients, image.shape[0] * image.shape[1]) * n_channels(image)

    def has_texture(self, schema: Schema) -> bool:
        """Whether there are waves beyond the coefficients, and they are asked for."""
        return self.texture and self.width(schema) < math.prod(schema.images[0].shape)

    def n_bands(self, schema: Schema) -> int:
        """How many strengths say what the waves beyond the coefficients are like."""
        return int(waves_of(schema.images[0]).bands(self.width(schema)).max()) + 1

    def steps(self, schema: Schema, *, share: float) -> list[Step]:
        """Sums over everyone: lengths to clip by, means coarse to fine, and products of what these leave."""
        k, classes, means = self.width(schema), n_classes(schema), self.first_moments
        lengths = (clusters.length_block(),)
        products = Outer(name="products", shape=(k, k), l2_bound=1.0, groups=self._shapes(classes))
        steps = [
            Step(name="lengths", blocks=lengths, share=_LENGTHS * means),
            Step(name="mean", blocks=clusters.counts_and_sums(1, k), share=_MEAN * means),
            Step(name="lengths about the mean", blocks=lengths, share=_LENGTHS * means),
            Step(name="classes", blocks=clusters.counts_and_sums(classes, k), share=means),
            Step(name="lengths about classes", blocks=lengths, share=_LENGTHS * means),
        ]
        if self.clusters > 1:
            blocks = clusters.counts_and_sums(classes * self.clusters, k)
            steps += [
                Step(name="clusters", blocks=blocks, share=_CLUSTERS, uses=self.rounds),
                Step(name="lengths about clusters", blocks=lengths, share=_LENGTHS * means),
            ]
        steps.append(Step(name="products", blocks=(products,), share=1.0))
        if self.has_texture(schema):
            bands = Outer(name="bands", shape=(classes, self.n_bands(schema)), l2_bound=1.0)
            steps += [
                Step(name="lengths of texture", blocks=lengths, share=_LENGTHS * means),
                Step(name="texture", blocks=(bands,), share=_TEXTURE * means),
            ]
        total = sum(step.share for step in steps)
        return [replace(step, share=share * step.share / total) for step in steps]

    def measure(self, view: Doors, schema: Schema) -> dict[str, NDArray[Any]]:
        """Class counts and means, cluster centres and weights, and loadings of the covariance."""
        image, k, classes = schema.images[0], self.width(schema), n_classes(schema)
        labels = ClassedRows(schema).labels
        view.prepare(VECTOR, lambda b: self._coefficients(b, schema))
        radius = _length(view, "lengths", image)
        all_rows = view.noisy_sum(
            "mean", lambda b: clusters.in_group(np.zeros(n_rows_of(b), np.int64), b[VECTOR] / radius, 1)
        )
        fewest = all_rows["counts"].stddev  # with fewer rows there is nothing but noise
        mean = radius * all_rows["sums"].values / max(float(all_rows["counts"].values[0]), fewest)

        view.prepare(VECTOR, lambda b: clusters.clipped(b[VECTOR], radius) - mean)
        width = _length(view, "lengths about the mean", image)
        noisy = view.noisy_sum("classes", lambda b: clusters.in_group(labels(b), b[VECTOR] / width, classes))
        counts, sums = noisy["counts"].values, scaled(noisy["sums"], width, classes, k)
        class_offsets = shrunk_means(sums.values, counts, stddev=sums.stddev)

        view.prepare(VECTOR, lambda b: clusters.clipped(b[VECTOR], width) - class_offsets[labels(b)])
        reach = _length(view, "lengths about classes", image)
        centres, weights = np.zeros((classes, 1, k)), np.ones((classes, 1))
        if self.clusters > 1:
            spread = reach
            centres, weights = clusters.find_centres(
                view,
                "clusters",
                clusters.public_start(classes, self.clusters, k, spread=spread),
                labels=labels,
                vector=VECTOR,
                spread=spread,
                rounds=self.rounds,
            )
            view.prepare(
                VECTOR,
                lambda b: clusters.about_nearest(clusters.clipped(b[VECTOR], spread), labels(b), centres),
            )
            reach = _length(view, "lengths about clusters", image)

        shapes = self._shapes(classes)

        def twice(batch: Batch) -> dict[str, NDArray[Any]]:
            scaled_vector = batch[VECTOR] / reach
            group = [labels(batch)[:, None]] if shapes > 1 else []
            return {"products": np.concatenate([scaled_vector, scaled_vector, *group], axis=1)}

        products = view.noisy_sum("products", twice)["products"]
        moments = products.values.reshape(shapes, k, k)
        rows = counts if shapes == classes else counts.sum(keepdims=True)
        loadings = reach * class_covariances(moments, rows, stddev=products.stddev)
        texture = self._texture(view, schema, counts) if self.has_texture(schema) else {}
        return texture | {
            "class_counts": counts,
            "class_noise": np.array([noisy["counts"].stddev]),
            "means": mean + class_offsets,
            "centres": centres,
            "weights": weights,
            "loadings": np.broadcast_to(loadings, (classes, k, k)).astype(np.float32),
        }

    def _shapes(self, classes: int) -> int:
        """How many covariances there are."""
        return 1 if self.one_shape else classes

    def _coefficients(self, batch: Batch, schema: Schema) -> Floats:
        image, k = schema.images[0], self.width(schema)
        if self.by_channel:
            return cosine_coefficients(batch[image.name], image, k // n_channels(image)).reshape(n_rows_of(batch), k)
        return waves_of(image).coefficients(unit_box(batch[image.name], image))[:, :k]

    def _texture(self, view: Doors, schema: Schema, counts: Floats) -> dict[str, NDArray[Any]]:
        """How strong the waves beyond the coefficients are in each class, as the deviation of one of them."""
        image, k, classes = schema.images[0], self.width(schema), n_classes(schema)
        band, labels = waves_of(image).bands(k), ClassedRows(schema).labels
        members = [np.flatnonzero(band == at) for at in range(self.n_bands(schema))]

        def strengths(batch: Batch) -> Floats:
            beyond = waves_of(image).coefficients(unit_box(batch[image.name], image))[:, k:]
            return np.stack([np.linalg.norm(np.take(beyond, m, axis=1), axis=1) for m in members], axis=1)

        view.prepare(VECTOR, strengths)
        longest = _length(view, "lengths of texture", image)

        def in_class(batch: Batch) -> dict[str, NDArray[Any]]:
            return {"bands": clusters.in_group(labels(batch), batch[VECTOR] / longest, classes)["sums"]}

        noisy = scaled(view.noisy_sum("texture", in_class)["bands"], longest, classes, len(members))
        rows = np.maximum(counts, 0.0)
        of_all = noisy.values.sum(axis=0) / max(float(rows.sum()), 1.0)
        own = shrunk_means(noisy.values - rows[:, None] * of_all, counts, stddev=noisy.stddev)
        each = np.maximum(of_all + own, 0.0) / np.sqrt([len(m) for m in members])
        return {"texture": each[:, band].astype(np.float32)}


def _length(view: Doors, step: str, column: Column) -> float:
    """Where nearly all lengths of the vectors end."""
    longest = float(np.sqrt(np.prod(column.shape)))
    noisy = view.noisy_sum(step, lambda batch: {"length": clusters.length_cell(batch[VECTOR], longest)})
    return clusters.typical_length(noisy["length"].values, stddev=noisy["length"].stddev, longest=longest)
