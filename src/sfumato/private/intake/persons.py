"""At most so many rows of one person: the rest is dropped at random, before anything else sees the rows."""

import hashlib
import os
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.private.intake.scalars import MISSING_TEXTS
from sfumato.private.intake.sources import Source
from sfumato.private.intake.values import Coded, Values, to_texts
from sfumato.private.kernel.randomness import NoiseSource


class LimitedSource:
    """A source in which every person has at most `max_rows` rows.

    Each row draws a random rank of its own, and a person keeps the rows of lowest rank: which of a person's
    rows are kept depends on nobody else. The draw is made once, at the first reading, and holds for all later
    ones. Rows without a person's id are dropped: nobody could say whose presence they show.

    Persons are told apart by a keyed 128-bit hash of their id. The key is secret and new for each object, so
    nobody can prepare two ids that meet; by chance, any two of a billion persons meet with probability below
    1e-20, and then share one limit. The draw takes some 60 bytes for each row, and one bit when made.
    """

    def __init__(self, source: Source, *, person: str, max_rows: int, randomness: NoiseSource | None = None) -> None:
        """Wrap a source; nothing is read yet."""
        self._source = source
        self._person = person
        self._max_rows = max_rows
        self._randomness = randomness or NoiseSource()
        self._private_kept: NDArray[np.uint8] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the wrapped source."""
        return self._source.names

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """The wrapped source's chunks, less the rows that are over the limit."""
        if self._private_kept is None:
            self._private_kept = self._draw(rows)
        private_kept = self._private_kept
        start = 0
        for private_chunk in self._source.chunks(names, rows=rows):
            n_rows = len(next(iter(private_chunk.values())))
            # A file that has grown since the draw has rows without a draw: they are left out.
            bits = np.unpackbits(private_kept[start // 8 : (start + n_rows) // 8 + 1])[start % 8 :][:n_rows]
            mask = np.zeros(n_rows, dtype=bool)
            mask[: len(bits)] = bits
            start += n_rows
            if mask.any():
                yield {name: _filter(values, mask) for name, values in private_chunk.items()}

    def _draw(self, rows: int) -> NDArray[np.uint8]:
        key = os.urandom(32)
        private_hashes = [
            _hashes(chunk[self._person], key) for chunk in self._source.chunks([self._person], rows=rows)
        ]  # fmt: skip
        if not private_hashes:
            return np.zeros(0, dtype=np.uint8)
        private_people = np.concatenate(private_hashes)
        ranks = self._randomness.words(len(private_people))
        order = np.lexsort((ranks, private_people[:, 1], private_people[:, 0]))
        ordered = private_people[order]
        # A person's rows now lie side by side in random order; count along each run.
        first = np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)]
        place = np.arange(len(order)) - np.flatnonzero(first)[np.cumsum(first) - 1]
        kept = np.zeros(len(order), dtype=bool)
        kept[order] = (place < self._max_rows) & ordered.any(axis=1)  # a row of nobody is dropped
        return np.packbits(kept)


def _hashes(values: Values, key: bytes) -> NDArray[np.uint64]:
    """128 bits for every row, equal for equal ids."""
    private_ids = to_texts(values)
    table = [_hash(text, key) for text in private_ids.private_values] + [bytes(16)]
    hashes: NDArray[np.uint64] = np.frombuffer(b"".join(table), dtype=np.uint64).reshape(-1, 2)
    return np.take(hashes, private_ids.private_codes, axis=0)


def _hash(text: str | None, key: bytes) -> bytes:
    stripped = "" if text is None else text.strip()
    if stripped in MISSING_TEXTS:
        return bytes(16)
    return hashlib.blake2b(stripped.encode("utf-8", errors="surrogatepass"), key=key, digest_size=16).digest()


def _filter(values: Values, mask: NDArray[np.bool_]) -> Values:
    if isinstance(values, Coded):
        return Coded(values.private_values, values.private_codes[mask])
    return values.filter(pa.array(mask)) if isinstance(values, pa.Array | pa.ChunkedArray) else values[mask]
