"""A discriminator of mixed rows: which vectors it sees of private and of generated rows, its score, and its losses."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.dct import cosine_basis
from sfumato.mechanisms.common.generator import Outputs
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.common.pictures import cosine_coefficients, n_channels
from sfumato.mechanisms.common.prepared import INPUTS
from sfumato.public.doors import Loss, Tensor, Tensors
from sfumato.public.encoding import one_hot
from sfumato.public.schema import Batch
from sfumato.public.torch_extra import need_torch

_LEAK = 0.2  # the slope of a unit that is off
_TEMPERATURE = 0.5  # of relaxed codes: generated rows should look nearly as decided as private ones


@dataclass(frozen=True)
class Discriminator:
    """A network of two hidden layers, apart from its parameters.

    Attributes:
        rows: What a row is made of.
        hidden: Units of a hidden layer.
        coefficients: Cosine coefficients of each channel of an image that it sees.
    """

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

    @property
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

    def vectors(self, batch: Batch) -> NDArray[np.float32]:
        """What it sees of private rows, each alone: numbers in [-1, 1] and codes as one-hot, or cosine coefficients."""
        image = self.rows.image
        if image is not None:
            found = cosine_coefficients(batch[image.name], image, self._per_channel, about=0.5)
            return (self._brightness * found.reshape(len(found), self.width)).astype(np.float32)
        codes = zip(self.rows.codes(batch).T, self.rows.code_sizes, strict=True)
        hot = [one_hot(code, size=size) for code, size in codes]
        return np.concatenate([2 * self.rows.numbers(batch) - 1, *hot], axis=1).astype(np.float32)

    def vectors_of(self, out: Outputs, rng: np.random.Generator) -> Tensor:
        """What it sees of generated rows, so that gradients reach the generator: codes are relaxed draws.

        Jang, Gu and Poole, "Categorical reparameterization with Gumbel-softmax" (2017).
        """
        torch, image = need_torch("dp-gan"), self.rows.image
        if image is not None:
            basis = torch.from_numpy(cosine_basis(image.shape[0], image.shape[1], self._per_channel)).to(
                out.numbers.dtype
            )
            by_channel = (out.numbers - 0.5).reshape(len(out.numbers), -1, n_channels(image)).transpose(1, 2)
            return self._brightness * (by_channel @ basis).reshape(len(out.numbers), self.width)
        numbers = (out.numbers + out.spreads * torch.from_numpy(rng.normal(size=out.numbers.shape))).clamp(0, 1)
        gumbel = torch.from_numpy(rng.gumbel(size=out.probabilities.shape))
        logits = (torch.log(out.probabilities + 1e-12) + gumbel) / _TEMPERATURE
        soft = [torch.softmax(part, dim=1) for part in logits.split(list(self.rows.code_sizes), dim=1)]
        hard = [torch.nn.functional.one_hot(part.argmax(dim=1), part.shape[1]) for part in soft]
        codes = [(decided - part).detach() + part for decided, part in zip(hard, soft, strict=True)]
        return torch.cat([2 * numbers - 1, *codes], dim=1)

    def score(self, parameters: Tensors, vector: Tensor, label: Tensor) -> Tensor:
        """How private a row looks, above or below 0: the score of its own class, for one row or for many."""
        torch = need_torch("dp-gan")
        signal, n_layers = vector, len(self.shapes) // 2
        for at in range(n_layers):
            signal = signal @ parameters[f"weight{at}"] + parameters[f"bias{at}"]
            if at < n_layers - 1:
                signal = torch.nn.functional.leaky_relu(signal, _LEAK)
        classes = torch.arange(self.rows.n_classes, device=vector.device)
        return (signal * (classes == label[..., None])).sum(dim=-1)

    def loss_of_private(self) -> Loss:
        """Of one private row: small where it looks private."""
        torch, target = need_torch("dp-gan"), self.rows.target

        def loss(parameters: Mapping[str, Tensor], example: Mapping[str, Tensor]) -> Tensor:
            vector = example[INPUTS]
            label = torch.zeros((), dtype=torch.int64, device=vector.device) if target is None else example[target.name]
            return torch.nn.functional.softplus(-self.score(parameters, vector, label))

        return loss

    def gradient_of_made(self, parameters: Tensors, vectors: Tensor, labels: Tensor, *, clip: float) -> dict[str, Any]:
        """The mean gradient over generated rows, each clipped as the door clips those of private ones."""
        torch = need_torch("dp-gan")

        def loss(at: Tensors, vector: Tensor, label: Tensor) -> Tensor:
            return torch.nn.functional.softplus(self.score(at, vector, label))

        each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(parameters, vectors, labels)
        square = sum(values.reshape(len(labels), -1).square().sum(dim=1) for values in each.values())
        kept = (clip / (torch.sqrt(square) + 1e-12)).clamp(max=1.0)
        return {name: torch.tensordot(kept, values, dims=1) / len(labels) for name, values in each.items()}

    @property
    def _per_channel(self) -> int:
        image = self.rows.image
        return 0 if image is None else min(self.coefficients, image.shape[0] * image.shape[1])

    @property
    def _brightness(self) -> float:
        """Brings pictures to about the length of a vector of signs."""
        return 4.0 / math.sqrt(self.rows.n_numbers)
