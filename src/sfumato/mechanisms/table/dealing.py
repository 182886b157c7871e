"""Errors of a numeric target dealt to rows, so that rows which are alike in a column have as much of them as others.

Errors are chance, and a learner of few rows takes chance for a rule: with 500 rows of which the target is independent, boosted
trees are off by a fifth of its variance. Which row has which error is ours to say, as long as a row's rule has errors of its size.
"""

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

#: Parts of each column, of about equal size, in which errors should add up to zero: coarse ones and finer ones.
_PARTS = (4, 16)
#: How often a row is offered another's error, and how far that one may lie in the order of what the rule says.
_OFFERS = 20
_NEAR = 32
#: With more rows chance is small, and trying takes long.
_FEW = 20_000


def dealt(
    errors: NDArray[np.float64],
    said: NDArray[np.float64],
    columns: Sequence[NDArray[np.int64]],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """The same errors, each at a row of which the rule says about the same.

    Args:
        errors: Of each row.
        said: What the rule says of each row.
        columns: The cells of each row, column by column, in their order.
        rng: Of the offers.
    """
    n_rows = len(errors)
    if not 2 <= n_rows <= _FEW or not columns:
        return errors
    codes = np.stack([_parts(column, most) for most in _PARTS for column in columns], axis=1)
    starts = np.concatenate([[0], np.cumsum(codes.max(axis=0) + 1)])
    order = np.argsort(said, kind="stable")
    offers = (np.arange(n_rows) + rng.integers(1, _NEAR + 1, size=(_OFFERS, n_rows))) % n_rows
    out, mean = np.empty(n_rows), float(errors.mean())
    out[order] = _exchanged(errors[order] - mean, codes[order], starts, offers) + mean
    return out


def _parts(cells: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The part of each row: cells of one value together."""
    values, at, held = np.unique(cells, return_inverse=True, return_counts=True)
    if len(values) <= most:
        return np.asarray(at)
    middle = np.cumsum(held) - held / 2
    return np.asarray((middle / len(cells) * most).astype(np.int64)[at])


@numba.njit(cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def _exchanged(errors: NDArray[Any], codes: NDArray[Any], starts: NDArray[Any], offers: NDArray[Any]) -> NDArray[Any]:
    """Two rows exchange their errors where the sums of all parts are closer to zero then, relative to the parts' rows."""
    n_rows, n_codes = codes.shape
    sums, rows = np.zeros(starts[-1]), np.zeros(starts[-1])
    for i in range(n_rows):
        for c in range(n_codes):
            sums[starts[c] + codes[i, c]] += errors[i]
            rows[starts[c] + codes[i, c]] += 1.0
    for t in range(offers.shape[0]):
        for i in range(n_rows):
            j = offers[t, i]
            more = errors[j] - errors[i]
            change = 0.0
            for c in range(n_codes):
                here, there = starts[c] + codes[i, c], starts[c] + codes[j, c]
                if here != there:
                    change += (
                        more * (2 * sums[here] + more) / rows[here] + more * (more - 2 * sums[there]) / rows[there]
                    )
            if change < 0.0:
                errors[i], errors[j] = errors[j], errors[i]
                for c in range(n_codes):
                    sums[starts[c] + codes[i, c]] += more
                    sums[starts[c] + codes[j, c]] -= more
    return errors
