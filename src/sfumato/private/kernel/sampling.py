"""Who takes part: coins, fixed-size subsets and bins, drawn exactly.

Coins and dice of rows are functions of a secret key and of the row's place in the data: drawn again, by another process too,
they fall the same.
"""

import math
from functools import lru_cache

import numpy as np

from sfumato.private.kernel.arrays import Integers, Small, compile_kernel
from sfumato.private.kernel.inversion import MAX_THRESHOLDS, InversionTable
from sfumato.private.kernel.randomness import KeyStream

_LARGEST = np.uint64(2**64 - 1)
_CHUNK = 1 << 16  # choices at a time: they stay in the processor's cache
#: Rows whose coins come from one stream, a constant of nature here: another number would give every row another coin.
_ROWS = 1024
#: Probabilities of tails are whole numbers of units of 2^-240.
_FRACTION_BITS = 240


@lru_cache(maxsize=8)
def _gap_table(rate: float) -> InversionTable:
    """Thresholds 1 - (1 - rate)^k of the number of tails before the next head.

    The largest value means "that many tails, and nothing known of the next coin": coins have no memory.
    """
    size = min(MAX_THRESHOLDS, math.ceil(90 / rate))
    heads_in, of = rate.as_integer_ratio()
    one = 1 << _FRACTION_BITS
    tail, tails, thresholds = (of - heads_in) * one // of, one, list[int]()
    for _ in range(size):
        tails = tails * tail >> _FRACTION_BITS
        thresholds.append(min(one - tails >> _FRACTION_BITS - 128, 2**128 - 1))
    return InversionTable.from_thresholds(thresholds)


def heads(n_coins: int, *, rate: float, source: KeyStream) -> Integers:
    """The positions of the heads among `n_coins` coins of probability `rate`, in ascending order.

    Costs as much as there are heads, not coins.

    >>> heads(5, rate=1.0, source=KeyStream(bytes(32))).tolist()
    [0, 1, 2, 3, 4]
    """
    if rate == 1.0:
        return np.arange(n_coins, dtype=np.int64)
    table = _gap_table(rate)
    found, start = [], 0
    while start < n_coins:
        expected = (n_coins - start) * rate
        gaps = table.draw(int(expected + 6 * math.sqrt(expected)) + 16, source=source).astype(np.int64)
        is_head = gaps < len(table.thresholds)  # the largest value: no head yet
        ends = start + np.cumsum(gaps + is_head)  # one past the head, or past the run of tails
        found.append(ends[is_head] - 1)
        start = int(ends[-1])
    positions = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
    return positions[: np.searchsorted(positions, n_coins)]


def coins(key: bytes, *, first: int, n_rows: int, n_coins: int, rate: float) -> Integers:
    """Which of `n_coins` coins for each of the rows from place `first` on fall on heads, as row * n_coins + coin, ascending.

    >>> every = coins(bytes(32), first=0, n_rows=3000, n_coins=2, rate=0.1)
    >>> some = coins(bytes(32), first=1000, n_rows=500, n_coins=2, rate=0.1) + 2 * 1000
    >>> bool((some == every[(every >= 2000) & (every < 3000)]).all())
    True
    """
    found = [np.empty(0, dtype=np.int64)]
    for stretch in range(first // _ROWS, -(-(first + n_rows) // _ROWS)):
        fallen = heads(_ROWS * n_coins, rate=rate, source=KeyStream(key, number=stretch))
        found.append(fallen + (stretch * _ROWS - first) * n_coins)
    fallen = np.concatenate(found)
    return fallen[slice(*np.searchsorted(fallen, [0, n_rows * n_coins]))]


def dice(key: bytes, *, first: int, n_rows: int, sides: int) -> Integers:
    """One fair die for each of the rows from place `first` on."""
    thrown = [np.empty(0, dtype=np.int64)]
    for stretch in range(first // _ROWS, -(-(first + n_rows) // _ROWS)):
        sides_up = uniform_below(sides, count=_ROWS, source=KeyStream(key, number=stretch))
        thrown.append(sides_up[max(first - stretch * _ROWS, 0) : first + n_rows - stretch * _ROWS])
    return np.concatenate(thrown)


def uniform_below(bound: int | Integers, *, count: int, source: KeyStream) -> Integers:
    """Independent uniform integers in [0, bound), with one bound or one for each.

    Without bias: words past the last full multiple of their bound are drawn again.
    """
    bounds = np.asarray(bound, dtype=np.uint64)
    last = _LARGEST - (_LARGEST % bounds + np.uint64(1)) % bounds
    words = source.words(count)
    while (past := words > last).any():
        words[past] = source.words(int(past.sum()))
    return (words % bounds).astype(np.int64)


def subsets(n_subsets: int, *, size: int, population: int, source: KeyStream) -> Small:
    """Independent uniform subsets, one a row: Floyd's algorithm, exact.

    >>> sorted(subsets(1, size=3, population=3, source=KeyStream(bytes(32)))[0].tolist())
    [0, 1, 2]
    """
    out = np.empty((n_subsets, size), dtype=np.int32)
    seen = np.full(population, -1, dtype=np.int32)
    bounds, at_once = np.arange(population - size + 1, population + 1), max(1, _CHUNK // size)
    for first in range(0, n_subsets, at_once):
        some = out[first : first + at_once]
        choices = uniform_below(np.resize(bounds, some.size), count=some.size, source=source)
        _floyd(choices.reshape(some.shape), seen, first, some)
    return out


@compile_kernel
def _floyd(choices: Integers, seen: Small, first: int, out: Small) -> None:
    """Take the k-th choice, which is uniform on the first population - size + k + 1 rows, or if taken the last of these."""
    for j in range(out.shape[0]):
        for k in range(out.shape[1]):
            choice = choices[j, k]
            if seen[choice] == first + j:
                choice = seen.size - out.shape[1] + k
            seen[choice] = first + j
            out[j, k] = choice
