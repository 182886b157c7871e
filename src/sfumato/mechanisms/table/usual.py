"""The fullest bin of each column: what is in it follows from the other bins and all rows together, so nobody says it.

Rows that are usual in most columns are short then, and the noise is as large as the other rows need, not as large as all
columns together would.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.population import Population

#: Rows that differ from the usual in more columns than this part of all rows do count less.
_NEARLY_ALL = 0.97


@dataclass(frozen=True)
class Usual:
    """The fullest bin of each column, and in how many columns nearly all rows differ from it at most."""

    bins: NDArray[np.int64]
    most_others: int

    def others(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Where rows of bins differ from it."""
        return np.asarray(rows != self.bins)


def usual_bins(margins: Sequence[NDArray[np.float64]], population: Population) -> Usual:
    """From the probability of each bin, and from the population's rows."""
    bins = np.array([int(np.argmax(margin)) for margin in margins], dtype=np.int64)
    n_others = (population.rows != bins).sum(axis=1)
    upto = np.cumsum(np.bincount(n_others, weights=population.weights, minlength=len(bins) + 1))
    return Usual(bins, int(np.searchsorted(upto, _NEARLY_ALL * upto[-1])))
