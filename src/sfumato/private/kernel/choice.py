"""The inside of the door `noisy_choice`: exact scores, and one of them chosen by the exponential mechanism, exactly.

A row counts once in each table, so each score moves by at most one row with it. The choice is drawn in whole numbers from
the secure stream: no exponential is computed anywhere. Proof: docs/proofs/noisy-choice.md.
"""

from collections.abc import Sequence

import numpy as np

from sfumato.private.kernel.arrays import Integers, Values
from sfumato.private.kernel.clip import add_codes
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.kernel.sampling import uniform_below
from sfumato.public.plan.block import Choice
from sfumato.public.plan.choice import LOSS, PARTS, Candidate


def add_rows(private_counts: Integers, private_codes: Values, *, tables: Choice) -> None:
    """Count rows in all tables, which lie side by side: each at one cell of a table, or, if it is not inside, nowhere."""
    widths = np.array(tables.widths)
    inside = (private_codes >= 0) & (private_codes < widths)  # what is not a number is not inside
    codes = np.where(inside, private_codes, 0).astype(np.int64) + (np.cumsum(widths) - widths)
    add_codes(private_counts, np.where(inside, codes, -1), np.ones(len(codes), dtype=np.int64))


def scores(private_counts: Integers, candidates: Sequence[Candidate], *, tables: Choice) -> list[int]:
    """How far each candidate's table lies from what is expected of it, weighed; in whole numbers."""
    held = np.split(private_counts, np.cumsum(tables.widths)[:-1])
    return [c.weight * (int(np.abs(PARTS * held[c.index] - c.counts).sum()) - c.offset) for c in candidates]


def chosen(private_scores: Sequence[int], *, rate: int, source: NoiseSource) -> int:
    """A place, with probability proportional to exp(rate * score / LOSS): propose any, keep it by its loss to the best."""
    best = max(private_scores)
    while True:
        at = int(uniform_below(len(private_scores), count=1, source=source)[0])
        if _happens(rate * (best - private_scores[at]), source=source):
            return at


def _happens(private_loss: int, *, source: NoiseSource) -> bool:
    """True with probability exp(-loss / LOSS): Canonne, Kamath and Steinke, "The discrete Gaussian" (2020), algorithm 1."""
    if private_loss > LOSS:
        return _happens(LOSS, source=source) and _happens(private_loss - LOSS, source=source)
    k = 1
    while uniform_below(LOSS * k, count=1, source=source)[0] < private_loss:
        k += 1
    return k % 2 == 1
