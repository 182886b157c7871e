"""What has no file to look at is compared by what it gives: every pass must bring the same rows in the same order."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import SourceError
from sfumato.private.intake.source import Source
from sfumato.private.intake.values import Values


class SameRows:
    """A source whose passes are compared by a digest of all needed columns. It never leaves this object."""

    def __init__(self, source: Source, *, needed: Sequence[str], what: str) -> None:
        """Take the columns that every pass reads, so that no two columns can come from two states of the data."""
        self._source, self._needed, self._what, self.names = source, tuple(needed), what, source.names
        self._private_seen: bytes | None = None
        self.follows_values = getattr(source, "follows_values", False)
        self.types: dict[str, Any] = getattr(source, "types", {})
        #: Engines compare parts by their own digests.
        self.parts = getattr(source, "parts", None)

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """The source's chunks; after the last one, a look at whether they were the same as before."""
        read = tuple(dict.fromkeys((*self._needed, *names)))
        digests = {name: Digest() for name in read}
        for private_chunk in self._source.chunks(read, rows=rows):
            for name in self._needed:
                digests[name].add(private_chunk[name])
            yield {name: private_chunk[name] for name in names}
        private_now = b"".join(digests[name].value() for name in self._needed)
        if self._private_seen is None:
            self._private_seen = private_now
        if private_now != self._private_seen:
            raise SourceError(
                f"{self._what} gave other rows, or another order, when it was read again, so nothing is released. A release "
                "reads the data more than once. Leave out what changes from run to run (random, now), or write the rows to a "
                "Parquet file and give that; keeping a copy in encrypted scratch is not offered yet."
            )


class Digest:
    """A digest of a column, the same wherever its chunks begin and end."""

    def __init__(self) -> None:
        self._hashes = [hashlib.blake2b(digest_size=32) for _ in range(3)]

    def add(self, values: Values) -> None:
        """The next rows."""
        for digest, private_bytes in zip(self._hashes, _streams(values), strict=False):
            digest.update(private_bytes)

    def value(self) -> bytes:
        """The digest of all rows so far."""
        return b"".join(digest.digest() for digest in self._hashes)


def _streams(values: Values) -> tuple[Any, ...]:
    """What is there, how long each value is, and the values: each stream is the sum of what its chunks give."""
    if not isinstance(values, pa.Array):
        return ("".join(f"{value!r}\n" for value in values).encode("utf-8", "surrogatepass"),)
    kind = values.type
    there = values.is_valid().cast(pa.uint8()).to_numpy(zero_copy_only=False)
    if pa.types.is_boolean(kind):
        values, kind = values.cast(pa.uint8()), pa.uint8()
    if pa.types.is_primitive(kind):
        plain = values.view(f"uint{kind.bit_width}")
        filled = pc.fill_null(plain, 0).to_numpy(zero_copy_only=False)
        return there, b"", np.ascontiguousarray(filled)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        texts = pc.fill_null(values.cast(pa.large_binary()), b"")
        lengths = pc.binary_length(texts).to_numpy(zero_copy_only=False)
        return there, np.ascontiguousarray(lengths), b"".join(texts.to_pylist())
    return (there, b"", "".join(f"{value!r}\n" for value in values.to_pylist()).encode("utf-8", "surrogatepass"))
