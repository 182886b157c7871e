"""Rows that stand for the private ones when measurements are weighed: synthetic, shuffled and made up. All of them public."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.public.plan.probe import random_batch
from sfumato.public.schema.schema import Batch, Schema

#: At most so many synthetic rows are looked at; and of the others, which lie where the synthetic ones do not.
_SYNTHETIC, _SHUFFLED, _MADE_UP = 8_000, 2_000, 1_000
#: What the three kinds weigh together.
_WEIGHTS = (0.85, 0.1, 0.05)
#: How often a made-up number lies anywhere in its bounds.
_FAR_OUT = 0.25


@dataclass(frozen=True)
class StandIns:
    """Rows and what each weighs; the first `n_synthetic` of them are rows of the release."""

    batch: Batch
    weights: NDArray[np.float64]
    n_synthetic: int


def stand_ins(synthetic: Batch, schema: Schema, *, fewer: int = 1) -> StandIns:
    """Synthetic rows, the same with every column shuffled by itself, and so with every category as likely.

    `fewer`: how many times fewer of each.
    """
    rng = np.random.default_rng(0)
    n_synthetic, n_shuffled, n_made_up = _SYNTHETIC // fewer, _SHUFFLED // fewer, _MADE_UP // fewer
    n_rows = len(synthetic[schema.columns[0].name])
    chosen = rng.permutation(n_rows)[:n_synthetic]
    shuffled = {c.name: rng.choice(synthetic[c.name], n_shuffled) for c in schema.columns}
    made_up: dict[str, NDArray[np.generic]] = random_batch(schema, n_rows=n_made_up, seed=21)
    for column in schema.columns:
        if not column.is_coded:  # few numbers lie far out, where bounds are wide
            usual = rng.random(n_made_up) > _FAR_OUT
            made_up[column.name][usual] = rng.choice(synthetic[column.name], int(usual.sum()))
    kinds = ({name: values[chosen] for name, values in synthetic.items()}, shuffled, made_up)
    batch = {c.name: np.concatenate([kind[c.name] for kind in kinds]) for c in schema.columns}
    sizes = (len(chosen), n_shuffled, n_made_up)
    weights = np.concatenate([np.full(size, weight / size) for size, weight in zip(sizes, _WEIGHTS, strict=True)])
    return StandIns(batch, weights, len(chosen))
