"""The digits of a public dataset, as the published experiments read them: without the doors."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.benchmark.datasets import Benchmark, load
from sfumato.lab.benchmark.examples import real_examples

Pixels = NDArray[np.float32]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Digits:
    """Pictures in [0, 1] with their classes."""

    images: Pixels = field(repr=False)
    labels: Codes = field(repr=False)

    def __len__(self) -> int:
        """How many."""
        return len(self.labels)

    @property
    def rows(self) -> Pixels:
        """One vector for each picture."""
        return self.images.reshape(len(self), -1)

    def first(self, count: int | None) -> "Digits":
        """The first so many, in the order of the file; all, where there is no number."""
        return Digits(self.images[:count], self.labels[:count])

    def one_of_each(self) -> Pixels:
        """The first picture of each class."""
        return np.stack([self.images[np.flatnonzero(self.labels == c)[0]] for c in range(int(self.labels.max()) + 1)])


def read_digits(dataset: str = "mnist") -> tuple[Digits, Digits]:
    """Training and test pictures."""
    benchmark = load(dataset)
    return digits_of(benchmark, "train"), digits_of(benchmark, "test")


def digits_of(benchmark: Benchmark, part: str) -> Digits:
    """One part of a benchmark of pictures."""
    examples = real_examples(benchmark.train if part == "train" else benchmark.test, benchmark.schema)
    return Digits(examples.batch[benchmark.schema.images[0].name], examples.label)
