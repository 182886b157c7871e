"""Encoded columns with noise in them, back as rows within their bounds."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Column

Floats = NDArray[np.float64]

#: What every category keeps, so that there always is one to draw.
_LEAST = 1e-9


def decoded(encoded: Floats, columns: Sequence[Column], *, lacking: Floats, seed: int) -> dict[str, Floats]:
    """Numbers with the variance that they lack, cut off at their bounds; categories drawn by what each has of 1.

    So shares stay as they are on average.
    """
    rng = np.random.default_rng(seed)
    ends = np.cumsum([Encoder((column,)).width for column in columns])
    parts, spreads = np.split(encoded, ends[:-1], axis=1), np.split(np.sqrt(lacking), ends[:-1])
    each = zip(columns, parts, spreads, strict=True)
    return {column.name: _values(part, column, float(spread[0]), rng) for column, part, spread in each}


def _values(part: Floats, column: Column, spread: float, rng: np.random.Generator) -> Floats:
    if column.is_coded:
        odds = np.cumsum(np.clip(part, _LEAST, 1), axis=1)
        return np.asarray((rng.random((len(part), 1)) * odds[:, -1:] >= odds[:, :-1]).sum(axis=1), dtype=np.float64)
    place = part[:, 0] + spread * rng.normal(size=len(part))
    values = column.low + (column.high - column.low) * np.clip(place, 0, 1)
    return np.where(rng.random(len(part)) < part[:, 1], np.nan, values) if column.missing else values
