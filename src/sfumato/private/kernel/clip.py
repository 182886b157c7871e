"""Clip every row and put it on the integer grid: after this, no row can count for more than the accountant was told."""

import functools
import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from sfumato.private.kernel.inversion import compile_kernel
from sfumato.public import grid
from sfumato.public.block import Dense, Hot, Outer
from sfumato.public.doors import Tensor
from sfumato.public.torch_extra import need_torch

_HUGE = 1e100  # its square is finite, also summed over a row


def clip_to_grid(private_values: NDArray[Any], *, block: Dense, noise_multiplier: float) -> NDArray[np.int32]:
    """Rows as integers whose norm is at most sqrt(share) * 2^20 / noise_multiplier, checked in integers.

    Infinities count as huge numbers and what is not a number as 0: an error would be an output.
    """
    private_rows = np.ascontiguousarray(private_values, dtype=np.float64)
    integers = np.empty(private_rows.shape, dtype=np.int32)
    units, limit = _units_and_limit(block, noise_multiplier=noise_multiplier)
    _clip_rows(private_rows, 0.0 if block.nonnegative else -_HUGE, block.l2_bound, units, limit, integers)
    return integers


def _units_and_limit(block: Dense, *, noise_multiplier: float) -> tuple[float, int]:
    """How many units are one, and what the squares of a row's integers may add up to."""
    limit = math.floor(block.share * grid.norm_in_units(noise_multiplier) ** 2)
    return grid.units_per_one(block, noise_multiplier=noise_multiplier), limit


# The order of the sum is left to the processor: the check in integers decides, not the norm.
@numba.njit(cache=True, parallel=True, fastmath={"reassoc"})  # type: ignore[untyped-decorator,unused-ignore]
def _clip_rows(
    rows: NDArray[np.float64], low: float, l2_bound: float, units: float, limit: int, out: NDArray[np.int32]
) -> None:
    for i in numba.prange(rows.shape[0]):
        square = 0.0
        for j in range(rows.shape[1]):
            value = rows[i, j]
            value = 0.0 if value != value else min(max(value, low), _HUGE)
            square += value * value
        norm = math.sqrt(square)
        scale = units if norm <= l2_bound else units * (l2_bound / norm)
        total = np.int64(0)
        for j in range(rows.shape[1]):
            value = rows[i, j]
            value = 0.0 if value != value else min(max(value, low), _HUGE)
            integer = np.int32(value * scale)  # towards 0, so the norm only shrinks
            total += np.int64(integer) * np.int64(integer)
            out[i, j] = integer
        if total > limit:  # float rounding stays within the grid's margin, so this never happens; if it did,
            for j in range(rows.shape[1]):  # nothing may leak
                out[i, j] = 0


#: Norm of either vector of an outer block, in fine units: products over 2^12 rows stay below 2^53, exact in float64.
FINE_NORM = 2**19
OUTER_ROWS = 2**12
_FINE_MARGIN = 1 - 2.0**-30  # more than float64 rounding can add to a norm


def clip_to_fine_grid(private_rows: NDArray[Any], *, block: Outer) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The vectors u and v of every row as whole numbers of norm at most FINE_NORM, in units of l2_bound / FINE_NORM^2.

    The row's product is clipped to l2_bound as a whole: |u| carries it, v is brought to the full norm.
    """
    rows = np.ascontiguousarray(private_rows)
    u, v = np.empty((len(rows), block.shape[0])), np.empty((len(rows), block.shape[1]))
    _on_fine_grid(rows, u, v, block.l2_bound)
    return u, v


def _read_values(values: NDArray[Any], out: NDArray[np.float64]) -> float:
    square = 0.0
    for j in range(out.size):
        value = float(values[j])
        value = 0.0 if value != value else min(max(value, -_HUGE), _HUGE)
        square += value * value
        out[j] = value
    return math.sqrt(square)


def _truncate_values(values: NDArray[np.float64], scale: float) -> float:
    total = 0.0
    for j in range(values.size):
        values[j] = np.float64(np.int64(values[j] * scale))  # towards 0, so the norm only shrinks
        total += values[j] * values[j]
    return total


_read = compile_kernel(_read_values, fastmath={"reassoc"}, inline="always")
_truncate = compile_kernel(_truncate_values, fastmath={"reassoc"}, inline="always")


@numba.njit(cache=True, parallel=True, fastmath={"reassoc"})  # type: ignore[untyped-decorator,unused-ignore]
def _on_fine_grid(rows: NDArray[Any], u: NDArray[np.float64], v: NDArray[np.float64], l2_bound: float) -> None:
    """Whole numbers of norm at most FINE_NORM each; the product of the norms is clipped to l2_bound first."""
    n_u = u.shape[1]
    fine = FINE_NORM * _FINE_MARGIN
    for i in numba.prange(rows.shape[0]):
        norm_u, norm_v = _read(rows[i, :n_u], u[i]), _read(rows[i, n_u : n_u + v.shape[1]], v[i])
        kept = min(norm_u * norm_v, l2_bound)
        total_u = _truncate(u[i], fine * (kept / l2_bound) / norm_u if norm_u > 0 else 0.0)
        total_v = _truncate(v[i], fine / norm_v if norm_v > 0 else 0.0)
        if total_u > FINE_NORM**2 or total_v > FINE_NORM**2:  # never happens; if it did, nothing may leak
            u[i, :] = 0.0


def outer_to_grid(private_sum: NDArray[np.int64], *, block: Outer, units: float) -> NDArray[np.int64]:
    """A sum of products on the grid of the noise."""
    on_grid: NDArray[np.int64] = np.floor(private_sum * (units * block.l2_bound / FINE_NORM**2)).astype(np.int64)
    return on_grid


def distinct_codes(private_codes: NDArray[Any], *, block: Hot) -> NDArray[np.int64]:
    """Codes of a hot block with everything that would count twice, or outside, set to -1."""
    values = np.asarray(private_codes)[:, : block.n_hot]
    inside = (values >= 0) & (values < block.width)  # what is not a number is not inside
    codes = np.where(inside, values, -1).astype(np.int64)
    if block.n_hot > 1:
        _drop_repeats(codes)
    return codes


@compile_kernel
def _drop_repeats(codes: NDArray[np.int64]) -> None:
    """Keep each code of a row once. Codes that rise along the row, as most tables give them, need no sorting."""
    for i in range(codes.shape[0]):
        last = -1
        rising = True
        for j in range(codes.shape[1]):
            if codes[i, j] >= 0:
                rising = rising and codes[i, j] > last
                last = codes[i, j]
        if not rising:
            ordered = np.sort(codes[i])
            for j in range(codes.shape[1]):
                codes[i, j] = -1 if j > 0 and ordered[j] == ordered[j - 1] else ordered[j]


def weights_in_units(values: NDArray[Any], codes: NDArray[np.int64], *, block: Hot, units: float) -> NDArray[np.int64]:
    """What each row counts at each of its codes: one, or its weight in whole units, clipped to the norm of the block."""
    if not block.weighted:
        return np.full(len(codes), int(units), dtype=np.int64)
    weights = np.nan_to_num(np.asarray(values)[:, -1].astype(np.float64), nan=0.0)
    limit = np.array(_largest_weights(block.n_hot, int(units)))[(codes >= 0).sum(axis=1)]
    return np.clip(np.trunc(np.clip(weights, -_HUGE, _HUGE) * int(units)), -limit, limit).astype(np.int64)


@functools.lru_cache(maxsize=64)
def _largest_weights(n_hot: int, units: int) -> tuple[int, ...]:
    """The largest w with codes * w^2 <= n_hot * units^2, for every number of codes from 0 on: in integers."""
    return tuple(math.isqrt(n_hot * units**2 // max(codes, 1)) for codes in range(n_hot + 1))


@compile_kernel
def add_codes(sums: NDArray[np.int64], codes: NDArray[np.int64], units: NDArray[np.int64]) -> None:
    """Add each row's units at each of its positions."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            if codes[i, j] >= 0:
                sums[codes[i, j]] += units[i]


def clip_tensor_to_grid(gradients: Tensor, *, block: Dense, noise_multiplier: float) -> Tensor:
    """The same as `clip_to_grid` for a tensor on its own device; a row that is not finite counts as 0 altogether."""
    torch = need_torch("noisy_gradients")
    units, limit = _units_and_limit(block, noise_multiplier=noise_multiplier)
    finite = torch.isfinite(gradients).all(dim=1, keepdim=True)
    values = torch.where(finite, gradients, 0.0).to(torch.float64).clamp(-_HUGE, _HUGE)
    norm = (values * values).sum(dim=1, keepdim=True).sqrt()
    scale = torch.where(norm <= block.l2_bound, units, units * (block.l2_bound / norm))
    values = torch.trunc(values * scale)  # towards 0, so the norm only shrinks
    # A first look in floats, so that the look that counts cannot overflow: 2 * limit is at most 2^59.
    values[~((values * values).sum(dim=1) <= 2.0 * limit)] = 0.0
    integers = values.to(torch.int64)
    integers[(integers * integers).sum(dim=1) > limit] = 0
    return integers
