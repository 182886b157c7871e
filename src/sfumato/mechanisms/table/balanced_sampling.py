"""Chance shared by rows that are alike: of those with the same code in a column, about as many are given a thing as should be."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

#: A mean surplus of one row divides a chance by this power of e.
_BALANCE = 100.0
#: No chance is changed by more than this power of e.
_MOST_TILT = 2.0


def balanced_walk(
    p: NDArray[np.float64], codes: NDArray[np.integer[Any]], rng: np.random.Generator
) -> NDArray[np.int64]:
    """One of several things for each row, with the chances that it has for them.

    Args:
        p: The chances, by row and thing.
        codes: By row and column, from 0: rows are alike in a column where they share its code.
        rng: Of the draws.
    """
    small = np.ascontiguousarray(codes, dtype=np.int32)
    starts = np.concatenate([[0], np.cumsum(small.max(axis=0, initial=0) + 1, dtype=np.int64)])
    return np.asarray(_walk(p, small, starts, rng.random(len(p)), _BALANCE))


@numba.njit(cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def _walk(
    p: NDArray[Any], codes: NDArray[Any], starts: NDArray[Any], uniform: NDArray[Any], balance: float
) -> NDArray[Any]:
    """A self-balancing walk: a class is less likely for a row, the more of it the rows before have had that are like it.

    After Alweiss, Liu and Sawhney, "Discrepancy minimization via a self-balancing walk" (2021), for chances other than a half:
    what is missing goes to rows in proportion to their chance, not to whichever comes next.
    """
    n_rows, n_classes = p.shape
    n_codes = codes.shape[1]
    surplus = np.zeros((starts[-1], n_classes))
    labels = np.empty(n_rows, dtype=np.int64)
    chance = np.empty(n_classes)
    for i in range(n_rows):
        chance[:] = 0.0
        for j in range(n_codes):
            at = starts[j] + codes[i, j]
            for c in range(n_classes):
                chance[c] += surplus[at, c]
        for c in range(n_classes):
            tilt = min(max(-balance / n_codes * chance[c], -_MOST_TILT), _MOST_TILT)
            chance[c] = p[i, c] * np.exp(tilt)
        labels[i] = np.argmax(chance)
        left = uniform[i] * chance.sum()
        for c in range(n_classes):
            left -= chance[c]
            if left < 0:
                labels[i] = c
                break
        for j in range(n_codes):
            at = starts[j] + codes[i, j]
            for c in range(n_classes):
                surplus[at, c] -= p[i, c]
            surplus[at, labels[i]] += 1.0
    return labels
