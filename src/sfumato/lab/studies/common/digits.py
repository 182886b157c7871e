"""The pictures of a public dataset, as the published experiments read them: without the doors. And the sound side, through them."""

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.fitting import fit
from sfumato.lab.benchmark.datasets import Benchmark, Rows, load, row_count
from sfumato.lab.benchmark.examples import Examples, real_examples, synthetic_examples
from sfumato.mechanism import Mechanism
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.budget import Budget, PrivacyUnit

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
        return self.images[[np.flatnonzero(self.labels == c)[0] for c in range(int(self.labels.max()) + 1)]]


@dataclass(frozen=True, kw_only=True)
class DigitStudy:
    """What the studies of pictures have in common: a dataset, which is read once."""

    dataset: str = "mnist"

    @property
    def benchmark(self) -> Benchmark:
        """All rows, with the public schema."""
        return _benchmark(self.dataset)

    @property
    def digits(self) -> tuple[Digits, Digits]:
        """Training and test pictures."""
        return _digits(self.dataset)

    @property
    def n_classes(self) -> int:
        """Of the target."""
        return self.benchmark.schema.require_coded_target().size


@cache
def _benchmark(dataset: str) -> Benchmark:
    return load(dataset)


@cache
def _digits(dataset: str) -> tuple[Digits, Digits]:
    return digits_of(_benchmark(dataset), "train"), digits_of(_benchmark(dataset), "test")


def digits_of(benchmark: Benchmark, part: str) -> Digits:
    """One part of a benchmark of pictures."""
    examples = real_examples(benchmark.train if part == "train" else benchmark.test, benchmark.schema)
    return Digits(examples.batch[benchmark.schema.images[0].name], examples.label)


def fewer_rows(benchmark: Benchmark, *, train: int | None, test: int | None = None) -> Benchmark:
    """The first so many rows of both parts; all, where there is no number. The schema declares what is left.

    Where all training rows are left, it declares what it did: nothing for the largest datasets, as the protocol's delta is
    above one over their size.
    """
    kept, tested = _first(benchmark.train, train), _first(benchmark.test, test)
    declared = benchmark.schema.rows if train is None else row_count(kept)
    return replace(benchmark, train=kept, test=tested, schema=replace(benchmark.schema, rows=declared))


def _first(rows: Rows, count: int | None) -> Rows:
    if isinstance(rows, pd.DataFrame):
        return rows.iloc[:count]
    return {name: np.asarray(values)[:count] for name, values in rows.items()}


def sound_release(
    mechanism: Mechanism,
    benchmark: Benchmark,
    budget: Budget,
    *,
    synthetic_rows: int | None = None,
    unit: PrivacyUnit | None = None,
    seed: int = 0,
) -> Examples:
    """Release the training pictures, and draw rows from what was fitted.

    Args:
        mechanism: Of this package.
        benchmark: Pictures.
        budget: Met by the release.
        synthetic_rows: How many are drawn; as many as are recommended, where there is no number.
        unit: Of privacy; that of the schema, where none is given.
        seed: Public randomness of the model. The noise is secure, and new in every run.
    """
    schema = replace(benchmark.schema, unit=unit or benchmark.schema.unit)
    fitted = fit(mechanism, Sensitive.read(benchmark.train, schema), budget, seed=seed)
    return synthetic_examples(fitted.sample(synthetic_rows or "many", seed=seed), schema)
