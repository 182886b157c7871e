"""Loops over rows of codes that numpy would take many passes for."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.arrays import Floats, Integers, Singles


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def not_below_zero(values: Singles) -> Integers:
    """Whole numbers; 0 for what is below it or no number."""
    out = np.zeros(values.shape, dtype=np.int64)
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            if values[i, j] > 0:
                out[i, j] = np.int64(values[i, j])
    return out


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def looked_up(tables: NDArray[Any], rows: Integers) -> NDArray[Any]:
    """For each row what every table has at the code of its column; a code without an entry is an IndexError.

    Rows may have further columns, of which there are no tables.
    """
    out, width = np.empty((len(rows), len(tables)), dtype=tables.dtype), np.uint64(tables.shape[1])
    if rows.shape[1] < len(tables):
        raise IndexError("there are more tables than columns.")
    for i in range(len(rows)):
        for j in range(len(tables)):
            code = np.uint64(rows[i, j])  # below 0 is huge
            if code >= width:
                raise IndexError("there is no entry at a code.")
            out[i, j] = tables[j, code]
    return out


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def sums_at(weights: Floats, codes: Integers) -> Floats:
    """For each row of codes the sum of the weights there, by row of weights. A code without a weight is an IndexError."""
    out, width = np.zeros((len(codes), len(weights))), np.uint64(weights.shape[1])
    for i in range(codes.shape[0]):
        for c in range(weights.shape[0]):
            total = 0.0
            for j in range(codes.shape[1]):
                code = np.uint64(codes[i, j])  # below 0 is huge
                if code >= width:
                    raise IndexError("there is no weight at a code.")
                total += weights[c, code]
            out[i, c] = total
    return out


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def count_distinct(codes: NDArray[np.int32], largest: NDArray[np.int32]) -> int:
    """How many different codes all columns have together, each of which has none above its largest."""
    seen = np.zeros((len(largest), np.max(largest) + 1), dtype=np.bool_)
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            seen[j, codes[i, j]] = True
    return int(seen.sum())


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def weights_at(codes: NDArray[np.integer[Any]], weights: Floats, size: int) -> Floats:
    """The weight of all rows at every code below the size: `np.bincount`, which would copy codes of any other type than its own."""
    out = np.zeros(size)
    for i in range(codes.size):
        out[codes[i]] += weights[i]
    return out


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def scale_at(weights: Floats, codes: NDArray[np.integer[Any]], factors: Floats) -> None:
    """Multiply the weight of each row by the factor at its code."""
    for i in range(codes.size):
        weights[i] *= factors[codes[i]]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def products_at(codes: Integers, beyond: Floats, slopes: Floats, width: int) -> Floats:
    """The sum over rows of x x^T times the slope: x has a one at each code (which rise along a row), and `beyond` at the end."""
    out = np.zeros((width + 1, width + 1))
    for i in range(codes.shape[0]):
        slope, last = slopes[i], beyond[i]
        for a in range(codes.shape[1]):
            row = out[codes[i, a]]
            for b in range(a, codes.shape[1]):
                row[codes[i, b]] += slope
            row[width] += slope * last
        out[width, width] += slope * last * last
    for a in range(width + 1):
        for b in range(a):
            out[a, b] = out[b, a]
    return out


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def sums_and_others(bins: Singles, starts: Integers, usual: Integers, weights: Floats) -> tuple[Floats, Integers]:
    """For each row of prepared bins what `sums_at` gives, and in how many columns the bin is not the usual one.

    There may be further columns, which are not read.
    """
    n_rows, last = len(bins), np.uint64(weights.shape[1] - 1)
    if bins.shape[1] < len(starts):
        raise IndexError("there are more tables than columns.")
    sums, others = np.zeros((n_rows, len(weights))), np.zeros(n_rows, dtype=np.int64)
    for i in range(n_rows):
        for c in range(len(weights)):
            total, count = 0.0, 0
            for j in range(len(starts)):
                at = np.int64(bins[i, j]) if bins[i, j] > 0 else 0
                code = np.uint64(starts[j] + at)
                if code >= last:
                    raise IndexError("there is no weight at a code.")
                total += weights[c, code]
                count += at != usual[j]
            sums[i, c], others[i] = total + weights[c, last], count
    return sums, others


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def codes_of_others(bins: Singles, starts: Integers, usual: Integers, values: Floats, n_hot: int) -> Floats:
    """Rows of a weighted hot block: the codes of bins that are not the usual one, unused ones, and the row's value."""
    out = np.empty((len(bins), n_hot + 1))
    if bins.shape[1] < len(starts) or n_hot < len(starts):
        raise IndexError("there are more tables than columns.")
    for i in range(len(bins)):
        n_codes = 0
        for j in range(len(starts)):  # every code is written, and the next takes the place of a usual one: no branch
            at = np.int64(bins[i, j]) if bins[i, j] > 0 else 0
            out[i, n_codes] = starts[j] + at
            n_codes += at != usual[j]
        out[i, n_codes:n_hot] = -1.0
        out[i, n_hot] = values[i]
    return out


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def drawn_within(
    upto: Floats,
    first: Integers,
    last: Integers,
    below: Floats,
    inside: Floats,
    bins: NDArray[np.integer[Any]],
    uniform: Floats,
) -> Integers:
    """For each row a place between the first and the last of its bin, by the mass of places, which is `upto` there in all.

    A search by halves among the places of the bin alone: most have few, of which a search among all knows nothing.
    """
    out = np.empty(len(bins), dtype=np.int64)
    for i in range(len(bins)):
        b = bins[i]
        wanted, low, high = below[b] + uniform[i] * inside[b], first[b], last[b]
        while low < high:
            middle = (low + high) // 2
            if upto[middle] <= wanted:
                low = middle + 1
            else:
                high = middle
        out[i] = low
    return out


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def halvings_of(own: Floats, reference: Floats, spread: float, singles: Floats, most: int) -> Integers:
    """How often a spread can be halved and still be more than the difference, at most so often less one.

    -1 where one is missing, or both are the same single value.
    """
    out = np.empty(len(own), dtype=np.int64)
    halves = spread * 0.5 ** np.arange(1, most)  # exact: a power of two
    for i in range(len(own)):
        apart, count = abs(own[i] - reference[i]), 0
        for half in halves:  # without a branch, and so as fast as one can read
            count += apart < half
        out[i] = count
        if not apart >= 0 or (apart == 0 and (singles == own[i]).any()):
            out[i] = -1
    return out
