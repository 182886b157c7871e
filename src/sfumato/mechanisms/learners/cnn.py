"""A convolutional network for images, trained by noisy gradients: DP-SGD with the sampling that is accounted for.

Each step takes rows by their own coins, clips each one's gradient and adds noise (Abadi et al. 2016); momentum, and the mean
of the weights over the last steps, are post-processing. Proof: docs/proofs/learners.md and docs/proofs/noisy-gradients.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from sfumato.errors import PlanError, SchemaError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.common.settings import require_classes, require_positive, rows_needed
from sfumato.mechanisms.image.warm_start import softmax
from sfumato.mechanisms.learners import progress
from sfumato.mechanisms.learners.network import Arrays, Network
from sfumato.model import Classifier, Weights, refuse_diverged
from sfumato.public.budget import Budget
from sfumato.public.machine.hardware import GRADIENTS_ON_GPU
from sfumato.public.machine.torch_extra import default_device, need_torch
from sfumato.public.plan.block import Dense
from sfumato.public.plan.doors import Doors, Loss, Measured, Tensor, Tensors
from sfumato.public.plan.step import Poisson, Step
from sfumato.public.schema.schema import Batch, Schema

_MOMENTUM = 0.9
_START_SEED = 0
_LOOKS = 5
_IMAGES_AT_ONCE = 512


@register
@dataclass(frozen=True, kw_only=True)
class Cnn(progress.Watching):
    """The learner for images that gains from a GPU.

    Args:
        batch: Rows that take part in a step, on average.
        epochs: How often each row takes part, on average.
        clip: The norm to which a row's gradient is clipped.
        learning_rate: Of a gradient whose rows all have the norm of the clip.
        averaged: The part of the steps, at the end, whose weights are averaged.
        sampling: How rows come to take part: `poisson`, by coins of their own. `shuffled` is refused.
    """

    name: ClassVar[str] = "cnn"
    on_gpu: ClassVar[str] = GRADIENTS_ON_GPU
    batch: int = 4096
    epochs: float = 25.0
    clip: float = 0.5
    learning_rate: float = 0.2
    averaged: float = 0.3
    sampling: Literal["poisson", "shuffled"] = "poisson"

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Gradients over sampled rows, and looks over everyone."""
        schema.require_one_table(self.name)
        network, rate = self._network(schema), self._rate(schema)
        gradient = Dense(name="gradient", width=network.width, l2_bound=self.clip)
        # A sampled use costs about rate^2 of what it costs over everyone, at the same noise.
        return (
            Step(name="gradients", blocks=(gradient,), uses=self._n_steps(rate), sampling=Poisson(rate)),
            progress.progress_step(looks=self._n_looks(rate) + 1, share=progress.SHARE * rate**2),
        )

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Steps with momentum along noisy gradients; the weights of the last ones are averaged."""
        network, rate = self._network(schema), self._rate(schema)
        n_steps, n_looks = self._n_steps(rate), self._n_looks(rate)
        loss, looks = _loss(network, schema), list[progress.Look]()
        weights = network.start(seed=_START_SEED)
        speed = {name: np.zeros_like(values) for name, values in weights.items()}
        n_averaged = max(1, round(self.averaged * n_steps))
        mean = {name: np.zeros(values.shape) for name, values in weights.items()}
        for step in range(n_steps):
            if step * n_looks % n_steps < n_looks:
                looks.append(_look(view, network, schema, weights))
            noisy = view.noisy_gradients("gradients", loss, weights)
            weights, speed = self._moved(weights, speed, noisy)
            refuse_diverged(weights)
            if step >= n_steps - n_averaged:
                mean = {name: mean[name] + values / n_averaged for name, values in weights.items()}
        last = {name: values.astype(np.float32) for name, values in mean.items()}
        looks.append(_look(view, network, schema, last))
        return {"weights": last, "looks": tuple(looks)}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> Classifier:
        """The averaged weights are the model."""
        return CnnRule(network=self._network(schema), arrays=measurements["weights"], looks=measurements["looks"])

    def classifier(self, weights: Weights, schema: Schema, budget: Budget) -> Classifier:
        """The model of a file of weights."""
        network = self._network(schema)
        if {name: values.shape for name, values in weights.items()} != network.shapes:
            raise ValueError("weights of another network")
        return CnnRule(network=network, arrays=dict(weights))

    def _moved(self, weights: Arrays, speed: Arrays, noisy: Mapping[str, Measured]) -> tuple[Arrays, Arrays]:
        """One step. The gradient is divided by public constants: the rows that are expected, each of the norm of the clip."""
        scale = 1 / (self.batch * self.clip)
        with np.errstate(over="ignore", invalid="ignore"):  # what diverges is refused, in a sentence
            speed = {n: (_MOMENTUM * v + scale * noisy[n].values).astype(np.float32) for n, v in speed.items()}
            return {n: w - np.float32(self.learning_rate) * speed[n] for n, w in weights.items()}, speed

    def _network(self, schema: Schema) -> Network:
        if not schema.images:
            raise SchemaError("cnn is for images. Use the learner logistic for tables.")
        target = require_classes(schema, self.name)
        require_positive(batch=self.batch, epochs=self.epochs, clip=self.clip, learning_rate=self.learning_rate)
        if not 0 <= self.averaged <= 1:
            raise PlanError(f"averaged = {self.averaged} must lie between 0 and 1.")
        if self.sampling != "poisson":
            raise PlanError(
                "shuffled batches are refused: a row takes part exactly once in each pass, and not by a coin of its own. What "
                "is known of such batches costs more than the account of coins that is commonly given for them. Use poisson."
            )
        return Network(schema.images[0], target.size)

    def _rate(self, schema: Schema) -> float:
        rows = rows_needed(schema, what=self.name)
        if self.batch > rows:
            raise PlanError(
                f"batch = {self.batch:,} is larger than the data: the schema declares {rows:,} rows. Use at most as many."
            )
        return self.batch / rows

    def _n_steps(self, rate: float) -> int:
        return max(1, round(self.epochs / rate))

    def _n_looks(self, rate: float) -> int:
        return min(_LOOKS, self._n_steps(rate))


@dataclass(frozen=True, kw_only=True)
class CnnRule(progress.Watched):
    """A network with its weights. It needs torch to predict."""

    network: Network
    arrays: Arrays = field(repr=False)

    @property
    def weights(self) -> Weights:
        """The weights of every layer, as torch has them."""
        return self.arrays

    def probabilities(self, batch: Batch) -> Floats:
        """Of every class, for each image."""
        torch, device = need_torch("predicting with cnn"), default_device()
        weights = {name: torch.from_numpy(values).to(device) for name, values in self.arrays.items()}
        images = torch.as_tensor(batch[self.network.image.name], dtype=torch.float32)
        with torch.no_grad():
            parts = [self.network.scores(weights, part.to(device)).cpu() for part in images.split(_IMAGES_AT_ONCE)]
        return softmax(torch.cat(parts).double().numpy())


def _loss(network: Network, schema: Schema) -> Loss:
    """The cross-entropy of one example."""
    target = schema.require_coded_target().name

    def loss(parameters: Tensors, example: Tensors) -> Tensor:
        scores = network.scores(parameters, example[network.image.name][None])
        return need_torch("cnn").nn.functional.cross_entropy(scores, example[target][None])

    return loss


def _look(view: Doors, network: Network, schema: Schema, weights: Arrays) -> progress.Look:
    """How many training rows are right. The door takes gradients: this one's is the row's own count, whatever it is at."""
    target = schema.require_coded_target().name

    def count(parameters: Tensors, example: Tensors) -> Tensor:
        torch, at = need_torch("cnn"), parameters[progress.PROGRESS].device
        known = {name: torch.as_tensor(values, device=at) for name, values in weights.items()}
        scores = network.scores(known, example[network.image.name][None])
        right = (scores.argmax(dim=1) == example[target]).to(scores.dtype)
        lost = torch.nn.functional.cross_entropy(scores, example[target][None])
        lost = lost.clamp(max=progress.MOST_LOSS) / progress.MOST_LOSS
        return (torch.cat([1 - right, right, lost[None]]) * parameters[progress.PROGRESS]).sum()

    counted = view.noisy_gradients(progress.PROGRESS, count, {progress.PROGRESS: np.zeros(3, dtype=np.float32)})
    return progress.look_of(counted[progress.PROGRESS])
