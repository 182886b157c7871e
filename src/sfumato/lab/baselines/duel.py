"""A generator that is handed real rows, and its critic: a Wasserstein GAN with a gradient penalty. Not private.

Trained on a GPU where torch finds one.
Gulrajani, Ahmed, Arjovsky, Dumoulin and Courville, "Improved training of Wasserstein GANs" (2017).
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ModelError
from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.generator import Generator
from sfumato.mechanisms.generators.gan.discriminator import Discriminator
from sfumato.public.machine.torch_extra import default_device, need_torch
from sfumato.public.plan.doors import Tensor

_BETAS = (0.5, 0.9)
#: Of the critic's slope, which should be 1 between real and generated rows.
_PENALTY = 10.0
#: How much of the averaged generator each step replaces, in the long run; more at first, so that the start is forgotten.
_RENEWED, _FORGETFUL = 0.005, 9.0
_TINY = 1e-12


class Duel:
    """Two networks in training on real rows: vectors as the critic sees them, and classes."""

    def __init__(
        self,
        generator: Generator,
        critic: Discriminator,
        vectors: NDArray[np.floating],
        labels: Integers,
        *,
        weights: Floats,
        rates: Mapping[str, float],
        seed: int,
    ) -> None:
        """Both at their start, with Adam's rates. The weights are of the distance between a row and what it becomes."""
        self._torch = torch = need_torch("ads-gan")
        self._generator, self._critic = generator, critic
        self._device, self._kind = default_device(), torch.float32
        self._vectors, self._labels = self._there(vectors), torch.from_numpy(labels).to(self._device)
        self._weights = self._there(weights)
        self._rng = np.random.default_rng([seed, 1])
        self._of_generator = [self._start(values) for values in generator.start(seed)]
        self._average = [values.detach().clone() for values in self._of_generator]
        self._of_critic = {name: self._start(values) for name, values in critic.start(seed).items()}
        both = {"generator": self._of_generator, "critic": list(self._of_critic.values())}
        self._optimisers = {name: torch.optim.Adam(both[name], lr=rates[name], betas=_BETAS) for name in both}
        self._steps = 0

    def step_critic(self, *, batch: int) -> None:
        """Tell real rows from generated ones, with a slope of 1 between them."""
        torch = self._torch
        real, labels = self._drawn(batch)
        with torch.no_grad():
            made = self._made(real, labels)
        between = torch.lerp(made, real, self._there(self._rng.random((len(real), 1)))).requires_grad_(True)
        (slope,) = torch.autograd.grad(self._score(between, labels).sum(), between, create_graph=True)
        steepness = (slope.square().sum(dim=1) + _TINY).sqrt()
        loss = (self._score(made, labels) - self._score(real, labels) + _PENALTY * (steepness - 1).square()).mean()
        self._descend("critic", loss)

    def step_generator(self, *, batch: int, identifiability: float) -> None:
        """Deceive the critic, and keep away from the row that was handed in; then renew the average."""
        torch = self._torch
        real, labels = self._drawn(batch)
        made = self._made(real, labels)
        apart = (((made - real) * self._weights).square().sum(dim=1) + _TINY).sqrt()
        self._descend("generator", -(self._score(made, labels) + identifiability * apart).mean())
        self._steps += 1
        renewed = max(_RENEWED, _FORGETFUL / (_FORGETFUL + self._steps))
        with torch.no_grad():
            for average, values in zip(self._average, self._of_generator, strict=True):
                average.lerp_(values, renewed)

    def averaged(self) -> tuple[NDArray[np.floating], ...]:
        """The averaged generator."""
        found = tuple(values.cpu().numpy() for values in self._average)
        if not all(np.isfinite(values).all() for values in found):
            raise ModelError("the training of ads-gan diverged, and nothing is made. Lower the learning rates.")
        return found

    def _drawn(self, batch: int) -> tuple[Tensor, Tensor]:
        at = self._torch.from_numpy(self._rng.integers(len(self._labels), size=batch)).to(self._device)
        return self._vectors[at], self._labels[at]

    def _made(self, real: Tensor, labels: Tensor) -> Tensor:
        out = self._generator(self._of_generator, handed(self._generator, real, self._rng), labels)
        return self._critic.vectors_of(out, self._rng)

    def _score(self, vectors: Tensor, labels: Tensor) -> Tensor:
        return self._critic.score(self._of_critic, vectors, labels)

    def _there(self, values: NDArray[np.floating]) -> Tensor:
        """On the device where both are trained."""
        return self._torch.from_numpy(values).to(self._device, self._kind)

    def _start(self, values: Tensor) -> Tensor:
        return values.detach().to(self._device, self._kind).requires_grad_(True)

    def _descend(self, name: str, loss: Tensor) -> None:
        self._optimisers[name].zero_grad()
        loss.backward()
        self._optimisers[name].step()


def handed(generator: Generator, real: Tensor, rng: np.random.Generator) -> Tensor:
    """What the generator is handed for each row: the row itself, and fresh draws."""
    torch = need_torch("ads-gan")
    draws = rng.normal(size=(len(real), generator.latent - real.shape[1]))
    return torch.cat([torch.from_numpy(draws).to(real), real], dim=1)
