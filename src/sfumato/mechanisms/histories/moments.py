"""When events happen: gaps of a person's own class, exchanged among synthetic persons until they fit each one's span of time."""

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers, Values
from sfumato.mechanisms.common.simplex import draw_each
from sfumato.mechanisms.histories.aggregates import Names
from sfumato.mechanisms.histories.facts import Clock


def draw_moments(
    by_class: Floats,
    clock: Clock,
    names: Names,
    persons: dict[str, Values],
    number: Integers,
    most: int,
    rng: np.random.Generator,
) -> tuple[Floats, Flags]:
    """Gaps by the class of a person's mean gap, exchanged among persons of a class until they fit each one's span of time."""
    order, cells = clock.order, clock.gap
    of_table = [persons[name].astype(np.float64) for name in (names.first, names.last, names.gap)]
    first, last, gap = with_time(np.column_stack(of_table), number, rng, centre=order.centre).T
    cell = np.clip(gap, 0, cells.inner - 1).astype(np.int64)
    usual = cells.middles()[cell]
    classes = clock.class_of(usual)
    span = np.where(last > first, last - first, usual * np.maximum(number - 1, 0))
    there = np.arange(1, most) < number[:, None]
    low, high = cells.ends()
    unit = (order.high - order.low) / 1e3
    best, kept = np.full(len(number), np.inf), np.zeros((len(number), most - 1))
    for _ in range(clock.settings.candidates):
        at = draw_each(by_class, np.repeat(classes, most - 1), rng.random(len(number) * (most - 1)))
        at = at.reshape(len(number), most - 1)
        between = np.where(there, low[at] + rng.random(at.shape) * (high[at] - low[at]), 0.0)
        if order.kind == "integer":
            between = np.where(at == 0, 0.0, np.maximum(np.round(between), 1.0)) * there
        off = _off(between.sum(axis=1), span, unit)
        nearer = off < best
        best, kept = np.where(nearer, off, best), np.where(nearer[:, None], between, kept)
    kept = exchanged(kept, span, classes, np.maximum(number - 1, 0), unit, rng, rounds=clock.settings.exchanges)
    whole = order.high - order.low
    total = kept.sum(axis=1)
    kept = kept * np.minimum(1.0, whole / np.maximum(total, 1e-9))[:, None]
    total = np.minimum(total, whole)
    # What the span is off by is divided between both ends.
    start = np.where(number > 1, (first + np.maximum(last, first) - total) / 2, first)
    start = np.clip(start, order.low, order.high - total)
    if order.kind == "integer":
        start = np.round(start)
    moments = start[:, None] + np.concatenate([np.zeros((len(number), 1)), np.cumsum(kept, axis=1)], axis=1)
    return np.clip(moments, order.low, order.high), there & (kept == 0)


def exchanged(
    gaps: Floats,
    span: Floats,
    classes: Integers,
    number: Integers,
    unit: float,
    rng: np.random.Generator,
    *,
    rounds: int,
) -> Floats:
    """Gaps that two persons of a class have exchanged where both together come nearer to their spans: all that is drawn stays."""
    gaps, total = gaps.copy(), gaps.sum(axis=1)
    some = np.flatnonzero(number > 0)
    for _ in range(rounds):
        mixed = some[rng.permutation(len(some))]
        mixed = mixed[np.argsort(classes[mixed], kind="stable")]
        left, right = mixed[:-1:2], mixed[1::2]
        alike = classes[left] == classes[right]
        left, right = left[alike], right[alike]
        places = [(rng.random(len(who)) * number[who]).astype(np.int64) for who in (left, right)]
        more = gaps[right, places[1]] - gaps[left, places[0]]
        before, after = (
            _off(total[left] + sign * more, span[left], unit) + _off(total[right] - sign * more, span[right], unit)
            for sign in (0, 1)
        )
        nearer = after < before
        left, right, more = left[nearer], right[nearer], more[nearer]
        gaps[left, places[0][nearer]] += more
        gaps[right, places[1][nearer]] -= more
        total[left] += more
        total[right] -= more
    return gaps


def _off(total: Floats, span: Floats, unit: float) -> Floats:
    return np.asarray(np.abs(np.log((np.maximum(total, 0.0) + unit) / (span + unit))))


def with_time(known: Floats, number: Integers, rng: np.random.Generator, *, centre: float) -> Floats:
    """First and last moment and mean gap of every person: where one of them is missing, all are another's with alike many events.

    A person whom the table gives no events, or one, may have more by the noisy number of events. All at one moment in the middle,
    or with no time in between, such persons would be a sort of their own.
    """
    out = np.nan_to_num(known, nan=0.0)
    out[:, :2] = np.where(np.isnan(known[:, :2]), centre, known[:, :2])
    for needed, some in ((known, number > 1), (known[:, :2], number == 1)):
        whole = ~np.isnan(needed).any(axis=1)
        donors, asking = np.flatnonzero(some & whole), np.flatnonzero(some & ~whole)
        if not len(donors):
            continue
        donors = rng.permutation(donors)
        donors = donors[np.argsort(number[donors], kind="stable")]
        alike = [np.searchsorted(number[donors], number[asking], side=side) for side in ("left", "right")]
        place = (alike[0] + rng.random(len(asking)) * (alike[1] - alike[0])).astype(np.int64)
        out[asking, : needed.shape[1]] = known[donors[np.minimum(place, len(donors) - 1)], : needed.shape[1]]
    return out
