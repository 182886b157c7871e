"""What the clip of persons does to counts of events, undone: it can be seen both ways on synthetic persons.

A person with many events is shortened, so counts of events lean towards persons with few. The generator gives persons and
histories that are much like the real ones. Counted with the clip and without it, they say by how much each cell is short.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Values
from sfumato.mechanisms.histories.aggregates import Aggregates
from sfumato.mechanisms.histories.counts_and_levels import first_counts
from sfumato.mechanisms.histories.distributions import distributions
from sfumato.mechanisms.histories.draw import Histories
from sfumato.mechanisms.histories.event_tables import EventTables, events_of
from sfumato.mechanisms.histories.facts import EventFacts
from sfumato.public.schema.schema import Batch

#: So many events are added to either count of a cell: what few synthetic events say is chance.
_DOUBT = 30.0


def unclipped(tables: EventTables, histories: Histories) -> EventTables:
    """Tables of events as they would be without the clip, by synthetic persons that were drawn from them."""
    facts, batch = tables.facts, batch_of(tables.facts, histories)
    name, one = facts.table.name, Aggregates(facts, tables.levels)
    levels, start = [], 0
    first = _short(lambda some: first_counts(some, (facts,)), batch, f"{name}: levels", facts)
    for each in tables.levels:
        factor = first[start : start + each.counts.size].reshape(each.counts.shape)
        start += each.counts.size
        levels.append(replace(each, counts=_with_sums(each.counts * factor, each.counts)))
    gaps = tables.gaps
    if gaps is not None:
        short = _short(lambda some: events_of(some, (one,)), batch, f"{name}: gaps", facts)
        gaps = distributions(gaps * short.reshape(gaps.shape))
    return replace(tables, levels=tuple(levels), gaps=gaps)


def batch_of(facts: EventFacts, histories: Histories) -> Batch:
    """Histories in the form in which doors show them."""
    columns = {facts.table.at(name): values for name, values in histories.columns.items()}
    return {facts.table.count: histories.number.astype(np.float64), **columns}


def _short(counts: Callable[[Batch], dict[str, Values]], batch: Batch, block: str, facts: EventFacts) -> Floats:
    """For every cell, how many times as many events there are as the clip leaves; 1 on the whole."""
    all_of_them = clipped = np.zeros(1)
    n_rows, at_once = len(batch[facts.table.count]), 1024
    for start in range(0, n_rows, at_once):
        rows = counts({name: values[start : start + at_once] for name, values in batch.items()}).get(block)
        if rows is None:
            return np.ones(0)
        norm = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        all_of_them = all_of_them + rows.sum(axis=0)
        clipped = clipped + (rows * np.minimum(1.0, facts.settings.clip / np.maximum(norm, 1e-9))).sum(axis=0)
    if not clipped.sum():
        return np.ones_like(all_of_them)
    usual = float(all_of_them.sum() / clipped.sum())
    return np.asarray((all_of_them + _DOUBT * usual) / (clipped + _DOUBT) / usual)


def _with_sums(table: Floats, like: Floats) -> Floats:
    """Rows that keep their sums."""
    return np.asarray(table * like.sum(axis=1, keepdims=True) / np.maximum(table.sum(axis=1, keepdims=True), 1e-9))
