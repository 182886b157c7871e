"""Made-up private rows for the checks: ordinary, extreme and nasty ones, and datasets that a mixing map would betray."""

from collections.abc import Collection
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.private.intake.sensitive import Sensitive, open_batches, open_persons, with_key
from sfumato.public.plan.probe import random_batch, take
from sfumato.public.schema.schema import Batch, Column, Schema

Raw = dict[str, NDArray[Any]]
#: A key that no person has.
_NOBODY = -77
#: More rows than a person has of any table.
_MOST = 10_000
#: uniform: anything that the schema allows. low, high: every row at the minima, or maxima. corners: each value at one of the
#: two. sorted: uniform, in the order of the first number. alike: one row, again and again. repeated: three. nasty: what files hold.
Kind = Literal["uniform", "low", "high", "corners", "sorted", "alike", "repeated", "nasty"]


def dataset(schema: Schema, kind: Kind, *, n_rows: int, seed: int) -> Raw:
    """Raw rows of one kind."""
    if kind == "nasty":
        return nasty(schema, n_rows=n_rows)
    if kind in ("low", "high", "corners"):
        rng = np.random.default_rng(seed)
        raw = {slot.name: _corners(slot.column, kind, (n_rows, *slot.places), rng) for slot in schema.slots}
        return with_persons(raw, schema, n_rows=n_rows)
    raw = made_up(schema, n_rows=n_rows, seed=seed)
    if kind == "sorted":
        columns = schema.columns or tuple(slot.column for slot in schema.slots if not slot.places)
        column = next((c for c in columns if c.is_number), columns[0])
        key = raw[column.name].astype(str) if column.is_coded else raw[column.name].reshape(n_rows, -1).sum(axis=1)
        raw = take(raw, np.argsort(key, kind="stable"))
    if kind in ("alike", "repeated"):
        raw = take(raw, np.arange(n_rows) % (1 if kind == "alike" else 3))
    return with_persons(raw, schema, n_rows=n_rows)


def made_up(schema: Schema, *, n_rows: int, seed: int) -> Raw:
    """Raw rows as a file might hold them: category names rather than codes."""
    raw = dict(random_batch(schema, n_rows=n_rows, seed=seed))
    for name, column, _ in schema.slots:
        if column.is_coded:
            names = np.array([*column.categories, None], dtype=object)
            raw[name] = names[raw[name].astype(np.int64)]
    return with_persons(raw, schema, n_rows=n_rows)


def with_persons(raw: Raw, schema: Schema, *, n_rows: int) -> Raw:
    """Give every person as many rows as the unit allows."""
    if schema.unit.person is not None:
        raw = {**raw, schema.unit.person: np.arange(n_rows) // schema.unit.max_rows}
    return raw


def nasty(schema: Schema, *, n_rows: int) -> Raw:
    """Rows that a careless program would stumble over."""
    raw: Raw = {}
    for name, column, places in schema.slots:
        if column.kind == "image":
            pictures = np.full((n_rows, *column.shape), np.nan, dtype=np.float32)
            pictures[::2] = np.inf
            pictures[1::3] = -1e30
            raw[name] = pictures
        else:
            codes = ["", "no such category", None, "\x00", "NaN", "🙂" * 50, -1, 3.5]
            numbers = [np.nan, np.inf, -np.inf, 1e308, -1e308, "text", None, "12e400", 5e-324]
            raw[name] = np.resize(np.array(codes if column.is_coded else numbers, dtype=object), (n_rows, *places))
    for table in schema.flat:
        raw[table.count] = np.resize(np.arange(table.max_rows + 1), n_rows)
    for name, column, places in schema.slots:
        if name.endswith(".#") and places:
            raw[name] = np.resize(np.arange(column.high + 1), (n_rows, *places))
    return with_persons(raw, schema, n_rows=n_rows)


def inserted(raw: Raw, rows: Raw, *, places: Collection[int]) -> Raw:
    """Other rows among these: afterwards they stand at the given places, counted from 0."""
    n_old, n_new = (len(next(iter(part.values()))) for part in (raw, rows))
    order = np.full(n_old + n_new, -1)
    order[np.sort(np.fromiter(places, dtype=np.int64))] = n_old + np.arange(n_new)
    order[order < 0] = np.arange(n_old)
    return take({name: np.concatenate([_alike(raw[name], rows[name]), rows[name]]) for name in raw}, order)


def read(raw: Raw, schema: Schema) -> Sensitive:
    """The rows as private data; persons with all that hangs on them as the tables that hold it.

    Which events of a person count is drawn by one key for all datasets: neighbours are compared under the same draw.
    """
    if not schema.tables:
        return Sensitive.read(raw, schema)
    return with_key(Sensitive.read(tables_of(raw, schema), schema), bytes(32))


def tables_of(persons: Raw, schema: Schema) -> dict[str, Raw]:
    """The tables that rows of persons stand for: of events those places that are filled, behind their keys.

    Of whatever has all places filled there is every event twice, so that a window is drawn; and of whatever has all but one filled
    there is every event once more that names nobody. Events on which others hang have keys of their own, and so do these again.
    """
    key, out = str(schema.unit.person), dict[str, Raw]()
    are_named = schema.persons is None  # then everybody whom an event names is a person, and nobody has none
    if schema.persons is not None:
        out[schema.persons] = {name: persons[name] for name in (key, *(column.name for column in schema.columns))}
    #: Of every table whose rows others hang on: their keys, the person of each, and its place among the person's.
    above: dict[str | None, tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]] = {
        None: (persons[key], np.arange(len(persons[key])), np.zeros(len(persons[key]), dtype=np.int64))
    }
    for table, flat in zip(schema.tables, schema.flat, strict=True):
        keys, person, upper = above[table.parent]
        counted = persons[table.count] if table.parent is None else persons[f"{table.parent}.{table.count}"]
        counts = np.clip(np.nan_to_num(counted.astype(np.float64)), int(are_named), table.max_rows).astype(np.int64)
        counts = counts[person] if counts.ndim == 1 else counts[person, upper]
        row, place = np.nonzero(np.arange(table.max_rows) < counts[:, None])
        more = counts[row] >= table.max_rows - 1
        again = np.concatenate([np.arange(len(row)), np.flatnonzero(more)])
        is_nobody = (np.arange(len(again)) >= len(row)) & (counts[row[again]] < table.max_rows) & (not are_named)
        row, place = row[again], place[again]
        whose = np.where(is_nobody, _NOBODY, keys[row])
        at = upper[row] * table.max_rows + place
        events = {c.name: persons[flat.at(c.name)][person[row], at] for c in table.columns}
        # A key follows from the person alone, whoever else is there; where the person is named too, others may have it.
        of_person = 2 * at + (np.arange(len(again)) >= len(more))
        is_common = any(other.parent == table.name and other.person_key is not None for other in schema.tables)
        named = of_person if is_common else persons[key][person[row]] * 2 * _MOST + of_person
        own = {} if table.own_key is None else {table.own_key: named}
        own |= {} if table.person_key is None else {table.person_key: persons[key][person[row]]}
        out[table.name] = {**own, table.key: whose, **events}
        if table.own_key is not None:
            above[table.name] = (own[table.own_key], person[row], at)
    return out


def encoded(raw: Raw, schema: Schema) -> Batch:
    """The rows as the doors see them."""
    data = read(raw, schema)
    batches = list(open_persons(data, rows=16384) if schema.tables else open_batches(data))
    return {slot.name: np.concatenate([batch[slot.name] for batch in batches]) for slot in schema.slots}


def _corners(column: Column, kind: Kind, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[Any]:
    shape = (*shape, *column.shape) if column.kind == "image" else shape
    is_high = rng.random(shape) < 0.5 if kind == "corners" else np.full(shape, kind == "high")
    if column.is_coded:
        low, high = (np.array([name], dtype=object) for name in (column.categories[0], column.categories[-1]))
        return np.where(is_high, high, low)
    values = np.where(is_high, column.high, column.low)
    return values.astype(np.float32) if column.kind == "image" else values


def _alike(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """In a type that holds both: a file's column of numbers becomes one of anything where a text stands in it."""
    return first.astype(object) if second.dtype == object else first
