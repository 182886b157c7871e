"""Randomised response and a secret order, drawn exactly from the secure stream. Proof: docs/proofs/noisy-reports.md."""

import numpy as np

from sfumato.private.kernel.arrays import Integers
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.kernel.sampling import uniform_below
from sfumato.public.grid import RESPONSE_PARTS


def randomised(private_codes: Integers, *, categories: int, parts: int, source: NoiseSource) -> Integers:
    """Each code itself in `parts` of 2^32 cases, and otherwise a fair die of all categories, which may show it as well."""
    count = private_codes.size
    truthful = uniform_below(RESPONSE_PARTS, count=count, source=source) < parts
    thrown = uniform_below(categories, count=count, source=source)  # for everyone: how many are drawn shows nothing
    return np.where(truthful.reshape(private_codes.shape), private_codes, thrown.reshape(private_codes.shape))


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
