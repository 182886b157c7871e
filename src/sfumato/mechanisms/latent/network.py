"""How networks learn by noisy gradients, and one with a hidden layer that decodes codes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.prepared import PLACE, VECTOR
from sfumato.mechanisms.common.settings import require_single_precision, sampling_rate
from sfumato.mechanisms.latent.decoder import NetworkDecoder
from sfumato.mechanisms.latent.groundwork import Groundwork
from sfumato.mechanisms.latent.groups import GROUP
from sfumato.mechanisms.latent.rows import LatentRows
from sfumato.model import refuse_diverged
from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.block import Dense
from sfumato.public.plan.doors import Doors, Loss, Tensor, Tensors
from sfumato.public.plan.step import Poisson, Step
from sfumato.public.schema.schema import Schema

#: Where weights start: public, and the same for everyone.
_SEED = 23

Weights = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Training:
    """How a network learns: settings as of `P3GM`. The rate of Adam falls to 0 along a line."""

    n_steps: int
    batch: int
    clip: float
    learning_rate: float

    def rate(self, schema: Schema) -> float:
        """The chance of a row to take part in a step."""
        return sampling_rate(schema, batch=self.batch, what="training by gradients")

    def step(self, shapes: Mapping[str, Sequence[int]], schema: Schema, *, share: float) -> Step:
        """All gradient steps for weights of these shapes."""
        require_single_precision(learning_rate=self.learning_rate)
        width = sum(math.prod(shape) for shape in shapes.values())
        gradient = Dense(name="gradient", width=width, l2_bound=self.clip)
        return Step(
            name="gradients", blocks=(gradient,), uses=self.n_steps, sampling=Poisson(self.rate(schema)), share=share
        )

    def run(self, view: Doors, loss: Loss, start: Weights, *, schema: Schema) -> Weights:
        """Follow noisy gradients from a public start: Adam, on the expected number of rows in a sample."""
        torch = need_torch("training")
        weights = {name: torch.from_numpy(values.astype(np.float32)) for name, values in start.items()}
        optimiser = torch.optim.Adam(list(weights.values()), lr=self.learning_rate)
        expected = self.rate(schema) * float(schema.rows or 1)
        for step in range(self.n_steps):
            noisy = view.noisy_gradients("gradients", loss, weights)
            for group in optimiser.param_groups:
                group["lr"] = self.learning_rate * (1 - step / self.n_steps)
            for name, values in weights.items():
                values.grad = torch.from_numpy((noisy[name].values / expected).astype(np.float32))
            optimiser.step()
        trained = {name: values.numpy().astype(np.float64) for name, values in weights.items()}
        refuse_diverged(trained)
        return trained


@dataclass(frozen=True)
class Network:
    """The shapes of a decoder."""

    rows: LatentRows
    latent: int
    hidden: int

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """Of its weights."""
        return {
            "inner": (self.latent, self.hidden),
            "classes": (self.rows.mixed.n_classes, self.hidden),
            "outer": (self.latent + self.hidden, self.rows.width),
        }

    def start(self) -> Weights:
        """Drawn so that signals keep their size; the last layer is silent, so that classes decode to their means."""
        rng = np.random.default_rng(_SEED)
        drawn = {name: rng.normal(size=shape) / math.sqrt(shape[0]) for name, shape in self.shapes.items()}
        return {**drawn, "outer": np.zeros(self.shapes["outer"])}

    def decoder(self, ground: Groundwork, weights: Weights, *, unit: float) -> NetworkDecoder:
        """The trained decoder."""
        return NetworkDecoder(self.rows.scores_of(ground.means), unit, weights)

    def loss(self, ground: Groundwork, *, unit: float) -> Loss:
        """Of one row: how unlikely its decoder finds it, after its code."""
        torch = need_torch("training")
        first = torch.from_numpy(self.rows.scores_of(ground.means).astype(np.float32))
        n_classes = self.rows.mixed.n_classes

        def loss(weights: Tensors, example: Tensors) -> Tensor:
            vector, code = example[VECTOR], example[PLACE] / unit
            of_class = (torch.arange(n_classes, device=vector.device) == example[GROUP][0]).to(vector.dtype)
            hidden = torch.tanh(code @ weights["inner"] + of_class @ weights["classes"])
            scores = of_class @ first.to(vector.device) + torch.cat([code, hidden]) @ weights["outer"]
            return self.rows.loss(scores, vector)

        return loss
