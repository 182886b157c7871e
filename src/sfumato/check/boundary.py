"""Rows at the edge: where a map rounds, the last bits that a row's place changes are hidden from any random row.

So rows are made that stand right at an edge. Between two public rows that a map tells apart there is a place where its answer
jumps; halving the way to it ends at two neighbouring floating-point numbers. A row there shows every last bit.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.public.probe import take
from sfumato.public.schema import Batch, Schema

#: What a map gives for a batch; None where it stumbles.
TryMap = Callable[[Batch], dict[str, NDArray[Any]] | None]
_HALVINGS = 64  # more than float64 has bits
_ORDERS = 6


def place_shows(map_of: TryMap, one: Batch, two: Batch, *, schema: Schema) -> bool:
    """Whether some row gets another value at another place, or beside other rows, among rows at the map's edges."""
    found = map_of(one)
    jumps = None if found is None else _steps_of(found)
    if jumps is None or not jumps.shape[1]:
        return False  # nothing is rounded: random rows show every bit
    edge = _edge_rows(map_of, one, two, schema=schema)
    if edge is None:
        return False
    n = len(next(iter(one.values())))
    rng = np.random.default_rng(n)
    settled = map_of(edge)
    if settled is None:
        return False
    for _ in range(_ORDERS):
        order = rng.permutation(n)
        moved = map_of(take(edge, order))
        if moved is not None and not _equal({k: v[order] for k, v in settled.items()}, moved):
            return True
        stay = rng.random(n) < 0.5
        mixed = {name: np.where(_as_column(stay, values), values, two[name]) for name, values in edge.items()}
        beside = map_of(mixed)
        if beside is not None and not _equal(
            {k: v[stay] for k, v in settled.items()}, {k: v[stay] for k, v in beside.items()}
        ):
            return True
    return False


def _edge_rows(map_of: TryMap, one: Batch, two: Batch, *, schema: Schema) -> Batch | None:
    """For each row of the first batch a row at an edge, on the way to the row of the second; both sides in turn."""
    low, high = dict(one), {name: np.array(values) for name, values in two.items()}
    for name, values in one.items():
        if not _can_move(name, values, schema):
            high[name] = values
        else:
            low[name] = np.where(np.isfinite(values), values, np.where(np.isfinite(two[name]), two[name], 0))
            high[name] = np.where(np.isfinite(two[name]), two[name], low[name]).astype(low[name].dtype)
    left, right = map_of(low), map_of(high)
    if left is None or right is None:
        return None
    here, there = _steps_of(left, like=left), _steps_of(right, like=left)
    if here.shape != there.shape or not (here != there).any():
        return None
    rng = np.random.default_rng(here.shape[1])
    watched = np.where(here != there, rng.random(here.shape), -1.0).argmax(axis=1)  # one jump for each row
    rows = np.arange(len(here))
    start = here[rows, watched]
    for _ in range(_HALVINGS):
        middle = {name: _between(low[name], high[name]) for name in low}
        found = map_of(middle)
        if found is None:
            return None
        before = _steps_of(found, like=left)[rows, watched] == start
        for name in low:
            low[name] = np.where(_as_column(before, low[name]), middle[name], low[name])
            high[name] = np.where(_as_column(before, high[name]), high[name], middle[name])
    return {name: np.where(_as_column(rows % 2 == 0, low[name]), low[name], high[name]) for name in low}


def _can_move(name: str, values: NDArray[Any], schema: Schema) -> bool:
    """Whether rows may hold anything between two values: codes and whole numbers cannot come close to an edge."""
    column = next((c for c in schema.columns if c.name == name), None)
    return values.dtype.kind == "f" and (column is None or column.kind in ("numeric", "datetime", "image"))


def _steps_of(found: dict[str, NDArray[Any]], *, like: dict[str, NDArray[Any]] | None = None) -> NDArray[np.float64]:
    """The columns that hold few different values: where something was rounded. `like` says in which output to look."""
    chosen = []
    for name, values in found.items():
        flat = values.reshape(len(values), -1)
        model = flat if like is None else like[name].reshape(len(like[name]), -1)
        kinds = np.array([len(np.unique(column)) for column in model.T[:64]])
        chosen.append(flat[:, np.flatnonzero((kinds > 1) & (kinds <= max(2, len(flat) // 2)))].astype(np.float64))
    return np.concatenate(chosen, axis=1)


def _between(low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    return low if low is high or low.dtype.kind != "f" else (low + (high - low) / 2).astype(low.dtype)


def _as_column(flags: NDArray[np.bool_], values: NDArray[Any]) -> NDArray[np.bool_]:
    return flags.reshape(-1, *(1,) * (values.ndim - 1))


def _equal(one: dict[str, NDArray[Any]], two: dict[str, NDArray[Any]]) -> bool:
    return all(np.array_equal(one[name], two[name], equal_nan=one[name].dtype.kind == "f") for name in one)
