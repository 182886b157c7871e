"""How strongly columns hang together: rank correlations of numbers, Cramer's V of categories. Not private."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sfumato.public.schema.schema import Batch, Column


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


def cramer(batch: Batch, a: Column, b: Column) -> float:
    """Cramer's V of two coded columns: 0 where they are independent, 1 where either tells the other."""
    counts = np.bincount(batch[a.name] * b.size + batch[b.name], minlength=a.size * b.size).reshape(a.size, b.size)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if min(counts.shape) < 2:
        return 0.0
    return float(stats.contingency.association(counts, method="cramer"))
