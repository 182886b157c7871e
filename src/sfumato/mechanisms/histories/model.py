"""Persons with histories: persons are drawn as a table, and a history for each of them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sfumato.mechanisms.common.arrays import Values
from sfumato.mechanisms.histories.aggregates import names_of
from sfumato.mechanisms.histories.draw import Histories, draw_histories
from sfumato.mechanisms.histories.measure import FittedHistories
from sfumato.mechanisms.histories.plan import HistoryPlan
from sfumato.mechanisms.histories.ranks import evenly
from sfumato.mechanisms.table.model import TableModel
from sfumato.model import CountedRows, Synthetic, check_row_count
from sfumato.public.schema.schema import Schema
from sfumato.public.schema.tables import EventTable


@dataclass(frozen=True)
class HistoryModel(CountedRows):
    """A fitted table of persons, and tables of events that go on from each other."""

    plan: HistoryPlan
    fitted: FittedHistories
    persons: TableModel

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
        """Draw persons, and a history for each of them. Keys are numbers from 1 on."""
        check_row_count(n_rows)
        of_table, of_events = np.random.SeedSequence(seed).generate_state(2)
        table = pd.DataFrame(self.persons.sample(n_rows, seed=int(of_table)).table)
        rng = np.random.default_rng(int(of_events))
        known = {column.name: encoded(table[column.name], column) for column in self.plan.extra}
        key, at_once = str(self.schema.unit.person), self.plan.settings.persons_at_once
        numbers = np.arange(1, n_rows + 1)
        tables = {}
        for fitted, counts in zip(self.fitted.events, self.fitted.counts, strict=True):
            drawn = known[names_of(fitted.facts).number]
            number = evenly(drawn.astype(np.float64), counts, rng)
            parts = []
            for start in range(0, n_rows, at_once):
                some = slice(start, start + at_once)
                persons = {name: values[some] for name, values in known.items()}
                histories = draw_histories(fitted, persons, number[some], rng)
                parts.append(decoded(histories, numbers[some], fitted.facts.table))
            tables[fitted.facts.table.name] = pd.concat(parts, ignore_index=True)
        own = table[[column.name for column in self.schema.columns]]
        return Synthetic(table=pd.concat([pd.Series(numbers, name=key), own], axis=1), tables=tables)


def encoded(values: Any, column: Any) -> Values:
    """A drawn column in numbers: a missing code is the last."""
    if column.is_coded:
        codes = values.cat.codes.to_numpy().astype(np.int64)
        return np.where(codes < 0, column.size - 1, codes)
    return np.asarray(values.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))


def decoded(histories: Histories, numbers: np.ndarray, table: EventTable) -> pd.DataFrame:
    """The events as rows, behind the key of their person."""
    filled = histories.filled
    columns = {column.name: column.decode(histories.columns[column.name][filled]) for column in table.columns}
    return pd.DataFrame({table.key: np.repeat(numbers, histories.number), **columns})
