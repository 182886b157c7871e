"""Gaussian noise on the integers, drawn exactly: K = floor(X) for X ~ N(0, (2^20)^2).

A sum of quantised rows is an integer vector f, and f + floor(X) = floor(f + X): the release is a rounding of the real
Gaussian mechanism, so every theorem about that mechanism holds word for word, and no floating-point number that
depends on private rows is ever released. docs/proofs/secure-noise.md has the argument and the error bound.

How a draw is made from one 64-bit word. 32 bits choose the cell [k/512, (k+1)/512) that holds |X| / 2^20, by inversion
(`InversionTable`). One bit is the sign, 11 bits propose one of 2048 fine positions t in the cell, which is kept with
probability exp(-(2kt + t^2) / (2 * 512^2)), the density relative to the cell's left edge; 20 bits are compared with
that. The few comparisons that 20 bits do not settle (2 in 10^6) are settled with 148 bits in multiple precision.
"""

from functools import cache

import mpmath
import numpy as np
from numpy.typing import NDArray

from sfumato.private.kernel.inversion import InversionTable, compile_kernel, search
from sfumato.private.kernel.randomness import NoiseSource

CELLS_PER_STDDEV = 512
_FINE_BITS = 11  # 512 * 2^11 = 2^20, the NOISE_STDDEV of the public grid
_COMPARE_BITS = 20
# Written out, since the compiler would otherwise raise to a power at every draw.
_FINE_MASK, _FINE_UNIT = np.uint64(2**_FINE_BITS - 1), 2.0**-_FINE_BITS
_COMPARE_MASK, _COMPARE_UNIT = np.uint64(2**_COMPARE_BITS - 1), 2.0**-_COMPARE_BITS
_HALF = 0.5 / CELLS_PER_STDDEV**2
_ROUNDING = 1e-12  # more than the float64 rounding of the few operations in _try_position
_ACCEPTED, _REJECTED, _UNSETTLED, _OPEN_CELL = 0, 1, 2, 3
_CHUNK = 1 << 17  # draws at a time: all buffers stay in the processor's cache


@cache
def cell_table() -> InversionTable:
    """Thresholds of the cells of |X|: erf(k / (512 sqrt 2)) for k = 1, 2, ... until 2^-128 is left."""
    thresholds: list[int] = []
    with mpmath.workprec(200):
        scale = 1 / (CELLS_PER_STDDEV * mpmath.sqrt(2))
        while True:
            tail = mpmath.erfc((len(thresholds) + 1) * scale) * mpmath.mpf(2) ** 128
            if tail < 1:
                return InversionTable.from_thresholds(thresholds)
            thresholds.append(2**128 - int(mpmath.ceil(tail)))


def rounded_gaussian(count: int, *, source: NoiseSource) -> NDArray[np.int64]:
    """Draw `count` independent values of floor(X), X ~ N(0, (2^20)^2).

    >>> draws = rounded_gaussian(100_000, source=NoiseSource(research_seed=0))
    >>> bool(abs(draws.std() / 2**20 - 1) < 0.02)
    True
    """
    out = np.empty(count, dtype=np.int64)
    for start in range(0, count, _CHUNK):
        _fill(out[start : start + _CHUNK], source=source)
    return out


def _fill(out: NDArray[np.int64], *, source: NoiseSource) -> None:
    table = cell_table()
    words = source.words(out.size)
    hard = np.empty(out.size, dtype=np.int32)
    hard = hard[: _draw_easy(words, table.guide, out, hard)]  # 3 in 100
    cells, state = np.empty(hard.size, dtype=np.int64), np.empty(hard.size, dtype=np.uint8)
    words = words[hard]
    _draw_hard(words, table.prefixes, cells, state)
    for at in np.flatnonzero(state == _OPEN_CELL):  # 2 in 10^6; the position is drawn anew below
        cells[at], state[at] = table.settle(int(words[at]), source=source), _REJECTED
    while True:
        for at in np.flatnonzero(state == _UNSETTLED):
            keep = _decide(int(cells[at]), int(words[at]), source=source)
            state[at] = _ACCEPTED if keep else _REJECTED
        done = state == _ACCEPTED
        _write(hard[done], cells[done], words[done], out)
        hard, cells = hard[~done], cells[~done]  # one in a thousand: propose another position in the same cell
        if not hard.size:
            return
        words, state = source.words(hard.size), np.empty(hard.size, dtype=np.uint8)
        _try_all(words, cells, state)


def _decide(cell: int, word: int, *, source: NoiseSource) -> bool:
    """Compare with 128 more bits on either side. What these leave undecided has probability under 2^-128."""
    more = [int(value) for value in source.words(4)]
    position = ((word >> _COMPARE_BITS) & (2**_FINE_BITS - 1)) << 128 | more[0] << 64 | more[1]
    uniform = (word & (2**_COMPARE_BITS - 1)) << 128 | more[2] << 64 | more[3]
    with mpmath.workprec(300):
        t = mpmath.mpf(position) / mpmath.mpf(2) ** (_FINE_BITS + 128)
        keep = mpmath.exp(-(2 * cell * t + t * t) / (2 * CELLS_PER_STDDEV**2))
        return bool(mpmath.mpf(uniform) / mpmath.mpf(2) ** (_COMPARE_BITS + 128) < keep)


def _value_of(cell: np.int64, word: np.uint64) -> np.int64:
    fine = np.int64((word >> np.uint64(_COMPARE_BITS)) & _FINE_MASK)
    value = (cell << _FINE_BITS) + fine
    return value ^ -np.int64((word >> np.uint64(31)) & np.uint64(1))  # floor(-x) = -floor(x) - 1, almost surely


def _is_surely_kept(cell: np.int64, word: np.uint64) -> np.bool_:
    # The position is known to lie in [t, t + 2^-11): take its upper end, and exp(-x) >= 1 - x.
    t = (np.int64((word >> np.uint64(_COMPARE_BITS)) & _FINE_MASK) + 1) * _FINE_UNIT
    uniform = np.int64(word & _COMPARE_MASK) * _COMPARE_UNIT
    return uniform + _COMPARE_UNIT <= 1.0 - (2.0 * cell + t) * t * _HALF - _ROUNDING


def _is_surely_rejected(cell: np.int64, word: np.uint64) -> np.bool_:
    # The lower end of the position, and exp(-x) <= 1 - x + x^2 / 2.
    t = np.int64((word >> np.uint64(_COMPARE_BITS)) & _FINE_MASK) * _FINE_UNIT
    x = (2.0 * cell + t) * t * _HALF
    return np.int64(word & _COMPARE_MASK) * _COMPARE_UNIT >= 1.0 - x + 0.5 * x * x + _ROUNDING


_value = compile_kernel(_value_of, inline="always")
_kept = compile_kernel(_is_surely_kept, inline="always")
_rejected = compile_kernel(_is_surely_rejected, inline="always")


@compile_kernel
def _draw_easy(
    words: NDArray[np.uint64], guide: NDArray[np.int16], out: NDArray[np.int64], hard: NDArray[np.int32]
) -> int:
    """Write the draws that the guide and a sure comparison settle; list the others."""
    n_hard = 0
    for i in range(out.size):
        word = words[i]
        cell = np.int64(guide[word >> np.uint64(48)])
        if cell < 0 or not _kept(cell, word):
            hard[n_hard] = i
            n_hard += 1
        else:
            out[i] = _value(cell, word)
    return n_hard


@compile_kernel
def _try_all(words: NDArray[np.uint64], cells: NDArray[np.int64], state: NDArray[np.uint8]) -> None:
    for i in range(words.size):
        if _kept(cells[i], words[i]):
            state[i] = _ACCEPTED
        else:
            state[i] = _REJECTED if _rejected(cells[i], words[i]) else _UNSETTLED


@compile_kernel
def _draw_hard(
    words: NDArray[np.uint64], prefixes: NDArray[np.uint32], cells: NDArray[np.int64], state: NDArray[np.uint8]
) -> None:
    for i in range(words.size):
        prefix = np.uint32(words[i] >> np.uint64(32))
        cells[i] = search(prefix, prefixes)
    _try_all(words, cells, state)
    for i in range(words.size):
        if cells[i] > 0 and prefixes[cells[i] - 1] == np.uint32(words[i] >> np.uint64(32)):
            state[i] = _OPEN_CELL


@compile_kernel
def _write(
    where: NDArray[np.int32], cells: NDArray[np.int64], words: NDArray[np.uint64], out: NDArray[np.int64]
) -> None:
    for i in range(where.size):
        out[where[i]] = _value(cells[i], words[i])
