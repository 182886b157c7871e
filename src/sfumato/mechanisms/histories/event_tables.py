"""How events follow each other, from noisy counts: sorts, gaps, changes of values and how far a person's values spread."""

from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers, Values
from sfumato.mechanisms.common.simplex import to_simplex
from sfumato.mechanisms.histories.aggregates import Aggregates, mean_of
from sfumato.mechanisms.histories.distributions import distributions, shrunk
from sfumato.mechanisms.histories.facts import EventFacts, Events, before, counted, gaps, mean_gap, ties
from sfumato.mechanisms.histories.kinds import Kinds, context_sizes, kind_counts, unfitted
from sfumato.mechanisms.histories.ranks import Levels, smoothed
from sfumato.public.plan.doors import Noisy
from sfumato.public.schema.schema import Batch


@dataclass(frozen=True)
class Path:
    """How a value of one slot moves about a person's mean: a stationary walk that may stand still."""

    variance: float
    correlation: float  # of one event with the next of its slot
    same: float  # how often a value is exactly the one before
    steps: Floats  # the distribution of other changes, in even parts of [-most, most]


@dataclass(frozen=True)
class EventTables:
    """What events of a table are drawn by."""

    facts: EventFacts
    levels: tuple[Levels, ...]
    kinds: Kinds
    gaps: Floats | None  # by class of the mean gap
    paths: tuple[tuple[Path, ...], ...]  # by column, then by slot
    codes: tuple[Floats, ...]  # by column: slot, code before (the last: none), code


def events_of(batch: Batch, maps: tuple[Aggregates, ...]) -> dict[str, Values]:
    """What a person adds to every table of events."""
    out: dict[str, Values] = {}
    for one in maps:
        facts, name = one.facts, one.facts.table.name
        events = facts.events(batch)
        if events.moments is not None and facts.clock is not None:
            between, there = gaps(events.moments, events.filled)
            classes, gap = facts.clock.class_of(mean_gap(events.moments, events.filled)), facts.clock.gap
            codes = classes[:, None] * gap.count + gap.code(between)
            out[f"{name}: gaps"] = counted(codes, there, gap.count * facts.clock.classes)
        if context_sizes(facts):
            out[f"{name}: kinds"] = kind_counts(facts, events.kinds, events.number, ties(events.moments, events.filled))
        if facts.numbers:
            changes, spreads = zip(*(_moves(one, batch, events, at) for at in range(len(facts.numbers))), strict=True)
            out[f"{name}: changes"] = np.concatenate(changes, axis=1)
            out[f"{name}: spreads"] = np.concatenate(spreads, axis=1)
        if facts.codes:
            out[f"{name}: codes"] = np.concatenate([_follow(facts, batch, events, c.name) for c in facts.codes], axis=1)
    return out


def _moves(one: Aggregates, batch: Batch, events: Events, at: int) -> tuple[Floats, Floats]:
    """Changes of a column from one event of a slot to the next, and how far it spreads.

    That is, for whoever has three values or more: 1, the variance about the mean, half the mean square of changes, and one over
    how many values there are.
    """
    facts, settings = one.facts, one.facts.settings
    raw, ranks = facts.values(batch, facts.numbers[at]), one.normal_ranks(batch, at)
    last, last_raw = before(ranks, events.slots, facts.n_slots), before(raw, events.slots, facts.n_slots)
    change = ranks - last
    there = ~np.isnan(change)
    place = np.where(raw == last_raw, 0, 1 + _part(np.where(there, change, 0.0), facts))
    width = 1 + settings.change_parts
    changes = counted(events.slots * width + place, there, facts.n_slots * width)
    spreads = []
    for slot in range(facts.n_slots):
        mine = (events.slots == slot) & ~np.isnan(ranks)
        moved = mine & there
        mean, squares = mean_of(ranks, mine), mean_of(change**2, moved)
        number = mine.sum(axis=1)
        inner = np.where(mine, (ranks - mean[:, None]) ** 2, 0.0).sum(axis=1) / np.maximum(number - 1, 1)
        several = number > 2
        half = np.where(several, squares, 0.0) / 2
        spreads += [1.0 * several, several * inner, half, several / np.maximum(number, 1)]
    return changes, np.column_stack(spreads)


def _part(change: Floats, facts: EventFacts) -> Integers:
    most, parts = facts.settings.most_ranks, facts.settings.change_parts
    return np.clip((change + most) / (2 * most) * parts, 0, parts - 1).astype(np.int64)


def _follow(facts: EventFacts, batch: Batch, events: Events, name: str) -> Floats:
    """Codes given the last one of their slot."""
    size = facts.table[name].size
    codes = batch[facts.table.at(name)]
    known = before(np.where(events.filled, codes, np.nan), events.slots, facts.n_slots)
    last: Integers = np.where(np.isnan(known), size, np.nan_to_num(known)).astype(np.int64)
    return counted((events.slots * (size + 1) + last) * size + codes, events.filled, facts.n_slots * (size + 1) * size)


def tables_from(one: Aggregates, noisy: Noisy) -> EventTables:
    """Noise is taken out as far as it can be told, and every row of a table becomes a distribution."""
    facts, name = one.facts, one.facts.table.name
    kinds, between = unfitted(facts, noisy.get(f"{name}: kinds")), None
    if facts.clock is not None:
        measured = noisy[f"{name}: gaps"]
        rows = measured.values.reshape(facts.clock.classes, facts.clock.gap.count)
        kept = facts.settings.kept
        between = distributions(np.stack([smoothed(row, stddev=measured.stddev, kept=kept) for row in rows]))
    codes, start = [], 0
    for column in facts.codes:
        measured, shape = noisy[f"{name}: codes"], (facts.n_slots * (column.size + 1), column.size)
        some = measured.values[start : start + shape[0] * shape[1]].reshape(shape)
        start += some.size
        total = some.sum(axis=0)
        pooled = distributions(to_simplex(total, total=max(float(total.sum()), 1.0))[None])
        codes.append(shrunk(some, pooled, stddev=measured.stddev).reshape(facts.n_slots, column.size + 1, column.size))
    paths = tuple(_paths(facts, noisy, at) for at in range(len(facts.numbers)))
    return EventTables(facts, one.levels, kinds, between, paths, tuple(codes))


def _paths(facts: EventFacts, noisy: Noisy, at: int) -> tuple[Path, ...]:
    name, settings, slots = facts.table.name, facts.settings, facts.n_slots
    width = 1 + settings.change_parts
    changes = noisy[f"{name}: changes"]
    table = changes.values.reshape(len(facts.numbers), slots, width)[at]
    measured = noisy[f"{name}: spreads"]
    spreads = measured.values.reshape(len(facts.numbers), slots, 4)[at]
    found = []
    for row, (persons, *sums) in zip(table, spreads, strict=True):
        total = max(float(row.sum()), 1.0)
        same = float(np.clip(row[0] / total, 0.0, 0.99))
        steps = distributions(to_simplex(row[1:], total=max(float(row[1:].sum()), 0.0))[None])[0]
        are_enough = persons > 5 * measured.stddev
        inner, of_changes, one_over = (float(value) / persons for value in sums) if are_enough else (0.3, 0.3, 0.3)
        found.append(_path(inner, of_changes, float(np.clip(1 / max(one_over, 0.01), 3, 60)), same, steps))
    return tuple(found)


def _path(inner: float, of_changes: float, n: float, same: float, steps: Floats) -> Path:
    """A stationary walk of n values which vary like this about their mean, and from one to the next."""
    inner, of_changes = (float(np.clip(value, 1e-4, 4.0)) for value in (inner, of_changes))
    lags, tried = np.arange(1, max(round(n), 3)), np.linspace(0.0, 0.9, 91)
    n = float(len(lags) + 1)
    # The mean of n values takes with it what they have in common, and changes see only what neighbours do not.
    common = np.array([2 / (n * (n - 1)) * float(((n - lags) * one**lags).sum()) for one in tried])
    fits = np.abs(np.log((1 - tried) / (1 - common)) - np.log(of_changes / inner))
    correlation = float(max(tried[int(np.argmin(fits))], same))
    return Path(of_changes / (1 - correlation), correlation, same, steps)
