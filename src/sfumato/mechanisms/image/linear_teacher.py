"""Adapt: a linear teacher on public features of images, trained by noisy gradient sums over all rows.

Before it sees a private row, the teacher practises on images drawn from the noisy density: they say in which directions
features vary (`whitening.py`) and give the rule from which the noisy steps begin (`warm_start.py`). Both are functions of
what was measured before, so they cost nothing. The rule of photographs begins with nothing: of what makes a class of them their
density knows little, and says it surely.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.augment import with_contrast
from sfumato.learn.oriented import mirrored_places, n_features, oriented_features
from sfumato.mechanisms.common.arrays import Floats, Singles
from sfumato.mechanisms.common.classed_rows import labels_of
from sfumato.mechanisms.common.pictures import n_channels, n_classes, unit_box
from sfumato.mechanisms.common.prepared import INPUTS
from sfumato.mechanisms.image.drawing import Density, draw_images, pieces, variety_of
from sfumato.mechanisms.image.synthetic_inputs import of_norm_one
from sfumato.mechanisms.image.warm_start import fitted_rule, softmax
from sfumato.mechanisms.image.whitening import whitening_of, whitening_of_photographs
from sfumato.public.machine.exact_arithmetic import grid_products, on_grid, rounded_matrix
from sfumato.public.plan.block import Outer
from sfumato.public.plan.doors import Doors, PerRecord
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch, Schema

_MOMENTUM = 0.8
#: The steps together are as long as the noise allows, in units of mu n; and no longer than the curvature allows. From nothing, half
#: as long a way is better.
_WAY, _WAY_FROM_NOTHING, _LONGEST_WAY = 0.7, 0.35, 24_000.0

#: Told the number of a step and the rule before it.
Watch = Callable[[int, Floats], None]


@dataclass(frozen=True)
class LinearTeacher:
    """Settings as of `ThreeAImage`: passes over the rows, the clip of a gradient, directions of features, and practice."""

    n_steps: int
    clip: float
    width: int
    practice: int
    photographs: bool = False

    def inputs(self, schema: Schema) -> int:
        """How many numbers the teacher sees of an image, its constant among them."""
        directions = n_features(n_channels(schema.images[0]))
        return min(self.width, directions // 2 if self.photographs else directions) + 1

    def steps(self, schema: Schema, *, share: float) -> list[Step]:
        """The gradients."""
        shape = (n_classes(schema), self.inputs(schema))
        gradient = Outer(name="gradient", shape=shape, l2_bound=self.clip)
        return [Step(name="teacher", blocks=(gradient,), share=share, uses=self.n_steps)]

    def measure(
        self, view: Doors, schema: Schema, density: Density, *, watch: Watch = lambda step, rule: None
    ) -> dict[str, NDArray[Any]]:
        """Softmax regression by gradient steps with momentum; the second half of the steps is averaged."""
        image = schema.images[0]
        mean, matrix, rule = self._practised(schema, density)
        rounded = rounded_matrix(matrix)
        view.prepare(INPUTS, lambda b: exact_inputs(unit_box(b[image.name], image), mean, rounded))
        n_rows = max(float(np.maximum(density["class_counts"], 0).sum()), 1.0)
        mu = self.clip * math.sqrt(self.n_steps) / view.noise_stddev("teacher", "gradient")
        way = _WAY_FROM_NOTHING if self.photographs else _WAY
        rate = min(_LONGEST_WAY, way * mu * n_rows) / self.n_steps
        speed, total = np.zeros_like(rule), np.zeros_like(rule)
        first_averaged = self.n_steps // 2
        for step in range(self.n_steps):
            watch(step, rule)
            noisy = view.noisy_sum("teacher", _gradient_at(rule, schema))["gradient"].values
            speed = _MOMENTUM * speed + noisy.reshape(rule.shape) / n_rows
            rule = rule - rate * speed
            if step >= first_averaged:
                total += rule / (self.n_steps - first_averaged)
        return {"feature_mean": mean, "whitening": matrix.astype(np.float32), "rule": total}

    def _practised(self, schema: Schema, density: Density) -> tuple[Singles, Floats, Floats]:
        """The mean of the features, their whitening and the rule that images drawn from the density suggest."""
        rng = np.random.default_rng(5)
        features = np.empty((self.practice, n_features(n_channels(schema.images[0]))), dtype=np.float32)
        labels = np.empty(self.practice, dtype=np.int64)
        start = 0
        for size in pieces(self.practice, schema):
            images, label = draw_images(density, schema, size, rng=rng, small=True)
            features[start : start + size] = oriented_features(
                with_contrast(images, rng=rng, most=variety_of(density).contrast)
            )
            labels[start : start + size] = label
            start += size
        mean = features.mean(axis=0, dtype=np.float64).astype(np.float32)
        features -= mean  # in place: they are most of the memory that a release takes
        if self.photographs:
            mirror = mirrored_places(n_channels(schema.images[0]))
            matrix = whitening_of_photographs(features, mirror, width=self.inputs(schema) - 1)
            return mean, matrix, np.zeros((n_classes(schema), self.inputs(schema)))
        matrix = whitening_of(features, width=self.inputs(schema) - 1)
        directions = features @ matrix.astype(np.float32)
        del features
        return mean, matrix, fitted_rule(of_norm_one(directions), labels, classes=n_classes(schema))


def _gradient_at(rule: Floats, schema: Schema) -> PerRecord:
    """The gradient of each row's cross-entropy, as its error in every class and its inputs."""
    rounded = rounded_matrix(rule.T)

    def gradient(batch: Batch) -> dict[str, NDArray[Any]]:
        error = softmax(grid_products(batch[INPUTS], rounded))
        error[np.arange(len(error)), labels_of(batch, schema.target)] -= 1.0
        return {"gradient": np.concatenate([error.astype(np.float32), batch[INPUTS]], axis=1)}

    return gradient


def exact_inputs(images: Singles, mean: Singles, rounded: Floats) -> Singles:
    """What the teacher sees of images in the unit box, the same bits for an image whatever others stand beside it."""
    features = oriented_features(images.astype(np.float64))  # so that other sizes are resized exactly
    features -= mean
    return on_grid(of_norm_one(grid_products(on_grid(features), rounded)))
