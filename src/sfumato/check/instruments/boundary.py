"""Rows at the edge: where a map rounds, the last bits that a row's place changes are hidden from any random row.

So rows are made that stand right at an edge. Between two public rows that a map tells apart there is a place where its answer
jumps; halving the way to it ends at two neighbouring floating-point numbers. A row there shows every last bit.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.public.plan.probe import take
from sfumato.public.schema.schema import Batch, Column, Schema

Values = dict[str, NDArray[Any]]
Sides = tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]
#: What a map gives for a batch; None where it stumbles.
TryMap = Callable[[Batch], Values | None]
_HALVINGS = 64  # more than float64 has bits
_ORDERS = 6
_TILED = 128
#: How far the finer searches go, relative to a column's size: float32 ends at 1e-7 of it, a matrix product rounds at 1e-16.
_REACHES = (1e-5, 1e-11)
_COLUMNS = 128


def place_shows(map_of: TryMap, one: Batch, two: Batch, *, schema: Schema) -> bool:
    """Whether some row gets another value at another place, or beside other rows, among rows at the map's edges."""
    found = map_of(one)
    jumps = {} if found is None else _jumping(found)
    if not any(len(columns) for columns in jumps.values()):
        return False  # nothing is rounded: random rows show every bit
    edge = _edge_rows(map_of, one, two, jumps=jumps, schema=schema)
    settled = None if edge is None else map_of(edge)
    if edge is None or settled is None:
        return False
    n = len(next(iter(one.values())))
    return _many_places(map_of, edge, n) or _other_neighbours(map_of, edge, settled, two, n)


def _many_places(map_of: TryMap, edge: Batch, n: int) -> bool:
    """Whether a batch that holds the same row again and again gives it different values."""
    for row in np.linspace(0, n - 1, min(n, _TILED)).astype(int):
        tiled = map_of(take(edge, np.full(n, row)))
        if tiled is not None and not _equal({name: values[:1].repeat(n, 0) for name, values in tiled.items()}, tiled):
            return True
    return False


def _other_neighbours(map_of: TryMap, edge: Batch, settled: Values, others: Batch, n: int) -> bool:
    """Whether a row gets another value where others have moved, or have been replaced."""
    rng = np.random.default_rng(n)
    for _ in range(_ORDERS):
        order, stay = rng.permutation(n), rng.random(n) < 0.5
        moved = map_of(take(edge, order))
        mixed = {name: np.where(_as_column(stay, values), values, others[name]) for name, values in edge.items()}
        beside = map_of(mixed)
        if moved is not None and not _equal({k: v[order] for k, v in settled.items()}, moved):
            return True
        if beside is not None and not _equal(_kept(settled, stay), _kept(beside, stay)):
            return True
    return False


def _edge_rows(
    map_of: TryMap, one: Batch, two: Batch, *, jumps: dict[str, NDArray[np.int64]], schema: Schema
) -> Batch | None:
    """For each row of the first batch a row at an edge, on the way to the row of the second; both sides in turn."""
    low, high, columns = dict[str, Any](one), dict[str, Any](two), {column.name: column for column in schema.columns}
    for name, values in one.items():
        # Codes and whole numbers cannot come close to an edge: nothing lies between two of them.
        whole = name in columns and columns[name].kind not in ("numeric", "datetime", "image")
        if values.dtype.kind != "f" or whole:
            high[name] = values
        else:
            low[name] = np.where(np.isfinite(values), values, np.where(np.isfinite(two[name]), two[name], 0))
            high[name] = np.where(np.isfinite(two[name]), two[name], low[name]).astype(low[name].dtype)
    held = _held_back(low, high, columns)
    found = _halved(map_of, low, high, jumps)
    for reach, mask in zip(_REACHES, held, strict=True):
        if found is None or not mask:
            break
        low, _ = found
        # From the edge on, a little way along entries that were held at 0: there float32 is as fine as one likes.
        found = _halved(map_of, low, _a_little_on(low, mask, reach), jumps) or found
    if found is None:
        return None
    (low, high), n = found, len(next(iter(one.values())))
    return {name: np.where(_as_column(np.arange(n) % 2 == 0, low[name]), low[name], high[name]) for name in low}


def _halved(map_of: TryMap, low: Batch, high: Batch, jumps: dict[str, NDArray[np.int64]]) -> Sides | None:
    """Row by row, halve the way between two batches until both sides of a jump are neighbours; None without a jump."""
    low, high = dict(low), dict(high)
    left, right = map_of(low), map_of(high)
    if left is None or right is None:
        return None
    here, there = _columns(left, jumps), _columns(right, jumps)
    if not (here != there).any():
        return None
    rows = np.arange(len(here))
    watched = _one_jump_each(here != there)
    start = here[rows, watched]
    for _ in range(_HALVINGS):
        middle = {name: _between(low[name], high[name]) for name in low}
        if all(((middle[name] == low[name]) | (middle[name] == high[name])).all() for name in low):
            break  # both sides are neighbours already
        found = map_of(middle)
        if found is None:
            return None
        before = _columns(found, jumps)[rows, watched] == start
        for name in low:
            low[name] = np.where(_as_column(before, low[name]), middle[name], low[name])
            high[name] = np.where(_as_column(before, high[name]), high[name], middle[name])
    return low, high


def _held_back(low: Values, high: Values, columns: dict[str, Column]) -> list[dict[str, NDArray[np.bool_]]]:
    """Set some entries of float32 vectors to 0 on both sides, and say which, once for each finer search."""
    held: list[dict[str, NDArray[np.bool_]]] = [{} for _ in _REACHES]
    for name, values in low.items():
        if values.dtype != np.float32 or values.ndim < 2:
            continue
        if name in columns and not columns[name].low <= 0 < columns[name].high:
            continue
        chance = np.random.default_rng(values[0].size).random(values.shape[1:])
        for part, mask in enumerate(held):
            mask[name] = (chance >= part / 8) & (chance < (part + 1) / 8)
            for side in (low, high):
                side[name] = np.where(mask[name], 0, side[name]).astype(values.dtype)
    return held


def _a_little_on(low: Batch, mask: dict[str, NDArray[np.bool_]], reach: float) -> Batch:
    moved = dict(low)
    for name, entries in mask.items():
        values = low[name]
        way = np.random.default_rng(3).random(values.shape) * reach * float(np.abs(values).mean())
        moved[name] = np.where(entries, values + way, values).astype(values.dtype)
    return moved


def _one_jump_each(jumps: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each row a column in which it jumps: half of them among the last few, where matrix products end raggedly."""
    rows, columns = jumps.shape
    weight = np.random.default_rng(columns).random(jumps.shape)
    weight[: rows // 2] += np.arange(columns) >= columns - 8
    return np.asarray(np.where(jumps, weight, -1.0).argmax(axis=1))


def _jumping(found: Values) -> dict[str, NDArray[np.int64]]:
    """The columns that hold few different values, so that something was rounded: the first and the last of them."""
    chosen = {}
    for name, values in found.items():
        flat = values.reshape(len(values), -1)
        ends = np.unique(np.r_[: min(flat.shape[1], _COLUMNS), max(0, flat.shape[1] - _COLUMNS) : flat.shape[1]])
        kinds = np.array([len(np.unique(flat[:, column])) for column in ends])
        chosen[name] = ends[(kinds > 1) & (kinds <= max(2, len(flat) // 2))]
    return chosen


def _columns(found: Values, chosen: dict[str, NDArray[np.int64]]) -> NDArray[np.float64]:
    parts = [found[name].reshape(len(found[name]), -1)[:, columns] for name, columns in chosen.items()]
    return np.concatenate(parts, axis=1, dtype=np.float64)


def _between(low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    return low if low is high or low.dtype.kind != "f" else (low + (high - low) / 2).astype(low.dtype)


def _as_column(flags: NDArray[np.bool_], values: NDArray[Any]) -> NDArray[np.bool_]:
    return flags.reshape(-1, *(1,) * (values.ndim - 1))


def _kept(values: Values, stay: NDArray[np.bool_]) -> Values:
    return {name: v[stay] for name, v in values.items()}


def _equal(one: Values, two: Values) -> bool:
    return all(np.array_equal(one[name], two[name], equal_nan=one[name].dtype.kind == "f") for name in one)
