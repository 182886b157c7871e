"""How good predictions are, and how close the marginals of synthetic rows are to those of the real ones. Not private."""

import itertools
from collections.abc import Sequence

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sfumato.lab.benchmark.datasets import BenchmarkError, Metric
from sfumato.lab.benchmark.examples import Examples
from sfumato.public.schema.schema import Batch, Column, Schema


def utility(metric: Metric, probabilities: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """The protocol's number for a dataset.

    `accuracy`: the share of rows whose likeliest class is theirs. `auc`: the area under the ROC curve of the second
    class. `auc_ovo`: the mean over pairs of classes of the area for telling one from the other.

    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]])
    >>> utility("accuracy", p, np.array([0, 1, 1])), utility("auc", p, np.array([0, 1, 1]))
    (0.6666666666666666, 1.0)
    """
    from sklearn.metrics import roc_auc_score

    if metric == "accuracy":
        return float(np.mean(probabilities.argmax(axis=1) == truth))
    if len(np.unique(truth)) < 2:
        raise BenchmarkError("the test rows are all of one class, so there is no area under a curve.")
    if metric == "auc":
        return float(roc_auc_score(truth == 1, probabilities[:, 1]))
    # Hand and Till's measure: for each pair, both classes take a turn as the positive one.
    areas = []
    for positive, negative in itertools.permutations(np.unique(truth), 2):
        pair = (truth == positive) | (truth == negative)
        areas.append(roc_auc_score(truth[pair] == positive, probabilities[pair, positive]))
    return float(np.mean(areas))


def brier(probabilities: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """The mean squared error of the probabilities: of the second class where there are two, else summed over all.

    >>> brier(np.array([[0.5, 0.5], [0.75, 0.25]]), np.array([0, 1]))
    0.40625
    """
    errors = (probabilities - np.eye(probabilities.shape[1])[truth]) ** 2
    return float(errors.sum(axis=1).mean() if probabilities.shape[1] > 2 else errors[:, 1].mean())


def class_rate_error(real: NDArray[np.int64], synthetic: NDArray[np.int64], *, n_classes: int) -> float:
    """The largest absolute error of a class rate.

    >>> class_rate_error(np.array([0, 0, 0, 1]), np.array([0, 1]), n_classes=2)
    0.25
    """
    rates = [np.bincount(label, minlength=n_classes) / max(1, len(label)) for label in (real, synthetic)]
    return float(np.abs(rates[0] - rates[1]).max())


def spearman(batch: Batch, names: Sequence[str]) -> NDArray[np.float64]:
    """Rank correlations of all pairs of numbers.

    Missing values are in the middle of the others: correlations of columns with many of them shrink, on both sides.
    """
    ranks = []
    for name in names:
        values = batch[name]
        known = ~np.isnan(values)
        rank = np.zeros(len(values))
        if known.any():
            rank[known] = stats.rankdata(values[known])
            rank[known] -= rank[known].mean()
        ranks.append(rank)
    x = np.stack(ranks)
    length = np.sqrt((x**2).sum(axis=1))
    x /= np.where(length > 0, length, 1)[:, None]  # a constant correlates with nothing
    return x @ x.T


#: Cells of a number, between the smallest and the largest real value.
BINS = 20


def distances(real: Examples, synthetic: Examples, schema: Schema) -> tuple[float, float]:
    """Mean total variation distance of one column, and of two: over all columns and all pairs, target included.

    Numbers are counted in 20 cells of equal width between the smallest and the largest real value; values beyond
    them have a cell of their own on either side, where no real row is, and so have missing ones.
    """
    one_way, two_way = each_distance(real.batch, synthetic.batch, schema)
    pairs = two_way[np.triu_indices(len(one_way), 1)]
    return float(np.mean(one_way)), float(np.mean(pairs)) if len(pairs) else float("nan")


def each_distance(real: Batch, synthetic: Batch, schema: Schema) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same of every column, and of every pair above the diagonal of a matrix."""
    cells = [_cells(column, real[column.name], synthetic[column.name]) for column in schema.columns]
    sizes = np.array([size for size, _, _ in cells], dtype=np.int64)
    one = np.ascontiguousarray(np.stack([a for _, a, _ in cells]))
    other = np.ascontiguousarray(np.stack([b for _, _, b in cells]))
    one_way = np.array([_total_variation(one[at], other[at], size) for at, size in enumerate(sizes)])
    return one_way, np.asarray(_of_pairs(one, other, sizes))


def _cells(
    column: Column, real: NDArray[np.generic], synthetic: NDArray[np.generic]
) -> tuple[int, NDArray[np.int32], NDArray[np.int32]]:
    if column.is_coded:
        return column.size, real.astype(np.int32), synthetic.astype(np.int32)
    known = real.astype(np.float64)
    seen = known[~np.isnan(known)]
    low, high = (seen.min(), seen.max()) if len(seen) else (column.low, column.high)
    return BINS + 3, _cell_of(known, low, high), _cell_of(synthetic.astype(np.float64), low, high)


def _cell_of(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.int32]:
    """0 to 19 between the bounds, then below, above, missing.

    >>> _cell_of(np.array([0.0, 0.5, 1.0, -0.1, 1.1, np.nan]), 0.0, 1.0)
    array([ 0, 10, 19, 20, 21, 22], dtype=int32)
    """
    width = (high - low) / BINS or 1.0
    inside = np.clip(np.floor((np.nan_to_num(values) - low) / width), 0, BINS - 1)
    cell = np.where(values < low, BINS, np.where(values > high, BINS + 1, inside))
    return np.where(np.isnan(values), BINS + 2, cell).astype(np.int32)


def _total_variation(one: NDArray[np.int32], other: NDArray[np.int32], size: int) -> float:
    rates = [np.bincount(cells, minlength=size) / len(cells) for cells in (one, other)]
    return float(np.abs(rates[0] - rates[1]).sum() / 2)


# Compiled: a table of 618 columns has 190,653 pairs.
@numba.njit(cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def _of_pairs(one: NDArray[np.int32], other: NDArray[np.int32], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    n_columns = len(sizes)
    found = np.zeros((n_columns, n_columns))
    for a in range(n_columns):
        for b in range(a + 1, n_columns):
            rates = np.zeros(sizes[a] * sizes[b])
            for row in range(one.shape[1]):
                rates[one[a, row] * sizes[b] + one[b, row]] += 1.0 / one.shape[1]
            for row in range(other.shape[1]):
                rates[other[a, row] * sizes[b] + other[b, row]] -= 1.0 / other.shape[1]
            found[a, b] = np.abs(rates).sum() / 2
    return found
