"""A Spark frame as a source: partition by partition, never whole."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import pyarrow as pa

from sfumato.errors import SourceError
from sfumato.private.intake.messages import withheld
from sfumato.private.intake.quiet import silence
from sfumato.private.intake.tables import require_distinct
from sfumato.private.intake.values import Values

_UNREADABLE = (
    "the Spark frame cannot be read: its session has stopped, or a step of it fails over a row. Spark's own message is withheld, "
    "because it may hold private values. Try it with frame.count() where you may see them."
)


class SparkSource:
    """The partitions of a frame, in their order. An engine reads them where they are; this process, one after the other."""

    follows_values = True  # of how its rows were laid into partitions nothing is known

    def __init__(self, frame: Any) -> None:
        """Take a frame whose rows are not computed yet."""
        if not hasattr(frame, "mapInArrow") or ".connect." in type(frame).__module__:
            raise SourceError(
                f"data of type {type(frame).__module__}.{type(frame).__name__} is no frame of a Spark session of this process. "
                "Give a pyspark.sql.DataFrame (frame.to_spark() of pandas on Spark), or files."
            )
        if frame.isStreaming:
            raise SourceError(
                "a streaming frame has no end, and a release reads the data more than once. Write it first."
            )
        self.names = tuple(frame.columns)
        require_distinct(self.names, "the frame")
        #: What an engine reads by itself.
        self.parts = frame

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """The chunks of all partitions."""
        with withheld(_UNREADABLE, spark_errors()):
            messages = numbered(self.parts, names).mapInArrow(_as_messages, "body binary")
            for private_body in _silently(messages):
                batch = pa.ipc.open_stream(private_body).read_next_batch()
                for start in range(0, batch.num_rows, rows):
                    yield dict(zip(names, batch.slice(start, rows).columns, strict=False))


def _silently(messages: Any) -> Iterator[Any]:
    """The messages of all partitions. PySpark logs an error, and the value in it, before it raises."""
    with silence():
        rows = iter(messages.toLocalIterator())
    while True:
        with silence():
            row = next(rows, None)
        if row is None:
            return
        yield row[0]


def numbered(frame: Any, names: Sequence[str]) -> Any:
    """Some columns of a frame, in this order, and behind them the number of each row's partition.

    Columns are chosen by their place: Spark reads a name as an expression, and small letters as large ones.
    """
    places = [f"c{at}" for at in range(len(frame.columns))]
    wanted = [places[frame.columns.index(name)] for name in names]
    number = import_module("pyspark.sql.functions").spark_partition_id()
    return frame.toDF(*places).select(*wanted, number.alias("part"))


def spark_errors() -> tuple[type[Exception], ...]:
    """What PySpark raises: its own errors, those of the line to the JVM, and of a line that is cut."""
    mine, line = import_module("pyspark.errors").PySparkException, import_module("py4j.protocol").Py4JError
    return (mine, line, OSError, EOFError)


def _as_messages(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch({"body": pa.array([sink.getvalue().to_pybytes()], pa.binary())})
