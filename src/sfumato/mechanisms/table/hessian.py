"""The Hessian of the teacher's loss, on public rows that stand for the private ones."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sfumato.mechanisms.table.logistic import error_slopes, probabilities, scores_of

_HESSIAN_ROWS = 10_000


class Hessian(Protocol):
    """How fast the sum of `errors` over all rows grows with the weights."""

    def at(self, weights: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """A matrix for each row of weights: classes are taken as if they were independent."""
        ...


@dataclass(frozen=True)
class BinnedHessian:
    """Of rows of bins, drawn from the generator; `total` is how many private rows they stand for."""

    codes: NDArray[np.int64]
    width: int
    total: float

    def at(self, weights: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """X^T diag(slopes) X, where X has a one at each of a row's codes."""
        n_rows, hot = self.codes.shape
        where = np.repeat(np.arange(n_rows), hot), self.codes.ravel()
        one_hot = sparse.csr_matrix((np.ones(n_rows * hot), where), shape=(n_rows, self.width))
        slopes = error_slopes(probabilities(scores_of(weights, self.codes))) * (self.total / max(n_rows, 1))
        return [(one_hot.T @ one_hot.multiply(slope[:, None]).tocsr()).toarray() for slope in slopes.T]


def binned_hessian(codes: NDArray[np.int64], *, width: int, total: float) -> BinnedHessian:
    """On as many rows as it needs."""
    return BinnedHessian(codes[:_HESSIAN_ROWS], width, total)


@dataclass(frozen=True)
class DenseHessian:
    """Of rows of numbers."""

    rows: NDArray[np.float64]
    total: float

    def at(self, weights: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """X^T diag(slopes) X."""
        slopes = error_slopes(probabilities(self.rows @ weights.T)) * (self.total / len(self.rows))
        return [(self.rows.T * slope) @ self.rows for slope in slopes.T]
