"""A mixture of round Gaussians whose clusters keep given sizes: a plain estimator, without any privacy.

Jitta and Klami, "On controlling the size of clusters in probabilistic clustering" (2018): maximise the sum over rows of
log p(x | its cluster) where every cluster holds between `min_size` and `max_size` rows. The assignment step is a
transport problem. It is solved by prices, one for each cluster, which rise where a cluster is too full and fall where it
is too empty, and an exact repair of what prices leave over: linear in rows, and the sizes hold always.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ModelError

Vectors = NDArray[np.float64]
Codes = NDArray[np.int64]

_PRICE_ROUNDS = 40
_LEFT_OVER = 0.01  # of the rows may be misplaced when prices stop
_LEAST_VARIANCE = 1e-6  # of the variance of all rows: a cluster of equal rows has some width, too


@dataclass
class ConstrainedMixture:
    """Fit with `fit`, then read `labels_`, `means_`, `variances_`, `weights_` and `log_likelihood_`.

    Args:
        n_clusters: How many clusters.
        min_size: No cluster holds fewer rows.
        max_size: No cluster holds more rows; None for no limit.
        n_starts: Of so many random starts the likeliest end is kept.
        max_rounds: Of EM in each start.
        seed: Of the starts; the same seed gives the same clusters.

    >>> rows = np.repeat([[0.0, 0.0], [1.0, 1.0]], [3, 7], axis=0)
    >>> sorted(np.bincount(ConstrainedMixture(n_clusters=2, min_size=4).fit(rows).labels_).tolist())
    [4, 6]
    """

    n_clusters: int
    min_size: int = 1
    max_size: int | None = None
    n_starts: int = 1
    max_rounds: int = 30
    seed: int = 0
    labels_: Codes = field(init=False, repr=False)
    means_: Vectors = field(init=False, repr=False)
    variances_: Vectors = field(init=False, repr=False)
    weights_: Vectors = field(init=False, repr=False)
    log_likelihood_: float = field(init=False, repr=False)

    def fit(self, rows: NDArray[np.generic]) -> "ConstrainedMixture":
        """Find clusters whose sizes are within the bounds."""
        points = np.asarray(rows, dtype=np.float64)
        low, high = self._bounds(len(points))
        best = -np.inf
        for start in range(self.n_starts):
            labels, likelihood = self._run(points, low, high, np.random.default_rng([self.seed, start]))
            if likelihood > best:
                best, self.labels_ = likelihood, labels
        self.log_likelihood_ = float(best)
        self.means_, self.variances_ = _parameters(points, self.labels_, self.n_clusters)
        self.weights_ = np.bincount(self.labels_, minlength=self.n_clusters) / len(points)
        return self

    def fit_predict(self, rows: NDArray[np.generic]) -> Codes:
        """The clusters of the rows that were fitted, within the sizes."""
        return self.fit(rows).labels_

    def predict(self, rows: NDArray[np.generic]) -> Codes:
        """The likeliest cluster of each row, whatever sizes come out."""
        cost = _costs(np.asarray(rows, dtype=np.float64), self.means_, self.variances_)
        return np.asarray((cost - np.log(np.maximum(self.weights_, 1e-300))).argmin(axis=1), dtype=np.int64)

    def _bounds(self, n_rows: int) -> tuple[int, int]:
        high = n_rows if self.max_size is None else self.max_size
        if self.n_clusters < 1 or self.min_size < 0 or high < self.min_size:
            raise ModelError(
                f"n_clusters = {self.n_clusters}, min_size = {self.min_size} and max_size = {self.max_size} must be at "
                "least 1, at least 0 and at least min_size."
            )
        if not self.n_clusters * self.min_size <= n_rows <= self.n_clusters * high or n_rows < 1:
            raise ModelError(
                f"{self.n_clusters} clusters of {self.min_size} to {high} rows cannot hold the rows. "
                "Ask for another number of clusters, or other sizes."
            )
        return self.min_size, high

    def _run(self, points: Vectors, low: int, high: int, rng: np.random.Generator) -> tuple[Codes, float]:
        means = points[_spread_out(points, self.n_clusters, rng)]
        variances = np.full(self.n_clusters, max(float(points.var(axis=0).mean()), 1e-12))
        labels, best, prices = np.zeros(len(points), dtype=np.int64), -np.inf, np.zeros(self.n_clusters)
        for _ in range(self.max_rounds):
            cost = _costs(points, means, variances)
            nearest, prices = assigned(cost, low=low, high=high, prices=prices)
            means, variances = _parameters(points, nearest, self.n_clusters)
            likelihood = -float(_costs(points, means, variances)[np.arange(len(points)), nearest].sum())
            if likelihood <= best + 1e-9 * abs(best):
                break
            labels, best = nearest, likelihood
        return labels, best


def assigned(cost: Vectors, *, low: int, high: int, prices: Vectors | None = None) -> tuple[Codes, Vectors]:
    """Rows to clusters at little cost, with `low` to `high` rows in each; and the prices that led there.

    Args:
        cost: Of each row in each cluster.
        low: The least rows of a cluster.
        high: The most.
        prices: Where to begin, one for each cluster.
    """
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
    cost: Vectors = np.maximum(square, 0) / (2 * variances) + points.shape[1] / 2 * np.log(2 * np.pi * variances)
    return cost


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
