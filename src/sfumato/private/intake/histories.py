"""Persons and all that hangs on them: every person becomes one row of a batch, with a window of its events in every table.

Whose rows are whose, and which of them count, is drawn once from the keys and the orders alone. A person is told apart by a
keyed hash of its id (`persons.py`), and where it has more events than count, its own hash says where the window begins: so
what is kept of a person depends on nobody else. Rows that name nobody of the table of persons belong to nobody, and count
nowhere. Proof: docs/proofs/histories.md.
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
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Batch, Schema, n_rows_of
from sfumato.public.schema.tables import EventTable

_RANK = "rank among all events"
_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Draw:
    """What was drawn from the keys: all of it private."""

    numbers: NDArray[np.int64]  # of each row of the table of persons, the number of the person; -1: it does not count
    ranks: dict[str, NDArray[np.int64]]  # of each event, its place when all are in the order of persons and moments; -1
    counts: dict[str, NDArray[np.int64]]  # of each person, how many events count
    orphans: dict[str, int]  # events that name nobody of the table of persons
    beyond: dict[str, int]  # events outside their person's window


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
        columns = self.schema.columns
        streams = {table.name: _Stream(self._ordered(table, rows=rows)) for table in self.schema.tables}
        own, first = _plain(columns), 0
        for private_chunk in self.chunks([column.name for column in columns], rows=rows):
            private_rows = conform(private_chunk, own)
            n_rows = n_rows_of(private_rows)
            for table in self.schema.tables:
                counts = self.draw().counts[table.name][first : first + n_rows]
                private_rows |= _placed(streams[table.name].next(int(counts.sum())), counts, table)
            private_rows[str(self.schema.unit.person)] = np.arange(first, first + n_rows)
            first += n_rows
            yield private_rows

    def _ordered(self, table: EventTable, *, rows: int) -> Iterator[Batch]:
        """The events that count, in the order of their persons and, of each person, of the moments."""
        ranks, own = self.draw().ranks[table.name], _plain(table.columns)

        def read() -> Iterator[Batch]:
            start = 0
            for private_chunk in self.events[table.name].chunks([c.name for c in table.columns], rows=rows):
                n_rows = len(next(iter(private_chunk.values())))
                rank = ranks[start : start + n_rows]
                start += n_rows
                if len(rank) < n_rows:
                    raise _changed()
                kept = rank >= 0
                if kept.any():
                    private_kept = {name: rows_where(values, kept) for name, values in private_chunk.items()}
                    yield {**conform(private_kept, own), _RANK: rank[kept]}

        yield from brought_together(read, ranks[ranks >= 0], person=_RANK, rows=rows)

    def _draw(self) -> Draw:
        private_ids = self._ids(self.persons, str(self.schema.unit.person), what=str(self.schema.persons))
        numbers = limited([private_ids], key=self.key, max_rows=1)
        private_persons = private_ids[numbers >= 0]
        ranks, counts, orphans, beyond = {}, {}, {}, {}
        for table in self.schema.tables:
            source = self.events[table.name]
            whose = numbers_of(self._ids(source, table.key, what=table.name), private_persons)
            order = self._orders(source, table)
            starts = private_persons[:, 1]
            ranks[table.name], counts[table.name] = windows(whose, order, starts, max_rows=table.max_rows)
            orphans[table.name] = int((whose < 0).sum())
            beyond[table.name] = int(((whose >= 0) & (ranks[table.name] < 0)).sum())
        return Draw(numbers, ranks, counts, orphans, beyond)

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


def numbers_of(ids: NDArray[np.uint64], persons: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For every id the place of the same one among persons, who are all different; -1 where nobody has it.

    >>> persons = np.array([[7, 7], [5, 1]], dtype=np.uint64)
    >>> numbers_of(np.array([[5, 1], [0, 0], [7, 7], [5, 2]], dtype=np.uint64), persons).tolist()
    [1, -1, 0, -1]
    """
    both = np.concatenate([persons, ids])
    order = np.lexsort((both[:, 1], both[:, 0]))  # which is stable: a person stands before the events
    ordered = both[order]
    first = np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)][: len(order)]
    head = order[np.flatnonzero(first)][np.cumsum(first) - 1]
    numbers = np.full(len(both), -1)
    numbers[order] = np.where(head < len(persons), head, -1)
    return np.where(ids.any(axis=1), numbers[len(persons) :], -1)


def windows(
    whose: NDArray[np.int64], order: NDArray[np.float64] | None, starts: NDArray[np.uint64], *, max_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every event its rank among all that count, -1 for the others; and for every person how many count.

    A person's events are put in order, those of one moment as they lie and those without a moment at the end. Of more than
    `max_rows` those of a window count, which begins where the person's own random number says, each beginning alike.

    >>> whose, days = np.array([1, 0, 1, 1, -1]), np.array([3.0, 9.0, 1.0, 2.0, 0.0])
    >>> [x.tolist() for x in windows(whose, days, np.array([0, 3], dtype=np.uint64), max_rows=2)]
    [[2, 0, -1, 1, -1], [1, 2]]
    """
    kept = np.flatnonzero(whose >= 0)
    keys = (whose[kept],) if order is None else (order[kept], whose[kept])
    placed = kept[np.lexsort(keys)]
    n_events = np.bincount(whose[kept], minlength=len(starts))
    beginnings = (starts % (np.maximum(n_events - max_rows, 0) + 1).astype(np.uint64)).astype(np.int64)
    place = np.arange(len(placed)) - np.repeat(np.cumsum(n_events) - n_events, n_events) - beginnings[whose[placed]]
    counts = (place >= 0) & (place < max_rows)
    ranks = np.full(len(whose), -1)
    ranks[placed[counts]] = np.arange(int(counts.sum()))
    return ranks, np.minimum(n_events, max_rows)


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


def _placed(events: Batch, counts: NDArray[np.int64], table: EventTable) -> dict[str, NDArray[Any]]:
    """Events that follow each other, as one row of places for each person."""
    rows = np.repeat(np.arange(len(counts)), counts)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    out: dict[str, NDArray[Any]] = {table.count: counts.astype(np.float64)}
    for column in table.columns:
        values = empty(column, (len(counts), table.max_rows))
        if len(rows):
            values[rows, places] = events[column.name]
        out[table.at(column.name)] = values
    return out


def empty(column: Column, shape: tuple[int, ...]) -> NDArray[Any]:
    """What stands in a place without an event: no map may look at it, whatever it is."""
    return np.zeros(shape, dtype=np.int64) if column.is_coded else np.full(shape, column.low)


def _plain(columns: tuple[Column, ...]) -> Schema:
    """A schema for encoding these columns, each row alone."""
    return Schema(columns=columns)


def table_schema(table: EventTable) -> Schema:
    """A table of events as one by itself: what its source must have."""
    return Schema(columns=table.columns, unit=PrivacyUnit(person=table.key, max_rows=table.max_rows))


def person_schema(schema: Schema) -> Schema:
    """The table of persons as one by itself."""
    return Schema(columns=schema.columns, unit=PrivacyUnit(person=schema.unit.person))


def _changed() -> SourceError:
    return SourceError("the data has changed while it was read, so nothing is released. Start again.")
