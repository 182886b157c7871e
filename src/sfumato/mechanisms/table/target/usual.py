"""The fullest bin of each column: what is in it follows from the other bins and all rows together, so nobody says it.

A row that is usual in most columns names few bins, and one that is not, many. Errors at the bins of a row weigh the less, the
more of them it names, so that each row is as long as the noise allows. A rule that is right has no error on average in any
row, whatever these weigh.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.joint.population import Population

#: The part of the rows that may differ from the usual in fewer columns than "nearly all" do.
_FEW = 0.03


@dataclass(frozen=True)
class Usual:
    """The fullest bin of each column, and in how many columns nearly all rows differ from it at least."""

    bins: NDArray[np.int64]
    fewest_others: int

    def others(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Where rows of bins differ from it."""
        return np.asarray(rows != self.bins)

    def weights(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """What makes each row's length 1, with a one at every bin that it names."""
        return np.asarray(1 / np.sqrt(np.maximum(self.others(rows).sum(axis=1), 1)))


def usual_bins(margins: Sequence[NDArray[np.float64]], population: Population) -> Usual:
    """From the probability of each bin, and from the population's rows."""
    bins = np.array([int(np.argmax(margin)) for margin in margins], dtype=np.int64)
    n_others = (population.rows != bins).sum(axis=1)
    upto = np.cumsum(np.bincount(n_others, weights=population.weights, minlength=len(bins) + 1))
    return Usual(bins, int(np.searchsorted(upto, _FEW * upto[-1])))
