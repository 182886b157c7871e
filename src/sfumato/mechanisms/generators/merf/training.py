"""Train a generator until the mean embedding of its rows is the noisy one: post-processing, free of cost."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.generator import Generator, Outputs
from sfumato.mechanisms.generators.merf.mean_embedding import MeanEmbedding
from sfumato.mechanisms.generators.merf.waves import ExpectedWaves, Waves
from sfumato.public.machine.torch_extra import need_torch, one_thread

#: Rows of a class in a step, at least; where there are many classes, some of them take part in a step.
_FEWEST_ROWS = 16


@dataclass(frozen=True)
class Training:
    """Settings of the search: gradient steps, rows of a step, and Adam's first rate, which falls to 0."""

    n_steps: int
    batch: int
    learning_rate: float

    def __call__(
        self, generator: Generator, waves: Waves, target: MeanEmbedding, *, seed: int
    ) -> tuple[NDArray[Any], ...]:
        """The trained parameters. In one thread and float64, so that the same machine finds the same."""
        torch = need_torch("dp-merf")
        with one_thread(), torch.enable_grad():
            parameters = generator.start(seed)
            self._search(torch, generator, parameters, ExpectedWaves(torch, waves), target, seed)
            return generator.trained(parameters)

    def _search(
        self,
        torch: Any,
        generator: Generator,
        parameters: list[Any],
        waves: ExpectedWaves,
        target: MeanEmbedding,
        seed: int,
    ) -> None:
        rng = np.random.default_rng([seed, 1])
        n_classes = generator.rows.n_classes
        at_once = min(n_classes, max(1, self.batch // _FEWEST_ROWS))
        half = max(1, self.batch // at_once // 2)
        of_waves, of_codes = torch.from_numpy(target.waves), torch.from_numpy(target.codes)
        optimiser = torch.optim.Adam(parameters, lr=self.learning_rate)
        for step in range(self.n_steps):
            chosen = torch.from_numpy(rng.choice(n_classes, size=at_once, replace=False, shuffle=False))
            latent = torch.from_numpy(rng.normal(size=(at_once * 2 * half, generator.latent)))
            out: Outputs = generator(parameters, latent, chosen.repeat_interleave(2 * half))
            loss = _distance(waves(*out), of_waves[chosen], half)
            if generator.rows.code_sizes:
                loss = loss + _distance(out.probabilities, of_codes[chosen], half) / len(generator.rows.code_sizes)
            optimiser.zero_grad()
            loss.backward()
            for group in optimiser.param_groups:
                group["lr"] = self.learning_rate * 0.5 * (1 + math.cos(math.pi * step / self.n_steps))
            optimiser.step()


def _distance(features: Any, target: Any, half: int) -> Any:
    """The squared distance of class means from their targets, averaged over classes.

    Two halves of the rows, each with its own error, are multiplied: a square would count the spread of the rows as error,
    and a generator would learn to give all rows alike.
    """
    first, second = (features.reshape(len(target), 2, half, -1).mean(dim=2) - target[:, None]).unbind(dim=1)
    return (first * second).sum(dim=1).mean()
