"""What is asked of events before anything is known of them: how many there are, and which values they have."""

import numpy as np

from sfumato.mechanisms.common.arrays import Values
from sfumato.mechanisms.histories.facts import EventFacts, counted
from sfumato.mechanisms.histories.ranks import Levels, smoothed
from sfumato.public.plan.doors import Noisy
from sfumato.public.schema.schema import Batch


def first_counts(batch: Batch, all_facts: tuple[EventFacts, ...]) -> dict[str, Values]:
    """How many events a person has, and how often its values lie in each cell."""
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


def levels_of(facts: EventFacts, noisy: Noisy) -> tuple[Levels, ...]:
    """The distribution of every column of values, by slot."""
    found, start = [], 0
    for cells in facts.levels:
        measured = noisy[f"{facts.table.name}: levels"]
        table = measured.values[start : start + facts.n_slots * cells.count].reshape(facts.n_slots, cells.count)
        start += table.size
        kept = facts.settings.kept
        inner = [smoothed(row[: cells.inner], stddev=measured.stddev, kept=kept) for row in table]
        rest = np.maximum(table[:, cells.inner :], 0.0)
        found.append(Levels(cells, np.concatenate([np.stack(inner), rest], axis=1)))
    return tuple(found)
