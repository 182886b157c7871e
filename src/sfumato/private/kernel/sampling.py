"""Who takes part: coins, fixed-size subsets and bins, drawn exactly from the secure stream."""

import math
from functools import lru_cache

import mpmath
import numpy as np
from numpy.typing import NDArray

from sfumato.private.kernel.inversion import MAX_THRESHOLDS, InversionTable, compile_kernel
from sfumato.private.kernel.randomness import NoiseSource


@lru_cache(maxsize=8)
def _gap_table(rate: float) -> InversionTable:
    """Thresholds 1 - (1 - rate)^k of the number of tails before the next head.

    The largest value means "that many tails, and nothing known of the next coin": coins have no memory.
    """
    size = min(MAX_THRESHOLDS, math.ceil(90 / rate))
    with mpmath.workprec(240):
        tails, thresholds = mpmath.mpf(1), []
        for _ in range(size):
            tails *= 1 - mpmath.mpf(rate)
            thresholds.append(min(int((1 - tails) * mpmath.mpf(2) ** 128), 2**128 - 1))
    return InversionTable.from_thresholds(thresholds)


def heads(n_coins: int, *, rate: float, source: NoiseSource) -> NDArray[np.int64]:
    """The positions of the heads among `n_coins` coins of probability `rate`, in ascending order.

    Costs as much as there are heads, not coins.

    >>> heads(5, rate=1.0, source=NoiseSource(research_seed=0)).tolist()
    [0, 1, 2, 3, 4]
    """
    if rate == 1.0:
        return np.arange(n_coins, dtype=np.int64)
    table = _gap_table(rate)
    no_head = len(table.thresholds)
    found, start = [], 0
    while start < n_coins:
        expected = (n_coins - start) * rate
        gaps = table.draw(int(expected + 6 * math.sqrt(expected)) + 16, source=source).astype(np.int64)
        is_head = gaps < no_head
        ends = start + np.cumsum(gaps + is_head)  # one past the head, or past the run of tails
        found.append(ends[is_head] - 1)
        start = int(ends[-1])
    positions = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
    return positions[: np.searchsorted(positions, n_coins)]


def uniform_below(bound: int, *, count: int, source: NoiseSource) -> NDArray[np.int64]:
    """Independent uniform integers in [0, bound), without bias: words past the last full multiple are drawn again."""
    limit = np.uint64(2**64 - 1 - 2**64 % bound)
    words = source.words(count)
    while (words > limit).any():
        again = np.flatnonzero(words > limit)
        words[again] = source.words(again.size)
    return (words % np.uint64(bound)).astype(np.int64)


def subsets(n_subsets: int, *, size: int, population: int, source: NoiseSource) -> NDArray[np.int32]:
    """Independent uniform subsets, one a row: Floyd's algorithm, exact.

    >>> sorted(subsets(1, size=3, population=3, source=NoiseSource(research_seed=0))[0].tolist())
    [0, 1, 2]
    """
    out = np.empty((n_subsets, size), dtype=np.int32)
    seen = np.full(population, -1, dtype=np.int32)
    for j in range(n_subsets):
        # The k-th choice is uniform on the first population - size + k + 1 rows.
        while not _floyd(source.words(size), seen, np.int32(j), out[j]):
            seen[seen == j] = -1
    return out


@compile_kernel
def _floyd(words: NDArray[np.uint64], seen: NDArray[np.int32], stamp: np.int32, out: NDArray[np.int32]) -> bool:
    first = seen.size - out.size
    for k in range(out.size):
        bound = np.uint64(first + k + 1)
        remainder = (np.uint64(0xFFFFFFFFFFFFFFFF) % bound + np.uint64(1)) % bound
        if remainder > np.uint64(0) and words[k] > np.uint64(0xFFFFFFFFFFFFFFFF) - remainder:
            return False  # one in 10^13: draw this subset anew
        choice = np.int64(words[k] % bound)
        if seen[choice] == stamp:
            choice = np.int64(first + k)
        seen[choice] = stamp
        out[k] = choice
    return True
