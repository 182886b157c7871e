"""Histories given persons: as many events as each has, at moments that fit, of sorts and values that go on from each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers, Values
from sfumato.mechanisms.common.simplex import draw_each
from sfumato.mechanisms.histories.aggregates import names_of
from sfumato.mechanisms.histories.event_tables import EventTables, Path
from sfumato.mechanisms.histories.kinds import Wanted, draw_kinds, of_each_kind
from sfumato.mechanisms.histories.moments import draw_moments
from sfumato.mechanisms.histories.ranks import evenly

Drawn = dict[str, Values]


@dataclass(frozen=True)
class Histories:
    """Events of some persons, one row of places each."""

    number: Integers
    columns: Drawn

    @property
    def filled(self) -> Flags:
        """Which places hold an event."""
        places = next(iter(self.columns.values())).shape[1]
        return np.arange(places) < self.number[:, None]


def draw_histories(tables: EventTables, persons: Drawn, number: Integers, rng: np.random.Generator) -> Histories:
    """One history for each person; `persons` has what is known of their events, `number` how many there are."""
    facts = tables.facts
    table, most = facts.table, facts.table.max_rows
    filled = np.arange(most) < number[:, None]
    columns: Drawn = {}
    tied = np.zeros((len(number), most - 1), dtype=bool)
    if tables.gaps is not None and facts.clock is not None:
        moments, tied = draw_moments(tables.gaps, facts.clock, names_of(facts), persons, number, most, rng)
        columns[facts.clock.order.name] = moments
    kinds = np.zeros(filled.shape, dtype=np.int64)
    if table.kind_column is not None:
        if facts.n_kinds > 1:
            kinds = draw_kinds(facts, tables.kinds, wanted_kinds(tables, persons, number, tied, rng), rng)
        columns[table.kind_column.name] = kinds
    slots = kinds if facts.n_slots == facts.n_kinds else np.zeros_like(kinds)
    for at, column in enumerate(facts.numbers):
        columns[column.name] = _values(tables, persons, at, slots, filled, rng)
    for at, column in enumerate(facts.codes):
        columns[column.name] = _codes(tables, persons, at, slots, number, rng)
    return Histories(number, {column.name: columns[column.name] for column in table.columns})


def counts_in_order(counts: Floats, others: Sequence[Floats], weight: float) -> Floats:
    """Noisy numbers of events as an order of persons: whoever has what only persons with events have comes after those without.

    Both say whether there are any, and noise makes them disagree.
    """
    known = [~np.isnan(other) for other in others]
    return np.asarray(np.nan_to_num(counts) + (weight * np.mean(known, axis=0) if known else 0.0))


def fitting_counts(counts: Floats, others: Sequence[Floats], weight: float, rng: np.random.Generator) -> Floats:
    """The same numbers, each as often, given to persons in that order."""
    whole = np.nan_to_num(counts).astype(np.int64)
    return evenly(counts_in_order(counts, others, weight), np.bincount(whole).astype(np.float64), rng).astype(
        np.float64
    )


def wanted_kinds(
    tables: EventTables, persons: Drawn, number: Integers, tied: Flags, rng: np.random.Generator
) -> Wanted:
    """What persons are to have of each sort, where that is known."""
    facts, names = tables.facts, names_of(tables.facts)
    first, last = (persons[name].astype(np.int64) for name in (names.first_kind, names.last_kind))
    of_each = None
    if names.of_slots:
        counts = np.zeros((len(number), facts.n_slots))
        for at, name in zip(facts.counted_slots, names.of_slots, strict=True):
            of_values = [persons[means[at]].astype(np.float64) for means in names.means]
            counts[:, at] = fitting_counts(persons[name].astype(np.float64), of_values, facts.settings.known, rng)
        of_each = of_each_kind(facts, tables.kinds, counts, number, last)
    return Wanted(number, of_each, first, last, tied)


def _values(
    tables: EventTables, persons: Drawn, at: int, slots: Integers, filled: Flags, rng: np.random.Generator
) -> Floats:
    """A walk about the mean of every person and slot; then the values that stand at the same places among all."""
    facts, names = tables.facts, names_of(tables.facts)
    n_slots, (n, most) = facts.n_slots, slots.shape
    rows, paths = np.arange(n), tables.paths[at]
    state, begun = np.zeros((n, n_slots)), np.zeros((n, n_slots), dtype=bool)
    walk = np.zeros((n, most))
    spread, keep, same = (np.array([_facts_of(path, facts.settings.most_ranks)[i] for path in paths]) for i in range(3))
    steps = np.stack([path.steps for path in paths])
    for place in range(most):
        slot = slots[:, place]
        fresh = rng.standard_normal(n) * np.sqrt([path.variance for path in paths])[slot]
        moved = keep[slot] * state[rows, slot] + spread[slot] * _innovation(steps, slot, facts.settings.most_ranks, rng)
        stays = rng.random(n) < same[slot]
        value = np.where(begun[rows, slot], np.where(stays, state[rows, slot], moved), fresh)
        here = filled[:, place]
        walk[:, place] = value
        state[rows[here], slot[here]] = value[here]
        begun[rows[here], slot[here]] = True
    out, levels = np.full((n, most), np.nan), tables.levels[at]
    means = completed(np.stack([persons[name].astype(np.float64) for name in names.means[at]], axis=1), rng)
    for sort in range(n_slots):
        mine = filled & (slots == sort)
        number = np.maximum(mine.sum(axis=1), 1)
        centred = walk - (np.where(mine, walk, 0.0).sum(axis=1) / number)[:, None]
        ranks = (centred + means[:, sort : sort + 1])[mine]
        out[mine] = levels.at(sort, _parts(ranks))
        absent = mine & (rng.random(mine.shape) < levels.missing[sort])
        out[absent] = np.nan
    column = facts.numbers[at]
    return np.round(out) if column.kind == "integer" else out


def completed(means: Floats, rng: np.random.Generator, *, doubt: float = 300.0) -> Floats:
    """Means of slots of which a person was to have no event: a regression on its other means, with its spread.

    All the same, they would tell that the sort is rare with this person; drawn from those of others, they would hide that
    a person's values go together. What few persons show of that may be what noise has put there, and would hold for everybody
    else: so many persons who show nothing are added.
    """
    known = ~np.isnan(means)
    number = np.maximum(known.sum(axis=0), 1)
    centre = np.where(known, means, 0.0).sum(axis=0) / number
    about = np.where(known, means - centre, 0.0)
    out = np.where(known, means, 0.0)
    for slot, is_known in enumerate(known.T):
        others = np.delete(about, slot, axis=1)
        x, y = others[is_known], about[is_known, slot]
        rule = np.linalg.solve(x.T @ x + doubt * np.eye(x.shape[1]), x.T @ y)
        missed = y - x @ rule if len(y) else rng.standard_normal(len(means))
        drawn = centre[slot] + others @ rule + rng.choice(missed, len(means))
        out[~is_known, slot] = drawn[~is_known]
    return out


def _facts_of(path: Path, most: float) -> tuple[float, float, float]:
    """How large a change is beside those that were counted, what stays of the last value, and how often it stays whole."""
    keep = float(np.clip((path.correlation - path.same) / (1 - path.same), 0.0, 0.99))
    middles = (np.arange(len(path.steps)) + 0.5) / len(path.steps) * 2 * most - most
    mean = float(path.steps @ middles)
    counted = float(path.steps @ (middles - mean) ** 2)
    return float(np.sqrt(path.variance * (1 - keep**2) / max(counted, 1e-6))), keep, path.same


def _innovation(steps: Floats, slot: Integers, most: float, rng: np.random.Generator) -> Floats:
    """A change, drawn from those that were counted, about their mean and in parts of the largest."""
    parts = steps.shape[1]
    at = draw_each(steps, slot, np.asarray(rng.random(len(slot)))) + rng.random(len(slot))
    middles = np.arange(parts) + 0.5
    return np.asarray((at - (steps @ middles)[slot]) * (2 * most / parts))


def _parts(ranks: Floats) -> Floats:
    """Where each stands among all, evenly; those that are equal stand together."""
    order = np.argsort(ranks, kind="stable")
    ordered = ranks[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)]
    run = np.cumsum(first) - 1
    sizes = np.bincount(run) if len(run) else np.zeros(0)
    middle = (np.cumsum(sizes) - sizes / 2) / max(len(ranks), 1)
    out = np.empty(len(ranks))
    out[order] = middle[run] if len(run) else []
    return out


def _codes(
    tables: EventTables, persons: Drawn, at: int, slots: Integers, number: Integers, rng: np.random.Generator
) -> Integers:
    """Codes that go on from the last one of their slot; the last of all is the person's own."""
    facts, names = tables.facts, names_of(tables.facts)
    table, (n, most) = tables.codes[at], slots.shape
    size, rows = table.shape[2], np.arange(n)
    last, out = np.full((n, facts.n_slots), size), np.zeros((n, most), dtype=np.int64)
    flat = table.reshape(-1, size)
    own = persons[names.last_codes[at]].astype(np.int64)
    for place in range(most):
        slot = slots[:, place]
        drawn = draw_each(flat, slot * (size + 1) + last[rows, slot], np.asarray(rng.random(n)))
        drawn = np.where((place == number - 1) & (own < size), np.minimum(own, size - 1), drawn)
        out[:, place] = drawn
        last[rows, slot] = drawn
    return out
