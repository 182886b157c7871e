"""Persons with histories: persons are drawn as a table, and a history for each of them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sfumato.mechanisms.common.arrays import Floats, Values
from sfumato.mechanisms.histories.aggregates import PREPARED, Aggregates, names_of, persons_batch
from sfumato.mechanisms.histories.draw import Drawn, Histories, counts_in_order, draw_histories, wanted_kinds
from sfumato.mechanisms.histories.event_tables import EventTables
from sfumato.mechanisms.histories.facts import ties
from sfumato.mechanisms.histories.kinds import fitted_to_counts
from sfumato.mechanisms.histories.measure import FittedHistories
from sfumato.mechanisms.histories.plan import HistoryPlan
from sfumato.mechanisms.histories.ranks import evenly
from sfumato.mechanisms.histories.released import numbers_below, released_tables
from sfumato.mechanisms.histories.unclipping import batch_of, unclipped
from sfumato.mechanisms.table.model import TableModel, labels_of_rows
from sfumato.model import CountedRows, Synthetic, check_row_count
from sfumato.public.schema.schema import Column, Schema


@dataclass(frozen=True)
class HistoryModel(CountedRows):
    """A fitted table of persons, and tables of events that go on from each other."""

    plan: HistoryPlan
    fitted: FittedHistories
    persons: TableModel
    events: tuple[EventTables, ...]

    @property
    def schema(self) -> Schema:
        """With its tables of events."""
        return self.plan.schema

    @property
    def noisy_rows(self) -> float:
        """The noisy number of persons."""
        return self.persons.noisy_rows

    @property
    def noisy_rows_stddev(self) -> float:
        """The noise in it."""
        return self.persons.noisy_rows_stddev

    @property
    def notes(self) -> tuple[str, ...]:
        """What was pooled, joined or left out among persons."""
        return self.persons.notes

    def sized(self, n_rows: int) -> "HistoryModel":
        """Whether persons are drawn several times depends on how many there are in all."""
        return replace(self, persons=self.persons.sized(n_rows))

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Draw persons, and a history for each of them. Keys are numbers from 1 on, in every table that has one."""
        check_row_count(n_rows)
        persons, histories = self.drawn(n_rows, seed=seed)
        own = persons[[column.name for column in self.schema.columns]]
        if self.plan.settings.labels_last:
            own = self._labelled(own, histories, np.random.default_rng((seed, 1)))
        key = pd.Series(np.arange(1, n_rows + 1), name=str(self.schema.unit.person))
        return Synthetic(table=pd.concat([key, own], axis=1), tables=released_tables(self.schema, histories))

    def drawn(self, n_rows: int, *, seed: int) -> tuple[pd.DataFrame, list[list[Histories]]]:
        """Persons with what is known of their events, and for every table their histories, some persons at a time."""
        of_table, of_events = np.random.SeedSequence(seed).generate_state(2)
        table = pd.DataFrame(self.persons.sample(n_rows, seed=int(of_table)).table)
        rng = np.random.default_rng(int(of_events))
        known = self._known(table)
        at_once, found, by_name = self.plan.settings.persons_at_once, [], dict[str, list[Histories]]()
        for table_of, fitted, counts in zip(self.schema.tables, self.events, self.fitted.counts, strict=True):
            if table_of.parent is None:
                number = evenly(order_of_numbers(fitted, known), counts, rng)
            else:  # as many as the events that they hang on have together
                number = np.concatenate(
                    [numbers_below(part, table_of).sum(axis=1) for part in by_name[table_of.parent]]
                )
            parts = []
            for start in range(0, n_rows, at_once):
                some = slice(start, start + at_once)
                persons = {name: values[some] for name, values in known.items()}
                parts.append(draw_histories(fitted, persons, number[some], rng))
            found.append(parts)
            by_name[table_of.name] = parts
        return table, found

    def _labelled(self, own: pd.DataFrame, histories: list[list[Histories]], rng: np.random.Generator) -> pd.DataFrame:
        """Persons with classes by what their histories became: these are not in all what was known of them before."""
        target = self.schema.target_column
        if target is None:
            return own
        maps = [Aggregates(tables.facts, tables.levels) for tables in self.fitted.events]
        found = [
            np.concatenate([one(batch_of(one.facts, part)) for part in parts])
            for one, parts in zip(maps, histories, strict=True)
        ]
        columns = {column.name: column.encode(own[column.name]) for column in self.schema.columns}
        batch = persons_batch({**columns, PREPARED: np.concatenate(found, axis=1)}, self.plan.extra)
        labels = labels_of_rows(self.persons, batch, rng)
        return own if labels is None else own.assign(**{target.name: target.decode(labels).set_axis(own.index)})

    def _known(self, table: pd.DataFrame) -> Drawn:
        return {column.name: encoded(table[column.name], column) for column in self.plan.extra}

    def without_clip(self, *, seed: int) -> "HistoryModel":
        """The same with events as they would be if no person were shortened, by synthetic persons that are counted alike."""
        table, histories = self.drawn(self.plan.settings.persons_seen, seed=seed)
        known, rng, found = self._known(table), np.random.default_rng(seed), list[EventTables]()
        for tables, (seen,) in zip(self.events, histories, strict=True):
            facts = tables.facts
            if facts.n_kinds > 1:
                order = facts.table.order
                tied = ties(None if order is None else seen.columns[order].astype(np.float64), seen.filled)
                wanted = wanted_kinds(tables, known, seen.number, tied, rng)
                tables = replace(tables, kinds=fitted_to_counts(facts, tables.kinds, wanted, rng))
            found.append(unclipped(tables, seen))
        return replace(self, events=tuple(found))


def order_of_numbers(tables: EventTables, persons: Drawn) -> Floats:
    """By how many events persons are to have."""
    names = names_of(tables.facts)
    others = (
        [] if tables.facts.clock is None else [persons[name].astype(np.float64) for name in (names.first, names.last)]
    )
    return counts_in_order(persons[names.number].astype(np.float64), others, tables.facts.settings.known)


def encoded(values: "pd.Series[Any]", column: Column) -> Values:
    """A drawn column in numbers: a missing code is the last."""
    if column.is_coded:
        codes = values.cat.codes.to_numpy().astype(np.int64)
        return np.asarray(np.where(codes < 0, column.size - 1, codes))
    numbers: Values = values.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers
