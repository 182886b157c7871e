"""Persons and all that hangs on them: every person becomes one row of a batch, with a window of its events in every table.

Whose rows are whose, and which of them count, is drawn once from the keys and the orders alone. A person is told apart by a
keyed hash of its id (`persons.py`), and where it has more events than count, its own hash says where the window begins: so
what is kept of a person depends on nobody else. Rows that name nobody of the table of persons belong to nobody, and count
nowhere. What hangs on an event is found in the same way by the key of that event; where several events have that key, it hangs
on each of them. Proof: docs/proofs/histories.md.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SourceError
from sfumato.private.intake.conforming import conform
from sfumato.private.intake.persons import hashes, limited
from sfumato.private.intake.source import Source
from sfumato.private.intake.together import brought_together
from sfumato.private.intake.values import UnreadableTypeError, Values, rows_where
from sfumato.public.budget import PrivacyUnit
from sfumato.public.plan.probe import take
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Batch, Schema, n_rows_of
from sfumato.public.schema.tables import EventTable, same_clock

_RANK = "rank among all events"
_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Hanging:
    """Which rows of a table count, in the order of those that they hang on and, of each, of their moments."""

    rows: NDArray[np.int64]  # where each of these lies in the data
    counts: NDArray[np.int64]  # of each row that they hang on, how many
    events: int  # all rows of the table
    orphans: int  # rows that name nobody
    shared: int  # of those that they hang on, how many have a key that others of these have too
    beyond: int  # rows outside of every window


@dataclass(frozen=True)
class Draw:
    """What was drawn from the keys: all of it private."""

    numbers: NDArray[np.int64]  # of each row of the table of persons, the number of the person; -1: it does not count
    tables: dict[str, Hanging]


class HistorySource:
    """A table of persons and tables of their events, as one row for each person."""

    def __init__(
        self, persons: Source, events: Mapping[str, Source], *, schema: Schema, key: bytes | None = None
    ) -> None:
        self.persons, self.events, self.schema = persons, dict(events), schema
        self.names = persons.names
        self.key = os.urandom(32) if key is None else key
        self._drawn: Draw | None = None

    def keyed(self, key: bytes) -> "HistorySource":
        """The same rows with another draw: that of this key."""
        return HistorySource(self.persons, self.events, schema=self.schema, key=key)

    def of(self, persons: Source) -> "HistorySource":
        """The same tables of events with other persons: some of them, say."""
        return HistorySource(persons, self.events, schema=self.schema, key=self.key)

    def under(self, schema: Schema) -> "HistorySource":
        """The same rows and the same draw under a schema that says more of the persons' columns."""
        again = HistorySource(self.persons, self.events, schema=schema, key=self.key)
        again._drawn = self._drawn  # keys and orders are as they were
        return again

    def draw(self) -> Draw:
        """Made once, at the first reading."""
        if self._drawn is None:
            self._drawn = self._draw()
        return self._drawn

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """The rows of the table of persons that count, one for each."""
        start = 0
        for private_chunk in self.persons.chunks(names, rows=rows):
            n_rows = len(next(iter(private_chunk.values())))
            kept = self.draw().numbers[start : start + n_rows] >= 0
            start += n_rows
            if len(kept) < n_rows:
                raise _changed()
            if kept.any():
                yield {name: rows_where(values, kept) for name, values in private_chunk.items()}

    def batches(self, *, rows: int) -> Iterator[Batch]:
        """Persons with their events, encoded; under the name of the key, the number of each."""
        columns, key = self.schema.columns, str(self.schema.unit.person)
        streams = {table.name: _Stream(self._ordered(table, rows=rows)) for table in self.schema.tables}
        first, done = 0, dict[str | None, int]()
        for private_chunk in self.chunks([column.name for column in columns] or [key], rows=rows):
            n_rows = len(next(iter(private_chunk.values())))
            private_rows = conform(private_chunk, _plain(columns)) if columns else {}
            private_rows |= self._hanging(streams, n_rows, done)
            private_rows[key] = np.arange(first, first + n_rows)
            first += n_rows
            yield private_rows

    def _hanging(
        self, streams: Mapping[str, "_Stream"], n_rows: int, done: dict[str | None, int]
    ) -> dict[str, NDArray[Any]]:
        """What hangs on the next persons; `done` says how many rows of every table have had their turn."""
        whose: dict[str | None, NDArray[np.int64]] = {None: np.arange(n_rows)}
        private_events = dict[str, dict[str, NDArray[Any]]]()
        for table in self.schema.tables:
            above, start = table.parent, done.get(table.parent, 0)
            of_each = self.draw().tables[table.name].counts[start : start + len(whose[above])]
            private = dict(streams[table.name].next(int(of_each.sum())))
            if above is not None:
                private_above = private_events[above]
                private_above[table.count] = of_each.astype(np.float64)
                if same_clock(table, self._table(above)):
                    private |= _since(private, private_above, of_each, table, self._table(above))
            whose[table.name] = np.repeat(whose[above], of_each)
            private_events[table.name] = private
        for name, rows in whose.items():
            done[name] = done.get(name, 0) + len(rows)
        out: dict[str, NDArray[Any]] = {}
        for flat in self.schema.flat:
            out |= _placed(private_events[flat.name], whose[flat.name], n_rows, flat)
        return out

    def _ordered(self, table: EventTable, *, rows: int) -> Iterator[Batch]:
        """The events that count, in the order of whom they hang on and, of each, of the moments."""
        private_rows, own = self.draw().tables[table.name].rows, _plain(table.columns)
        ranks = np.argsort(private_rows, kind="stable")  # places among all, in the order of the data
        lying = private_rows[ranks]

        def read() -> Iterator[Batch]:
            start = 0
            for private_chunk in self.events[table.name].chunks([c.name for c in table.columns], rows=rows):
                n_rows = len(next(iter(private_chunk.values())))
                begin, end = np.searchsorted(lying, [start, start + n_rows])
                here = lying[begin:end] - start
                start += n_rows
                if len(here):
                    kept = np.zeros(n_rows, dtype=bool)
                    kept[here] = True
                    private_kept = {name: rows_where(values, kept) for name, values in private_chunk.items()}
                    again = (np.cumsum(kept) - 1)[here]  # what hangs on several is there several times
                    yield {**take(conform(private_kept, own), again), _RANK: ranks[begin:end]}

        yield from brought_together(read, ranks, person=_RANK, rows=rows)

    def _draw(self) -> Draw:
        private_ids = self._ids(self.persons, str(self.schema.unit.person), what=self._persons_name)
        numbers = limited([private_ids], key=self.key, max_rows=1)
        #: Of the rows of a table that count: their own keys, and the key of each one's person.
        above: dict[str | None, tuple[NDArray[np.uint64], NDArray[np.uint64]]] = {
            None: (private_ids[numbers >= 0], private_ids[numbers >= 0])
        }
        found = dict[str, Hanging]()
        for table in self.schema.tables:
            source, (private_above, private_persons) = self.events[table.name], above[table.parent]
            private_keys = self._ids(source, table.key, what=table.name)
            if table.person_key is not None:
                private_above = paired(private_above, private_persons)
                private_keys = paired(private_keys, self._ids(source, table.person_key, what=table.name))
            hanging = hung(private_keys, self._orders(source, table), private_above, max_rows=table.max_rows)
            found[table.name] = hanging
            if table.own_key is not None:
                private_own = self._ids(source, table.own_key, what=table.name)[hanging.rows]
                above[table.name] = (private_own, np.repeat(private_persons, hanging.counts, axis=0))
        return Draw(numbers, found)

    @property
    def _persons_name(self) -> str:
        return self.schema.persons or self.schema.tables[0].name

    def _table(self, name: str) -> EventTable:
        return next(table for table in self.schema.tables if table.name == name)

    def _ids(self, source: Source, key: str, *, what: str) -> NDArray[np.uint64]:
        try:
            private_ids = [hashes(chunk[key], self.key) for chunk in source.chunks([key], rows=_AT_ONCE)]
        except UnreadableTypeError as error:
            raise SourceError(f"the key {key!r} of table {what!r}: {error}") from None
        return np.concatenate([np.zeros((0, 2), dtype=np.uint64), *private_ids])

    def _orders(self, source: Source, table: EventTable) -> NDArray[np.float64] | None:
        column = table.order_column
        if column is None:
            return None
        own = _plain((column,))
        private_parts = [conform(chunk, own)[column.name] for chunk in source.chunks([column.name], rows=_AT_ONCE)]
        return np.concatenate([np.zeros(0), *private_parts])


def hung(
    keys: NDArray[np.uint64], order: NDArray[np.float64] | None, above: NDArray[np.uint64], *, max_rows: int
) -> Hanging:
    """Which rows hang on those above, by the key that each names, and count there."""
    names, again = distinct(above)
    whose = numbers_of(keys, names)
    rows, counts = windows(whose, order, again, above[:, 1], max_rows=max_rows)
    counted = np.zeros(len(keys), dtype=bool)
    counted[rows] = True
    shared = above.any(axis=1) & (np.bincount(again, minlength=len(names))[again] > 1)
    orphans, beyond = whose < 0, (whose >= 0) & ~counted
    return Hanging(rows, counts, len(keys), int(orphans.sum()), int(shared.sum()), int(beyond.sum()))


def paired(keys: NDArray[np.uint64], persons: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """An id for every row that is named by two: by its own key, and by its person's. Nobody's is nobody's.

    Both are words of a secret function, and so are sums of these: for two different pairs some id has a factor that is not 0 in
    the difference, whatever they have in common (7 of 9 is not 9 of 7), so they meet as hardly ever as ids do.

    >>> paired(np.array([[1, 2], [0, 0]], dtype=np.uint64), np.array([[5, 6], [5, 6]], dtype=np.uint64)).tolist()
    [[16, 20], [0, 0]]
    """
    known = keys.any(axis=1, keepdims=True) & persons.any(axis=1, keepdims=True)
    return np.where(known, keys + np.uint64(3) * persons, np.uint64(0))


def distinct(ids: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Every id once, and for each of all which of these it is.

    >>> [x.tolist() for x in distinct(np.array([[5, 1], [3, 9], [5, 1]], dtype=np.uint64))]
    [[[3, 9], [5, 1]], [1, 0, 1]]
    """
    order = np.lexsort((ids[:, 1], ids[:, 0]))
    ordered = ids[order]
    first = np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)][: len(order)]
    again = np.empty(len(ids), dtype=np.int64)
    again[order] = np.cumsum(first) - 1
    return ordered[first], again


def numbers_of(ids: NDArray[np.uint64], above: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For every id the place of the same one among those above, who are all different; -1 where nobody has it.

    >>> persons = np.array([[7, 7], [5, 1]], dtype=np.uint64)
    >>> numbers_of(np.array([[5, 1], [0, 0], [7, 7], [5, 2]], dtype=np.uint64), persons).tolist()
    [1, -1, 0, -1]
    """
    both = np.concatenate([above, ids])
    order = np.lexsort((both[:, 1], both[:, 0]))  # which is stable: whoever is above stands before the rows
    ordered = both[order]
    first = np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)][: len(order)]
    head = order[np.flatnonzero(first)][np.cumsum(first) - 1]
    numbers = np.full(len(both), -1)
    numbers[order] = np.where(head < len(above), head, -1)
    return np.where(ids.any(axis=1), numbers[len(above) :], -1)


def windows(
    whose: NDArray[np.int64],
    order: NDArray[np.float64] | None,
    again: NDArray[np.int64],
    starts: NDArray[np.uint64],
    *,
    max_rows: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that count, in the order of those above and of moments; and for each of those above how many.

    `whose` is the number of each row's name, `again` that of each of those above: several of them may have one name. Rows of a
    name are put in order, those of one moment as they lie and those without a moment at the end. Of more than `max_rows` those of a
    window count, which begins where the random number of whom they hang on says, each beginning alike.

    >>> whose, days = np.array([1, 0, 1, 1, -1]), np.array([3.0, 9.0, 1.0, 2.0, 0.0])
    >>> [x.tolist() for x in windows(whose, days, np.array([0, 1]), np.array([0, 3], dtype=np.uint64), max_rows=2)]
    [[1, 3, 0], [1, 2]]
    """
    kept = np.flatnonzero(whose >= 0)
    keys = (whose[kept],) if order is None else (order[kept], whose[kept])
    placed = kept[np.lexsort(keys)]
    of_name = np.bincount(whose[kept], minlength=int(again.max(initial=-1)) + 1)
    n_rows = of_name[again]
    counts = np.minimum(n_rows, max_rows)
    beginnings = (starts % (n_rows - counts + 1).astype(np.uint64)).astype(np.int64)
    first = (np.cumsum(of_name) - of_name)[again] + beginnings
    place = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return placed[np.repeat(first, counts) + place], counts


class _Stream:
    """Batches one after another, as many rows at a time as are asked for."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches, self._held = batches, list[Batch]()

    def next(self, n_rows: int) -> Batch:
        held = sum(map(n_rows_of, self._held))
        while held < n_rows:
            private_batch = next(self._batches, None)
            if private_batch is None:
                raise _changed()
            self._held.append(private_batch)
            held += n_rows_of(private_batch)
        if not self._held:
            return {}
        joined = {name: np.concatenate([batch[name] for batch in self._held]) for name in self._held[0]}
        self._held = [{name: values[n_rows:] for name, values in joined.items()}]
        return {name: values[:n_rows] for name, values in joined.items()}


def _since(
    events: Batch, above: Batch, of_each: NDArray[np.int64], table: EventTable, upper: EventTable
) -> dict[str, NDArray[Any]]:
    """Moments as the time since that of whom they hang on; what lies before that is no time after it."""
    if not of_each.sum():
        return {}
    own, start = table[str(table.order)], upper[str(upper.order)]
    passed = np.clip(events[own.name] - np.repeat(above[start.name], of_each), 0.0, own.high - start.low)
    return {own.name: passed if own.missing else np.nan_to_num(passed)}


def _placed(events: Batch, whose: NDArray[np.int64], n_rows: int, flat: EventTable) -> dict[str, NDArray[Any]]:
    """Events that follow each other, as one row of places for each person."""
    counts = np.bincount(whose, minlength=n_rows)
    places = np.arange(len(whose)) - np.repeat(np.cumsum(counts) - counts, counts)
    out: dict[str, NDArray[Any]] = {flat.count: counts.astype(np.float64)}
    for column in flat.columns:
        values = empty(column, (n_rows, flat.max_rows))
        if len(whose):
            values[whose, places] = events[column.name]
        out[flat.at(column.name)] = values
    return out


def empty(column: Column, shape: tuple[int, ...]) -> NDArray[Any]:
    """What stands in a place without an event: no map may look at it, whatever it is."""
    return np.zeros(shape, dtype=np.int64) if column.is_coded else np.full(shape, column.low)


def _plain(columns: tuple[Column, ...]) -> Schema:
    """A schema for encoding these columns, each row alone."""
    return Schema(columns=columns)


def table_schema(table: EventTable) -> Schema:
    """A table of events as one by itself: what its source must have."""
    named = tuple(_key(key) for key in table.read_keys if key != table.key)
    return Schema(columns=(*table.columns, *named), unit=PrivacyUnit(person=table.key, max_rows=table.max_rows))


def person_schema(schema: Schema) -> Schema:
    """The table of persons as one by itself; without columns of its own it is read as one of keys."""
    key = str(schema.unit.person)
    return Schema(columns=schema.columns, unit=PrivacyUnit(person=key)) if schema.columns else _plain((_key(key),))


def _key(name: str) -> Column:
    return Column(name=name, kind="categorical", discover=True)  # of which only the name is looked at


def _changed() -> SourceError:
    return SourceError("the data has changed while it was read, so nothing is released. Start again.")
