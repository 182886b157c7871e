"""Clip every row and put it on the integer grid: after this, no row can count for more than the accountant was told."""

import math
from functools import lru_cache, partial

import numba
import numpy as np

from sfumato.private.kernel.arrays import Floats, Integers, Small, Values, compile_kernel
from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan import grid
from sfumato.public.plan.block import Dense, Hot, Outer
from sfumato.public.plan.doors import Tensor

_HUGE = 1e100  # its square is finite, also summed over a row


def clip_to_grid(private_values: Values, *, block: Dense, noise_multiplier: float) -> Small:
    """Rows as integers whose norm is at most sqrt(share) * 2^20 / noise_multiplier, checked in integers.

    Infinities count as huge numbers and what is not a number as 0: an error would be an output.
    """
    private_rows = np.ascontiguousarray(private_values, dtype=np.float64)
    units, limit = _units_and_limit(block, noise_multiplier=noise_multiplier)
    low = 0.0 if block.nonnegative else -_HUGE
    return np.asarray(_clip_rows(private_rows, low, block.l2_bound, units, limit))


def _units_and_limit(block: Dense, *, noise_multiplier: float) -> tuple[float, int]:
    """How many units are one, and what the squares of a row's integers may add up to."""
    limit = math.floor(block.share * grid.norm_in_units(noise_multiplier) ** 2)
    return grid.units_per_one(block, noise_multiplier=noise_multiplier), limit


@partial(compile_kernel, inline="always")
def _number(value: float, low: float) -> float:
    return 0.0 if value != value else min(max(float(value), low), _HUGE)


@partial(compile_kernel, inline="always")
def _norm(values: Values, low: float) -> float:
    square = 0.0
    for j in range(values.size):
        value = _number(values[j], low)
        square += value * value
    return math.sqrt(square)


@partial(compile_kernel, inline="always")
def _truncate(values: Values, low: float, scale: float, out: Values) -> np.int64:
    """Write the values times the scale as whole numbers, and add up the squares of these."""
    total = np.int64(0)
    for j in range(values.size):
        integer = np.int32(_number(values[j], low) * scale)  # towards 0, so the norm only shrinks
        total += np.int64(integer) * np.int64(integer)
        out[j] = integer
    return total


# The order of the sum is left to the processor: the check in integers decides, not the norm.
@partial(compile_kernel, parallel=True, fastmath={"reassoc"})
def _clip_rows(rows: Floats, low: float, l2_bound: float, units: float, limit: int) -> Small:
    out = np.empty(rows.shape, dtype=np.int32)
    for i in numba.prange(rows.shape[0]):
        norm = _norm(rows[i], low)
        scale = units if norm <= l2_bound else units * (l2_bound / norm)
        # Float rounding stays within the grid's margin, so this never happens; if it did, nothing may leak.
        if _truncate(rows[i], low, scale, out[i]) > limit:
            out[i, :] = 0
    return out


#: Norm of either vector of an outer block, in fine units: products over 2^12 rows stay below 2^53, exact in float64.
FINE_NORM = 2**19
#: Sums of products are kept in two parts: that many bits, and those above.
OUTER_ROWS, LIMB_BITS = 2**12, 31
_FINE_MARGIN = 1 - 2.0**-30  # more than float64 rounding can add to a norm


def clip_to_fine_grid(private_rows: Values, *, block: Outer) -> tuple[Floats, Floats]:
    """The vectors u and v of every row as whole numbers of norm at most FINE_NORM, in units of l2_bound / FINE_NORM^2.

    The row's product is clipped to l2_bound as a whole: |u| carries it, v is brought to the full norm.
    """
    u, v = _on_fine_grid(np.ascontiguousarray(private_rows), *block.shape, block.l2_bound)
    return u, v


@partial(compile_kernel, parallel=True, fastmath={"reassoc"})
def _on_fine_grid(rows: Values, n_u: int, n_v: int, l2_bound: float) -> tuple[Floats, Floats]:
    """Whole numbers of norm at most FINE_NORM each; the product of the norms is clipped to l2_bound first."""
    u, v, fine = np.empty((len(rows), n_u)), np.empty((len(rows), n_v)), FINE_NORM * _FINE_MARGIN
    for i in numba.prange(len(rows)):
        of_u, of_v = rows[i, :n_u], rows[i, n_u : n_u + n_v]
        norm_u, norm_v = _norm(of_u, -_HUGE), _norm(of_v, -_HUGE)
        kept = min(norm_u * norm_v, l2_bound)
        total_u = _truncate(of_u, -_HUGE, fine * (kept / l2_bound) / norm_u if norm_u > 0 else 0.0, u[i])
        total_v = _truncate(of_v, -_HUGE, fine / norm_v if norm_v > 0 else 0.0, v[i])
        if total_u > FINE_NORM**2 or total_v > FINE_NORM**2:  # never happens; if it did, nothing may leak
            u[i, :] = 0.0
    return u, v


def outer_to_grid(private_sum: Integers, *, block: Outer, units: float) -> Integers:
    """A sum of products, in its two parts, on the grid of the noise: rounded down, in integers that have no largest."""
    high, low = private_sum.astype(object)
    numerator, denominator = (units * block.l2_bound).as_integer_ratio()
    return np.asarray((high * 2**LIMB_BITS + low) * numerator // (denominator * FINE_NORM**2), dtype=np.int64)


def distinct_codes(private_codes: Values, *, block: Hot) -> tuple[Integers, Integers]:
    """Codes of a hot block as whole numbers, and how many each row has: none that counts twice. -1 counts nowhere.

    All that follows, a person's norm and the sum alike, reads these. Where all rows have whole codes that rise, as most maps give
    them, these are the map's own: a row gets the same codes either way.
    """
    values = private_codes[:, : block.n_hot]
    if values.dtype.kind in "iu" and _all_rise(values, block.width):
        return values, np.full(len(values), values.shape[1], dtype=np.int64)
    codes, counts = _whole_codes(values, block.width)
    return codes, counts


@compile_kernel
def _all_rise(values: Values, width: int) -> bool:
    """Whether every row has codes from 0 up to the width, each above the one before: distinct, and all inside."""
    for i in range(values.shape[0]):
        rises = values.shape[1] == 0 or (values[i, 0] >= 0 and values[i, -1] < width)
        for j in range(1, values.shape[1]):  # without a branch, so that several are compared at once
            rises &= values[i, j] > values[i, j - 1]
        if not rises:
            return False
    return True


@compile_kernel
def _whole_codes(values: Values, width: int) -> tuple[Integers, Integers]:
    """Every row alone, whatever the others are: truncated, sorted where its codes do not rise, without repeats."""
    codes, counts = np.empty(values.shape, dtype=np.int64), np.zeros(values.shape[0], dtype=np.int64)
    for i in range(values.shape[0]):
        last, rises = -1, True
        for j in range(values.shape[1]):
            inside = values[i, j] >= 0 and values[i, j] < width  # what is not a number is not inside
            codes[i, j] = np.int64(values[i, j]) if inside else -1
            if inside:
                rises &= codes[i, j] > last
                last = codes[i, j]
                counts[i] += 1
        if not rises:
            codes[i].sort()
            for j in range(values.shape[1] - 1, 0, -1):
                if codes[i, j] >= 0 and codes[i, j] == codes[i, j - 1]:
                    codes[i, j] = -1
                    counts[i] -= 1
    return codes, counts


def weights_in_units(values: Values, n_codes: Integers, *, block: Hot, units: float) -> Integers:
    """What each row counts at each of its codes: one, or its weight in whole units, clipped to the norm of the block."""
    if not block.weighted:
        return np.full(len(n_codes), int(units), dtype=np.int64)
    limits = _largest_weights(block.n_hot, int(units))
    return np.asarray(_whole_weights(values[:, -1].astype(np.float64), n_codes, limits, int(units)))


@compile_kernel
def _whole_weights(weights: Floats, n_codes: Integers, limits: Integers, units: int) -> Integers:
    out = np.empty(weights.size, dtype=np.int64)
    for i in range(weights.size):
        limit = limits[n_codes[i]]
        out[i] = np.int64(min(max(_number(weights[i], -_HUGE) * units, -limit), limit))  # towards 0
    return out


@lru_cache(maxsize=64)
def _largest_weights(n_hot: int, units: int) -> Integers:
    """The largest w with codes * w^2 <= n_hot * units^2, for every number of codes from 0 on: in integers."""
    return np.array([math.isqrt(n_hot * units**2 // max(codes, 1)) for codes in range(n_hot + 1)])


@compile_kernel
def add_codes(sums: Integers, codes: Values, units: Integers) -> None:
    """Add each row's units at each of its positions."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            if codes[i, j] >= 0:
                sums[np.uint64(codes[i, j])] += units[i]


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
