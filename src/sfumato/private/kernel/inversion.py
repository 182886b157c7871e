"""Exact draws from a discrete distribution: inversion of a table of 128-bit thresholds.

A draw is the number of thresholds at or below a uniform 128-bit integer. Its leading 32 bits decide nearly always;
the other 96 are drawn only where a threshold has the same leading bits. The distance to the ideal distribution is at
most (number of thresholds) / 2^128 a draw: docs/proofs/secure-noise.md.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.private.kernel.arrays import Flags, Small, Words, compile_kernel
from sfumato.private.kernel.randomness import KeyStream

MAX_THRESHOLDS = 2**15 - 1
_GUIDE_BITS = 16


@dataclass(frozen=True)
class InversionTable:
    """Thresholds floor(2^128 P(K < k)) for k = 1, 2, ..., their leading 32 bits, and a guide on the leading 16.

    `guide[c]` is the value of every uniform number that begins with the 16 bits c, or -1 where several are possible.
    """

    thresholds: tuple[int, ...]
    prefixes: NDArray[np.uint32]
    guide: NDArray[np.int16]

    @staticmethod
    def from_thresholds(thresholds: Sequence[int]) -> "InversionTable":
        """Build from integers in [0, 2^128), in ascending order, at most MAX_THRESHOLDS of them."""
        prefixes = np.array([threshold >> 96 for threshold in thresholds], dtype=np.uint32)
        edges = np.arange(2**_GUIDE_BITS, dtype=np.uint64) << np.uint64(32 - _GUIDE_BITS)
        first = np.append(np.searchsorted(prefixes, edges.astype(np.uint32), side="left"), len(prefixes))
        guide = np.where(first[1:] == first[:-1], first[:-1], -1)
        return InversionTable(tuple(thresholds), prefixes, guide.astype(np.int16))

    def draw(self, count: int, *, source: KeyStream) -> Small:
        """Draw `count` independent values."""
        return self.invert(source.words(count), source=source)[0]

    def invert(self, words: Words, *, source: KeyStream) -> tuple[Small, Flags]:
        """The value of every word by its leading 32 bits, and which values these left open and further bits settled."""
        values, is_open = _invert(words, self.prefixes, self.guide)
        for at in np.flatnonzero(is_open):
            values[at] = self.settle(int(words[at]), source=source)
        return values, is_open

    def settle(self, word: int, *, source: KeyStream) -> int:
        """The value of a word whose leading 32 bits equal those of a threshold, with 96 further bits."""
        more = source.words(2)
        uniform = word >> 32 << 96 | int(more[0]) << 32 | int(more[1]) >> 32
        return bisect_right(self.thresholds, uniform)


@compile_kernel
def _invert(words: Words, prefixes: NDArray[np.uint32], guide: NDArray[np.int16]) -> tuple[Small, Flags]:
    """Invert the leading bits of every word, and mark those that leave the value open."""
    values, is_open = np.empty(words.size, dtype=np.int32), np.zeros(words.size, dtype=np.bool_)
    for i in range(words.size):
        values[i] = guide[words[i] >> np.uint64(64 - _GUIDE_BITS)]
        if values[i] < 0:
            prefix = np.uint32(words[i] >> np.uint64(32))
            values[i] = np.searchsorted(prefixes, prefix, side="right")
            is_open[i] = values[i] > 0 and prefixes[values[i] - 1] == prefix
    return values, is_open
