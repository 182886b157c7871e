"""A per_record map must act on each row alone: the sensitivity of every door rests on it."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ContractError
from sfumato.public.probe import random_batch, take
from sfumato.public.schema import Batch, Schema

_PROBE_ROWS = 12


def check_row_wise(per_record: Callable[[Batch], Mapping[str, NDArray[Any]]], *, schema: Schema) -> None:
    """Refuse a map whose value for a row changes when the batch is split, reordered or cut.

    The rows are made up from the schema, so that the check itself says nothing about private ones.
    """
    if schema.unknown:  # during discovery only the package's own maps run, and there is no range to draw from yet
        return
    batch = random_batch(schema, n_rows=_PROBE_ROWS, seed=20)
    whole = _values(per_record, batch)
    reordered = np.random.default_rng(21).permutation(_PROBE_ROWS)
    for rows in (reordered, np.arange(5), np.arange(5, _PROBE_ROWS), np.array([3])):
        part = _values(per_record, take(batch, rows))
        if part.keys() != whole.keys() or any(not _same(part[name], whole[name][rows]) for name in whole):
            raise ContractError(
                "a per_record map gives a row another value when other rows stand beside it, so its sensitivity is "
                "unbounded. Compute from each row alone; take means, ranks or scales from the schema or from a door."
            )


def _values(per_record: Callable[[Batch], Mapping[str, NDArray[Any]]], batch: Batch) -> dict[str, NDArray[Any]]:
    with np.errstate(all="ignore"):
        return {name: np.asarray(values) for name, values in per_record(batch).items()}


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True))
