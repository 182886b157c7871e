"""A trained generator as a model: latent draws, then numbers and codes."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.counted_classes import CountedClasses, class_rates
from sfumato.mechanisms.common.generator import Generator, Outputs
from sfumato.model import Synthetic, check_row_count
from sfumato.public.machine.torch_extra import need_torch, one_thread
from sfumato.public.plan.doors import Measured

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class GeneratorModel(CountedClasses):
    """A network, its parameters, and the noisy number of rows of each class."""

    generator: Generator
    parameters: tuple[Floats, ...] = field(repr=False)
    class_counts: Measured = field(repr=False)

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """A class by its noisy rate, a latent draw, and what the network makes of both."""
        check_row_count(n_rows)
        rng = np.random.default_rng(seed)
        labels = rng.choice(len(self.class_counts.values), size=n_rows, p=class_rates(self.class_counts.values))
        parts = [self._drawn(part, rng) for part in np.split(labels, range(_ROWS_AT_ONCE, n_rows, _ROWS_AT_ONCE))]
        numbers, codes = (np.concatenate(part) for part in zip(*parts, strict=True))
        return self.generator.rows.synthetic(numbers, codes, labels)

    def _drawn(self, labels: Integers, rng: np.random.Generator) -> tuple[NDArray[Any], Integers]:
        torch = need_torch("a generator")
        parameters = [torch.from_numpy(values) for values in self.parameters]
        latent = torch.from_numpy(rng.normal(size=(len(labels), self.generator.latent)))
        with one_thread(), torch.no_grad():
            out = self.generator(parameters, latent, torch.from_numpy(labels))
        return draw_rows(out, self.generator.rows.code_sizes, rng)


def draw_rows(out: Outputs, code_sizes: tuple[int, ...], rng: np.random.Generator) -> tuple[NDArray[Any], Integers]:
    """Numbers and codes of each row, from what a generator says that they are drawn from."""
    numbers = out.numbers.numpy()
    if out.spreads is None:
        return numbers.astype(np.float32), np.zeros((len(numbers), 0), dtype=np.int64)
    numbers = np.clip(numbers + out.spreads.numpy() * rng.normal(size=numbers.shape), 0, 1)
    return numbers, _draw_codes(out.probabilities.numpy(), code_sizes, rng)


def _draw_codes(probabilities: NDArray[Any], sizes: tuple[int, ...], rng: np.random.Generator) -> Integers:
    """A code of each column for each row."""
    codes = np.empty((len(probabilities), len(sizes)), dtype=np.int64)
    for at, part in enumerate(np.split(probabilities, np.cumsum(sizes)[:-1], axis=1) if sizes else []):
        codes[:, at] = (rng.random(len(part))[:, None] > np.cumsum(part, axis=1)[:, :-1]).sum(axis=1)
    return codes
