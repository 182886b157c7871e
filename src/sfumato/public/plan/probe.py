"""Rows made up from the schema alone: public stand-ins for private ones, ordinary and nasty."""

import numpy as np
from numpy.typing import NDArray

from sfumato.public.schema.schema import Batch, Column, Schema

_WORDS = np.array(["a", "b", None], dtype=object)


def random_batch(schema: Schema, *, n_rows: int, seed: int) -> dict[str, NDArray[np.generic]]:
    """Rows drawn evenly from what the schema allows, missing values included."""
    rng = np.random.default_rng(seed)
    return {column.name: _draw(column, n_rows, rng) for column in schema.columns}


def _draw(column: Column, n_rows: int, rng: np.random.Generator) -> NDArray[np.generic]:
    if column.discover:  # nothing is known of it yet, but that it holds numbers or texts
        return rng.normal(size=n_rows) * 1e3 if column.is_number else rng.choice(_WORDS, size=n_rows)
    if column.is_coded:
        return rng.integers(column.size, size=n_rows)
    if column.kind == "image":
        return rng.uniform(column.low, column.high, size=(n_rows, *column.shape)).astype(np.float32)
    values = rng.uniform(column.low, column.high, size=n_rows)
    if column.kind == "integer":
        values = np.round(values)
    if column.missing:
        values[rng.random(n_rows) < 0.1] = np.nan
    return values


def take(batch: Batch, rows: NDArray[np.integer]) -> dict[str, NDArray[np.generic]]:
    """Some rows of a batch, in the order given."""
    return {name: values[rows] for name, values in batch.items()}
