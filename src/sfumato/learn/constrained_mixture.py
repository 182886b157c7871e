"""A mixture of round Gaussians whose clusters keep given sizes: a plain estimator, without any privacy.

Jitta and Klami, "On controlling the size of clusters in probabilistic clustering" (2018): maximise the sum over rows of
log p(x | its cluster) where every cluster holds between `min_size` and `max_size` rows. The assignment step is a
transport problem. It is solved by prices, one for each cluster, which rise where a cluster is too full and fall where it
is too empty, and an exact repair of what prices leave over: linear in rows, and the sizes hold always.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ModelError

Vectors = NDArray[np.float64]
Codes = NDArray[np.int64]

_PRICE_ROUNDS = 40
_LEFT_OVER = 0.01  # of the rows may be misplaced when prices stop
_LEAST_VARIANCE = 1e-6  # of the variance of all rows: a cluster of equal rows has some width, too


def clusters_within(
    rows: NDArray[np.generic],
    *,
    n_clusters: int,
    min_size: int = 1,
    max_size: int | None = None,
    n_starts: int = 1,
    max_rounds: int = 30,
    seed: int = 0,
) -> Codes:
    """The cluster of each row; every cluster holds from `min_size` to `max_size` rows, or more where there is no limit.

    Of so many random starts, each of at most `max_rounds` of EM, the likeliest end is kept.

    >>> rows = np.repeat([[0.0, 0.0], [1.0, 1.0]], [3, 7], axis=0)
    >>> sorted(np.bincount(clusters_within(rows, n_clusters=2, min_size=4)).tolist())
    [4, 6]
    """
    points = np.asarray(rows, dtype=np.float64)
    high = len(points) if max_size is None else max_size
    if n_clusters < 1 or min_size < 0 or high < min_size:
        raise ModelError(
            f"n_clusters = {n_clusters}, min_size = {min_size} and max_size = {max_size} must be at least 1, at least 0 and "
            "at least min_size."
        )
    if not n_clusters * min_size <= len(points) <= n_clusters * high or len(points) < 1:
        raise ModelError(
            f"{n_clusters} clusters of {min_size} to {high} rows cannot hold the rows. "
            "Ask for another number of clusters, or other sizes."
        )
    ends = [_run(points, n_clusters, min_size, high, max_rounds, [seed, start]) for start in range(n_starts)]
    return max(ends, key=lambda end: end[1])[0]


def _run(
    points: Vectors, n_clusters: int, low: int, high: int, max_rounds: int, seed: list[int]
) -> tuple[Codes, float]:
    """The clusters of one start, and how likely they are."""
    means = points[_spread_out(points, n_clusters, np.random.default_rng(seed))]
    variances = np.full(n_clusters, max(float(points.var(axis=0).mean()), 1e-12))
    labels, best, prices = np.zeros(len(points), dtype=np.int64), -np.inf, np.zeros(n_clusters)
    for _ in range(max_rounds):
        cost = _costs(points, means, variances)
        nearest, prices = assigned(cost, low=low, high=high, prices=prices)
        means, variances = _parameters(points, nearest, n_clusters)
        likelihood = -float(_costs(points, means, variances)[np.arange(len(points)), nearest].sum())
        if likelihood <= best + 1e-9 * abs(best):
            break
        labels, best = nearest, likelihood
    return labels, best


def assigned(cost: Vectors, *, low: int, high: int, prices: Vectors | None = None) -> tuple[Codes, Vectors]:
    """Rows to clusters at little cost, with `low` to `high` rows in each; and the prices that led there, from these on."""
    n_rows, clusters = cost.shape
    paid = np.zeros(clusters) if prices is None else prices.copy()
    step = float(np.mean(np.partition(cost, min(1, clusters - 1), axis=1)[:, min(1, clusters - 1)] - cost.min(axis=1)))
    step, best, fewest = max(step, 1e-12), paid, n_rows + 1
    for _ in range(_PRICE_ROUNDS):
        sizes = np.bincount((cost + paid).argmin(axis=1), minlength=clusters)
        wrong = np.maximum(sizes - high, 0) - np.maximum(low - sizes, 0)
        misplaced = int(np.abs(wrong).sum())
        if misplaced < fewest:
            fewest, best = misplaced, paid.copy()
        else:
            step *= 0.8
        if misplaced <= _LEFT_OVER * n_rows:
            break  # the repair moves the rest
        paid = paid + step * wrong / np.maximum(sizes, max(low, 1))
    labels = np.asarray((cost + best).argmin(axis=1), dtype=np.int64)
    return _repaired(cost + best, labels, low=low, high=high), best


def _repaired(cost: Vectors, labels: Codes, *, low: int, high: int) -> Codes:
    """Move the rows that lose least until all sizes hold: first out of full clusters, then into empty ones."""
    n_rows, clusters = cost.shape
    labels = labels.copy()
    every = np.arange(n_rows)
    sizes = np.bincount(labels, minlength=clusters)
    for k in np.flatnonzero(sizes > high):
        while sizes[k] > high:
            room = np.flatnonzero(sizes < high)
            mine = np.flatnonzero(labels == k)
            other = room[cost[np.ix_(mine, room)].argmin(axis=1)]
            cheapest = np.argsort(cost[mine, other] - cost[mine, k], kind="stable")[: sizes[k] - high]
            _move(labels, sizes, mine[cheapest], other[cheapest], limit=high - sizes, gain=True)
    for k in np.flatnonzero(sizes < low):
        while sizes[k] < low:
            donor = sizes > low
            theirs = every[donor[labels] & (labels != k)]
            cheapest = np.argsort(cost[theirs, k] - cost[theirs, labels[theirs]], kind="stable")
            moved = theirs[cheapest[: low - sizes[k]]]
            _move(labels, sizes, moved, np.full(len(moved), k), limit=sizes - low, gain=False)
    return labels


def _move(labels: Codes, sizes: Codes, rows: Codes, to: Codes, *, limit: Codes, gain: bool) -> None:
    """Move rows, but no more into a cluster (`gain`), or out of one, than its limit."""
    side = to if gain else labels[rows]
    order = np.argsort(side, kind="stable")
    starts = np.searchsorted(side[order], np.arange(len(sizes)))
    turn = np.empty(len(rows), dtype=np.int64)
    turn[order] = np.arange(len(rows)) - starts[side[order]]
    allowed = turn < limit[side]
    labels_before = labels[rows[allowed]]
    labels[rows[allowed]] = to[allowed]
    np.subtract.at(sizes, labels_before, 1)
    np.add.at(sizes, to[allowed], 1)


def _costs(points: Vectors, means: Vectors, variances: Vectors) -> Vectors:
    """Minus the log density of each row in each cluster."""
    square = (points**2).sum(axis=1)[:, None] - 2 * points @ means.T + (means**2).sum(axis=1)
    constant = points.shape[1] / 2 * np.log(2 * np.pi * variances)
    return np.asarray(np.maximum(square, 0) / (2 * variances) + constant)


def _parameters(points: Vectors, labels: Codes, clusters: int) -> tuple[Vectors, Vectors]:
    """The likeliest means, and variances that are the same in all directions."""
    sizes = np.maximum(np.bincount(labels, minlength=clusters), 1)
    means = np.zeros((clusters, points.shape[1]))
    order = np.argsort(labels, kind="stable")
    present, starts = np.unique(labels[order], return_index=True)
    means[present] = np.add.reduceat(points[order], starts, axis=0)
    means /= sizes[:, None]
    square = ((points - means[labels]) ** 2).sum(axis=1)
    variances = np.bincount(labels, weights=square, minlength=clusters) / (sizes * points.shape[1])
    least = max(_LEAST_VARIANCE * float(points.var(axis=0).mean()), 1e-12)
    return means, np.maximum(variances, least)


def _spread_out(points: Vectors, clusters: int, rng: np.random.Generator) -> Codes:
    """Rows to start from, each the likelier the farther it is from those chosen (Arthur and Vassilvitskii, 2007)."""
    chosen = [int(rng.integers(len(points)))]
    nearest = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    for _ in range(clusters - 1):
        total = float(nearest.sum())
        odds = nearest / total if total > 0 else np.full(len(points), 1 / len(points))
        chosen.append(int(rng.choice(len(points), p=odds)))
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(chosen)
