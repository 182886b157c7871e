"""From doors to what a history is drawn by: counts and values first, then persons, then events given their person."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Values
from sfumato.mechanisms.histories.aggregates import PREPARED, Aggregates, prepared_aggregates
from sfumato.mechanisms.histories.event_tables import EventTables, events_of, tables_from
from sfumato.mechanisms.histories.facts import EventFacts, counted
from sfumato.mechanisms.histories.inner_doors import InnerDoors
from sfumato.mechanisms.histories.plan import FIRST, SECOND, HistoryPlan
from sfumato.mechanisms.histories.ranks import Levels, smoothed
from sfumato.mechanisms.table.mechanism import measure_table
from sfumato.mechanisms.table.model import FittedTable
from sfumato.public.plan.doors import Doors, Measured, Noisy
from sfumato.public.schema.schema import Batch


@dataclass(frozen=True)
class FittedHistories:
    """What was measured: persons with what is known of their events, and for every table how events follow each other."""

    persons: FittedTable
    counts: tuple[Floats, ...]
    events: tuple[EventTables, ...]


def measure_histories(plan: HistoryPlan, view: Doors) -> FittedHistories:
    """All stages in order: each asks a door, with what the stages before it have shown."""
    first = view.noisy_sum(FIRST, partial(_first, all_facts=plan.facts))
    kept = plan.settings.kept
    counts = tuple(_distribution(first[f"{f.table.name}: count"], kept) for f in plan.facts)
    maps = tuple(Aggregates(facts, _levels(facts, first, kept)) for facts in plan.facts)
    view.prepare(PREPARED, partial(prepared_aggregates, maps=maps))
    persons = measure_table(plan.table, InnerDoors(view, plan.table.budget, plan.extra))
    second = view.noisy_sum(SECOND, partial(events_of, maps=maps)) if SECOND in plan.blocks else {}
    tables = tuple(tables_from(one, second) for one in maps)
    return FittedHistories(persons, counts, tables)


def _distribution(measured: Measured, kept: float) -> Floats:
    return smoothed(measured.values, stddev=measured.stddev, kept=kept)


def _first(batch: Batch, all_facts: tuple[EventFacts, ...]) -> dict[str, Values]:
    """How many events a person has, and at which cells its values lie."""
    out: dict[str, Values] = {}
    for facts in all_facts:
        events, name = facts.events(batch), facts.table.name
        out[f"{name}: count"] = events.number
        parts = []
        for cells, column in zip(facts.levels, facts.numbers, strict=True):
            code = cells.code(batch[facts.table.at(column.name)])
            parts.append(counted(events.slots * cells.count + code, events.filled, facts.n_slots * cells.count))
        if parts:
            out[f"{name}: levels"] = np.concatenate(parts, axis=1)
    return out


def _levels(facts: EventFacts, noisy: Noisy, kept: float) -> tuple[Levels, ...]:
    found, start = [], 0
    for cells in facts.levels:
        measured = noisy[f"{facts.table.name}: levels"]
        table = measured.values[start : start + facts.n_slots * cells.count].reshape(facts.n_slots, cells.count)
        start += table.size
        inner = [smoothed(row[: cells.inner], stddev=measured.stddev, kept=kept) for row in table]
        rest = np.maximum(table[:, cells.inner :], 0.0)
        found.append(Levels(cells, np.concatenate([np.stack(inner), rest], axis=1)))
    return tuple(found)
