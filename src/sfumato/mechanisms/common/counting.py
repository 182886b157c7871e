"""Counts of codes, asked for at a door: with fewer codes than were planned for, each weighs more, and there is less noise."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.measured import scaled
from sfumato.public.plan.block import Hot
from sfumato.public.plan.doors import Doors, Measured
from sfumato.public.schema.schema import Batch

Codes = Callable[[Batch], NDArray[np.integer]]
Signs = Callable[[Batch], Floats]


@dataclass(frozen=True)
class HotRows:
    """Rows of some blocks that count codes, each with its codes and what a code weighs."""

    blocks: tuple[tuple[Hot, Codes, float], ...]
    signs: Signs | None

    def __call__(self, batch: Batch) -> dict[str, Floats]:
        """A row of each block."""
        signs = None if self.signs is None else self.signs(batch)
        return {block.name: weighed(block, codes(batch), weight, signs) for block, codes, weight in self.blocks}


def count_codes(
    view: Doors, step: str, block: Hot, codes: Codes, *, n_codes: int, signs: Signs | None = None
) -> Measured:
    """The noisy number of rows at every code.

    Args:
        view: The doors.
        step: The step, whose one block it is.
        block: As it was planned.
        codes: For each row at most `n_codes` different codes.
        n_codes: How many there are; no more than planned.
        signs: 1 for a row that counts and -1 for one that is taken off, where the block is weighted.
    """
    return count_each(view, step, [(block, codes, n_codes)], signs=signs)[0]


def count_each(
    view: Doors, step: str, blocks: Sequence[tuple[Hot, Codes, int]], *, signs: Signs | None = None
) -> list[Measured]:
    """The same for a step of several blocks, each with its codes and how many a row has of them."""
    rows = HotRows(tuple((block, codes, weight_of(block, n_codes)) for block, codes, n_codes in blocks), signs)
    noisy = view.noisy_sum(step, rows)
    return [scaled(noisy[block.name], 1 / weight) for block, _, weight in rows.blocks]


def weight_of(block: Hot, n_codes: int) -> float:
    """What each of so many codes of a row may weigh, where codes are weighed at all."""
    return math.sqrt(block.n_hot / max(n_codes, 1)) if block.weighted else 1.0


def weighed(block: Hot, codes: NDArray[np.integer], weight: float, signs: Floats | None) -> Floats:
    """Rows of a block: codes, unused ones at their end, and what a row weighs; `signs` may be any numbers within [-1, 1]."""
    unused = np.full((len(codes), block.n_hot - codes.shape[1]), -1, dtype=codes.dtype)
    if not block.weighted:
        return np.concatenate([codes, unused], axis=1)
    weights = np.full(len(codes), weight) if signs is None else weight * signs
    return np.concatenate([codes, unused, weights[:, None]], axis=1)


def count_stddev(view: Doors, step: str, block: Hot, *, n_codes: int) -> float:
    """The noise that counts will have, if a row has so many codes."""
    fewer = n_codes / block.n_hot if block.weighted else 1.0
    return view.noise_stddev(step, block.name) * math.sqrt(fewer)


def padded(codes: Integers, n_hot: int) -> Integers:
    """Codes with unused ones at the end."""
    return np.concatenate([codes, np.full((len(codes), n_hot - codes.shape[1]), -1)], axis=1)
