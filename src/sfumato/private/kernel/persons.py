"""All rows of a person are clipped together: the norm of their sum is what the accountant was told.

Every row has been clipped by itself and holds integers. Where the sum of a person's rows is longer than the step's
`person_bound` allows, all of them are shortened by one factor and truncated; whether the sum is short enough then, integers
decide. Nothing here looks beyond the rows of one person. Proof: docs/proofs/persons.md.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.private.kernel.arrays import Floats, Integers, Values, compile_kernel
from sfumato.private.kernel.clip import FINE_NORM, add_codes
from sfumato.public.plan import grid
from sfumato.public.plan.block import Dense, Hot, Outer
from sfumato.public.schema.schema import Batch

#: Rows by block, and the number of each row's person.
Numbered = tuple[Batch, Integers]
_MARGIN = 1 - 2.0**-30  # more than the rounding of a factor, and than what shares may add up to over 1


def of_whole_persons(batches: Iterable[Numbered]) -> Iterator[Numbered]:
    """The same rows with nobody's in two batches. They come in the order of their persons' numbers."""
    private_held: Numbered | None = None
    for private_rows, numbers in batches:
        if private_held is not None:
            numbers = np.concatenate([private_held[1], numbers])
            private_rows = {name: np.concatenate([private_held[0][name], v]) for name, v in private_rows.items()}
        complete = int(np.searchsorted(numbers, numbers[-1])) if len(numbers) else 0  # the last one may go on
        yield {name: values[:complete] for name, values in private_rows.items()}, numbers[:complete]
        private_held = {name: values[complete:] for name, values in private_rows.items()}, numbers[complete:]
    if private_held is not None:
        yield private_held


class Persons:
    """Rows of whole persons, whose sums may each be `bound` rows long. Nobody has more than `max_rows`."""

    def __init__(self, numbers: Integers, *, bound: float, max_rows: int) -> None:
        """Take the number of each row's person. A person's rows go from one start to the next; the last start is the end."""
        self.bound, self.max_rows = bound, max_rows
        self.starts = np.append(np.flatnonzero(np.diff(numbers, prepend=-1)), len(numbers))
        self.counts = np.diff(self.starts)

    def of_vectors(self, block: Dense, *, noise_multiplier: float) -> "Together":
        """Rows of integers, which carry their lengths themselves."""
        limit = math.floor(block.share * (self.bound * _MARGIN * grid.norm_in_units(noise_multiplier)) ** 2)
        return Together(self, partial(_squares_of_vectors, self.starts), limit, slack=math.sqrt(block.width))

    def of_codes(self, private_codes: Integers, *, block: Hot, units: float) -> "Together":
        """Rows that count at their codes, the same that are added up; how much, carries their lengths."""
        squares = partial(_squares_of_codes, self.starts, private_codes, block.width)
        limit = math.floor(self.bound**2 * (block.n_hot * int(units) ** 2))
        return Together(self, squares, limit, slack=math.sqrt(block.n_hot))

    def of_products(self, private_v: Floats, private_group: Integers, *, block: Outer) -> "Together":
        """Rows u v^T, whose lengths u carries; the group says in which copy of the block each counts."""
        bits = 62 - 2 * max(11, self.max_rows.bit_length())  # for the square of one row, so that no sum overflows
        squares = partial(_squares_of_products, self.starts, private_v, private_group, 2.0**bits / FINE_NORM**4)
        limit = math.floor(self.bound**2 * 2.0**bits)
        return Together(self, squares, limit, slack=math.sqrt(block.shape[0] * 2.0**bits) / FINE_NORM)


@dataclass(frozen=True)
class Together:
    """How the rows of persons add up in one block.

    Attributes:
        persons: Whose rows they are.
        squares: For the numbers that carry the lengths of rows, the square of the norm of each person's sum, or more.
        limit: What that square may be.
        slack: What truncation can add to the norm for each row: numbers of different signs may move apart by it.
    """

    persons: Persons
    squares: Callable[[Values], Integers]
    limit: int
    slack: float

    def shortened(self, private_lengths: Values) -> Values:
        """The numbers that carry the lengths of rows, such that no person's sum has a square above the limit."""
        square = self.squares(private_lengths)
        room = np.maximum(math.sqrt(self.limit) * _MARGIN - self.slack * self.persons.counts, 0.0)
        factor = np.where(square <= self.limit, 1.0, room / np.sqrt(np.maximum(square, 1)))
        shortened = np.trunc(private_lengths * self._of_rows(factor, private_lengths)).astype(private_lengths.dtype)
        # Float rounding stays within the margin, so that all fit; if one did not, nothing of it may leak.
        return np.asarray(shortened * self._of_rows(self.squares(shortened) <= self.limit, shortened))

    def _of_rows(self, values: Values, like: Values) -> Values:
        return np.repeat(values, self.persons.counts).reshape(-1, *[1] * (like.ndim - 1))


def _squares_of_vectors(starts: Integers, integers: Values) -> Integers:
    sums: Integers = np.add.reduceat(integers, starts[:-1], axis=0, dtype=np.int64)
    return np.asarray((sums * sums).sum(axis=1))


@compile_kernel
def _squares_of_codes(starts: Integers, codes: Integers, width: int, units: Integers) -> Integers:
    """Each row's units times what its person has at its codes; `sums` is empty before and after a person."""
    squares, sums = np.zeros(starts.size - 1, dtype=np.int64), np.zeros(width, dtype=np.int64)
    for p in range(squares.size):
        own_codes, own_units = codes[starts[p] : starts[p + 1]], units[starts[p] : starts[p + 1]]
        add_codes(sums, own_codes, own_units)
        for i in range(own_units.size):
            for code in own_codes[i]:
                if code >= 0:
                    squares[p] += own_units[i] * sums[code]
        add_codes(sums, own_codes, -own_units)
    return squares


@compile_kernel
def _squares_of_products(starts: Integers, v: Floats, group: Integers, scale: float, u: Floats) -> Integers:
    """<u_i, u_k> <v_i, v_k> over all pairs of a person's rows in one copy: whole numbers, rounded up after the product.

    Either product adds whole numbers below 2^53, so that any order gives the same.
    """
    squares = np.zeros(starts.size - 1, dtype=np.int64)
    for p in range(squares.size):
        for i in range(starts[p], starts[p + 1]):
            for k in range(starts[p], i + 1):
                if group[i] == group[k]:
                    product = np.int64(math.floor(np.dot(u[i], u[k]) * np.dot(v[i], v[k]) * scale)) + 2
                    squares[p] += product if i == k else 2 * product
    return squares
