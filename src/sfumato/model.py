"""What comes out: a model that can be sampled, and the rows it gives; or a classifier, and its weights."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.errors import ModelError
from sfumato.public.schema.schema import Batch


@dataclass(frozen=True)
class Synthetic:
    """Synthetic rows: a table, or images with labels. Soft labels have one column for each class."""

    table: pd.DataFrame | None = None
    images: NDArray[Any] | None = None
    labels: NDArray[np.int64] | None = None
    soft_labels: NDArray[np.float32] | None = None
    classes: tuple[str, ...] = ()
    #: Tables of events, by name, with their keys in front; the table has the key of a person as its first column.
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def __len__(self) -> int:
        if self.table is not None:
            return len(self.table)
        return 0 if self.images is None else len(self.images)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that are there, by name: a row is one entry of each."""
        named: dict[str, Any] = {"images": self.images, "labels": self.labels, "soft_labels": self.soft_labels}
        return {name: values for name, values in named.items() if values is not None}

    def take(self, rows: slice | NDArray[np.int64]) -> "Synthetic":
        """Some of the rows, in the order in which they are named."""
        arrays: dict[str, Any] = {name: values[rows] for name, values in self.arrays.items()}
        table = None if self.table is None else self.table.iloc[rows].reset_index(drop=True)
        if self.tables:
            raise ModelError("persons with all that hangs on them are drawn together, and none of them is taken out.")
        return replace(self, table=table, **arrays)


class Model(Protocol):
    """Something that gives synthetic rows without the data."""

    @property
    def default_rows(self) -> int:
        """How many rows to release where neither the schema nor a person says."""

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Draw rows. The seed is public randomness: the same one gives the same rows, another one independent ones.

        A large release is drawn in several pieces, each by a seed of its own (`sfumato.pieces`).
        """


#: The arrays of a trained model, by name.
Weights = Mapping[str, NDArray[Any]]


@runtime_checkable
class Classifier(Protocol):
    """Something that predicts the target of a schema, and is released itself: what a learner builds."""

    @property
    def weights(self) -> Weights:
        """All that is learned: whoever has these arrays and the schema has the classifier."""

    def probabilities(self, batch: Batch) -> NDArray[np.float64]:
        """Of every class of the target, for each row; the target itself need not be there."""


#: What a mechanism builds.
Product = Model | Classifier


@runtime_checkable
class Counted(Protocol):
    """A model that knows how many private rows there were, up to noise. It need not: then nothing is said of them."""

    @property
    def noisy_rows(self) -> float:
        """The noisy number of private rows."""

    @property
    def noisy_rows_stddev(self) -> float:
        """The standard deviation of the noise in it."""


class CountedRows:
    """A model that gives as many rows as it counted, where nothing else is asked for."""

    @property
    def default_rows(self: Counted) -> int:
        """As many as there seem to be."""
        return rows_counted(self.noisy_rows, stddev=self.noisy_rows_stddev)


@runtime_checkable
class Telling(Protocol):
    """A model with something to say about itself that no plan could know. It need not."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences of one line each, from noisy numbers and public facts alone: what was pooled, found or left out."""


@dataclass(frozen=True)
class FixedModel:
    """A model that holds a fixed set of rows: more of them would cost more budget.

    >>> model = FixedModel(Synthetic(table=pd.DataFrame({"x": [1, 2]})))
    >>> len(model.sample(1, seed=0))
    1
    >>> model.sample(3, seed=0)
    Traceback (most recent call last):
    sfumato.errors.ModelError: 3 rows were asked for, and this release holds 2. A mixing mechanism cannot make more ...
    """

    rows: Synthetic = field(repr=False)

    @property
    def default_rows(self) -> int:
        """All there are."""
        return len(self.rows)

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """A random choice of the held rows, in random order; all of them in their own order."""
        check_row_count(n_rows)
        held = len(self.rows)
        if n_rows > held:
            raise ModelError(
                f"{n_rows} rows were asked for, and this release holds {held}. A mixing mechanism cannot make more "
                "without spending more budget: ask for fewer, or release again with more mixtures."
            )
        if n_rows == held:
            return self.rows
        return self.rows.take(np.random.default_rng(seed).permutation(held)[:n_rows])


def rows_counted(noisy: float, *, stddev: float) -> int:
    """As many rows as there seem to be; where noise alone could have made the number, a thousand at most."""
    # Noise alone makes a count of four standard deviations once in 30,000 releases.
    return max(1, round(noisy if noisy > 4.0 * stddev else min(noisy, 1_000)))


def notes_of(model: Product) -> tuple[str, ...]:
    """What a model has to say about itself."""
    return model.notes if isinstance(model, Telling) else ()


def refuse_diverged(weights: Weights) -> None:
    """Refuse weights that are no numbers. They follow from noisy numbers alone, so the refusal tells nothing."""
    if not all(np.isfinite(values).all() for values in weights.values()):
        raise ModelError(
            "the training has diverged: a weight is no finite number, so nothing is released. The budget is spent all the "
            "same. Lower the learning rate, and reckon with both trainings."
        )


def check_row_count(n_rows: int) -> None:
    """Refuse a request for no rows."""
    if n_rows < 1:
        raise ModelError(f"{n_rows} rows were asked for. Ask for at least 1.")


def public_seed(seed: object) -> int:
    """The seed as a plain number; refused where no generator would take it, before anything is spent.

    >>> public_seed(np.int64(7))
    7
    >>> public_seed(-1)
    Traceback (most recent call last):
    sfumato.errors.ModelError: seed = -1 must be a whole number of at least 0.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ModelError(f"seed = {seed!r} must be a whole number of at least 0.")
    return int(seed)
