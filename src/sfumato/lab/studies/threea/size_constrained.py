"""A mixture of round Gaussians whose clusters hold at least so many rows each: a plain estimator, without any privacy.

Jitta and Klami, "On controlling the size of clusters in probabilistic clustering" (2018): maximise the sum over rows of
log p(x | its cluster) under the sizes. The assignment is a transport problem, solved by prices: one for each cluster, which fall where
it is too empty; what prices leave over is repaired exactly.
"""

from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.doors import Tensor

_PRICE_ROUNDS = 10
_GAIN = 1e-3  # EM ends where a round gains less of the likelihood
_LEFT_OVER = 0.01  # of the rows may be misplaced when prices stop
_LEAST_VARIANCE = 1e-6  # of the variance of all rows: a cluster of equal rows has some width, too
_EM_ROUNDS = 4


def clusters_of(rows: Tensor, n_clusters: int, *, least: int, seed: int = 0, n_starts: int = 1) -> Tensor:
    """The cluster of each row; every cluster holds `least` rows or more.

    Args:
        rows: One point a row, at least `n_clusters * least` of them.
        n_clusters: How many.
        least: No cluster holds fewer.
        seed: Of the starts; the same seed gives the same clusters.
        n_starts: Of so many random starts the likeliest end is kept.
    """
    ends = [_likeliest(rows, n_clusters, least, seed=seed + 1_000 * start) for start in range(n_starts)]
    return max(ends, key=lambda end: end[1])[0]


def assigned(cost: Tensor, *, least: int) -> Tensor:
    """Rows to clusters at little cost, with at least so many rows in each."""
    priced = cost + _prices(cost, least)
    return _repaired(priced, _nearest(priced), least)


def means_of(rows: Tensor, labels: Tensor, n_clusters: int) -> tuple[Tensor, Tensor]:
    """The mean of each cluster, and how many rows it has; an empty one has the mean 0."""
    torch = need_torch("clustering")
    sizes = torch.bincount(labels, minlength=n_clusters)
    sums = torch.zeros(n_clusters, rows.shape[1], dtype=rows.dtype).index_add_(0, labels, rows)
    return sums / sizes.clamp(min=1)[:, None], sizes


def squares(rows: Tensor, points: Tensor) -> Tensor:
    """Squared distances of each row to each point."""
    return (rows.square().sum(dim=1)[:, None] - 2 * rows @ points.T + points.square().sum(dim=1)).clamp(min=0)


def _likeliest(rows: Tensor, n_clusters: int, least: int, *, seed: int) -> tuple[Tensor, float]:
    """Where one start ends, and how likely it is."""
    torch = need_torch("clustering")
    chosen = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))[:n_clusters]
    means = rows[chosen]
    overall = float(rows.var(dim=0, correction=0).mean())
    variances, best = torch.full((n_clusters,), max(overall, 1e-12)).to(rows), -float("inf")
    prices = torch.zeros(n_clusters).to(rows)
    kept = prices, prices
    for _ in range(_EM_ROUNDS):
        cost = _costs(rows, means, variances)
        prices = _prices(cost, least, prices)
        labels = _nearest(cost + prices)
        likelihood = -float(cost.gather(1, labels[:, None]).sum())
        if likelihood <= best + _GAIN * abs(best):
            break
        best, kept = likelihood, (cost + prices, labels)
        means, sizes = means_of(rows, labels, n_clusters)
        within = torch.zeros(n_clusters).to(rows).index_add_(0, labels, (rows - means[labels]).square().mean(dim=1))
        variances = (within / sizes.clamp(min=1)).clamp(min=max(_LEAST_VARIANCE * overall, 1e-12))
    return _repaired(*kept, least), best


def _nearest(cost: Tensor) -> Tensor:
    """The cheapest cluster of each row. Numpy finds it several times as fast as torch."""
    return need_torch("clustering").from_numpy(cost.numpy().argmin(axis=1))


def _costs(rows: Tensor, means: Tensor, variances: Tensor) -> Tensor:
    """Minus the log density of each row in each cluster, up to a constant."""
    return squares(rows, means) / (2 * variances) + rows.shape[1] / 2 * variances.log()


def _prices(cost: Tensor, least: int, paid: Tensor | None = None) -> Tensor:
    """What each cluster must cost more, or less, so that nearly all of them hold enough rows."""
    torch = need_torch("clustering")
    n_rows, n_clusters = cost.shape
    paid = torch.zeros(n_clusters).to(cost) if paid is None else paid
    if n_clusters == 1:
        return paid
    two = cost.topk(2, dim=1, largest=False).values
    priced = torch.empty_like(cost)
    step, best, fewest = float((two[:, 1] - two[:, 0]).mean().clamp(min=1e-12)), paid, n_rows + 1
    for _ in range(_PRICE_ROUNDS):
        sizes = torch.bincount(_nearest(torch.add(cost, paid, out=priced)), minlength=n_clusters)
        lacking = (least - sizes).clamp(min=0)
        misplaced = int(lacking.sum())
        if misplaced < fewest:
            fewest, best = misplaced, paid
        else:
            step *= 0.8
        if misplaced <= _LEFT_OVER * n_rows:
            break
        paid = paid - step * lacking / sizes.clamp(min=least)
    return best


def _repaired(cost: Tensor, labels: Tensor, least: int) -> Tensor:
    """Move the rows that lose least into clusters that are too small, out of those that can spare them."""
    torch = need_torch("clustering")
    labels = labels.clone()
    sizes = torch.bincount(labels, minlength=cost.shape[1])
    paid = cost.gather(1, labels[:, None])[:, 0]
    for k in (sizes < least).nonzero()[:, 0].tolist():
        while sizes[k] < least:
            spare = (sizes - least).clamp(min=0)
            loss = torch.where((spare > 0)[labels] & (labels != k), cost[:, k] - paid, float("inf"))
            cheapest = loss.topk(int(least - sizes[k]), largest=False)
            order = cheapest.indices[cheapest.values < float("inf")]
            # No more than a cluster can spare: none falls below the least.
            moved = order[_turns(labels[order]) < spare[labels[order]]]
            sizes -= torch.bincount(labels[moved], minlength=len(sizes))
            sizes[k] += len(moved)
            labels[moved], paid[moved] = k, cost[moved, k]
    return labels


def _turns(codes: Tensor) -> Tensor:
    """For each entry, how many equal ones stand before it."""
    torch = need_torch("clustering")
    order = codes.argsort(stable=True)
    by_code = codes[order]
    starts = torch.searchsorted(by_code, by_code)
    turns = torch.empty_like(codes)
    turns[order] = torch.arange(len(codes)) - starts
    return turns
