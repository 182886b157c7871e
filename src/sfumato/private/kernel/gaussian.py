"""Gaussian noise on the integers, drawn exactly: K = floor(X) for X ~ N(0, (2^20)^2).

A sum of quantised rows is an integer vector f, and f + floor(X) = floor(f + X): the release is a rounding of the real
Gaussian mechanism, so every theorem about that mechanism holds word for word, and no floating-point number that
depends on private rows is ever released. docs/proofs/secure-noise.md has the argument and the error bound.

How a draw is made from one 64-bit word. 32 bits choose the cell [k/512, (k+1)/512) that holds |X| / 2^20, by inversion
(`InversionTable`). One bit is the sign, 11 bits propose one of 2048 fine positions t in the cell, which is kept with
probability exp(-(2kt + t^2) / (2 * 512^2)), the density relative to the cell's left edge; 20 bits are compared with
that. The few comparisons that 20 bits do not settle (2 in 10^6) are settled with 148 bits in multiple precision.
"""

from functools import cache, partial

import mpmath
import numpy as np
from numpy.typing import NDArray

from sfumato.private.kernel.arrays import Integers, Small, Words, compile_kernel
from sfumato.private.kernel.inversion import InversionTable
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.machine.normal_cells import CELLS_PER_STDDEV, cell_thresholds

_FINE_BITS = 11  # 512 * 2^11 = 2^20, the NOISE_STDDEV of the public grid
_COMPARE_BITS = 20
# Written out, since the compiler would otherwise raise to a power at every draw.
_FINE_MASK, _FINE_UNIT = np.uint64(2**_FINE_BITS - 1), 2.0**-_FINE_BITS
_COMPARE_MASK, _COMPARE_UNIT = np.uint64(2**_COMPARE_BITS - 1), 2.0**-_COMPARE_BITS
_HALF = 0.5 / CELLS_PER_STDDEV**2
_ROUNDING = 1e-12  # more than the float64 rounding of the few operations in _judge
_KEPT, _REJECTED, _UNSETTLED = 0, 1, 2
_CHUNK = 1 << 17  # draws at a time: all buffers stay in the processor's cache


@cache
def cell_table() -> InversionTable:
    """Thresholds of the cells of |X|."""
    return InversionTable.from_thresholds(cell_thresholds())


def rounded_gaussian(count: int, *, source: NoiseSource) -> Integers:
    """Draw `count` independent values of floor(X), X ~ N(0, (2^20)^2).

    >>> draws = rounded_gaussian(100_000, source=NoiseSource(research_seed=0))
    >>> bool(abs(draws.std() / 2**20 - 1) < 0.02)
    True
    """
    out = np.empty(count, dtype=np.int64)
    for start in range(0, count, _CHUNK):
        _fill(out[start : start + _CHUNK], source=source)
    return out


def _fill(out: Integers, *, source: NoiseSource) -> None:
    table, words = cell_table(), source.words(out.size)
    hard = _draw_easy(words, table.guide, out)  # 3 in 100
    words = words[hard]
    cells, was_open = table.invert(words, source=source)
    # 2 cells in 10^6 were open; their position is drawn anew
    verdicts = np.where(was_open, _REJECTED, _propose(words, cells, hard, out))
    while True:
        for at in np.flatnonzero(verdicts == _UNSETTLED):
            verdicts[at] = _KEPT if _decide(int(cells[at]), int(words[at]), source=source) else _REJECTED
        again = verdicts == _REJECTED  # one in a thousand: propose another position in the same cell
        if not again.any():
            return
        hard, cells, words = hard[again], cells[again], source.words(int(again.sum()))
        verdicts = _propose(words, cells, hard, out)


def _decide(cell: int, word: int, *, source: NoiseSource) -> bool:
    """Compare with 128 more bits on either side. What these leave undecided has probability under 2^-128."""
    more = [int(value) for value in source.words(4)]
    position = ((word >> _COMPARE_BITS) & (2**_FINE_BITS - 1)) << 128 | more[0] << 64 | more[1]
    uniform = (word & (2**_COMPARE_BITS - 1)) << 128 | more[2] << 64 | more[3]
    with mpmath.workprec(300):
        t = mpmath.mpf(position) / mpmath.mpf(2) ** (_FINE_BITS + 128)
        keep = mpmath.exp(-(2 * cell * t + t * t) / (2 * CELLS_PER_STDDEV**2))
        return bool(mpmath.mpf(uniform) / mpmath.mpf(2) ** (_COMPARE_BITS + 128) < keep)


@partial(compile_kernel, inline="always")
def _value(cell: np.int64, word: np.uint64) -> np.int64:
    fine = np.int64((word >> np.uint64(_COMPARE_BITS)) & _FINE_MASK)
    sign = (word >> np.uint64(31)) & np.uint64(1)
    return ((cell << _FINE_BITS) + fine) ^ -np.int64(sign)  # floor(-x) = -floor(x) - 1, almost surely


@partial(compile_kernel, inline="always")
def _judge(cell: np.int64, word: np.uint64) -> int:
    """Whether the proposed position is kept, as far as 20 bits tell: it is known to lie in [t, t + 2^-11)."""
    fine = np.int64((word >> np.uint64(_COMPARE_BITS)) & _FINE_MASK)
    uniform = np.int64(word & _COMPARE_MASK) * _COMPARE_UNIT
    t = (fine + 1) * _FINE_UNIT  # the upper end, and exp(-x) >= 1 - x
    if uniform + _COMPARE_UNIT <= 1.0 - (2.0 * cell + t) * t * _HALF - _ROUNDING:
        return _KEPT
    t = fine * _FINE_UNIT  # the lower end, and exp(-x) <= 1 - x + x^2 / 2
    x = (2.0 * cell + t) * t * _HALF
    return _REJECTED if uniform >= 1.0 - x + 0.5 * x * x + _ROUNDING else _UNSETTLED


@compile_kernel
def _draw_easy(words: Words, guide: NDArray[np.int16], out: Integers) -> Small:
    """Write the draws that the guide and a sure comparison settle; list the others."""
    hard, n_hard = np.empty(out.size, dtype=np.int32), 0
    for i in range(out.size):
        word = words[i]
        cell = np.int64(guide[word >> np.uint64(48)])
        if cell < 0 or _judge(cell, word) != _KEPT:
            hard[n_hard] = i
            n_hard += 1
        else:
            out[i] = _value(cell, word)
    return hard[:n_hard]


@compile_kernel
def _propose(words: Words, cells: Small, where: Small, out: Integers) -> NDArray[np.uint8]:
    """Write every draw as if its position were kept, and judge it: whatever is rejected will be written over."""
    verdicts = np.empty(words.size, dtype=np.uint8)
    for i in range(words.size):
        out[where[i]] = _value(np.int64(cells[i]), words[i])
        verdicts[i] = _judge(np.int64(cells[i]), words[i])
    return verdicts
