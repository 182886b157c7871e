"""All rows of a person are clipped together: the norm of their sum is what the accountant was told.

Every row has been clipped by itself and holds integers. Where the sum of a person's rows is longer than the step's
`person_bound` allows, all of them are shortened by one factor and truncated; whether the sum is short enough then, integers
decide. Nothing here looks beyond the rows of one person. Proof: docs/proofs/persons.md.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.private.kernel.clip import FINE_NORM
from sfumato.private.kernel.inversion import compile_kernel
from sfumato.public import grid
from sfumato.public.block import Dense, Hot, Outer

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Rows by block, and the number of each row's person.
Numbered = tuple[Mapping[str, NDArray[Any]], Integers]
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
        """Take the number of each row's person."""
        self.starts, self.bound, self.max_rows = np.flatnonzero(np.diff(numbers, prepend=-1)), bound, max_rows
        self.counts = np.diff(np.append(self.starts, len(numbers)))

    def of_vectors(self, *, block: Dense, noise_multiplier: float) -> "Together":
        """Rows of integers, which carry their lengths themselves."""

        def squares(integers: NDArray[Any]) -> Integers:
            sums: Integers = np.add.reduceat(integers, self.starts, axis=0, dtype=np.int64)
            return np.asarray((sums * sums).sum(axis=1))

        limit = math.floor(block.share * (self.bound * _MARGIN * grid.norm_in_units(noise_multiplier)) ** 2)
        return Together(self, squares, limit, slack=math.sqrt(block.width))

    def of_codes(self, private_codes: Integers, *, block: Hot, units: float) -> "Together":
        """Rows that count at their codes; how much, carries their lengths."""

        def squares(weights: Integers) -> Integers:
            out, sums = np.zeros(len(self.starts), np.int64), np.zeros(block.width, np.int64)
            _squares_of_codes(private_codes, weights, self.starts, self.counts, sums, out)
            return out

        limit = math.floor(self.bound**2 * (block.n_hot * int(units) ** 2))
        return Together(self, squares, limit, slack=math.sqrt(block.n_hot))

    def of_products(self, private_v: Floats, private_group: Integers, *, block: Outer) -> "Together":
        """Rows u v^T, whose lengths u carries; the group says in which copy of the block each counts."""
        bits = 62 - 2 * max(11, self.max_rows.bit_length())  # for the square of one row, so that no sum overflows

        def squares(private_u: Floats) -> Integers:
            out, scale = np.zeros(len(self.starts), np.int64), 2.0**bits / FINE_NORM**4
            _squares_of_products(private_u, private_v, private_group, self.starts, self.counts, scale, out)
            return out

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
    squares: Callable[[NDArray[Any]], Integers]
    limit: int
    slack: float

    def shortened(self, private_lengths: NDArray[Any]) -> NDArray[Any]:
        """The numbers that carry the lengths of rows, such that no person's sum has a square above the limit."""
        square = self.squares(private_lengths)
        room = np.maximum(math.sqrt(self.limit) * _MARGIN - self.slack * self.persons.counts, 0.0)
        factor = np.where(square <= self.limit, 1.0, room / np.sqrt(np.maximum(square, 1)))
        shortened = np.trunc(private_lengths * self._of_rows(factor, private_lengths)).astype(private_lengths.dtype)
        # Float rounding stays within the margin, so that all fit; if one did not, nothing of it may leak.
        return np.asarray(shortened * self._of_rows(self.squares(shortened) <= self.limit, shortened))

    def _of_rows(self, values: NDArray[Any], like: NDArray[Any]) -> NDArray[Any]:
        return np.repeat(values, self.persons.counts).reshape(-1, *[1] * (like.ndim - 1))


@compile_kernel
def _squares_of_codes(
    codes: Integers, units: Integers, starts: Integers, counts: Integers, sums: Integers, out: Integers
) -> None:
    """Each row's units times what its person has at its codes; `sums` is empty before and after."""
    for p in range(starts.size):
        for turn in range(3):
            for i in range(starts[p], starts[p] + counts[p]):
                for code in codes[i]:
                    if code >= 0 and turn == 0:
                        sums[code] += units[i]
                    elif code >= 0 and turn == 1:
                        out[p] += units[i] * sums[code]
                    elif code >= 0:
                        sums[code] = 0


def _add_squares_of_products(
    u: Floats, v: Floats, group: Integers, starts: Integers, counts: Integers, scale: float, out: Integers
) -> None:
    """<u_i, u_k> <v_i, v_k> over all pairs of a person's rows in one copy: whole numbers, rounded up after the product."""
    for p in range(starts.size):
        for i in range(starts[p], starts[p] + counts[p]):
            for k in range(starts[p], i + 1):
                if group[i] != group[k]:
                    continue
                of_u, of_v = 0.0, 0.0
                for j in range(u.shape[1]):
                    of_u += u[i, j] * u[k, j]
                for j in range(v.shape[1]):
                    of_v += v[i, j] * v[k, j]
                product = np.int64(math.floor(of_u * of_v * scale)) + 2
                out[p] += product if i == k else 2 * product


# The order of the two sums is left to the processor: they are whole numbers below 2^53.
_squares_of_products = compile_kernel(_add_squares_of_products, fastmath={"reassoc"})
