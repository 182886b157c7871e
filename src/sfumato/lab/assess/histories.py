"""Persons with their events in memory, read as a release reads them. This reads private rows WITHOUT privacy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.errors import SourceError
from sfumato.lab.assess.relations import Related
from sfumato.model import Synthetic
from sfumato.private.intake.sensitive import open_histories
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Batch, Schema, n_rows_of
from sfumato.public.schema.tables import EventTable, same_clock

_ROWS_AT_ONCE = 65_536
DAY = 86_400.0


@dataclass(frozen=True)
class Events:
    """The rows of one table that count, person after person and of each in their order."""

    table: EventTable  # as it stands in a person's row: what hangs on an event has the time since then
    declared: EventTable
    is_since: bool  # moments are the time since that of the row above
    rows: Batch = field(repr=False)
    whose: NDArray[np.int64] = field(repr=False)  # of each the place of its person
    above: NDArray[np.int64] = field(repr=False)  # of each the place of the row that it hangs on
    number: NDArray[np.int64] = field(repr=False)  # of each person

    @property
    def order(self) -> Column | None:
        """The column of moments."""
        return None if self.declared.order is None else self.table[self.declared.order]

    @property
    def is_clock(self) -> bool:
        """Whether moments, or the times since what a row hangs on, are seconds."""
        order = self.declared.order_column
        return order is not None and order.kind == "datetime"

    def name_of(self, column: Column) -> str:
        """What a reader is told that a column is: some have another meaning in a person's row."""
        if self.is_since and column == self.order:
            return f"{column.name} since that of {self.declared.parent}"
        if column in self.declared.columns:
            return column.name
        return f"number of {column.name.removesuffix('.#')} of a row"

    def gaps(self) -> NDArray[np.float64]:
        """From an event to the next of the same person, or of the same row above it: in days where moments are dates."""
        if self.order is None:
            return np.zeros(0)
        between = np.diff(self.rows[self.order.name].astype(np.float64))[self.above[1:] == self.above[:-1]]
        return np.asarray(between[~np.isnan(between)] / (DAY if self.is_clock else 1.0))


@dataclass(frozen=True)
class Persons:
    """Persons, encoded, each with its events in one row of places."""

    schema: Schema
    batch: Batch = field(repr=False)

    def __len__(self) -> int:
        return n_rows_of(self.batch)

    def only(self, chosen: NDArray[np.bool_]) -> "Persons":
        """Some of them, with all that hangs on them."""
        return Persons(self.schema, {name: values[chosen] for name, values in self.batch.items()})

    def events(self) -> Iterator[Events]:
        """Every table of events as rows."""
        done, by_name = dict[str | None, Batch](), {table.name: table for table in self.schema.tables}
        for flat, declared in zip(self.schema.flat, self.schema.tables, strict=True):
            number = self.batch[flat.count].astype(np.int64)
            filled = np.arange(flat.max_rows) < number[:, None]
            rows = {column.name: self.batch[flat.at(column.name)][filled] for column in flat.columns}
            whose = above = np.repeat(np.arange(len(number)), number)
            upper = None if declared.parent is None else by_name[declared.parent]
            if upper is not None:
                below = done[upper.name][declared.count].astype(np.int64)
                above = np.repeat(np.arange(len(below)), below)
            done[flat.name] = rows
            yield Events(flat, declared, same_clock(declared, upper), rows, whose, above, number)

    def related(self) -> dict[str, Related]:
        """What is measured of every table of events."""
        own = _plain_frame({column.name: column for column in self.schema.columns}, self.batch, n_rows=len(self))
        return {each.table.name: _related(own, each) for each in self.events()}


def _related(own: pd.DataFrame, events: Events) -> Related:
    named = {events.name_of(column): column for column in events.table.columns}
    frame = _plain_frame(named, events.rows, n_rows=len(events.whose))
    order = None if events.order is None else events.name_of(events.order)
    return Related(own, frame, events.whose, events.above, order=order, kind=events.declared.kind)


def _plain_frame(named: Mapping[str, Column], rows: Batch, *, n_rows: int) -> pd.DataFrame:
    """Numbers, dates too, as they are encoded, and categories by name."""
    values = {name: rows[c.name] if c.is_number else c.decode(rows[c.name]) for name, c in named.items()}
    return pd.DataFrame(values, index=pd.RangeIndex(n_rows))


def read_persons(data: Any, schema: Schema) -> Persons:
    """All persons that count, with the window of events that counts of each."""
    #: A page that is made twice shows the same windows.
    source = open_histories(data, schema).keyed(bytes(32))
    chunks = list(source.batches(rows=_ROWS_AT_ONCE))
    if not chunks:
        raise SourceError("there are no persons to compare.")
    return Persons(schema, {slot.name: np.concatenate([chunk[slot.name] for chunk in chunks]) for slot in schema.slots})


def released_persons(synthetic: Synthetic, schema: Schema) -> Persons:
    """The persons of a release, read in the same way. Its keys are all different, so that no row names its person besides."""
    tables = tuple(replace(table, person_key=None) for table in schema.tables)
    persons: Mapping[str, Any] = {} if schema.persons is None else {schema.persons: synthetic.table}
    return read_persons({**persons, **synthetic.tables}, replace(schema, tables=tables))
