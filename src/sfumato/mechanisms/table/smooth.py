"""Take noise out of noisy counts: post-processing that knows only the size of the noise."""

import numpy as np
from numpy.typing import NDArray

#: A wavelet coefficient below this many standard deviations is taken for noise. Of a grid's 1024 coefficients, about
#: three of noise alone get through.
_KEEP = 3.0
_LARGE = 64


def haar_smooth(counts: NDArray[np.float64], *, noise: float) -> NDArray[np.float64]:
    """Noisy counts of ordered cells, flat wherever the data do not say otherwise (Haar wavelets, hard threshold).

    >>> haar_smooth(np.array([10.0, 12.0, 11.0, 90.0]), noise=5.0)
    array([11., 11., 11., 90.])
    """
    size = len(counts)
    width = 1 << max(0, size - 1).bit_length()
    sums, cells = np.zeros(width), np.zeros(width)
    sums[:size], cells[:size] = counts, 1.0
    seen = sums > _KEEP * noise  # something in this block, or in a part of it, is no noise
    levels = []
    while len(sums) > 1:
        levels.append((sums, cells, seen))
        sums, cells = sums[::2] + sums[1::2], cells[::2] + cells[1::2]
        seen = seen[::2] | seen[1::2] | (sums > _KEEP * noise * np.sqrt(cells))
    value = np.maximum(sums, 0.0)
    for sums, cells, seen in reversed(levels):
        both = cells[::2] + cells[1::2]
        part = np.divide(cells[::2], both, out=np.full(len(both), 0.5), where=both > 0)
        # What the left half has beyond its part of the whole, against the noise of that difference.
        excess = sums[::2] - part * (sums[::2] + sums[1::2])
        spread = noise * np.sqrt(part * (1 - part) * both)
        excess = np.where(np.abs(excess) > _KEEP * spread, excess, 0.0)
        first = np.clip(part * value + excess, 0.0, value)
        # A large block that shows nothing is empty: else a little noise would lie far out in generous bounds.
        large = cells[::2] >= _LARGE
        first = np.where(large & seen[::2] & ~seen[1::2], value, first)
        first = np.where(large & seen[1::2] & ~seen[::2], 0.0, first)
        value = np.stack([first, value - first], axis=1).ravel()
    return value[:size]


def to_simplex(counts: NDArray[np.float64], *, total: float = 1.0) -> NDArray[np.float64]:
    """The nearest nonnegative vector with the given sum: noise around zero is cut on both sides, not only below.

    >>> to_simplex(np.array([6.0, 3.0, -1.0]), total=9.0)
    array([6., 3., 0.])
    """
    if total <= 0:
        return np.zeros_like(counts)
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(counts) + 1)
    last = np.flatnonzero(ordered > excess)[-1]
    return np.asarray(np.maximum(counts - excess[last], 0.0))


def fit_margins(
    table: NDArray[np.float64], rows: NDArray[np.float64], columns: NDArray[np.float64], *, rounds: int = 20
) -> NDArray[np.float64]:
    """Scale a nonnegative table until its margins are the given ones (iterative proportional fitting)."""
    for _ in range(rounds):
        table = table * _ratio(rows, table.sum(axis=1))[:, None]
        table = table * _ratio(columns, table.sum(axis=0))
    return table


def _ratio(wanted: NDArray[np.float64], given: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(wanted, given, out=np.zeros_like(wanted), where=given > 0)
