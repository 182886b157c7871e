"""Rows made up from the schema alone: public stand-ins for private ones, ordinary and nasty."""

import numpy as np
from numpy.typing import NDArray

from sfumato.public.schema.schema import Batch, Column, Schema

_WORDS = np.array(["a", "b", None], dtype=object)


def random_batch(schema: Schema, *, n_rows: int, seed: int) -> dict[str, NDArray[np.generic]]:
    """Rows drawn evenly from what the schema allows, missing values included."""
    rng = np.random.default_rng(seed)
    batch = {slot.name: _draw(slot.column, (n_rows, *slot.places), rng) for slot in schema.slots}
    for table in schema.flat:  # in the order that it has
        if table.order is not None:
            batch[table.at(table.order)] = np.sort(batch[table.at(table.order)], axis=1)
    return batch


def _draw(column: Column, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.generic]:
    if column.discover:  # nothing is known of it yet, but that it holds numbers or texts
        return rng.normal(size=shape) * 1e3 if column.is_number else rng.choice(_WORDS, size=shape)
    if column.is_coded:
        return rng.integers(column.size, size=shape)
    if column.kind == "image":
        return rng.uniform(column.low, column.high, size=(*shape, *column.shape)).astype(np.float32)
    values = rng.uniform(column.low, column.high, size=shape)
    if column.kind == "integer":
        values = np.round(values)
    if column.missing:
        values[rng.random(shape) < 0.1] = np.nan
    return values


def take(batch: Batch, rows: NDArray[np.integer]) -> dict[str, NDArray[np.generic]]:
    """Some rows of a batch, in the order given."""
    return {name: values[rows] for name, values in batch.items()}
