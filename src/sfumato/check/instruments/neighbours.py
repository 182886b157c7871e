"""Pairs of datasets that a guarantee must make hard to tell apart: they differ in one row, or in the rows of one person.

A map that mixes rows may hide it among uniform ones, and a batch that is filled up with public rows hides it where it is not
full. So the rows that both hold are of many kinds, there are up to some thousands of them, around the size of a batch, and the
row that is new stands in front, in the middle or at the end.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.check.instruments import rows as made
from sfumato.private.rows.batches import batch_rows
from sfumato.public.plan.probe import take
from sfumato.public.schema.schema import Schema

Place = Literal["front", "middle", "end"]
#: Rows that both hold, how many of them (b: rows of a batch, n: as asked for), what is new, and where.
_SCHEDULE: tuple[tuple[made.Kind, str, made.Kind, tuple[Place, ...]], ...] = (
    ("uniform", "n", "corners", ("front", "middle", "end")),
    ("alike", "3b-72", "high", ("front", "middle")),
    ("low", "b+1", "high", ("middle",)),
    ("high", "b", "low", ("middle", "end")),
    ("corners", "b-1", "nasty", ("end",)),
    ("sorted", "b+1", "uniform", ("front", "middle")),
    ("repeated", "63", "corners", ("middle",)),
    ("nasty", "n", "high", ("front",)),
    ("uniform", "0", "high", ("end",)),
    ("low", "1", "high", ("front",)),
    ("uniform", "2", "nasty", ("middle",)),
)


@dataclass(frozen=True)
class Base:
    """Rows, and all their neighbours that are tried."""

    raw: made.Raw
    label: str
    neighbours: tuple["Neighbour", ...]


@dataclass(frozen=True)
class Neighbour:
    """Rows of which those at `places` are new, or others than before; `as_read`: places in the order of reading."""

    raw: made.Raw
    places: tuple[int, ...]
    as_read: tuple[int, ...]
    label: str


def bases(schema: Schema, *, n_rows: int) -> Iterator[Base]:
    """All that are tried. Where the number of rows is public, a row is replaced, and the number stays."""
    b, replacing, person = batch_rows(schema), schema.unit.relation == "replace_one", schema.unit.person
    sizes = {"n": n_rows, "3b-72": max(2, 3 * b - 72), "b": b, "b-1": b - 1, "b+1": b + 1}
    for seed, (kind, size, new, places) in enumerate(_SCHEDULE):
        n_base = n_rows if replacing else int(sizes.get(size, size))
        raw = made.dataset(schema, kind, n_rows=n_base, seed=seed)
        extra = made.dataset(schema, new, n_rows=schema.unit.max_rows, seed=100 + seed)
        if person is not None:  # whom no other dataset holds
            extra[person] = np.full(schema.unit.max_rows, -1)
        neighbours = tuple(_neighbour(raw, extra, n_base, place, person, replacing=replacing) for place in places)
        if not replacing or n_base >= schema.unit.max_rows:
            yield Base(raw, f"{n_base} {kind} rows", neighbours)


def _neighbour(
    raw: made.Raw, extra: made.Raw, n_base: int, place: Place, person: str | None, *, replacing: bool
) -> Neighbour:
    n_extra = len(next(iter(extra.values())))
    n_after = n_base if replacing else n_base + n_extra
    first = {"front": 0, "middle": (n_after - n_extra) // 2, "end": n_after - n_extra}[place]
    # The rows of one person do not stand side by side, where there is room. Where a person is replaced, they stand where
    # all rows of that person stood, so that nobody else is another one than before.
    apart = 7 if place == "middle" and first + 7 * n_extra < n_after and not replacing else 1
    first -= first % n_extra if replacing else 0
    places = tuple(first + apart * i for i in range(n_extra))
    rest = take(raw, np.setdiff1d(np.arange(n_base), places)) if replacing else raw
    raw = made.inserted(rest, extra, places=places)
    as_read = _as_read(places, None if person is None else raw[person])
    return Neighbour(raw, places, as_read, f"a row at the {place}")


def _as_read(places: tuple[int, ...], persons: NDArray[Any] | None) -> tuple[int, ...]:
    """Where rows stand when all rows of each person are brought together, behind the first of them."""
    if persons is None:
        return places
    first = {person: at for at, person in reversed(list(enumerate(persons.tolist())))}
    order = np.argsort([first[person] for person in persons.tolist()], kind="stable")
    return tuple(sorted(np.flatnonzero(np.isin(order, places)).tolist()))
