"""The inside of a cell: numbers are counted in cells, and what lies where within one no noisy number says.

A question that cuts a cell counts some of its rows, from none to all. Rows are moved about within their cells to see which they may be.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.asking.noted_sums import NotedSum, mapped
from sfumato.public.plan.block import Hot, Outer
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Batch

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
#: No part of a cell is taken to hold more than so many times the rows that it would if they were spread evenly, or as the model has them.
FULLER = 4.0
#: Places within a cell that a row is moved to, in each of two ways.
_PLACES = 16
#: Numbers between which edges are looked for, and how often what lies between two of them is halved.
_FIRST_LOOK, _HALVED = 200, 24


@dataclass(frozen=True)
class Counted:
    """The cells that a number was counted in: the least and the largest value of each."""

    low: Floats
    high: Floats
    is_whole: bool = False

    def place(self, values: Floats) -> NDArray[np.intp]:
        """In which cell each value lies."""
        return np.clip(np.searchsorted(self.high, values), 0, len(self.high) - 1)


def cells_of(
    column: Column, maps: list[tuple[NotedSum, dict[str, Flags]]], base: Batch, values: Floats
) -> Counted | None:
    """The cells that these maps tell apart, found from a few values by halving; None where no map counts the number in cells.

    `maps` come with the columns of each of their blocks that depend on this number; `base` is one row.
    """

    def told(numbers: Floats) -> NDArray[np.int64]:
        batch = {name: np.repeat(one[:1], len(numbers), axis=0) for name, one in base.items()}
        batch[column.name] = numbers.astype(base[column.name].dtype)
        parts = []
        for noted, chosen in maps:
            given = mapped(noted, batch)
            parts += [given[name][:, which].astype(np.int64) for name, which in chosen.items()]
        return np.concatenate(parts, axis=1)

    if not maps:
        return None
    known = values[~np.isnan(values)]
    levels = np.linspace(0, 1, _FIRST_LOOK)
    at = np.union1d(np.quantile(known, levels, method="nearest"), [column.low, column.high])
    is_whole = column.kind == "integer"
    at = np.unique(np.round(at)) if is_whole else at
    codes = told(at)
    for _ in range(_HALVED):
        apart = np.flatnonzero((codes[1:] != codes[:-1]).any(axis=1))
        middle = (at[apart] + at[apart + 1]) / 2
        middle = np.floor(middle) if is_whole else middle
        new = middle[(middle > at[apart]) & (middle < at[apart + 1])]
        if not len(new):
            break
        at, codes = np.concatenate([at, new]), np.concatenate([codes, told(new)])
        order = np.argsort(at)
        at, codes = at[order], codes[order]
    edge = np.flatnonzero((codes[1:] != codes[:-1]).any(axis=1))
    return Counted(at[np.append(0, edge + 1)], at[np.append(edge, len(at) - 1)], is_whole)


def counting_columns(
    noted: NotedSum, given: Batch, known: dict[str, Flags], depends: dict[str, Flags]
) -> dict[str, Flags]:
    """The columns of a map, by block, that put a row into a cell by some number: codes and indicators, and no amounts."""
    found = {}
    for block in noted.blocks:
        own = known[block.name] & depends[block.name]
        if isinstance(block, Hot):
            own = own & (np.arange(len(own)) < block.n_hot)
        elif isinstance(block, Outer):
            values = given[block.name]
            own = own & ((values == 0) | (values == 1)).all(axis=0)
        else:
            continue
        if own.any():
            found[block.name] = own
    return found


def moved_about(rows: Batch, cells: dict[str, Counted]) -> list[list[Batch]]:
    """The rows with numbers moved within their cells: evenly over each, and to where other rows of the same cell are."""
    rng = np.random.default_rng(0)
    evenly: list[Batch] = [dict(rows) for _ in range(_PLACES)]
    like_others: list[Batch] = [dict(rows) for _ in range(_PLACES)]
    for name, own in cells.items():
        values = rows[name].astype(np.float64)
        known = np.flatnonzero(~np.isnan(values))
        place = own.place(values[known])
        low, high = own.low[place], own.high[place]
        order = np.lexsort((values[known], place))
        starts, sizes = (
            np.searchsorted(place[order], np.arange(len(own.low))),
            np.bincount(place, minlength=len(own.low)),
        )
        several = len(cells) > 1  # numbers move independently of each other
        for copies in (evenly, like_others):
            for copy, at in zip(copies, rng.permutation(_PLACES) if several else range(_PLACES), strict=True):
                if copies is evenly:
                    new = low + (high - low) * at / (_PLACES - 1)
                    new = np.round(new) if own.is_whole else new
                else:
                    new = values[known][order][starts[place] + (sizes[place] * (at + 0.5) / _PLACES).astype(np.int64)]
                column = values.copy()
                column[known] = new
                copy[name] = column.astype(rows[name].dtype)  # type: ignore[index]
    return [evenly, like_others]


def least_and_most(
    holds: Callable[[Batch], NDArray[np.generic]], moved: Iterable[list[Batch]]
) -> tuple[Floats, Floats]:
    """In what part of its cell something is so, at least and at most, where `holds` says it of rows."""
    return bounds([np.mean([holds(batch).astype(np.float64) for batch in copies], axis=0) for copies in moved])


def bounds(parts: list[Floats]) -> tuple[Floats, Floats]:
    """The least and the largest part of the rows of a cell that may be where these parts of it are, spread in one way or another."""
    least, most = np.min(parts, axis=0), np.max(parts, axis=0)
    return np.maximum(1 - FULLER * (1 - least), 0.0), np.minimum(FULLER * most, 1.0)
