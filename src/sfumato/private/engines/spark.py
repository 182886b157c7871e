"""Rows on Spark: in a session that is there already, or in one of this machine that ends with the release.

Parts are rows of a frame that is kept in the executors' memory, and on their disks what does not fit there, if Spark encrypts what
it writes. What is evicted or lost, Spark makes again from where it came, and its digest says whether it is the same.
"""

import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import Any

from sfumato.errors import EngineError
from sfumato.private.engines import part as parts
from sfumato.private.engines import spark_worker as worker
from sfumato.private.engines.cluster import ClusterRows, numbers_of, opened_here
from sfumato.private.engines.engine import Rows
from sfumato.private.engines.spark_session import alive, started
from sfumato.private.engines.task import Task
from sfumato.private.intake.sensitive import Sensitive
from sfumato.private.intake.spark_frame import numbered, spark_errors
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Schema

#: Parts for each core: few enough that tasks are long, and enough that a slow one holds nobody up.
_PARTS_PER_CORE = 4
#: Rows of persons that are brought together at once, in one worker's memory.
_MOST_JOINED = 1 << 20
_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


class Spark:
    """A session by its master, one that is open, or one that is made here."""

    def __init__(self, master: str | None = None, *, session: Any = None) -> None:
        """Nothing is started yet."""
        self._master, self._session = master, session

    def open(self, data: Sensitive, *, schema: Schema, plan: Plan, primitives: Primitives) -> Rows:
        """Rows in the executors; here where a step needs them in one place."""
        here = opened_here(data, schema=schema, plan=plan, primitives=primitives)
        if here is not None:
            return here
        session, is_made = (alive(self._session), False) if self._session is not None else started(self._master)
        keep = sum(step.uses for step in plan.steps) > 1
        return SparkRows(data, schema=schema, keep=keep, primitives=primitives, session=session, is_made=is_made)


class SparkRows(ClusterRows):
    """Parts as rows of a frame: blobs, each with the number of its part."""

    def __init__(
        self, data: Sensitive, *, schema: Schema, keep: bool, primitives: Primitives, session: Any, is_made: bool
    ) -> None:
        """Take an open session; whether it was made for this release, and ends with it."""
        super().__init__(data, schema=schema, keep=keep, primitives=primitives)
        self._session, self._is_made, self._seal = session, is_made, worker.Seal()
        self._packed: Any = None
        self._blobs: dict[int, list[Any]] = {}  # by part: rows and digest of its blobs, as they were at first

    @property
    def n_workers(self) -> int:
        """How many tasks run at once."""
        return max(1, int(self._session.sparkContext.defaultParallelism))

    @property
    def _n_parts(self) -> int:
        return _PARTS_PER_CORE * self.n_workers

    def can_read(self, raw: Any) -> bool:
        """Files, and frames of Spark."""
        return _is_frame(raw) or not any(hasattr(private_part, "dask") for private_part in raw)

    def read(self, raw: Any) -> None:
        """Each task reads its rows and keeps them."""
        if not _is_frame(raw):
            self._keep_sent(
                parts.in_groups(raw, groups=self._n_parts), partial(worker.pack_sources, self._facts, self._seal)
            )
            return
        names = parts.column_names(self.schema)
        with self._answering():
            pack = partial(worker.pack_frame, self._facts, names)
            self._keep(self._numbered(raw, names).mapInArrow(pack, worker.BLOBS))

    def read_persons(self, raw: Any, *, person: str, key: bytes, max_rows: int) -> None:
        """Encoded blocks first, with ids as keyed hashes; then rows go to the parts of their persons, sealed on their way."""
        levels = import_module("pyspark").StorageLevel
        with self._answering():
            blocks = self._in_blocks(raw, person=person, key=key).persist(levels.MEMORY_AND_DISK)
            try:
                n_kept = self._keep_persons(blocks, key=key, max_rows=max_rows)
            finally:
                with suppress(*spark_errors()):
                    blocks.unpersist()
        blobs = [blob for blobs in self._blobs.values() for blob in blobs]
        if all(n_rows >= 0 for n_rows, _ in blobs) and sum(n_rows for n_rows, _ in blobs) != n_kept:
            raise EngineError("rows were lost on the way to their persons' parts, so nothing is released. Start again.")

    def _keep_persons(self, blocks: Any, *, key: bytes, max_rows: int) -> int:
        """Number persons by their hashes, and bring their rows together; how many are kept."""
        rows = sorted(tuple(row) for row in blocks.select("part", "at", "hashes").collect())
        private_hashes = [self._seal.opened(sealed) for _, _, sealed in rows]
        by_block, numbers = numbers_of(private_hashes, key=key, max_rows=max_rows)
        ends = parts.person_ends(numbers, parts=max(self._n_parts, -(-len(numbers) // _MOST_JOINED)))
        told = [
            (number, at, self._seal.closed((own.numbers, own.digest)))
            for (number, at, _), own in zip(rows, by_block, strict=True)
        ]
        beside = self._frame(told, "part int, at int, numbers binary")
        with self._one_at_a_time():
            beside_numbers = blocks.join(
                import_module("pyspark.sql.functions").broadcast(beside), ["part", "at"], "left"
            )
            routed = beside_numbers.mapInArrow(partial(worker.route, self._facts, ends, self._seal), worker.ROUTED)
            by_part = getattr(routed, "repartitionById", routed.repartition)(len(ends), "part")
            ordered = by_part.sortWithinPartitions("part", "source", "at")
            self._keep(ordered.mapInArrow(partial(worker.join, self._facts, self._seal), worker.BLOBS))
        return int((numbers >= 0).sum())

    def ship(self, made: Iterable[parts.Part]) -> None:
        """Send parts that were read here."""
        self._keep_sent(([private_part.pieces] for private_part in made), partial(worker.pack_shipped, self._seal))

    def facts(self) -> Mapping[int, Any]:
        """Rows and digest of every part."""
        return {at: _facts_of(self._blobs[number]) for at, number in enumerate(sorted(self._blobs))}

    def add_column(self, facts: parts.Facts) -> None:
        """A new frame from the old one, which is let go of."""
        with self._answering(), self._one_at_a_time():
            self._keep(self._packed.mapInArrow(partial(worker.add_column, facts), worker.BLOBS))

    def sums(self, facts: parts.Facts, task: Task, firsts: Sequence[int]) -> Mapping[int, Any]:
        """Digest and sums of every part."""
        return self._answers(partial(worker.summed, facts, task, dict(zip(sorted(self._blobs), firsts, strict=True))))

    def texts_by_part(self, facts: parts.Facts, names: Sequence[str]) -> Mapping[int, Any]:
        """Digest and counts of texts of every part."""
        return self._answers(partial(worker.counted, facts, list(names)))

    def close(self) -> None:
        """Let go of the frame, and end the session if it was made here. One that has ended is not to be waited for."""
        super().close()
        packed, self._packed = self._packed, None
        with suppress(*spark_errors()):
            if packed is not None:
                packed.unpersist()
            if self._is_made:
                self._session.stop()

    def _answers(self, asked: Any) -> dict[int, Any]:
        """What every part answers, by its place among the parts."""
        with self._answering(), self._one_at_a_time():
            rows = self._packed.mapInArrow(asked, worker.ANSWERS).collect()
        answered = {number: pickle.loads(body) for number, body in rows}
        for private_answer in answered.values():
            if isinstance(private_answer, parts.Refusal):
                raise private_answer.error
        self._require_known(answered)
        return {at: answered.get(number) for at, number in enumerate(sorted(self._blobs))}

    def _keep_sent(self, things: Iterable[Any], pack: Any) -> None:
        sealed = self._sealed(things)
        with self._answering(), self._one_at_a_time():
            self._keep(self._frame(sealed, worker.SENT).mapInArrow(pack, worker.BLOBS))

    def _keep(self, frame: Any) -> None:
        """Keep blobs in the place of those before: in memory, and on a disk none that could be read there."""
        is_sealed = self._session.sparkContext.getConf().get("spark.io.encryption.enabled", "false") == "true"
        level = import_module("pyspark").StorageLevel(
            useDisk=is_sealed, useMemory=True, useOffHeap=False, deserialized=True
        )
        before, self._packed = self._packed, frame.persist(level)
        blobs: dict[int, list[Any]] = {}
        for number, _, n_rows, digest in sorted(map(tuple, self._packed.select(*_OF_BLOBS).collect())):
            blobs.setdefault(number, []).append((n_rows, bytes(digest)))
        if before is not None:  # it is needed no more, because the new one is made
            before.unpersist()
            self._require_known(blobs)
        else:
            self._blobs = blobs

    def _require_known(self, numbers: Iterable[int]) -> None:
        if set(numbers) - self._blobs.keys():
            raise EngineError("the data had more parts when it was read again, so nothing is released. Start again.")

    def _in_blocks(self, raw: Any, *, person: str, key: bytes) -> Any:
        if not _is_frame(raw):
            frame = self._frame(self._sealed(parts.in_groups(raw, groups=self._n_parts)), worker.SENT)
            return frame.mapInArrow(partial(worker.block_sources, self._facts, key, self._seal), worker.BLOCKS)
        names = [*parts.column_names(self.schema), person]
        block = partial(worker.block_frame, self._facts, names, key, self._seal)
        return self._numbered(raw, names).mapInArrow(block, worker.BLOCKS)

    def _numbered(self, frame: Any, names: Sequence[str]) -> Any:
        """Rows beside the numbers of their partitions; ten thousand tiny ones become a few tasks."""
        self._session = frame.sparkSession  # its settings are those that count
        return numbered(frame, names).coalesce(self._n_parts)

    def _sealed(self, things: Iterable[Any]) -> list[tuple[int, bytes]]:
        return [(at, self._seal.closed(private)) for at, private in enumerate(things)]

    def _frame(self, rows: Sequence[Any], form: str) -> Any:
        """A frame of sealed rows: on their way to the JVM they may lie in a file."""
        slices = max(1, min(len(rows), self._n_parts))
        return self._session.createDataFrame(self._session.sparkContext.parallelize(rows, slices), form)

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Blobs are large: Spark hands them to workers one by one, and by its own setting again afterwards."""
        before = self._session.conf.get(_BATCH)
        self._session.conf.set(_BATCH, "1")
        try:
            yield
        finally:
            with suppress(*spark_errors()):
                self._session.conf.set(_BATCH, before)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """What Spark raises may quote rows: a sentence takes its place."""
        try:
            yield
        except spark_errors() as theirs:
            error = EngineError(_sentence(theirs))
            try:
                raise error from None
            finally:
                error.__context__ = None  # `from None` hides the first exception, and still keeps it


_OF_BLOBS = ("part", "at", "n_rows", "digest")


def _is_frame(raw: Any) -> bool:
    return hasattr(raw, "mapInArrow")


def _facts_of(blobs: Sequence[tuple[int, bytes]]) -> tuple[int, bytes] | parts.Refusal:
    for n_rows, digest in blobs:
        if n_rows < 0:
            refusal: parts.Refusal = pickle.loads(digest)
            return refusal
    return sum(n_rows for n_rows, _ in blobs), worker.whole_digest(digest for _, digest in blobs).digest()


def _sentence(error: Exception) -> str:
    text = ""
    with suppress(*spark_errors()):  # an error of the JVM asks the JVM for its text
        text = str(error)
    if "PYTHON_VERSION_MISMATCH" in text or "No module named" in text:
        return (
            f"a worker of Spark has another Python than {sys.version_info.major}.{sys.version_info.minor}, or no sfumato. Install "
            "the same versions everywhere, and set PYSPARK_PYTHON to that Python."
        )
    return (
        "Spark could not read the rows, or has lost them for good, so nothing is released. Its message is withheld, because it "
        "may hold private values. Is the session still open, do executors end for want of memory, does frame.count() work?"
    )
