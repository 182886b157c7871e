"""From doors to what a history is drawn by: counts and values first, then persons, then events given their person."""

from dataclasses import dataclass
from functools import partial
from typing import cast

from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.histories.aggregates import PREPARED, Aggregates, prepared_aggregates
from sfumato.mechanisms.histories.counts_and_levels import first_counts, levels_of
from sfumato.mechanisms.histories.event_tables import EventTables, events_of, tables_from
from sfumato.mechanisms.histories.inner_doors import InnerDoors
from sfumato.mechanisms.histories.plan import FIRST, SECOND, HistoryPlan
from sfumato.mechanisms.histories.ranks import smoothed
from sfumato.mechanisms.table.mechanism import measure_table
from sfumato.mechanisms.table.model import FittedTable
from sfumato.public.plan.doors import Doors, Measured


@dataclass(frozen=True)
class FittedHistories:
    """What was measured: persons with what is known of their events, and for every table how events follow each other."""

    persons: FittedTable
    counts: tuple[Floats, ...]
    events: tuple[EventTables, ...]


def measure_histories(plan: HistoryPlan, view: Doors) -> FittedHistories:
    """All stages in order: each asks a door, with what the stages before it have shown."""
    first = view.noisy_sum(FIRST, partial(first_counts, all_facts=plan.facts))
    kept = plan.settings.kept
    counts = tuple(_distribution(first[f"{f.table.name}: count"], kept) for f in plan.facts)
    maps = tuple(Aggregates(facts, levels_of(facts, first)) for facts in plan.facts)
    view.prepare(PREPARED, partial(prepared_aggregates, maps=maps))
    inner = cast("Doors", InnerDoors(view, plan.table.budget, plan.extra))  # the method asks for sums and choices alone
    persons = measure_table(plan.table, inner)
    second = view.noisy_sum(SECOND, partial(events_of, maps=maps)) if SECOND in plan.blocks else {}
    tables = tuple(tables_from(one, second) for one in maps)
    return FittedHistories(persons, counts, tables)


def _distribution(measured: Measured, kept: float) -> Floats:
    return smoothed(measured.values, stddev=measured.stddev, kept=kept)
