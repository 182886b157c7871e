"""Which sort of event follows which: counted by what came before, and drawn so that synthetic persons give the same counts.

Every event but the first has a context: the sort before it, whether it comes at the same moment, and either how many events
the person has or the sort before the last. Persons with many events have other sorts than those with few, and the clip
shortens them more; among persons with alike many it shortens all alike.
"""

from dataclasses import dataclass, replace

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers
from sfumato.mechanisms.histories.facts import EventFacts, counted
from sfumato.mechanisms.histories.shrinking import distributions, shrunk
from sfumato.public.plan.doors import Measured


@dataclass(frozen=True)
class Kinds:
    """What sorts are drawn by: one table of weights for each way to speak of what came before, by context and sort."""

    noisy: Measured | None  # the counts that were measured; none where nothing is asked
    usual: Floats  # how often each sort comes
    weights: tuple[Floats, ...] = ()
    own: float = 1.0  # how far persons differ in their sorts, from 0 (chance alone) to 1


@dataclass(frozen=True)
class Wanted:
    """What is known of the sorts of some persons: how many events of each, and the first and last."""

    number: Integers
    of_each: Floats | None
    first: Integers
    last: Integers
    tied: Flags  # whether an event comes at the moment of the one before it


def context_sizes(facts: EventFacts) -> tuple[int, ...]:
    """How many contexts each table has: as much is asked as the number of sorts allows, and nothing of one sort."""
    n, by_number = facts.n_kinds, int(classes_of(np.array([facts.table.max_rows]))[0]) + 1
    for firsts in ((by_number, n + 1), (by_number,), (1,)):
        if n > 1 and sum(firsts) * 2 * n * n <= facts.settings.most_pairs:
            return tuple(first * 2 * n for first in firsts)
    return ()


def classes_of(number: Integers) -> Integers:
    """Classes of persons by how many events they have, each twice as many as the last."""
    return np.asarray(np.log2(np.maximum(number, 1)).astype(np.int64))


def _contexts(facts: EventFacts, classes: Integers, second: Integers, last: Integers, tied: Flags) -> list[Integers]:
    """The context of an event in each table: `second` is the sort before the last, or one more than there are."""
    once = 2 * facts.n_kinds
    pairs = zip((classes, second), context_sizes(facts), strict=False)
    return [np.minimum(first, size // once - 1) * once + last * 2 + tied for first, size in pairs]


def kind_counts(facts: EventFacts, kinds: Integers, number: Integers, tied: Flags) -> Floats:
    """How often a person has each sort in each context, all tables side by side."""
    last, there = kinds[:, :-1], np.arange(1, kinds.shape[1]) < number[:, None]
    second = np.concatenate([np.full((len(kinds), 1), facts.n_kinds), kinds[:, :-2]], axis=1)[:, : last.shape[1]]
    tables = []
    contexts = _contexts(facts, classes_of(number)[:, None], second, last, tied)
    for size, at in zip(context_sizes(facts), contexts, strict=True):
        tables.append(counted(at * facts.n_kinds + kinds[:, 1:], there, size * facts.n_kinds))
    return np.concatenate(tables, axis=1)


def unfitted(facts: EventFacts, noisy: Measured | None) -> Kinds:
    """Before it is known what synthetic persons want, all sorts come alike, whatever was before."""
    return Kinds(noisy, np.full(facts.n_kinds, 1 / facts.n_kinds))


def draw_kinds(facts: EventFacts, kinds: Kinds, wanted: Wanted, rng: np.random.Generator) -> Integers:
    """Several lists of sorts for every person, where sorts are its own; that is kept which has most of those that it is to have."""
    first = _drawn_once(facts, kinds, wanted, rng)
    if wanted.of_each is None:
        return first
    best, least = first, _wrong(first, wanted, wanted.of_each)
    for _ in range(round(kinds.own * (facts.settings.kind_candidates - 1))):
        other = _drawn_once(facts, kinds, wanted, rng)
        wrong = _wrong(other, wanted, wanted.of_each)
        best = np.where((wrong < least)[:, None], other, best)
        least = np.minimum(wrong, least)
    return best


def _wrong(drawn: Integers, wanted: Wanted, of_each: Floats) -> Integers:
    """Of how many sorts a person has some and was to have none, or the other way round."""
    there = np.arange(drawn.shape[1]) < wanted.number[:, None]
    has = np.stack([((drawn == sort) & there).any(axis=1) for sort in range(of_each.shape[1])], axis=1)
    return np.asarray((has != (of_each > 0)).sum(axis=1))


def _drawn_once(facts: EventFacts, kinds: Kinds, wanted: Wanted, rng: np.random.Generator) -> Integers:
    """Sorts one after another: as they follow each other, and about as often as the person has them."""
    number, n, most = wanted.number, facts.n_kinds, facts.table.max_rows
    rows, classes, ends = np.arange(len(number)), classes_of(number), facts.ends
    is_end = np.append(ends, False)[np.clip(wanted.last, 0, n)] & (number > 0)
    free = _between(facts.settings.kind_freedom, kinds.own) * np.where(ends, 0.0, kinds.usual)
    left = None if wanted.of_each is None else wanted.of_each.copy()
    if left is not None:  # that a person has none of a sort says more of it than how many it has
        free = free * np.where(left > 0, 1.0, _between(facts.settings.kind_unwanted, kinds.own))
    out = np.zeros((len(number), most), dtype=np.int64)
    for place in range(most):
        weights = share = np.broadcast_to(free, (len(number), n)) if left is None else left + free
        if place:
            second = out[:, place - 2] if place > 1 else np.full(len(number), n)
            contexts = _contexts(facts, classes, second, out[:, place - 1], wanted.tied[:, place - 1])
            for at, table in zip(contexts, kinds.weights, strict=False):
                weights = weights * table[at]
        weights = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, share)
        drawn = _drawn(weights, rng.random(len(number)))
        if place == 0:
            is_known = (wanted.first < n) & ~np.append(ends, False)[np.clip(wanted.first, 0, n)]
            drawn = np.where(is_known, wanted.first, drawn)
        drawn = np.where(is_end & (place == number - 1), wanted.last, drawn)
        out[:, place] = np.minimum(drawn, n - 1)
        if left is not None:
            left[rows, out[:, place]] = np.maximum(left[rows, out[:, place]] - 1.0, 0.0)
    return out


def _between(ends: tuple[float, float], own: float) -> float:
    """What holds where persons differ in their sorts, what where they do not, or in proportion between them."""
    return float(ends[0] ** own * ends[1] ** (1 - own))


def of_each_kind(facts: EventFacts, kinds: Kinds, counts: Floats, number: Integers, last: Integers) -> Floats:
    """How many events of each sort a person is to have but for one that ends: whole numbers that add up."""
    ends = facts.ends
    usual = np.where(ends, 0.0, kinds.usual)
    number = number - (np.append(ends, False)[np.clip(last, 0, facts.n_kinds)] & (number > 0))
    wanted = counts * (usual > 0)
    wanted = np.where(wanted.sum(axis=1, keepdims=True) > 0, wanted, usual)
    exact = wanted * (number / np.maximum(wanted.sum(axis=1), 1e-9))[:, None]
    whole = np.floor(exact)
    rest = (number - whole.sum(axis=1)).astype(np.int64)
    order = np.argsort(np.argsort(-(exact - whole), axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray(whole + (order < rest[:, None]))


def _drawn(weights: Floats, uniform: Floats) -> Integers:
    upto = np.cumsum(weights, axis=1)
    return np.asarray((upto < (uniform * upto[:, -1])[:, None]).sum(axis=1))


def fitted_to_counts(facts: EventFacts, kinds: Kinds, wanted: Wanted, rng: np.random.Generator) -> Kinds:
    """Weights by which synthetic persons, counted with the clip as real ones were, give the counts that were measured.

    What a person wants, what is forced at its end and what the clip hides all move counts; each round takes back what they
    did, one table at a time (iterative proportional fitting, with drawn persons for the expectation).
    """
    noisy = kinds.noisy
    if noisy is None:
        return kinds
    doubt, sizes = facts.settings.kind_doubt, context_sizes(facts)
    if wanted.of_each is not None:
        kinds = replace(kinds, usual=np.maximum(distributions(wanted.of_each.sum(axis=0)[None])[0], 1e-4))
    kinds = replace(kinds, own=differing(facts, noisy))
    found = _clipped(facts, draw_kinds(facts, kinds, wanted, rng), wanted)
    targets = _targets(facts, noisy, found)
    kinds = replace(kinds, weights=tuple(np.ones((size, facts.n_kinds)) for size in sizes))
    for turn in range(facts.settings.kind_rounds):
        at = turn % len(sizes)
        found = _clipped(facts, draw_kinds(facts, kinds, wanted, rng), wanted)
        ratio = (targets[at] * found[at].sum(axis=1, keepdims=True) + doubt) / (found[at] + doubt)
        weights = tuple(table * ratio if i == at else table for i, table in enumerate(kinds.weights))
        kinds = replace(kinds, weights=weights)
    return kinds


def differing(facts: EventFacts, noisy: Measured) -> float:
    """How far persons differ in their sorts, by noisy counts: with whoever has sorts of their own, the sort before the last comes back.

    Told by how much more often it comes back than the sort between them says. Where there is no table of the sorts before the
    last, persons are taken to differ.
    """
    if len(context_sizes(facts)) < 2:
        return 1.0
    n = facts.n_kinds
    counts = _by_table(facts, noisy.values)[1].reshape(n + 1, n, 2, n).sum(axis=2)[:n]
    usual = distributions(counts.sum(axis=0))
    same = np.arange(n)
    back = counts[same, :, same] - counts.sum(axis=2) * usual[:, same].T
    low, high = facts.settings.kind_differing
    return float(np.clip((back.sum() / max(float(counts.sum()), 1.0) - low) / (high - low), 0.0, 1.0))


def _targets(facts: EventFacts, noisy: Measured, found: list[Floats]) -> list[Floats]:
    """Noisy counts as distributions of sorts in each context: what persons alone do not explain, where it is not noise.

    First what holds for the sort before alone, whatever the rest of the context; then for the whole of it. Every table has counted
    the first with noise of its own, so it is told by all of them together.
    """
    n, targets = facts.n_kinds, []
    tables = _by_table(facts, noisy.values)
    several = [len(measured) // (2 * n) for measured in tables]
    trust = 1 / np.array(several)
    trust /= trust.sum()
    counted = sum(
        part * measured.reshape(-1, 2 * n, n).sum(axis=0) for part, measured in zip(trust, tables, strict=True)
    )
    stddev = noisy.stddev * float(np.sqrt(trust**2 @ np.array(several)))
    for measured, alone, many in zip(tables, found, several, strict=True):
        short = distributions(alone.reshape(many, 2 * n, n).sum(axis=0))
        moved = shrunk(np.asarray(counted), short, stddev=stddev) / np.maximum(short, 1e-6)
        towards = distributions(distributions(alone) * np.tile(moved, (many, 1)))
        targets.append(shrunk(measured, towards, stddev=noisy.stddev, together=_of_last(many, n)))
    return targets


def _of_last(several: int, n: int) -> Integers:
    """The contexts of a table that have the sort before in common."""
    return np.tile(np.repeat(np.arange(n), 2), several)


def _by_table(facts: EventFacts, counts: Floats) -> list[Floats]:
    sizes, n = context_sizes(facts), facts.n_kinds
    parts = np.split(counts, np.cumsum(np.array(sizes) * n)[:-1])
    return [part.reshape(size, n) for part, size in zip(parts, sizes, strict=True)]


def _clipped(facts: EventFacts, kinds: Integers, wanted: Wanted) -> list[Floats]:
    """Counts of synthetic persons, each shortened as a real one is, by table."""
    total, at_once = np.zeros(sum(context_sizes(facts)) * facts.n_kinds), 1024
    for start in range(0, len(kinds), at_once):
        some = slice(start, start + at_once)
        rows = kind_counts(facts, kinds[some], wanted.number[some], wanted.tied[some])
        norm = np.sqrt((rows**2).sum(axis=1))
        total += np.minimum(1.0, facts.settings.clip / np.maximum(norm, 1e-9)) @ rows
    return _by_table(facts, total)
