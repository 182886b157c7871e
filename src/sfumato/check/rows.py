"""Made-up private rows for the checks: ordinary ones, nasty ones, and rows that carry a mark."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.private.sensitive import Sensitive, open_batches
from sfumato.public.probe import random_batch
from sfumato.public.schema import Batch, Schema

Raw = dict[str, NDArray[Any]]


def made_up(schema: Schema, *, n_rows: int, seed: int) -> Raw:
    """Raw rows as a file might hold them: category names rather than codes."""
    batch = random_batch(schema, n_rows=n_rows, seed=seed)
    raw: Raw = {}
    for column in schema.columns:
        values: NDArray[Any] = batch[column.name]
        if column.is_coded:
            names = np.array([*column.categories, None], dtype=object)
            values = names[values.astype(np.int64)]
        raw[column.name] = values
    return with_persons(raw, schema, n_rows=n_rows)


def with_persons(raw: Raw, schema: Schema, *, n_rows: int) -> Raw:
    """Give every person as many rows as the unit allows."""
    if schema.unit.person is not None:
        raw = {**raw, schema.unit.person: np.arange(n_rows) // schema.unit.max_rows}
    return raw


def nasty(schema: Schema, *, n_rows: int) -> Raw:
    """Rows that a careless program would stumble over."""
    raw: Raw = {}
    for column in schema.columns:
        if column.kind == "image":
            pictures = np.full((n_rows, *column.shape), np.nan, dtype=np.float32)
            pictures[::2] = np.inf
            pictures[1::3] = -1e30
            raw[column.name] = pictures
        elif column.is_coded:
            odd = ["", "no such category", None, "\x00", "NaN", "🙂" * 50, -1, 3.5]
            raw[column.name] = np.array([odd[i % len(odd)] for i in range(n_rows)], dtype=object)
        else:
            odd = [np.nan, np.inf, -np.inf, 1e308, -1e308, "text", None, "12e400", 5e-324]
            raw[column.name] = np.array([odd[i % len(odd)] for i in range(n_rows)], dtype=object)
    return with_persons(raw, schema, n_rows=n_rows)


def extreme(schema: Schema, *, seed: int) -> Raw:
    """One row at a random corner of what the schema allows: where a row weighs most."""
    rng = np.random.default_rng(seed)
    raw: Raw = {}
    for column in schema.columns:
        if column.kind == "image":
            raw[column.name] = np.where(rng.random((1, *column.shape)) < 0.5, column.low, column.high).astype(
                np.float32
            )
        elif column.is_coded:
            raw[column.name] = np.array([column.categories[rng.integers(len(column.categories))]], dtype=object)
        else:
            raw[column.name] = np.array([column.low if rng.random() < 0.5 else column.high])
    if schema.unit.person is not None:
        raw[schema.unit.person] = np.array([-1])
    return raw


def joined(first: Raw, second: Raw) -> Raw:
    """Two sets of rows, one after the other."""
    return {name: np.concatenate([first[name], second[name].astype(first[name].dtype)]) for name in first}


def part(raw: Raw, rows: slice) -> Raw:
    """Some of the rows."""
    return {name: values[rows] for name, values in raw.items()}


def read(raw: Raw, schema: Schema) -> Sensitive:
    """The rows as private data."""
    return Sensitive.read(raw, schema)


def encoded(raw: Raw, schema: Schema) -> list[Batch]:
    """The rows as the doors see them."""
    return list(open_batches(read(raw, schema)))
