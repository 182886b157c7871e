"""A discriminator of mixed rows: which vectors it sees of private and of generated rows, its score, and its losses."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.learn.dct import cosine_basis
from sfumato.mechanisms.common.arrays import Singles
from sfumato.mechanisms.common.generator import Outputs
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.common.pictures import cosine_coefficients, n_channels
from sfumato.mechanisms.common.prepared import INPUTS
from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.doors import Loss, Tensor, Tensors
from sfumato.public.schema.encoding import one_hot
from sfumato.public.schema.schema import Batch

_LEAK = 0.2  # the slope of a unit that is off
_TEMPERATURE = 0.5  # of relaxed codes: generated rows should look nearly as decided as private ones
_TINY = 1e-12


@dataclass(frozen=True)
class Discriminator:
    """A network of two hidden layers of so many units, apart from its parameters; of images it sees so many coefficients."""

    rows: MixedRows
    hidden: int
    coefficients: int

    @property
    def width(self) -> int:
        """Entries of what it sees of a row, the class not counted."""
        image = self.rows.image
        if image is None:
            return self.rows.n_numbers + sum(self.rows.code_sizes)
        return self._per_channel * n_channels(image)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of its parameters."""
        sizes = [self.width, self.hidden, self.hidden, self.rows.n_classes]
        layers = list(itertools.pairwise(sizes))
        weights = {f"weight{at}": layer for at, layer in enumerate(layers)}
        return weights | {f"bias{at}": layer[1:] for at, layer in enumerate(layers)}

    def start(self, seed: int) -> dict[str, Tensor]:
        """Parameters, drawn so that signals keep their size."""
        torch, rng = need_torch("dp-gan"), np.random.default_rng(seed)
        drawn = {
            name: rng.normal(size=shape) * math.sqrt(2 / shape[0]) if len(shape) == 2 else np.zeros(shape)
            for name, shape in self.shapes.items()
        }
        return {name: torch.from_numpy(values) for name, values in drawn.items()}

    def vectors(self, batch: Batch) -> Singles:
        """What it sees of private rows, each alone: numbers in [-1, 1] and codes as one-hot, or cosine coefficients."""
        image = self.rows.image
        if image is not None:
            values = cosine_coefficients(batch[image.name], image, self._per_channel, about=0.5)
            return (self._brightness * values.reshape(len(values), self.width)).astype(np.float32)
        codes = zip(self.rows.codes(batch).T, self.rows.code_sizes, strict=True)
        hot = [one_hot(code, size=size) for code, size in codes]
        return np.concatenate([2 * self.rows.numbers(batch) - 1, *hot], axis=1).astype(np.float32)

    def vectors_of(self, out: Outputs, rng: np.random.Generator) -> Tensor:
        """What it sees of generated rows, so that gradients reach the generator: codes are relaxed draws.

        A Gumbel draw is minus the logarithm of an exponential one, which takes less time.
        Jang, Gu and Poole, "Categorical reparameterization with Gumbel-softmax" (2017).
        """
        torch, image = need_torch("dp-gan"), self.rows.image
        if image is not None:
            basis = torch.from_numpy(cosine_basis(image.shape[0], image.shape[1], self._per_channel)).to(
                out.numbers.dtype
            )
            by_channel = (out.numbers - 0.5).reshape(len(out.numbers), -1, n_channels(image)).transpose(1, 2)
            return self._brightness * (by_channel @ basis).reshape(len(out.numbers), self.width)
        normal = torch.from_numpy(rng.normal(size=out.numbers.shape)).to(out.numbers)
        numbers = (out.numbers + out.spreads * normal).clamp(0, 1)
        exponential = torch.from_numpy(rng.standard_exponential(size=out.probabilities.shape)).to(out.probabilities)
        logits = torch.log((out.probabilities + _TINY) / (exponential + _TINY)) / _TEMPERATURE
        soft = [torch.softmax(part, dim=1) for part in logits.split(list(self.rows.code_sizes), dim=1)]
        hard = [torch.nn.functional.one_hot(part.argmax(dim=1), part.shape[1]) for part in soft]
        codes = [(decided - part).detach() + part for decided, part in zip(hard, soft, strict=True)]
        return torch.cat([2 * numbers - 1, *codes], dim=1)

    def score(self, parameters: Tensors, vector: Tensor, label: Tensor) -> Tensor:
        """How private a row looks, above or below 0: the score of its own class, for one row or for many."""
        return (self._layers(parameters, vector)[1][-1] * self._own_class(vector, label)).sum(dim=-1)

    def loss_of_private(self) -> Loss:
        """Of one private row: small where it looks private."""
        torch, target = need_torch("dp-gan"), self.rows.target

        def loss(parameters: Mapping[str, Tensor], example: Mapping[str, Tensor]) -> Tensor:
            vector = example[INPUTS]
            label = torch.zeros((), dtype=torch.int64, device=vector.device) if target is None else example[target.name]
            return torch.nn.functional.softplus(-self.score(parameters, vector, label))

        return loss

    def gradient_of_made(self, parameters: Tensors, vectors: Tensor, labels: Tensor, *, clip: float) -> dict[str, Any]:
        """The mean gradient over generated rows, each clipped as the door clips those of private ones.

        The gradient of a layer by one row is what goes in times what comes back, so its length is known before it is written
        down (Goodfellow, "Efficient per-example gradient computations", 2015).
        """
        torch = need_torch("dp-gan")
        entering, leaving = self._layers(parameters, vectors)
        own = self._own_class(vectors, labels)
        back = [torch.sigmoid((leaving[-1] * own).sum(dim=1))[:, None] * own]
        for at in range(len(leaving) - 1, 0, -1):
            slope = torch.where(leaving[at - 1] > 0, 1.0, _LEAK)
            back = [back[0] @ parameters[f"weight{at}"].T * slope, *back]
        squares = zip(entering, back, strict=True)
        square = sum((1 + there.square().sum(dim=1)) * here.square().sum(dim=1) for there, here in squares)
        kept = (clip / (torch.sqrt(square) + 1e-12)).clamp(max=1.0) / len(labels)
        values = {f"weight{at}": entering[at].T @ (kept[:, None] * here) for at, here in enumerate(back)}
        return values | {f"bias{at}": kept @ here for at, here in enumerate(back)}

    def _layers(self, parameters: Tensors, vector: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """What goes into each layer, and what comes out of it before its units are switched."""
        torch, entering, leaving = need_torch("dp-gan"), [vector], list[Tensor]()
        for at in range(len(self.shapes) // 2):
            if leaving:
                entering.append(torch.nn.functional.leaky_relu(leaving[-1], _LEAK))
            leaving.append(entering[-1] @ parameters[f"weight{at}"] + parameters[f"bias{at}"])
        return entering, leaving

    def _own_class(self, vector: Tensor, label: Tensor) -> Tensor:
        """One at the class of each row."""
        classes = need_torch("dp-gan").arange(self.rows.n_classes, device=vector.device)
        return (classes == label[..., None]).to(vector.dtype)

    @property
    def _per_channel(self) -> int:
        image = self.rows.image
        return 0 if image is None else min(self.coefficients, image.shape[0] * image.shape[1])

    @property
    def _brightness(self) -> float:
        """Brings pictures to about the length of a vector of signs."""
        return 4.0 / math.sqrt(self.rows.n_numbers)
