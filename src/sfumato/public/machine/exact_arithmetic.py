"""Products of rows with a public matrix that are exact, and so the same at every place of a batch.

A matrix product adds many numbers; a library chooses the order by the number of rows and by a row's place among them, and
another order leaves other last bits. Then a row's value depends on the rows beside it, and what is rounded afterwards (to
the nearest of several centres, to a cell) can change altogether. Here no sum is ever rounded, so its order does not matter:

    rows hold whole multiples of 2^-22 that are at most 1, and the entries of a column of the matrix are whole multiples of
    a power of two, its step; in units of both, every partial sum is a whole number of at most 2^22 (sum |column| / step),
    and the step is so large that this is at most 2^53. float64 holds all such numbers, with fused additions too.

What is rounded is each entry, once, before the product: by a function of the row alone, and of the public matrix.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.public.machine.threads import in_threads

#: Rows on the grid hold multiples of 2^-22, which float32 holds exactly.
GRID = 2.0**22
#: What the grid leaves, of the whole numbers that are exact in float64, for the sum over a column.
_LARGEST_COLUMN = 2.0**53 / GRID
#: Entries beyond are as good as infinite, and below as good as nothing: no scale that is used here overflows.
_LARGEST, _SMALLEST = 2.0**900, 2.0**-900
#: Rows that are widened to float64 at once: few, so that they stay in the processor's cache.
_ROWS_AT_ONCE = 64
#: A matrix from this size on is worth several threads.
_LARGE = 1 << 18


def on_grid(values: NDArray[Any]) -> NDArray[Any]:
    """The nearest multiples of 2^-22, cut off at -1 and 1, in the type of the values. What is not a number stays so."""
    cut: NDArray[Any] = np.clip(values, -1.0, 1.0)
    cut *= GRID
    np.rint(cut, out=cut)
    cut /= GRID
    return cut


def rounded_matrix(matrix: NDArray[Any]) -> NDArray[np.float64]:
    """A public matrix with each column on a grid so coarse that its products with rows on theirs are exact.

    A column that holds something infinite becomes NaN.
    """
    values = np.asarray(matrix, dtype=np.float64)
    sums = np.abs(values).sum(axis=0)
    least_step = np.where(sums > _SMALLEST, sums, 1.0) / (_LARGEST_COLUMN - len(values))  # each entry adds half a step
    step = np.where(sums < _LARGEST, np.ldexp(1.0, np.frexp(least_step)[1]), np.nan)
    return np.asarray(np.rint(values / step) * step)


def grid_products(rows: NDArray[Any], rounded: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows that `on_grid` has made times a matrix that `rounded_matrix` has made: exact, at the price of the product."""
    out = np.empty((len(rows), rounded.shape[1]))

    def multiply(start: int) -> None:
        part = slice(start, start + _ROWS_AT_ONCE)
        np.matmul(rows[part].astype(np.float64), rounded, out=out[part])

    starts = range(0, len(rows), _ROWS_AT_ONCE)
    if rounded.size < _LARGE:
        for start in starts:
            multiply(start)
    else:
        in_threads(multiply, starts)
    out += 0.0  # zero has two signs, and the order of a sum decides which
    return out


def exact_products(rows: NDArray[Any], matrix: NDArray[Any]) -> NDArray[np.float64]:
    """Any rows times a public matrix, with an error that depends on the row and the matrix alone.

    Each row is divided by a power of two first, so that its largest entry fills the grid. Where d entries are added, a
    product is off by at most d 2^-21 (largest |entry| of the row) (largest |entry| of the column). A row with an entry that
    is not finite becomes a row of NaN.
    """
    values = np.asarray(rows, dtype=np.float64)
    size = _power_of_two_above(values)
    scaled: NDArray[np.float64] = values * (GRID / size)
    np.rint(scaled, out=scaled)
    products: NDArray[np.float64] = scaled @ rounded_matrix(matrix)
    products *= size / GRID
    products += 0.0  # zero has two signs, and the order of a sum decides which
    return products


def squared_distances(rows: NDArray[Any], centres: NDArray[Any]) -> NDArray[np.float64]:
    """From each row to each public centre, less the row's own squared length, which is the same for all of them."""
    public = np.asarray(centres, dtype=np.float64)
    return np.asarray((public**2).sum(axis=1) - 2 * exact_products(rows, public.T))


def _power_of_two_above(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each row, above all its entries; NaN where one is not finite."""
    above = values.max(axis=1, keepdims=True, initial=0.0)
    largest = np.maximum(above, -values.min(axis=1, keepdims=True, initial=0.0))
    size = np.ldexp(1.0, np.frexp(np.clip(largest, _SMALLEST, _LARGEST))[1])
    return np.where(largest < _LARGEST, size, np.nan)
