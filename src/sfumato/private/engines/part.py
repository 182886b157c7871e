"""A part of the rows as it lies on a cluster: read there, encoded there, added up there. Functions of what they are handed.

Whatever a cluster does with them, now, later, twice or on another machine, they give the same: a part has a digest, and sums
of a part with another digest than at first are refused. What goes wrong comes back as a sentence that names no row.
"""

import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, wraps
from typing import Any, TypeVar

import cloudpickle
import numpy as np
from numpy.typing import NDArray

from sfumato.errors import EngineError, SfumatoError
from sfumato.private.engines.task import Task, Texts, texts_of
from sfumato.private.engines.worker import agreeing
from sfumato.private.intake.conforming import conform
from sfumato.private.intake.dask_frame import partition_source
from sfumato.private.intake.persons import hashes, naming
from sfumato.private.intake.quiet import silence
from sfumato.private.intake.values import Values, rows_where
from sfumato.private.kernel.primitives import RowPrimitives
from sfumato.private.kernel.sums import Sums
from sfumato.private.rows.batches import Batches, Piece, regrouped, rows_at_once
from sfumato.private.rows.row_alone import RowMap
from sfumato.public.certificate.software import installed_software, others_than_here
from sfumato.public.machine.threads import few_threads
from sfumato.public.plan.doors import GroupOf
from sfumato.public.plan.probe import take
from sfumato.public.schema.schema import Batch, Schema

Result = TypeVar("Result")
#: What reads and encodes rows: two versions might do it in two ways.
_SAME = ("numpy", "pandas", "pyarrow", "sfumato")
#: What rows of a part are read from, one after the other: sources that travel, or frames that are there.
Raw = Sequence[Any]
#: Of a single column.
_READ_AT_ONCE = 16_384
#: What a part is said to take: about as much as half a million rows of thirty columns.
_SAID_BYTES = 1 << 24


@dataclass(frozen=True)
class Facts:
    """What every worker must know of a release, and no row of it: with which software, its schema, the prepared columns."""

    software: dict[str, str]
    schema: Schema
    prepared: tuple[tuple[str, GroupOf, bytes], ...] = ()

    def batches(self) -> Batches:
        """How this process makes batches; tried on public rows once, and kept while other parts come."""
        self.require_same_software()
        return _batches(_Pickled(cloudpickle.dumps(self, protocol=5)))

    def require_same_software(self) -> None:
        """Refuse to read rows with another version: it might read them otherwise, and a person by another name."""
        if others := others_than_here(self.software, _SAME):
            here = ", ".join(f"{name} {installed_software()[name]}" for name in _SAME)
            raise EngineError(
                f"this release is read with {', '.join(others)}, and a worker has {here}. Install the same versions everywhere."
            )


@dataclass(frozen=True)
class _Pickled:
    """Facts and tasks by their bytes: maps have no equality of their own."""

    content: bytes


@lru_cache(maxsize=4)
def _batches(pickled: _Pickled) -> Batches:
    facts: Facts = pickle.loads(pickled.content)
    batches = Batches(facts.schema)
    for name, per_record, digest in facts.prepared:
        agreeing(batches.prepare(name, per_record), digest)
    return batches


def _tried(facts: Facts, task: Task) -> RowMap:
    """The map of a task, tried on public rows here: once for all parts that come."""
    return _row_map(_Pickled(cloudpickle.dumps((facts, task), protocol=5)))


@lru_cache(maxsize=1)
def _row_map(pickled: _Pickled) -> RowMap:
    return _agreeing_map(*pickle.loads(pickled.content))


def _agreeing_map(facts: Facts, task: Task) -> RowMap:
    return agreeing(facts.batches().row_map(task.per_record, most_rows=task.rows), task.digest)


@dataclass(frozen=True)
class Part:
    """Packed batches of rows that follow each other, counted from the first of the part; nobody has rows in two parts."""

    pieces: tuple[Piece, ...]
    digest: bytes

    @property
    def n_rows(self) -> int:
        """How many private rows there are."""
        return sum(piece.n_rows for piece in self.pieces)

    def __sizeof__(self) -> int:
        """The same for every part: a cluster shows on its pages how large things are, and how many rows there are is private.

        One that took a part for a few bytes would send it about instead of its tasks.
        """
        return _SAID_BYTES


@dataclass(frozen=True)
class Refusal:
    """What a worker could not do, as a sentence that was made to be read by anybody."""

    error: SfumatoError


def quietly(work: Callable[..., Result]) -> Callable[..., Result | Refusal]:
    """Work over private rows whose words, warnings and errors reach no page and no log of the engine."""

    @wraps(work)
    def done(*arguments: Any) -> Result | Refusal:
        refused = next((argument for argument in arguments if isinstance(argument, Refusal)), None)
        if refused is not None:
            return refused
        try:
            with silence(), few_threads(1):  # a cluster has a task for every core already
                return work(*arguments)
        except SfumatoError as error:
            return Refusal(type(error)(str(error)))
        except BaseException:  # noqa: BLE001 - its message may hold private values, and an engine would write it to its log
            return Refusal(
                EngineError(
                    "a worker failed over the rows. Its message is withheld, because it may hold private values. Try the data "
                    "with engine='local:1'."
                )
            )

    return done


@quietly
def packed(facts: Facts, raw: Raw) -> Part:
    """Rows, read and encoded where they lie."""
    return of_pieces(list(pieces_of(facts, encoded(facts, raw))))


def encoded(facts: Facts, raw: Raw) -> Iterator[Batch]:
    """Raw rows, read as the schema says."""
    private_chunks = chunks(raw, column_names(facts.schema), rows=rows_at_once(facts.schema))
    return (conform(private_raw, facts.schema) for private_raw in private_chunks)


@quietly
def hashed(facts: Facts, raw: Raw, key: bytes) -> NDArray[np.uint64]:
    """Whose row each is, as far as the driver needs it: equal for equal ids, under a secret key."""
    facts.require_same_software()
    person = str(facts.schema.unit.person)
    with naming(person):
        private_hashes = [hashes(private_raw[person], key) for private_raw in chunks(raw, [person])]
    return np.concatenate([np.empty((0, 2), dtype=np.uint64), *private_hashes])


@dataclass(frozen=True)
class Numbered:
    """The persons of a part's rows: their numbers, -1 for a row that is dropped; and by which hashes they were numbered."""

    numbers: NDArray[np.int64]
    digest: bytes
    key: bytes = field(repr=False)


def hashes_digest(private_hashes: Iterable[NDArray[np.uint64]]) -> bytes:
    """Which rows a part has, in which order, as far as persons are concerned."""
    digest = hashlib.blake2b(digest_size=16)
    for some in private_hashes:
        digest.update(some.tobytes())
    return digest.digest()


@quietly
def split(facts: Facts, raw: Raw, persons: "Numbered", ends: NDArray[np.int64]) -> list[Batch]:
    """Rows that are kept, encoded, by the part that their person goes to: below the first end, the second, ..."""
    facts.require_same_software()
    person, numbers, start = str(facts.schema.unit.person), persons.numbers, 0
    private_batches, private_hashes = list[Batch](), list[NDArray[np.uint64]]()
    for private_raw in chunks(raw, [*column_names(facts.schema), person], rows=rows_at_once(facts.schema)):
        private_hashes.append(hashes(private_raw.pop(person), persons.key))
        n_rows = len(private_hashes[-1])
        own = numbers[start : start + n_rows]
        kept = np.zeros(n_rows, dtype=bool)
        kept[: len(own)] = own >= 0
        private_own = {name: rows_where(values, kept) for name, values in private_raw.items()}
        private_batches.append({**conform(private_own, facts.schema), person: own[own >= 0]})
        start += n_rows
    if hashes_digest(private_hashes) != persons.digest:
        raise EngineError(
            "a part of the data had other persons, or in another order, when it was read again, so nothing is released. Give data "
            "that stays as it is: files instead of a query, or a frame that was sorted or written before."
        )
    return routed(facts, concatenated(private_batches), ends)


def routed(facts: Facts, everyone: Batch, ends: NDArray[np.int64]) -> list[Batch]:
    """Rows by the part that their person goes to."""
    if not everyone:
        return [{} for _ in ends]
    target = np.searchsorted(ends, everyone[str(facts.schema.unit.person)], side="right")
    return [take(everyone, np.flatnonzero(target == at)) for at in range(len(ends))]


@quietly
def joined(facts: Facts, *private_batches: Batch) -> Part:
    """The rows of some persons, from wherever they lay, in the order of their numbers."""
    together = concatenated([batch for batch in private_batches if batch])
    if not together:
        return of_pieces(())
    order = np.argsort(together[str(facts.schema.unit.person)], kind="stable")
    return of_pieces(list(pieces_of(facts, [take(together, order)])))


@quietly
def prepared(facts: Facts, part: Part) -> Part:
    """A part with the last of the prepared columns beside the others."""
    batches, (name, _, _) = facts.batches(), facts.prepared[-1]
    row_map = batches.maps[-1][1]
    columns = (batches.packed_column(piece, name, row_map) for piece in part.pieces)
    pieces = tuple(replace(p, batch={**p.batch, name: column}) for p, column in zip(part.pieces, columns, strict=True))
    return replace(part, pieces=pieces)


@quietly
def reduced(facts: Facts, task: Task, part: Part, first: int) -> tuple[bytes, Sums]:
    """The sums of a task over a part whose first row has this place in the data; and which part it was."""
    batches, row_map = facts.batches(), _tried(facts, task)
    pieces = (batches.unpacked(replace(piece, first=piece.first + first)) for piece in part.pieces)
    return part.digest, task.over(pieces, row_map=row_map, primitives=RowPrimitives())


@quietly
def texts(facts: Facts, part: Part, names: Sequence[str]) -> tuple[bytes, Texts]:
    """How often each text of some columns occurs in a part; and which part it was."""
    return part.digest, texts_of(map(facts.batches().unpacked, part.pieces), names)


def told(facts: Facts, task: Task) -> tuple[Facts, Task]:
    """What all parts are told, in one piece."""
    return facts, task


def reduced_by(told: tuple[Facts, Task], part: Part | Refusal, first: int) -> Any:
    """The same, with what is told to all parts in one piece."""
    return reduced(*told, part, first)


def chosen(batches: Any, at: int) -> Any:
    """One of several, or what stands in their place."""
    return batches if isinstance(batches, Refusal) else batches[at]


def facts_of(part: Part | Refusal) -> tuple[int, bytes] | Refusal:
    """How many rows a part has, and its digest."""
    return part if isinstance(part, Refusal) else (part.n_rows, part.digest)


def chunks(raw: Raw, names: Sequence[str], *, rows: int = _READ_AT_ONCE) -> Iterator[dict[str, Values]]:
    """The raw rows of all that a part is read from."""
    for private_source in raw:
        source = private_source if hasattr(private_source, "chunks") else partition_source(private_source, names)
        yield from source.chunks(names, rows=rows)


def column_names(schema: Schema) -> list[str]:
    """The columns of a schema."""
    return [column.name for column in schema.columns]


def pieces_of(facts: Facts, private_batches: Iterable[Batch]) -> Iterator[Piece]:
    """Encoded rows in packed batches, counted from the first."""
    batches, first = facts.batches(), 0
    for private_rows in regrouped(private_batches, rows=batches.rows):
        private_piece = batches.packed(batches.completed(private_rows, first=first))
        yield private_piece
        first += private_piece.n_rows


def of_pieces(pieces: Sequence[Piece], *, first: int = 0) -> Part:
    """A part of packed batches, of which the first begins at this place, and its digest."""
    pieces = [replace(piece, first=piece.first - first) for piece in pieces]
    digest = hashlib.blake2b(digest_size=16)
    for piece in pieces:
        digest.update(repr(piece.n_rows).encode())
        for private_values in (*piece.batch.values(), *([] if piece.numbers is None else [piece.numbers])):
            digest.update(_content(private_values))
    return Part(tuple(pieces), digest.digest())


def _content(private_values: NDArray[Any]) -> Any:
    if private_values.dtype.hasobject:  # texts that are still to be discovered
        return repr(private_values.tolist()).encode("utf-8", "surrogatepass")
    return np.ascontiguousarray(private_values).view(np.uint8).data


def concatenated(private_batches: Sequence[Batch]) -> dict[str, NDArray[Any]]:
    """The rows of several batches, one after the other."""
    if not private_batches:
        return {}
    return {name: np.concatenate([batch[name] for batch in private_batches]) for name in private_batches[0]}


def person_ends(numbers: NDArray[np.int64], *, parts: int) -> NDArray[np.int64]:
    """For each part the number below which its persons lie: whole persons, about as many rows for each.

    >>> person_ends(np.array([0, 0, 1, 2, 2, 2, 3]), parts=2)
    array([2, 4])
    """
    n_persons = int(numbers.max(initial=-1)) + 1
    ordered = np.sort(numbers[numbers >= 0])
    at = (np.arange(1, parts) * len(ordered)) // parts
    return np.append(ordered[at] if len(ordered) else np.zeros(parts - 1, dtype=np.int64), n_persons)


def in_groups(items: Sequence[Any], *, groups: int) -> Iterator[Sequence[Any]]:
    """Items that follow each other, in about as many groups: ten thousand tiny files are no ten thousand tasks."""
    size = -(-len(items) // max(1, groups))
    for start in range(0, len(items), max(1, size)):
        yield items[start : start + size]
