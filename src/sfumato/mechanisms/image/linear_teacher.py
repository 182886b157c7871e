"""Adapt: a linear teacher on public features of images, trained by noisy gradient sums over all rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.oriented import n_features, oriented_features
from sfumato.mechanisms.common.pictures import labels_of, n_channels, n_classes, unit_box
from sfumato.public.block import Dense, Outer
from sfumato.public.doors import Doors, PerRecord
from sfumato.public.exact_arithmetic import grid_products, on_grid, rounded_matrix
from sfumato.public.schema import Batch, Schema
from sfumato.public.step import Step

_BIAS = 0.3  # the teacher's constant input, next to features of norm 1
_MOMENTUM = 0.9
_LARGEST_RATE = 300.0
_RATE = 0.0032  # of mu n: steps as long as the noise allows; docs/research/constants.md


@dataclass(frozen=True)
class LinearTeacher:
    """Settings of the teacher."""

    n_steps: int
    clip: float

    def steps(self, schema: Schema, *, share: float) -> list[Step]:
        """The mean of the features, then the gradients."""
        classes, width = n_classes(schema), n_features(n_channels(schema.images[0]))
        mean = Dense(name="mean", width=width, l2_bound=1.0)
        shape = (classes, width + 1)
        gradient = Outer(name="gradient", shape=shape, l2_bound=self.clip)
        return [
            Step(name="feature mean", blocks=(mean,), share=0.03 * share),
            Step(name="teacher", blocks=(gradient,), share=0.97 * share, uses=self.n_steps),
        ]

    def measure(self, view: Doors, schema: Schema, *, n_rows: float) -> dict[str, NDArray[Any]]:
        """Softmax regression by gradient steps with momentum; the second half of the steps is averaged."""
        image, classes = schema.images[0], n_classes(schema)
        # In float64, in which the filters' products are exact.
        view.prepare("features", lambda b: oriented_features(unit_box(b[image.name], image).astype(np.float64)))
        n_rows = max(n_rows, 1.0)
        mean = view.noisy_sum("feature mean", lambda b: {"mean": b["features"]})["mean"].values / n_rows
        view.prepare("features", lambda batch: about_mean(batch["features"], mean))
        rule = np.zeros((classes, len(mean) + 1))
        speed, total = np.zeros_like(rule), np.zeros_like(rule)
        mu = self.clip * np.sqrt(self.n_steps) / view.noise_stddev("teacher", "gradient")
        rate = min(_LARGEST_RATE, _RATE * mu * n_rows)
        first_averaged = self.n_steps // 2
        for step in range(self.n_steps):
            noisy = view.noisy_sum("teacher", _gradient_at(rule, schema))["gradient"].values
            speed = _MOMENTUM * speed + noisy.reshape(rule.shape) / n_rows
            rule = rule - rate * speed
            if step >= first_averaged:
                total += rule / (self.n_steps - first_averaged)
        return {"feature_mean": mean, "rule": total}


def _gradient_at(rule: NDArray[np.float64], schema: Schema) -> PerRecord:
    """The gradient of each row's cross-entropy, as its error in every class and its inputs."""
    rounded = rounded_matrix(rule.T)

    def gradient(batch: Batch) -> dict[str, NDArray[Any]]:
        error = softmax(grid_products(batch["features"], rounded))
        error[np.arange(len(error)), labels_of(batch, schema)] -= 1.0
        return {"gradient": np.concatenate([error.astype(np.float32), batch["features"]], axis=1)}

    return gradient


def teacher_inputs(images: NDArray[np.float32], mean: NDArray[np.float64]) -> NDArray[np.float32]:
    """What the teacher sees of images in the unit box."""
    return about_mean(oriented_features(images), mean)


def about_mean(features: NDArray[np.float32], mean: NDArray[np.float64]) -> NDArray[np.float32]:
    """Features about their mean, of norm 1, and a constant, on the grid of exact products."""
    inputs = np.empty((len(features), features.shape[1] + 1), dtype=np.float32)
    centred = inputs[:, :-1]
    np.subtract(features, mean.astype(np.float32), out=centred)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True) + 1e-6
    inputs[:, -1] = _BIAS
    return on_grid(inputs)


def softmax(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Probabilities of each row."""
    powers: NDArray[np.float64] = np.subtract(scores, scores.max(axis=1, keepdims=True), dtype=np.float64)
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=1, keepdims=True)
    return powers
