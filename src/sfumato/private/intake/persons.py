"""At most so many rows of one person, and these side by side: the rest is dropped at random, before anything sees the rows."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.errors import SourceError
from sfumato.private.intake.ids import to_ids
from sfumato.private.intake.source import Source
from sfumato.private.intake.values import UnreadableTypeError, Values, rows_where
from sfumato.private.kernel.randomness import KeyStream


class LimitedSource:
    """A source in which every person has at most `max_rows` rows.

    Each row has a random rank of its own, a function of the key and of the row's place, and a person keeps the rows of
    lowest rank: which of a person's rows are kept depends on nobody else. The draw is made once, at the first reading, and
    holds for all later ones. Rows without a person's id are dropped: nobody could say whose presence they show.

    Ids are exact bytes (`ids.py`), and persons are told apart by a keyed 128-bit hash of these. The key is secret and
    new for each object, so nobody can prepare two ids that meet; by chance, any two of a billion persons meet with
    probability below 1e-20, and then share one limit. The draw takes some 150 bytes for each row, and 8 when made.
    """

    def __init__(self, source: Source, *, person: str, max_rows: int, key: bytes | None = None) -> None:
        self.source, self.names = source, source.names
        self.person, self.max_rows = person, max_rows
        self.key = os.urandom(32) if key is None else key
        self._private_numbers: NDArray[np.int64] | None = None

    def keyed(self, key: bytes) -> "LimitedSource":
        """The same rows with another draw: that of this key."""
        return LimitedSource(self.source, person=self.person, max_rows=self.max_rows, key=key)

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """The wrapped source's chunks, less the rows that are over the limit."""
        return (private_chunk for private_chunk, _ in self.numbered_chunks(names, rows=rows))

    def numbered_chunks(
        self, names: Sequence[str], *, rows: int
    ) -> Iterator[tuple[dict[str, Values], NDArray[np.int64]]]:
        """The same, with the number of each row's person."""
        private_numbers = self._numbers(rows)
        start = 0
        for private_chunk in self.source.chunks(names, rows=rows):
            n_rows = len(next(iter(private_chunk.values())))
            # A file that has grown since the draw has rows without a draw: they are left out.
            numbers = np.full(n_rows, -1)
            known = private_numbers[start : start + n_rows]
            numbers[: len(known)] = known
            start += n_rows
            kept = numbers >= 0
            if kept.any():
                yield {name: rows_where(values, kept) for name, values in private_chunk.items()}, numbers[kept]

    def numbers(self, *, rows: int) -> NDArray[np.int64]:
        """The persons of all rows that are kept, numbered from 0 in the order of their first rows."""
        private_numbers = self._numbers(rows)
        return private_numbers[private_numbers >= 0]

    def _numbers(self, rows: int) -> NDArray[np.int64]:
        if self._private_numbers is None:
            self._private_numbers = self._draw(rows)
        return self._private_numbers

    def _draw(self, rows: int) -> NDArray[np.int64]:
        """The number of each row's person; -1 for a row that is dropped."""
        chunks = self.source.chunks([self.person], rows=rows)
        with naming(self.person):
            private_hashes = [hashes(chunk[self.person], self.key) for chunk in chunks]
        return limited(private_hashes, key=self.key, max_rows=self.max_rows)


def limited(private_hashes: Sequence[NDArray[np.uint64]], *, key: bytes, max_rows: int) -> NDArray[np.int64]:
    """For the hashes of all rows, in the order of the rows, the number of each row's person; -1 for a row that is dropped."""
    if not private_hashes:
        return np.zeros(0, dtype=np.int64)
    private_people = np.concatenate(private_hashes)
    # A stream of the key that no hash has to do with: hashes are keyed by another function.
    ranks = KeyStream(key).words(len(private_people))
    order = np.lexsort((ranks, private_people[:, 1], private_people[:, 0]))
    ordered = private_people[order]
    # A person's rows now lie side by side in random order; count along each run.
    first = np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)]
    run = np.cumsum(first) - 1
    place = np.arange(len(order)) - np.flatnonzero(first)[run]
    kept = (place < max_rows) & ordered.any(axis=1)  # a row of nobody is dropped
    numbers = np.full(len(order), -1)
    numbers[order[kept]] = run[kept]
    # Other numbers for the same persons, in the order of their first rows: 0 for whoever comes first.
    there = numbers >= 0
    numbers[there] = pd.factorize(numbers[there])[0]
    return numbers


@contextmanager
def naming(person: str) -> Iterator[None]:
    """Whatever in the column of persons cannot be read is refused by its name."""
    try:
        yield
    except UnreadableTypeError as error:
        raise SourceError(f"the person column {person!r}: {error}") from None


def hashes(values: Values, key: bytes) -> NDArray[np.uint64]:
    """128 bits for every row, equal for equal ids; 0 for nobody."""
    private_ids = to_ids(values)
    ids = [*private_ids.private_values, None]
    table = [bytes(16) if id is None else hashlib.blake2b(id, key=key, digest_size=16).digest() for id in ids]
    of_ids: NDArray[np.uint64] = np.frombuffer(b"".join(table), dtype=np.uint64).reshape(-1, 2)
    return np.take(of_ids, private_ids.private_codes, axis=0)
