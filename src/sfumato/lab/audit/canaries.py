"""The row that is hardest to hide, for every kind of block, and the narrow twin of a step that shows all it can show.

Noise is the same in all directions, so that entries which the canary does not touch tell nothing: a step is audited with as few
entries as the canary has. The canary asks for four times the length that it is allowed, so that a clip that fails is seen.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.public.plan.block import Block, Choice, Dense, Hot, Outer, Response, Votes
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch, Column, Schema

#: What a made-up row is: nothing at all, the canary, or the row that lies farthest from it.
PLAIN, CANARY, OPPOSITE = 0.0, 1.0, 2.0
SCHEMA = Schema(columns=(Column(name="row", kind="numeric", bounds=(0, 2)),))
_TOO_LONG = 4.0
_ENTRIES = 4


def narrow(block: Block, *, few: bool, pairs: bool) -> Block:
    """The same block with no more entries than a canary needs, and its opposite where rows are compared in pairs."""
    match block:
        case Dense():
            least = 2 if block.nonnegative and pairs else 1
            return replace(block, width=min(block.width, least if few else _ENTRIES))
        case Hot():
            return replace(block, width=min(block.width, (1 + pairs) * block.n_hot))
        case Outer():
            return replace(block, shape=(min(2, block.shape[0]), min(2, block.shape[1])), groups=1)
        case Choice():
            return replace(block, widths=(2, 2))
        case Votes():
            return replace(block, queries=1, classes=2)
        case Response():
            return block


def contribution_of(step: Step) -> Callable[[Batch], dict[str, NDArray[Any]]]:
    """What each made-up row gives to a narrow step, as a map of its rows alone."""
    return lambda batch: {block.name: _values(block, batch["row"]) for block in step.blocks}


def _values(block: Block, rows: NDArray[np.float64]) -> NDArray[Any]:
    is_canary, is_opposite = rows == CANARY, rows == OPPOSITE
    sign = is_canary.astype(np.float64) - is_opposite
    match block:
        case Dense():
            shape = np.ones((len(rows), block.width))
            if block.nonnegative and block.width > 1:  # no row is its own opposite there: it has other entries
                shape[is_canary, block.width // 2 :] = 0.0
                shape[is_opposite, : block.width // 2] = 0.0
            length = np.linalg.norm(shape, axis=1, keepdims=True)
            size = np.abs(sign) if block.nonnegative else sign
            return np.asarray(_TOO_LONG * block.l2_bound * size[:, None] * shape / np.maximum(length, 1.0))
        case Hot():
            moved = is_opposite[:, None] & (block.width >= 2 * block.n_hot) & (not block.weighted)
            codes = np.where(sign[:, None] != 0, np.arange(block.n_hot) + block.n_hot * moved, -1).astype(np.float64)
            return np.column_stack([codes, _TOO_LONG * sign]) if block.weighted else codes
        case Outer():
            vectors = np.zeros((len(rows), sum(block.shape)))
            vectors[:, 0], vectors[:, block.shape[0]] = _TOO_LONG * block.l2_bound * sign, 1.0
            return vectors
        case Choice():
            return np.column_stack([np.where(is_canary, 0.0, -1.0)] * 2)
        case Response():
            moved = is_opposite[:, None] & (block.categories >= 2 * block.codes)
            return np.asarray((np.arange(block.codes) + block.codes * moved).astype(np.float64))
        case Votes():
            return rows[:, None]
