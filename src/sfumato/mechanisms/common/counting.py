"""Counts of codes, asked for at a door: with fewer codes than were planned for, each weighs more, and there is less noise."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.arrays import Floats, Values
from sfumato.mechanisms.common.measured import scaled
from sfumato.public.plan.block import Hot
from sfumato.public.plan.doors import Doors, Measured
from sfumato.public.schema.schema import Batch

Codes = Callable[[Batch], NDArray[np.integer]]
Signed = NDArray[np.int32] | Floats
Signs = Callable[[Batch], Signed]


def count_codes(view: Doors, block: Hot, codes: Codes, *, n_codes: int, signs: Signs | None = None) -> Measured:
    """The noisy number of rows at every code, of which a row has at most so many; the step is named as its one block.

    `signs`: 1 for a row that counts and -1 for one that is taken off, where the block is weighted.
    """
    return count_each(view, block.name, [(block, codes, n_codes)], signs=signs)[0]


def count_each(
    view: Doors, step: str, blocks: Sequence[tuple[Hot, Codes, int]], *, signs: Signs | None = None
) -> list[Measured]:
    """The same for a step of several blocks, each with its codes and how many a row has of them."""
    weights = [weight_of(block, n_codes) for block, _, n_codes in blocks]
    of_blocks = tuple((block, codes, weight) for (block, codes, _), weight in zip(blocks, weights, strict=True))
    noisy = view.noisy_sum(step, partial(_hot_rows, blocks=of_blocks, signs=signs))
    return [scaled(noisy[block.name], 1 / weight) for block, _, weight in of_blocks]


def _hot_rows(batch: Batch, blocks: tuple[tuple[Hot, Codes, float], ...], signs: Signs | None) -> dict[str, Values]:
    of_rows = None if signs is None else signs(batch)
    return {block.name: weighed(block, codes(batch), weight, of_rows) for block, codes, weight in blocks}


def weight_of(block: Hot, n_codes: int) -> float:
    """What each of so many codes of a row may weigh, where codes are weighed at all."""
    return math.sqrt(block.n_hot / max(n_codes, 1)) if block.weighted else 1.0


def weighed(block: Hot, codes: NDArray[np.integer], weight: float, signs: Signed | None) -> Values:
    """Rows of a block: codes, unused ones at their end, and what a row weighs; `signs` may be any numbers within [-1, 1]."""
    if not block.weighted and block.n_hot == codes.shape[1]:
        return codes
    is_whole = weight == 1.0 and (signs is None or signs.dtype.kind == "i")  # then codes stay as small as they are
    rows = np.empty((len(codes), block.columns), dtype=codes.dtype if is_whole else np.float64)
    rows[:, : codes.shape[1]] = codes
    rows[:, codes.shape[1] :] = -1
    if block.weighted:
        rows[:, -1] = weight if signs is None else weight * signs
    return rows


def count_stddev(view: Doors, step: str, block: Hot, *, n_codes: int) -> float:
    """The noise that counts will have, if a row has so many codes."""
    fewer = n_codes / block.n_hot if block.weighted else 1.0
    return view.noise_stddev(step, block.name) * math.sqrt(fewer)
