"""Take noise out of noisy counts: post-processing that knows only the size of the noise."""

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers


def haar_within(counts: Floats, *, noise: float, total: float, kept: float = 3.0) -> Floats:
    """Noisy counts of ordered cells that hold `total` in all, flat wherever the noise explains the difference (Haar).

    A difference between two halves below `kept` standard deviations is taken for noise.

    >>> haar_within(np.array([10.0, 12.0, 11.0, 90.0]), noise=5.0, total=123.0)
    array([11., 11., 11., 90.])
    """
    size = len(counts)
    if size == 1 or total <= 0:
        return np.full(size, max(total, 0.0) / size)
    half = size // 2
    excess = float(counts[:half].sum() - counts.sum() * half / size)
    if abs(excess) < kept * noise * np.sqrt(half * (size - half) / size):
        excess = 0.0
    left = float(np.clip(total * half / size + excess, 0.0, total))
    halves = (counts[:half], left), (counts[half:], total - left)
    return np.concatenate([haar_within(part, noise=noise, total=rows, kept=kept) for part, rows in halves])


def to_simplex(counts: Floats, *, total: float = 1.0) -> Floats:
    """The nearest nonnegative vector with the given sum: noise around zero is cut on both sides, not only below.

    >>> to_simplex(np.array([6.0, 3.0, -1.0]), total=9.0)
    array([6., 3., 0.])
    """
    if total <= 0:
        return np.zeros_like(counts)
    ordered = np.sort(counts)[::-1]
    ordered = ordered[np.isfinite(ordered)]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    last = np.flatnonzero(ordered > excess)[-1]
    return np.asarray(np.maximum(counts - excess[last], 0.0))


def rows_to_simplex(counts: Floats, *, totals: Floats) -> Floats:
    """The same for every row of a table of finite numbers, each with a positive sum of its own.

    >>> rows_to_simplex(np.array([[6.0, 3.0, -1.0], [1.0, 1.0, 2.0]]), totals=np.array([9.0, 1.0]))
    array([[6., 3., 0.],
           [0., 0., 1.]])
    """
    ordered = -np.sort(-counts, axis=1)
    excess = (np.cumsum(ordered, axis=1) - totals[:, None]) / np.arange(1, counts.shape[1] + 1)
    last = counts.shape[1] - 1 - np.argmax((ordered > excess)[:, ::-1], axis=1)
    return np.asarray(np.maximum(counts - np.take_along_axis(excess, last[:, None], axis=1), 0.0))


def fit_margins(table: Floats, rows: Floats, columns: Floats, *, rounds: int = 20) -> Floats:
    """Scale nonnegative tables until their margins are the given ones (iterative proportional fitting).

    >>> fit_margins(np.array([[3.0, 1.0], [1.0, 1.0]]), np.array([0.5, 0.5]), np.array([0.5, 0.5])).round(3)
    array([[0.317, 0.183],
           [0.183, 0.317]])
    """
    for _ in range(rounds):
        table = table * _ratio(rows, table.sum(axis=-1))[..., :, None]
        table = table * _ratio(columns, table.sum(axis=-2))[..., None, :]
    return table


def _ratio(wanted: Floats, given: Floats) -> Floats:
    return np.divide(wanted, given, out=np.zeros_like(wanted), where=given > 0)


def draw_each(table: Floats, at: Integers, uniform: Floats) -> Integers:
    """One column of the table for each row, at the quantile `uniform` of the table's row `at`."""
    upto = np.cumsum(table, axis=1)
    # Rows of the table one after another on one line, so that one sorted search serves all.
    line = (upto / np.maximum(upto[:, -1:], 1e-300) + np.arange(len(table))[:, None]).ravel()
    drawn = np.searchsorted(line, at + np.clip(uniform, 1e-9, 1 - 1e-9), side="right") - at * table.shape[1]
    return np.asarray(np.clip(drawn, 0, table.shape[1] - 1))
