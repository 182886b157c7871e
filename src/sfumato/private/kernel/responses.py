"""Randomised response and a secret order, drawn exactly from the secure stream. Proof: docs/proofs/noisy-reports.md."""

import numpy as np

from sfumato.private.kernel.arrays import Integers
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.kernel.sampling import uniform_below
from sfumato.public.plan.grid import RESPONSE_PARTS


def randomised(private_codes: Integers, *, categories: int, parts: int, source: NoiseSource) -> Integers:
    """For each row one of its codes in `parts` of 2^32 cases, and otherwise a fair die of all categories, which may show one."""
    count, n_codes = private_codes.shape
    truthful = uniform_below(RESPONSE_PARTS, count=count, source=source) < parts
    thrown = uniform_below(categories, count=count, source=source)  # for everyone: how many are drawn shows nothing
    private_own = private_codes[:, 0]
    if n_codes > 1:
        private_own = private_codes[np.arange(count), uniform_below(n_codes, count=count, source=source)]
    return np.where(truthful, private_own, thrown)[:, None]


def secret_order(n_rows: int, *, source: NoiseSource) -> Integers:
    """A uniform permutation: that of independent words by size, drawn again where two are equal.

    >>> sorted(secret_order(4, source=NoiseSource(research_seed=0)).tolist())
    [0, 1, 2, 3]
    """
    while True:
        words = source.words(n_rows)
        order = np.argsort(words)
        if (np.diff(words[order]) > 0).all():  # no order is favoured by how equal words are sorted
            return order
