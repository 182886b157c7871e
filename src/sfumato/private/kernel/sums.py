"""From what a map gave to exact integers: clip every row, then add. Integers add up the same in any order."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.private.kernel.clip import add_codes, distinct_codes, outer_to_grid, weights_in_units
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.block import Dense, Hot, Outer
from sfumato.public.plan import Plan
from sfumato.public.step import Step

#: Integers by block: of one batch, or of all so far.
Sums = dict[str, NDArray[np.int64]]
_OUTER_PIECE = 2**9  # rows at a time, so that they stay in the processor's cache


def nothing(step: Step) -> Sums:
    """The sum over no rows."""
    return {block.name: np.zeros(block.width, dtype=np.int64) for block in step.blocks}


def add_rows(
    private_sums: Sums, private_rows: Mapping[str, NDArray[Any]], *, step: Step, plan: Plan, primitives: Primitives
) -> None:
    """Add up to `clip.OUTER_ROWS` rows, each clipped by itself."""
    noise_multiplier = plan.noise_multiplier(step.name)
    for block in step.blocks:
        values, private_sum = private_rows[block.name], private_sums[block.name]
        match block:
            case Dense():
                integers = primitives.clip(values, block=block, noise_multiplier=noise_multiplier)
                private_sum += integers.sum(axis=0, dtype=np.int64)
            case Hot():
                codes = distinct_codes(values, block=block)
                units = weights_in_units(values, codes, block=block, units=plan.units_per_one(step.name, block.name))
                add_codes(private_sum, codes, units)
            case Outer():
                private_sum += _products(values, block=block, primitives=primitives)


def _products(private_rows: NDArray[Any], *, block: Outer, primitives: Primitives) -> NDArray[np.int64]:
    """The sum of u v^T. Whole numbers below 2^53 throughout, so that float64 matrix products are exact."""
    sums = np.zeros((block.groups, *block.shape))
    for start in range(0, len(private_rows), _OUTER_PIECE):
        rows = private_rows[start : start + _OUTER_PIECE]
        u, v = primitives.clip_outer(rows, block=block)
        if block.groups == 1:
            sums[0] += u.T @ v
            continue
        group = np.clip(np.nan_to_num(rows[:, -1], nan=0.0), 0, block.groups - 1).astype(np.int64)
        for g in np.unique(group):
            sums[g] += u[group == g].T @ v[group == g]
    return sums.astype(np.int64).ravel()


def on_grid(private_sums: Sums, *, step: Step, plan: Plan) -> Sums:
    """The sums in the units of their noise: products were added up on a finer grid."""
    fine = {block.name: block for block in step.blocks if isinstance(block, Outer)}
    units = {name: plan.units_per_one(step.name, name) for name in fine}
    return private_sums | {n: outer_to_grid(private_sums[n], block=b, units=units[n]) for n, b in fine.items()}


def row_integers(
    private_rows: Mapping[str, NDArray[Any]], *, step: Step, plan: Plan, primitives: Primitives
) -> NDArray[np.int32]:
    """Each row's own integers, all blocks side by side: what mixtures are made of."""
    noise_multiplier = plan.noise_multiplier(step.name)
    parts: list[NDArray[Any]] = []
    for block in step.blocks:
        values = private_rows[block.name]
        if isinstance(block, Hot):
            parts.append(_spelled_out(values, block=block, units=plan.units_per_one(step.name, block.name)))
        elif isinstance(block, Dense):
            parts.append(primitives.clip(values, block=block, noise_multiplier=noise_multiplier))
    return np.concatenate(parts, axis=1, dtype=np.int32) if len(parts) > 1 else parts[0].astype(np.int32, copy=False)


def _spelled_out(values: NDArray[Any], *, block: Hot, units: float) -> NDArray[np.int64]:
    codes = distinct_codes(values, block=block)
    private_units = weights_in_units(values, codes, block=block, units=units)
    private_integers = np.zeros((len(codes), block.width), dtype=np.int64)
    at, position = np.nonzero(codes >= 0)
    private_integers[at, codes[at, position]] = private_units[at]
    return private_integers


def split_by_block(private_sums: NDArray[np.int64], step: Step) -> Sums:
    """Sums of `row_integers` by block."""
    ends = np.cumsum([block.width for block in step.blocks])
    return {b.name: private_sums[:, end - b.width : end] for b, end in zip(step.blocks, ends, strict=True)}
