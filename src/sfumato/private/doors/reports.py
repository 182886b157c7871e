"""The inside of the door `noisy_reports`: every row by itself, clipped and with noise of its own, in a secret order.

No row meets another here, but for the order in which they are let out. Proof: docs/proofs/noisy-reports.md.
"""

from collections.abc import Iterable

import numpy as np

from sfumato.errors import PlanError
from sfumato.private.kernel.arrays import Flags, Integers, Values
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.plan.block import Dense, Response
from sfumato.public.plan.grid import truth_in_parts
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch

#: What a map gave for some rows, and which of them count.
Mapped = tuple[Batch, Flags]


def of_rows(
    private_batches: Iterable[Mapped], *, step: Step, plan: Plan, primitives: Primitives
) -> dict[str, Integers]:
    """One report a row, by block. What this gives back is public."""
    if not step.is_reported:
        raise PlanError(f"step {step.name!r} plans no reports. Use the door {step.door}.")
    private_parts: dict[str, list[Integers]] = {block.name: [] for block in step.blocks}
    for private_rows, counts in private_batches:
        for name, private_integers in _integers(private_rows, counts, step=step, plan=plan, primitives=primitives):
            private_parts[name].append(private_integers)
    private_reports = {name: np.concatenate(parts) for name, parts in private_parts.items() if parts}
    if any(len(rows) != step.mixtures for rows in private_reports.values()) or not private_reports:
        raise PlanError(f"the plan says {step.mixtures} rows, the data another number. Set rows in the schema.")
    noisy = {b.name: _noisy(private_reports[b.name], b.name, step, plan, primitives) for b in step.blocks}
    order = primitives.order(step.mixtures, step=step.name)
    return {name: reports[order] for name, reports in noisy.items()}


def _integers(
    private_rows: Batch, counts: Flags, *, step: Step, plan: Plan, primitives: Primitives
) -> Iterable[tuple[str, Integers]]:
    """Each row's own integers: a code for a response, clipped entries for a vector. Who does not count holds zeros."""
    for block in step.blocks:
        values = np.where(counts[:, None], private_rows[block.name], 0)
        if isinstance(block, Response):
            yield block.name, _codes(values, block=block)
        elif isinstance(block, Dense):
            clipped = primitives.clip(values, block=block, noise_multiplier=plan.noise_multiplier(step.name))
            yield block.name, clipped.astype(np.int64)


def _codes(values: Values, *, block: Response) -> Integers:
    """As many different codes of each row as planned: a code twice would be told twice as often."""
    inside = (values >= 0) & (values < block.categories)  # what is not a number is not inside
    codes = np.where(inside, values, 0).astype(np.int64)
    different = (np.diff(np.sort(codes, axis=1), axis=1) > 0).all(axis=1, keepdims=True)
    return np.where(inside.all(axis=1, keepdims=True) & different, codes, np.arange(block.codes))


def _noisy(private_reports: Integers, name: str, step: Step, plan: Plan, primitives: Primitives) -> Integers:
    block = step.block(name)
    if not isinstance(block, Response):
        return primitives.noisy(private_reports, step=step.name, block=name)
    parts = truth_in_parts(block, noise_multiplier=plan.noise_multiplier(step.name))
    return primitives.respond(private_reports, step=step.name, block=name, categories=block.categories, parts=parts)
