"""What Spark's workers do, as functions from Arrow batches to Arrow batches: pack rows into blobs, and add blobs up.

A part is one or more blobs in a row, so that a huge one is never whole in a worker's memory. What a disk might see (a shuffle,
a file on the way to the JVM) is sealed: AES-256-GCM under a key that travels with the functions and is written nowhere.
"""

import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, groupby, pairwise
from typing import Any
from zipimport import zipimporter

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from sfumato.errors import EngineError
from sfumato.private.engines import part as parts
from sfumato.private.engines.task import Task, added
from sfumato.private.intake.conforming import conform
from sfumato.private.intake.persons import hashes, naming
from sfumato.private.intake.values import Values
from sfumato.private.rows.batches import Piece
from sfumato.public.plan.probe import take
from sfumato.public.schema.schema import Batch

Batches = Iterator[pa.RecordBatch]
#: Something that travels sealed, and the number of the part that it becomes.
SENT = "part int, body binary"
#: Packed batches. `at` counts the blobs of a part. Where `n_rows` is below 0, the digest is a pickled refusal.
BLOBS = "part int, at int, n_rows long, digest binary, body binary"
#: Encoded rows beside the hashes of their persons, both sealed.
BLOCKS = "part int, at int, hashes binary, body binary"
#: Encoded rows on their way to the part of their persons, and where they come from.
ROUTED = "part int, source int, at int, body binary"
ANSWERS = "part int, body binary"

_TYPES = {"int": pa.int32(), "long": pa.int64(), "binary": pa.binary()}
_BLOB_BYTES = 1 << 22
#: Rows of one block, before they go to their persons' parts.
_BLOCK_ROWS = 1 << 16


@dataclass(frozen=True)
class Seal:
    """Bytes that only whoever has the key can read, or change unnoticed."""

    key: bytes = field(default_factory=lambda: os.urandom(32), repr=False)

    def closed(self, private: Any) -> bytes:
        """An object, pickled and encrypted."""
        nonce = os.urandom(12)
        return nonce + AESGCM(self.key).encrypt(nonce, pickle.dumps(private, protocol=5), None)

    def opened(self, sealed: Any) -> Any:
        """What was closed."""
        content = memoryview(sealed).cast("B")
        return pickle.loads(AESGCM(self.key).decrypt(content[:12], content[12:], None))


# From rows to blobs.


def pack_frame(facts: parts.Facts, names: Sequence[str], batches: Batches) -> Batches:
    """Partitions of a frame, as they are read."""
    for number, raw in _runs(names, batches):
        yield from _blobs(number, parts.pieces_of(facts, parts.encoded(facts, raw)))


def pack_sources(facts: parts.Facts, seal: Seal, batches: Batches) -> Batches:
    """Sources that are read where this runs."""
    for number, raw in _sent(seal, batches):
        yield from _blobs(number, parts.pieces_of(facts, parts.encoded(facts, raw)))


def pack_shipped(seal: Seal, batches: Batches) -> Batches:
    """Parts that were packed by the driver."""
    for number, raw in _sent(seal, batches):
        yield from _blobs(number, chain.from_iterable(raw))


def block_frame(facts: parts.Facts, names: Sequence[str], key: bytes, seal: Seal, batches: Batches) -> Batches:
    """Partitions of a frame whose rows belong to persons."""
    for number, raw in _runs(names, batches):
        yield from _blocks(facts, number, raw, key, seal)


def block_sources(facts: parts.Facts, key: bytes, seal: Seal, batches: Batches) -> Batches:
    """The same for sources that are read where this runs."""
    for number, raw in _sent(seal, batches):
        yield from _blocks(facts, number, raw, key, seal)


def route(facts: parts.Facts, ends: NDArray[np.int64], seal: Seal, batches: Batches) -> Batches:
    """The rows of blocks, by the part that their person goes to. Beside each block stand the numbers of its persons."""
    for source, at, sealed_hashes, body, numbers in _rows(batches, "part", "at", "hashes", "body", "numbers"):
        private = _routed(facts, ends, seal, sealed_hashes, body, numbers)
        for target, private_rows in enumerate([private] if isinstance(private, parts.Refusal) else private):
            if private_rows:
                yield _row(ROUTED, target, source, at, seal.closed(private_rows))


def join(facts: parts.Facts, seal: Seal, batches: Batches) -> Batches:
    """Whole persons from all that was routed to a part: rows that come sorted by where they come from."""
    for number, rows in groupby(_rows(batches, "part", "body"), key=lambda row: row[0]):
        private = parts.joined(facts, *(seal.opened(body) for _, body in rows))
        yield from _blobs(number, private if isinstance(private, parts.Refusal) else iter(private.pieces))


# From blobs to answers.


def add_column(facts: parts.Facts, batches: Batches) -> Batches:
    """The last of the prepared columns beside the others."""
    for number, at, n_rows, digest, body in _rows(batches, "part", "at", "n_rows", "digest", "body"):
        private: Any = (
            pickle.loads(digest) if n_rows < 0 else parts.Part(tuple(pickle.loads(body)), digest.to_pybytes())
        )
        yield _blob(number, at, parts.prepared(facts, private))


def summed(facts: parts.Facts, task: Task, firsts: Mapping[int, int], batches: Batches) -> Batches:
    """Digest and sums of every part."""
    return _answers(lambda number, part: parts.reduced(facts, task, part, firsts.get(number, 0)), 0, batches)


def counted(facts: parts.Facts, names: Sequence[str], batches: Batches) -> Batches:
    """Digest and counts of texts of every part."""
    return _answers(lambda _, part: parts.texts(facts, part, names), {}, batches)


def _answers(asked: Callable[[int, Any], Any], nothing: Any, batches: Batches) -> Batches:
    """An answer for every part. What they have is added up here and told by the first: thousands would be too much for a driver."""
    digests, private_total = dict[int, bytes](), None
    for number, rows in groupby(_rows(batches, "part", "n_rows", "digest", "body"), key=lambda row: row[0]):
        stream = _Stream(rows)
        private_answer = asked(number, stream)
        if isinstance(private_answer, parts.Refusal):
            yield _row(ANSWERS, number, pickle.dumps(private_answer, protocol=5))
            return
        private_total = private_answer[1] if private_total is None else added(private_total, private_answer[1])
        digests[number] = stream.whole.digest()
    for number, digest in digests.items():
        yield _row(ANSWERS, number, pickle.dumps((digest, private_total), protocol=5))
        private_total = dict.fromkeys(private_total or (), nothing)


class _Stream:
    """A part whose blobs are opened one after the other, as one stream: a person's rows go over the end of a blob."""

    digest = b""  # that of the whole is known at the end

    def __init__(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self._rows, self.whole = rows, whole_digest([])

    @property
    def pieces(self) -> Iterator[Piece]:
        for _, n_rows, digest, body in self._rows:
            if n_rows < 0:
                raise pickle.loads(digest).error
            self.whole.update(digest)
            yield from pickle.loads(body)


def whole_digest(digests: Iterable[bytes]) -> Any:
    """The digest of a part by those of its blobs."""
    return hashlib.blake2b(b"".join(digests), digest_size=16)


# How rows come and go.


class _ArrowRows:
    """A source of batches that come once."""

    def __init__(self, names: Sequence[str], batches: Iterable[pa.RecordBatch]) -> None:
        self._names, self._batches = names, batches

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        for batch in self._batches:
            for start in range(0, batch.num_rows, rows):
                columns = dict(zip(self._names, batch.slice(start, rows).columns, strict=False))
                yield {name: columns[name] for name in names}


def _runs(names: Sequence[str], batches: Batches) -> Iterator[tuple[int, parts.Raw]]:
    """Partitions that follow each other, as one part that is called after the first of them.

    A task may have several: Spark puts tiny ones together, as it likes where it knows on which machine they lie.
    """
    for number, private_slices in groupby(_slices(batches), key=lambda pair: pair[0]):
        yield number, [_ArrowRows(names, (private_slice for _, private_slice in private_slices))]


def _slices(batches: Batches) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Rows of one partition at a time, and the first number of their run; a row's own stands behind the columns."""
    first = last = -2
    for batch in batches:
        numbers = batch.column(batch.num_columns - 1).to_numpy()
        for start, end in pairwise([0, *(np.flatnonzero(np.diff(numbers)) + 1), len(numbers)]):
            if end > start:
                number = int(numbers[start])
                first = first if number - last in (0, 1) else number
                last = number
                yield first, batch.slice(start, end - start)


def _sent(seal: Seal, batches: Batches) -> Iterator[tuple[int, Any]]:
    return ((number, seal.opened(body)) for number, body in _rows(batches, "part", "body"))


def _blobs(number: int, pieces: Iterator[Piece] | parts.Refusal) -> Batches:
    """A part in blobs; one of them where it has no rows."""
    for at in count():
        private = _next_blob(pieces)
        is_over = isinstance(private, parts.Refusal) or not private.pieces
        if at == 0 or isinstance(private, parts.Refusal) or not is_over:
            yield _blob(number, at, private)
        if is_over:
            return


@parts.quietly
def _next_blob(pieces: Iterator[Piece]) -> parts.Part:
    taken, n_bytes = list[Piece](), 0
    for private_piece in pieces:
        taken.append(private_piece)
        n_bytes += private_piece.n_bytes
        if n_bytes >= _BLOB_BYTES:
            break
    return parts.of_pieces(taken)


def _blob(number: int, at: int, private: parts.Part | parts.Refusal) -> pa.RecordBatch:
    if isinstance(private, parts.Refusal):
        return _row(BLOBS, number, at, -1, pickle.dumps(private, protocol=5), b"")
    return _row(BLOBS, number, at, private.n_rows, private.digest, pickle.dumps(list(private.pieces), protocol=5))


def _blocks(facts: parts.Facts, number: int, raw: parts.Raw, key: bytes, seal: Seal) -> Batches:
    person = str(facts.schema.unit.person)
    chunks = parts.chunks(raw, [*parts.column_names(facts.schema), person])
    for at in count():
        private = _next_block(facts, chunks, person, key)
        if private is None:
            return
        own_hashes, own_rows = (private, {}) if isinstance(private, parts.Refusal) else private
        yield _row(BLOCKS, number, at, seal.closed(own_hashes), seal.closed(own_rows))
        if isinstance(private, parts.Refusal):
            return


@parts.quietly
def _next_block(facts: parts.Facts, chunks: Any, person: str, key: bytes) -> tuple[NDArray[np.uint64], Batch] | None:
    """Some rows, encoded, and whose they are: equal hashes for equal ids, under a secret key."""
    facts.require_same_software()
    private_batches, private_hashes = list[Batch](), list[NDArray[np.uint64]]()
    for private_raw in chunks:
        with naming(person):
            private_hashes.append(hashes(private_raw[person], key))
        own = {name: values for name, values in private_raw.items() if name != person}
        private_batches.append(conform(own, facts.schema))
        if sum(map(len, private_hashes)) >= _BLOCK_ROWS:
            break
    return (np.concatenate(private_hashes), parts.concatenated(private_batches)) if private_hashes else None


@parts.quietly
def _routed(
    facts: parts.Facts, ends: NDArray[np.int64], seal: Seal, sealed_hashes: Any, body: Any, sealed_numbers: Any
) -> list[Batch]:
    private_hashes = seal.opened(sealed_hashes)
    if isinstance(private_hashes, parts.Refusal):
        raise private_hashes.error
    told = None if sealed_numbers is None else seal.opened(sealed_numbers)
    if told is None or told[1] != parts.hashes_digest([private_hashes]):
        raise EngineError(
            "a part of the data had other rows, or another order, when it was read again, so nothing is released. Give data "
            "that stays as it is: files instead of a query, or a frame that was sorted or written before."
        )
    numbers = told[0]
    kept = np.flatnonzero(numbers >= 0)
    private_rows = take(seal.opened(body), kept)
    return parts.routed(facts, {**private_rows, str(facts.schema.unit.person): numbers[kept]}, ends)


def _rows(batches: Batches, *names: str) -> Iterator[tuple[Any, ...]]:
    """The rows of Arrow batches as tuples; bytes are looked at where they lie."""
    _forget_archives()
    for batch in batches:
        columns = [batch.column(name) for name in names]
        for at in range(batch.num_rows):
            yield tuple(_plain(column[at]) for column in columns)


def _forget_archives() -> None:
    """Before every task, Spark has Python read anew what lies in the archives that are known here, its own among them.

    That takes longer than most tasks. Those that are not known are opened when something is imported, and change nothing.
    """
    for place, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            sys.path_importer_cache.pop(place, None)


def _plain(scalar: pa.Scalar) -> Any:
    return scalar.as_buffer() if hasattr(scalar, "as_buffer") else scalar.as_py()


def _row(form: str, *values: Any) -> pa.RecordBatch:
    """One row of a form, as a batch by itself."""
    fields = [pa.field(*_named(declared)) for declared in form.split(", ")]
    return pa.record_batch(
        [pa.array([v], f.type) for v, f in zip(values, fields, strict=True)], schema=pa.schema(fields)
    )


def _named(declared: str) -> tuple[str, pa.DataType]:
    name, kind = declared.split()
    return name, _TYPES[kind]
