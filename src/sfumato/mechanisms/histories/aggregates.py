"""What is known of a person's events as columns of the table of persons: one value for each person, however many events."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.histories.facts import EventFacts, mean_gap
from sfumato.mechanisms.histories.ranks import Levels
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Batch, Schema

#: The column that holds all aggregates of a person, once they are prepared.
PREPARED = "what is known of events"


class Names(NamedTuple):
    """The columns of one table of events in the table of persons; those of moments and sorts are there if these are."""

    number: str
    of_slots: tuple[str, ...]  # those that are counted
    means: tuple[tuple[str, ...], ...]  # by column of values, then by slot
    first: str
    last: str
    gap: str
    first_kind: str
    last_kind: str
    last_codes: tuple[str, ...]


def names_of(facts: EventFacts) -> Names:
    """A colon sets them apart from the columns that are there."""
    name, slots = facts.table.name, range(facts.n_slots)
    return Names(
        f"{name}: number",
        tuple(f"{name}: number {at}" for at in facts.counted_slots),
        tuple(tuple(f"{name}: mean {column.name} {at}" for at in slots) for column in facts.numbers),
        first=f"{name}: first",
        last=f"{name}: last",
        gap=f"{name}: gap",
        first_kind=f"{name}: first kind",
        last_kind=f"{name}: last kind",
        last_codes=tuple(f"{name}: last {column.name}" for column in facts.codes),
    )


def columns_of(facts: EventFacts) -> Iterator[Column]:
    """What these columns may hold: public."""
    names, table, most = names_of(facts), facts.table, facts.settings.most_ranks
    counts = (0.0, float(table.max_rows))
    for name in (names.number, *names.of_slots):
        yield Column(name=name, kind="integer", bounds=counts)
    for of_slots in names.means:
        for name in of_slots:
            yield Column(name=name, kind="numeric", bounds=(-most, most), missing=True)
    if facts.clock is not None:
        order, gap = facts.clock.order, facts.clock.gap
        for name in (names.first, names.last):
            yield Column(name=name, kind="numeric", bounds=(order.low, order.high), missing=True)
        yield Column(name=names.gap, kind="integer", bounds=(0, gap.inner - 1), missing=True)
    kind = table.kind_column
    if kind is not None and facts.n_kinds > 1:
        for name in (names.first_kind, names.last_kind):
            yield Column(name=name, kind="categorical", categories=_categories(kind), missing=True)
    for column, name in zip(facts.codes, names.last_codes, strict=True):
        yield Column(name=name, kind="categorical", categories=_categories(column), missing=True)


def _categories(column: Column) -> tuple[str, ...]:
    """As many as there are codes: a missing value is one, beside that nothing is known."""
    return tuple(map(str, range(column.size)))


@dataclass(frozen=True)
class Aggregates:
    """The map from a person's events to these columns, by the noisy distributions of values."""

    facts: EventFacts
    levels: tuple[Levels, ...]

    @cached_property
    def _ranks(self) -> tuple[Floats, ...]:
        return tuple(levels.ranks(self.facts.settings.most_ranks) for levels in self.levels)

    def normal_ranks(self, batch: Batch, at: int) -> Floats:
        """The normal rank of every value of a column, NaN where there is none."""
        facts = self.facts
        events, values = facts.events(batch), facts.values(batch, facts.numbers[at])
        known = ~np.isnan(values)
        cells = facts.levels[at].code(np.where(known, values, facts.numbers[at].low))
        cells = np.minimum(cells, facts.levels[at].inner - 1)
        return np.where(known, self._ranks[at][events.slots, cells], np.nan)

    def __call__(self, batch: Batch) -> Floats:
        """One column for each aggregate, in their order; codes as numbers."""
        facts = self.facts
        events = facts.events(batch)
        some = events.number > 0
        rows, end = np.arange(len(some)), np.maximum(events.number - 1, 0)
        columns = [events.number.astype(np.float64)]
        of_slots = [((events.slots == at) & events.filled) for at in range(facts.n_slots)]
        columns += [of_slots[at].sum(axis=1).astype(np.float64) for at in facts.counted_slots]
        for at in range(len(facts.numbers)):
            ranks = self.normal_ranks(batch, at)
            columns += [mean_of(ranks, there & ~np.isnan(ranks)) for there in of_slots]
        if events.moments is not None and facts.clock is not None:
            columns += [np.where(some, events.moments[rows, place], np.nan) for place in (0 * end, end)]
            cell = facts.clock.gap.code(mean_gap(events.moments, events.filled))
            columns.append(np.where(events.number > 1, cell.astype(np.float64), np.nan))
        if facts.n_kinds > 1:
            columns += [np.where(some, events.kinds[rows, place], np.nan) for place in (0 * end, end)]
        for column in facts.codes:
            columns.append(np.where(some, batch[facts.table.at(column.name)][rows, end], np.nan))
        return np.column_stack(columns)


def mean_of(values: Floats, counts: np.ndarray) -> Floats:
    """The mean of those values of each row that count; NaN where none does."""
    number = counts.sum(axis=1)
    total = np.where(counts, values, 0.0).sum(axis=1)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def prepared_aggregates(batch: Batch, maps: tuple[Aggregates, ...]) -> Floats:
    """Those of all tables, side by side."""
    return np.concatenate([one(batch) for one in maps], axis=1)


def table_of_persons(schema: Schema, all_facts: tuple[EventFacts, ...]) -> Schema:
    """The table of persons with what is known of their events: a schema of one table, a person a row."""
    extra = tuple(column for facts in all_facts for column in columns_of(facts))
    unit = replace(schema.unit, tables=())
    return replace(schema, columns=(*schema.columns, *extra), tables=(), persons=None, unit=unit)


def persons_batch(batch: Batch, extra: tuple[Column, ...]) -> Batch:
    """Rows of that table: the persons' own columns, and the prepared ones in the form of their kind."""
    prepared = batch[PREPARED]
    return {**batch, **{column.name: _as_kind(prepared[:, at], column) for at, column in enumerate(extra)}}


def _as_kind(values: Floats, column: Column) -> Floats | Integers:
    if not column.is_coded:
        numbers = values.astype(np.float64)
        return numbers if column.missing else np.nan_to_num(numbers)
    return np.where(np.isnan(values), column.size - 1, np.nan_to_num(values)).astype(np.int64)
