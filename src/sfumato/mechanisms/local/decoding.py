"""Encoded columns with noise in them, back as rows within their bounds."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.public.encoding import Encoder
from sfumato.public.schema import Column

#: What every category keeps, so that there always is one to draw.
_LEAST = 1e-9


def decoded(encoded: NDArray[np.float64], columns: Sequence[Column], *, seed: int) -> dict[str, NDArray[np.float64]]:
    """Numbers cut off at their bounds; a category drawn by what each has of 1, so that shares stay as they are on average."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum([Encoder((column,)).width for column in columns])
    parts = np.split(encoded, ends[:-1], axis=1)
    return {column.name: _values(part, column, rng) for column, part in zip(columns, parts, strict=True)}


def _values(part: NDArray[np.float64], column: Column, rng: np.random.Generator) -> NDArray[np.float64]:
    if column.is_coded:
        odds = np.cumsum(np.clip(part, _LEAST, 1), axis=1)
        return np.asarray((rng.random((len(part), 1)) * odds[:, -1:] >= odds[:, :-1]).sum(axis=1), dtype=np.float64)
    values = column.low + (column.high - column.low) * np.clip(part[:, 0], 0, 1)
    return np.where(rng.random(len(part)) < part[:, 1], np.nan, values) if column.missing else values
