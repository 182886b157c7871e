"""Maps run again on public rows: each row must get the same bits, whatever was seen before and whoever stands beside it."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.check.instruments import rows as made
from sfumato.check.instruments.boundary import place_shows
from sfumato.check.instruments.canonical import Leaf, digest, leaves
from sfumato.check.instruments.noted import NotedMap, NotedTeacher
from sfumato.errors import ContractError
from sfumato.private.intake.quiet import silence
from sfumato.private.rows.batches import batch_rows
from sfumato.private.rows.row_alone import frozen, is_close
from sfumato.public.plan.probe import random_batch, take
from sfumato.public.schema.schema import Batch, Schema

Values = dict[str, NDArray[Any]]
#: Batches of ordinary rows, by the seed that they are drawn with; the other batches are datasets of one kind.
_RANDOM = {"ordinary": 31, "other": 32}


def try_maps(maps: list[NotedMap], schema: Schema) -> None:
    """Try every map of one run, after that run. A loop gives many maps of the same code: one of them is tried.

    What trains a teacher may mix the rows of its part, but neither keep anything nor change its batch.
    """
    public = PublicRows(schema)
    tried: set[object] = set()
    with silence():
        for noted in maps:
            code = (noted.step, getattr(noted.given, "__code__", id(noted.given)))  # objects: each by itself
            if code not in tried:
                tried.add(code)
                n = noted.rows or public.rows
                once = _keeps_nothing(noted, public, rows=np.arange(n))
                if not isinstance(noted, NotedTeacher):
                    _is_of_each_row_alone(noted, public, once, n=n)
            public.prepare(noted)


def digests(maps: list[NotedMap], schema: Schema, *, rows: list[int | None]) -> list[Leaf]:
    """What the maps give for public rows, so many at a time: to be compared with those of another process."""
    public = PublicRows(schema, kinds=("ordinary",))
    found: list[Leaf] = []
    with silence():
        for noted, n in zip(maps, rows, strict=False):
            batch = take(public["ordinary"], np.arange(n or public.rows))
            found += digest(leaves(_attempt(noted, batch), name=f"the map of {noted.step!r} on public rows"))
            public.prepare(noted, rows=n)
    return found


class PublicRows:
    """Batches of made-up rows, as a door would give them, with the columns that were prepared so far."""

    def __init__(
        self, schema: Schema, *, kinds: tuple[str, ...] = ("ordinary", "other", "alike", "low", "high", "nasty")
    ) -> None:
        self.schema = schema
        self.rows = batch_rows(schema)
        self._batches: dict[str, dict[str, Any]] = {}
        for kind in kinds:
            if kind in _RANDOM:
                self._batches[kind] = dict(random_batch(schema, n_rows=self.rows, seed=_RANDOM[kind]))
            else:
                raw = made.dataset(schema, cast(made.Kind, kind), n_rows=self.rows, seed=5)
                self._batches[kind] = dict(made.encoded(raw, schema))

    def __getitem__(self, kind: str) -> Batch:
        return self._batches[kind]

    def prepare(self, noted: NotedMap, *, rows: int | None = None) -> None:
        """Add the column that a map prepares. A row over which it stumbles holds nothing there."""
        if noted.column is None:
            return
        n = rows or noted.rows or self.rows
        for batch in self._batches.values():
            pieces = [_attempt(noted, take(batch, np.arange(s, s + n))) for s in range(0, self.rows, n)]
            widths = [piece[""].shape[1:] for piece in pieces if piece is not None]
            nothing = np.full((n, *(widths[0] if widths else ())), np.nan)
            column = np.concatenate([nothing if piece is None else piece[""] for piece in pieces])
            batch[noted.column] = column.astype(np.float32)


def _keeps_nothing(noted: NotedMap, public: PublicRows, *, rows: NDArray[np.int64]) -> Values:
    """What it gives for ordinary rows, which must be the same whatever it has seen before."""
    ordinary = take(public["ordinary"], rows)
    once = _attempt(noted, _frozen(ordinary))
    if once is None:
        why = "fails on made-up rows that cannot be written into, as a door gives them. Work on a copy of the batch"
        raise _broken(noted, why)
    lent = {name: np.array(values) for name, values in ordinary.items()}
    again = _values(noted, lent)
    if _differ(lent, ordinary):
        raise _broken(noted, "writes into the batch that it is given, so later maps see other rows. Work on a copy")
    _same(noted, once, again, "another value when it is asked again, so it keeps or draws something")
    for kind in ("other", "high", "nasty", "low"):
        _attempt(noted, _frozen(take(public[kind], rows)))
        after = _values(noted, _frozen(ordinary))
        _same(noted, once, after, f"another value after it has seen {kind} rows, so it keeps something of them")
    return once


def _is_of_each_row_alone(noted: NotedMap, public: PublicRows, once: Values, *, n: int) -> None:
    first = np.arange(n)
    ordinary, other = take(public["ordinary"], first), take(public["other"], first)
    order = np.random.default_rng(n).permutation(n)
    moved = _values(noted, _frozen(take(ordinary, order)))
    _same(noted, {name: v[order] for name, v in once.items()}, moved, "another value at another place of its batch")
    for kind in ("other", "alike", "high", "low", "nasty"):
        home = take(public[kind], first)
        _among(noted, ordinary, once, home, kind)
        alone = _attempt(noted, _frozen(home))
        for guests in ("ordinary", "high", "low"):
            if alone is not None:
                _among(noted, home, alone, take(public[guests], first), guests)
    if n > 1:
        fewer = _attempt(noted, _frozen(take(ordinary, first[: n // 2])))
        if fewer is None or not all(is_close(fewer[name], values[: n // 2]) for name, values in once.items()):
            raise _broken(noted, "depends on how many rows are in its batch. Compute from each row alone")
        if place_shows(lambda batch: _attempt(noted, _frozen(batch)), ordinary, other, schema=public.schema):
            raise _broken(
                noted,
                "rounds what it computes, and what it computes depends in its last bits on a row's place in the batch, so "
                "that a row beside a threshold falls on either side. Compare sums that are taken row by row in a fixed "
                "order (an elementwise product and a loop over columns, or whole numbers), not a matrix product",
            )


def _among(noted: NotedMap, home: Batch, alone: Values, guests: Batch, kind: str) -> None:
    """Rows at home keep their values when a single guest comes, and when every second row is one."""
    n = len(next(iter(home.values())))
    for where in (np.arange(n) == n // 2, np.arange(n) % 2 == 1):
        mixed = {name: np.array(values) for name, values in home.items()}
        for name in mixed:
            mixed[name][where] = guests[name][where]
        found = _attempt(noted, _frozen(mixed))
        if found is not None:  # a batch that cannot be computed is computed row by row
            stay = {name: values[~where] for name, values in found.items()}
            _same(noted, {name: v[~where] for name, v in alone.items()}, stay, f"another value among {kind} rows")


def _values(noted: NotedMap, batch: Batch) -> Values:
    given = noted.given(batch)
    return {name: np.asarray(v) for name, v in (given if isinstance(given, Mapping) else {"": given}).items()}


def _attempt(noted: NotedMap, batch: Batch) -> Values | None:
    try:
        return _values(noted, batch)
    except (Exception, SystemExit):  # noqa: BLE001 - doors let a map stumble over rows, so it may stumble here
        return None


def _same(noted: NotedMap, one: Values, two: Values, how: str) -> None:
    if _differ(one, two):
        raise _broken(noted, f"gives a {noted.unit} {how}. Compute from each {noted.unit} alone")


def _differ(one: Batch, two: Batch) -> bool:
    """Bit by bit."""
    return list(one) != list(two) or any(_bits(one[name]) != _bits(two[name]) for name in one)


def _bits(values: NDArray[Any]) -> tuple[str, tuple[int, ...], bytes]:
    return values.dtype.str, values.shape, np.ascontiguousarray(values).tobytes()


def _broken(noted: NotedMap, what: str) -> ContractError:
    return ContractError(f"the map of {noted.step!r} {what}.")


def _frozen(batch: Batch) -> Batch:
    return frozen({name: np.array(values) for name, values in batch.items()})
