"""Sums of sampled rows, many mixtures at once and exact: integers in, integers out."""

from functools import partial

import numba
import numpy as np

from sfumato.private.kernel.arrays import Integers, Small, compile_kernel


def add_members(sums: Integers, *, integers: Small, rows: Integers, mixtures: Integers, row_norm: float) -> None:
    """Add `integers[rows[i]]` to `sums[mixtures[i]]` for every i.

    Members are first brought into the order of their mixtures, so that one mixture's sum stays in the processor's
    cache while its rows stream by; int32 holds it until `row_norm` says that it might overflow.
    """
    starts, members = _by_mixture(rows, mixtures, sums.shape[0])
    safe = max(1, int((2**31 - 1) // max(row_norm, 1.0)))
    _accumulate(sums, integers, starts, members, safe)


@compile_kernel
def _by_mixture(rows: Integers, mixtures: Integers, n_mixtures: int) -> tuple[Integers, Small]:
    starts = np.append(0, np.cumsum(np.bincount(mixtures, minlength=n_mixtures)))
    place, members = starts[:-1].copy(), np.empty(rows.size, dtype=np.int32)
    for i in range(rows.size):
        members[place[mixtures[i]]] = rows[i]
        place[mixtures[i]] += 1
    return starts, members


@partial(compile_kernel, parallel=True)
def _accumulate(sums: Integers, integers: Small, starts: Integers, members: Small, safe: int) -> None:
    width = sums.shape[1]
    for m in numba.prange(sums.shape[0]):
        total = np.zeros(width, dtype=np.int32)
        held, i, end = 0, starts[m], starts[m + 1]
        while i < end:
            if held + 4 > safe:
                for j in range(width):
                    sums[m, j] += total[j]
                    total[j] = 0
                held = 0
            if safe >= 4 and i + 4 <= end:  # four rows on their way from memory at once
                a, b, c, d = members[i], members[i + 1], members[i + 2], members[i + 3]
                for j in range(width):
                    total[j] += (integers[a, j] + integers[b, j]) + (integers[c, j] + integers[d, j])
                held, i = held + 4, i + 4
            else:
                for j in range(width):
                    total[j] += integers[members[i], j]
                held, i = held + 1, i + 1
        for j in range(width):
            sums[m, j] += total[j]
