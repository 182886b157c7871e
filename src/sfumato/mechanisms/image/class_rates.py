"""Choose labelled rows so that their classes have given rates, each row at a place of its own.

A label is the largest of several numbers, and where two of them are nearly equal, a rounding error decides. So no place may
depend on how many rows of a class come before it: one label would move all rows behind it. Here the row of the same number
has first claim on a place, and what else is decided about a place depends on thresholds that no single label moves. The
random numbers are drawn for every place, whatever the labels are.
"""

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers, Singles

_TRIES = 8  # after so many rows that others have taken, a place repeats one
_SHARPNESS = 64  # a class 5% less likely than the first one counts a thirtieth of it
_LEAST = 1e-6


def rows_with_rates(soft: Singles, rates: Floats, *, n_rows: int, rng: np.random.Generator) -> Integers:
    """For each of so many places a row, so that the most likely classes have these rates, up to chance.

    A class with too many rows leaves some of its places to rows beyond the places; one with too few repeats some. `soft` is
    how likely each class is in each row, of which there are at least as many as the `n_rows` places.
    """
    labels, shares = soft.argmax(axis=1), _shares(soft)
    stays = rng.random(n_rows) < (rates / np.maximum(shares, _LEAST))[labels[:n_rows]]
    lacking = np.cumsum(np.maximum(rates - shares, 0.0))
    newcomer = np.searchsorted(lacking, rng.random(n_rows) * lacking[-1], side="right")
    wishes = rng.random((_TRIES, n_rows))
    chosen = np.arange(n_rows)
    for c in range(len(rates)):
        places = np.flatnonzero(~stays & (newcomer == c))
        if len(places):
            chosen[places] = _granted(wishes[:, places], *_rows_of(labels, c, n_rows=n_rows), end=len(labels))
    return chosen


def _shares(soft: Singles) -> Floats:
    """The part of the rows that each class has; a row between two classes counts for both, so that no rounding shows."""
    odds = np.maximum(soft, _LEAST)
    odds = (odds / odds.max(axis=1, keepdims=True)) ** _SHARPNESS
    shares: Floats = (odds / odds.sum(axis=1, keepdims=True)).mean(axis=0, dtype=np.float64)
    return shares


def _rows_of(labels: Integers, c: int, *, n_rows: int) -> tuple[Integers, int]:
    """Rows of a class, and where among all rows they begin: beyond the places, or else anywhere. Without any, all rows."""
    for start in (n_rows, 0):
        rows = start + np.flatnonzero(labels[start:] == c)
        if len(rows):
            return rows, start
    return np.arange(len(labels)), 0


def _granted(wishes: Floats, rows: Integers, start: int, *, end: int) -> Integers:
    """For each place the next of these rows after where it wishes; the next wish counts where another place was faster."""
    wished = np.searchsorted(rows, start + wishes * (end - start)) % len(rows)
    granted, is_taken = wished[0].copy(), np.zeros(len(rows), dtype=bool)
    waiting = np.arange(len(granted))
    for wish in wished:
        wanted, first = np.unique(wish[waiting], return_index=True)
        first = first[~is_taken[wanted]]
        served = waiting[first]
        granted[served] = wish[served]
        is_taken[wish[served]] = True
        waiting = np.delete(waiting, first)
    chosen: Integers = rows[granted]
    return chosen
