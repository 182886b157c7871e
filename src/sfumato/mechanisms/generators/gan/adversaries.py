"""The two networks of a GAN in training: all of it is post-processing, but for the noisy gradients that it is handed."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.common.generator import Generator
from sfumato.mechanisms.generators.gan.discriminator import Discriminator
from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.doors import Measured, Tensor

#: Where both networks start, and what is drawn on the way: public, and the same for everyone.
_SEED = 31
_BETAS = (0.5, 0.999)
#: Of the discriminator's weights, in learning rates: one that is too sure has nothing left to teach.
_DECAY = 3.0
#: How much of the averaged generator each step replaces.
_RENEWED = 0.02


class Adversaries:
    """Two networks, their optimisers, and the average of the generator."""

    def __init__(self, generator: Generator, discriminator: Discriminator, *, rates: Floats, generated: int) -> None:
        """Both at their public start. Rows of each class are generated at these rates, so many at once."""
        self._torch = need_torch("dp-gan")
        self._generator, self._discriminator = generator, discriminator
        self._rates, self._generated = rates, generated
        self._rng = np.random.default_rng([_SEED, 1])
        self._of_generator = generator.start(_SEED)
        self._average = [values.detach().clone() for values in self._of_generator]
        self.of_discriminator: dict[str, Tensor] = discriminator.start(_SEED)
        self._optimisers: dict[str, Any] = {}

    def with_rates(self, *, generator: float, discriminator: float, decay: float = _DECAY) -> "Adversaries":
        """Learning rates of Adam, and how the discriminator's weights decay."""
        adam, weights = self._torch.optim.AdamW, list(self.of_discriminator.values())
        self._optimisers["generator"] = adam(self._of_generator, lr=generator, betas=_BETAS, weight_decay=0.0)
        self._optimisers["discriminator"] = adam(weights, lr=discriminator, betas=_BETAS, weight_decay=decay)
        return self

    def step_discriminator(self, noisy: Mapping[str, Measured], *, batch: float, clip: float) -> None:
        """Follow the noisy gradient of private rows, over their expected number, and the exact one of generated rows."""
        with self._torch.no_grad():
            vectors, labels = self._some()
        made = self._discriminator.gradient_of_made(self.of_discriminator, vectors, labels, clip=clip)
        for name, values in self.of_discriminator.items():
            values.grad = self._torch.from_numpy(noisy[name].values / batch) + made[name].detach()
        self._optimisers["discriminator"].step()

    def step_student(self, vectors: Tensor, labels: Tensor, private: Tensor) -> None:
        """Follow the gradient of the loss on generated rows, by how private each was found to be: about 0 to 1.

        The loss is linear in that, so that noise in it is noise in the gradient, and no bias.
        """
        tracked = {name: values.detach().requires_grad_(True) for name, values in self.of_discriminator.items()}
        scores = self._discriminator.score(tracked, vectors, labels)
        loss = (self._torch.nn.functional.softplus(scores) - private * scores).mean()
        gradients = self._torch.autograd.grad(loss, list(tracked.values()))
        for values, gradient in zip(self.of_discriminator.values(), gradients, strict=True):
            values.grad = gradient
        self._optimisers["discriminator"].step()

    def step_generator(self) -> None:
        """Make rows that look more private to the discriminator, and renew the average."""
        vectors, labels = self._some()
        scores = self._discriminator.score(self.of_discriminator, vectors, labels)
        self._optimisers["generator"].zero_grad()
        self._torch.nn.functional.softplus(-scores).mean().backward()
        self._optimisers["generator"].step()
        with self._torch.no_grad():
            for average, values in zip(self._average, self._of_generator, strict=True):
                average.lerp_(values, _RENEWED)

    def averaged(self) -> tuple[Floats, ...]:
        """The averaged generator."""
        return self._generator.trained(self._average)

    def made(self, labels: Tensor) -> Tensor:
        """Generated rows of these classes, as the discriminator sees them."""
        latent = self._torch.from_numpy(self._rng.normal(size=(len(labels), self._generator.latent)))
        return self._discriminator.vectors_of(self._generator(self._of_generator, latent, labels), self._rng)

    def _some(self) -> tuple[Tensor, Tensor]:
        """Generated rows for one step, by the rates of the classes, and which these are."""
        labels = self._torch.from_numpy(self._rng.choice(len(self._rates), size=self._generated, p=self._rates))
        return self.made(labels), labels
