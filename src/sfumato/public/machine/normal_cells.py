"""The normal distribution in cells of one 512th: exact thresholds, by Taylor series in whole numbers.

The mass of |X| in a cell is twice the integral of the normal density over it. About the middle of the cell the density's
Taylor series needs some twenty terms, and these follow from one another by products with small whole numbers; so does the
density in the middle of the next cell. Everything is a whole number of units of 2^-256: docs/proofs/secure-noise.md bounds what
that cuts off, and a test compares the thresholds with multiple-precision values of erf.
"""

import mpmath

CELLS_PER_STDDEV = 512
#: Thresholds are multiples of 2^-128, sums of units of 2^-256.
THRESHOLD_BITS, _BITS = 128, 256
_HALF_CELL_BITS = 10  # half a cell is 2^-10 standard deviations


def cell_thresholds() -> list[int]:
    """floor(2^128 P(|X| < k / 512)) for k = 1, 2, ... until less than 2^-128 is left."""
    with mpmath.workprec(2 * _BITS):
        one, cell = mpmath.mpf(2) ** _BITS, mpmath.mpf(1) / CELLS_PER_STDDEV
        density = int(one * mpmath.sqrt(2 / mpmath.pi) * mpmath.exp(-(cell**2) / 8))  # in the middle of the first cell
        falls_by = falls_more = int(one * mpmath.exp(-(cell**2)))
    thresholds: list[int] = []
    below = 0
    while True:
        below += _mass(density, 2 * len(thresholds) + 1)
        if below > (1 << _BITS) - (1 << _BITS - THRESHOLD_BITS):
            return thresholds
        thresholds.append(below >> _BITS - THRESHOLD_BITS)
        density, falls_by = density * falls_by >> _BITS, falls_by * falls_more >> _BITS


def _mass(density: int, middle: int) -> int:
    """The integral over a cell whose middle is so many half cells from 0: twice the even terms, each integrated.

    The n-th term is the n-th derivative times u^n / n!, u half a cell; the derivatives g of exp(-x^2 / 2) obey
    g_(n+1) = -(x g_n + n g_(n-1)), so the terms t obey t_(n+1) = -(x u t_n + u^2 t_(n-1)) / (n + 1).
    """
    term, before, total, n = density, 0, 0, 0
    while abs(term) > 1 or abs(before) > 1:
        total += 0 if n % 2 else term // (n + 1)
        term, before = -((middle * term + before) >> 2 * _HALF_CELL_BITS) // (n + 1), term
        n += 1
    return total >> _HALF_CELL_BITS - 1
