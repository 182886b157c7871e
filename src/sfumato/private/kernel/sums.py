"""From what a map gave to exact integers: clip every row, then add. Integers add up the same in any order."""

import numpy as np

from sfumato.private.kernel import clip
from sfumato.private.kernel.arrays import Floats, Integers, Small, Values
from sfumato.private.kernel.persons import Numbered, Persons
from sfumato.private.kernel.primitives import RowPrimitives
from sfumato.public.plan.block import Dense, Hot, Outer
from sfumato.public.plan.scaled import ScaledSteps
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch

#: Integers by block: of one batch, or of all so far. Products have two for each entry, the upper bits and the lower ones.
Sums = dict[str, Integers]


def nothing(step: Step) -> Sums:
    """The sum over no rows."""
    return {b.name: np.zeros((2, b.width) if isinstance(b, Outer) else b.width, dtype=np.int64) for b in step.blocks}


def add_rows(
    private_sums: Sums, private_rows: Numbered, *, step: Step, plan: ScaledSteps, primitives: RowPrimitives
) -> None:
    """Add rows, each clipped by itself; where the step says so, the rows of each person are clipped together as well."""
    (rows, whose), unit, noise = private_rows, plan.unit, plan.noise_multiplier(step.name)
    persons = Persons(whose, bound=step.norm_of(unit), max_rows=unit.max_rows) if step.clips_persons(unit) else None
    for block in step.blocks:
        values, private_sum = rows[block.name], private_sums[block.name]
        match block:
            case Dense():
                integers = primitives.clip(values, block=block, noise_multiplier=noise)
                if persons:
                    integers = primitives.clip_persons(integers, persons.of_vectors(block, noise_multiplier=noise))
                private_sum += integers.sum(axis=0, dtype=np.int64)
            case Hot():
                one = plan.units_per_one(step.name, block.name)
                codes, n_codes = clip.distinct_codes(values, block=block)
                units = clip.weights_in_units(values, n_codes, block=block, units=one)
                if persons:
                    units = primitives.clip_persons(units, persons.of_codes(codes, block=block, units=one))
                clip.add_codes(private_sum, codes, units)
            case Outer():
                u, v = primitives.clip_outer(values, block=block)
                group = np.clip(np.nan_to_num(values[:, -1], nan=0.0), 0, block.groups - 1).astype(np.int64)
                if persons:
                    u = primitives.clip_persons(u, persons.of_products(v, group, block=block))
                _add_products(private_sum.reshape(2, block.groups, *block.shape), u, v, group)


def _add_products(sums: Integers, u: Floats, v: Floats, group: Integers) -> None:
    """Add u v^T. Whole numbers below 2^53 throughout, so that float64 matrix products are exact.

    A row may add 2^38 to an entry: upper and lower bits are added up apart, so that no number of rows overflows.
    """
    for start in range(0, len(u), clip.OUTER_ROWS):
        piece = slice(start, start + clip.OUTER_ROWS)
        for g in np.unique(group[piece]):
            own = slice(None) if sums.shape[1] == 1 else group[piece] == g
            products = (u[piece][own].T @ v[piece][own]).astype(np.int64)
            sums[:, g] += np.divmod(products, 2**clip.LIMB_BITS)


def on_grid(private_sums: Sums, *, step: Step, plan: ScaledSteps) -> Sums:
    """The sums in the units of their noise: products were added up on a finer grid."""
    fine = {block.name: block for block in step.blocks if isinstance(block, Outer)}
    units = {name: plan.units_per_one(step.name, name) for name in fine}
    return private_sums | {n: clip.outer_to_grid(private_sums[n], block=b, units=units[n]) for n, b in fine.items()}


def row_integers(private_rows: Batch, *, step: Step, plan: ScaledSteps, primitives: RowPrimitives) -> Small:
    """Each row's own integers, all blocks side by side: what mixtures are made of."""
    parts: list[Values] = []
    for block, values in ((block, private_rows[block.name]) for block in step.blocks):
        if isinstance(block, Hot):
            parts.append(_spelled_out(values, block=block, units=plan.units_per_one(step.name, block.name)))
        elif isinstance(block, Dense):
            parts.append(primitives.clip(values, block=block, noise_multiplier=plan.noise_multiplier(step.name)))
    return np.concatenate(parts, axis=1, dtype=np.int32) if len(parts) > 1 else parts[0].astype(np.int32, copy=False)


def _spelled_out(values: Values, *, block: Hot, units: float) -> Integers:
    codes, n_codes = clip.distinct_codes(values, block=block)
    private_units = clip.weights_in_units(values, n_codes, block=block, units=units)
    private_integers = np.zeros((len(codes), block.width), dtype=np.int64)
    at, position = np.nonzero(codes >= 0)
    private_integers[at, codes[at, position].astype(np.int64)] = private_units[at]
    return private_integers


def split_by_block(private_sums: Integers, step: Step) -> Sums:
    """Sums of `row_integers` by block."""
    ends = np.cumsum([block.width for block in step.blocks])
    return {b.name: private_sums[:, end - b.width : end] for b, end in zip(step.blocks, ends, strict=True)}
