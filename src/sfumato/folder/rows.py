"""The file of synthetic rows, Parquet for tables and npz for images: written and read piece by piece."""

import abc
import contextlib
import io
import math
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato.errors import ModelError, ReleaseError
from sfumato.folder.contents import bytes_of, member_of, members_of, read_header, refuse_not_plain
from sfumato.folder.disk import writing
from sfumato.model import Synthetic
from sfumato.pieces import joined, piece_sizes
from sfumato.public.damaged import DAMAGED

TABLE, ARRAYS = "synthetic.parquet", "synthetic.npz"
#: A table of events lies beside the table of persons, under its own name.
EVENTS = re.compile(r"synthetic\.([A-Za-z0-9_-]{1,60})\.parquet")
#: What rows are written to.
Sink = IO[bytes] | io.RawIOBase
#: Up to so many bytes of labels wait in memory until all images are written, and more of them on the disk.
_WAITING = 1 << 26


def file_name(rows: Synthetic) -> str:
    """The name of the file that holds such rows; of persons with events, that of the persons."""
    return ARRAYS if rows.table is None else TABLE


def file_names(rows: Synthetic) -> list[str]:
    """The names of all files that hold such rows."""
    return [file_name(rows), *map(event_file, rows.tables)]


def event_file(table: str) -> str:
    """The name of the file of a table of events."""
    return f"synthetic.{table}.parquet"


def files_at(path: Path) -> dict[str, Path]:
    """The file of rows at this path, and those of events beside it, by their names."""
    beside = sorted(other for other in path.parent.iterdir() if path.name == TABLE and EVENTS.fullmatch(other.name))
    return {file.name: file for file in (path, *beside)}


def settled(rows: Synthetic) -> Synthetic:
    """The rows as the receiver of their file will see them.

    Parquet has no unit of seconds for dates. Rows that are read back have another one, and then the same rows give the same
    bytes: so `verify` can see that a file holds nothing besides its rows. Arrays come back as they are.
    """
    if rows.table is None:
        return rows
    tables = {name: _settled(events) for name, events in rows.tables.items()}
    return Synthetic(table=_settled(rows.table), tables=tables)


def _settled(rows: pd.DataFrame) -> pd.DataFrame:
    table = _as_arrow(rows)
    coarse = [pa.types.is_timestamp(f.type) and f.type.unit == "s" for f in table.schema]
    fields = [f.with_type(pa.timestamp("ms", f.type.tz)) if s else f for f, s in zip(table.schema, coarse, strict=True)]
    frame: pd.DataFrame = table.cast(pa.schema(fields, metadata=table.schema.metadata)).to_pandas()
    return frame


class RowsWriter(abc.ABC):
    """A file of rows that takes them piece by piece, and is whole when its block ends."""

    @abc.abstractmethod
    def add(self, piece: Synthetic) -> None:
        """Write the next rows."""

    def add_all(self, pieces: Iterable[Synthetic]) -> None:
        """Write all of them, each while the next one is made: writing and hashing leave the interpreter free."""
        with ThreadPoolExecutor(1) as beside:
            written: Future[None] | None = None
            for piece in pieces:
                if written is not None:
                    written.result()
                written = beside.submit(self.add, piece)
            if written is not None:
                written.result()

    def __enter__(self) -> Self:
        return self

    @abc.abstractmethod
    def __exit__(self, *error: object) -> None:
        """Write what stands at the end, if all went well."""


def rows_writer(files: Mapping[str, Sink], n_rows: int) -> RowsWriter:
    """What writes so many rows into the files of a release, in the format that their names tell."""
    if ARRAYS in files:
        return ArrayWriter(files[ARRAYS], n_rows)
    return TableWriter(files[TABLE]) if len(files) == 1 else TablesWriter(files)


class TableWriter(RowsWriter):
    """A Parquet file. Each piece is a group of rows in it."""

    def __init__(self, file: Sink) -> None:
        """Write to an open file."""
        self._file = file
        self._writer: pq.ParquetWriter | None = None

    def add(self, piece: Synthetic) -> None:
        """Write a group of rows."""
        table = _as_arrow(piece.table)
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._file, table.schema, compression="snappy")
        if not table.schema.equals(self._writer.schema):
            raise ModelError("one piece of the rows has columns of other names or types than another.")
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    def __exit__(self, *error: object) -> None:
        if self._writer is not None and error[0] is None:
            self._writer.close()
        elif self._writer is not None:
            self._writer.is_open = False  # or it would write the rest when it is thrown away


class TablesWriter(RowsWriter):
    """A Parquet file for each of several tables."""

    def __init__(self, files: Mapping[str, Sink]) -> None:
        """Write to open files, by their names."""
        self._writers = {name: TableWriter(file) for name, file in files.items()}

    def add(self, piece: Synthetic) -> None:
        """Write persons, and what hangs on them."""
        self._writers[TABLE].add(piece)
        for name, events in piece.tables.items():
            self._writers[event_file(name)].add(Synthetic(table=events))

    def __exit__(self, *error: object) -> None:
        for writer in self._writers.values():
            writer.__exit__(*error)


class CsvWriter(RowsWriter):
    """A CSV file, the names of the columns first."""

    def __init__(self, file: Sink) -> None:
        """Write to an open file."""
        self._file, self._is_first = file, True

    def add(self, piece: Synthetic) -> None:
        """Write some lines."""
        pd.DataFrame(piece.table).to_csv(self._file, index=False, header=self._is_first)
        self._is_first = False

    def __exit__(self, *error: object) -> None:
        """Nothing stands at the end."""


class ArrayWriter(RowsWriter):
    """An archive of arrays, the images first. Labels wait until these are all written."""

    def __init__(self, file: Sink, n_rows: int, *, compression: int = zipfile.ZIP_STORED) -> None:
        """Write so many rows to an open file."""
        self._n_rows, self._open, self._first = n_rows, contextlib.ExitStack(), Synthetic()
        self._archive = self._open.enter_context(zipfile.ZipFile(file, "w", compression))
        self._streams: dict[str, IO[bytes]] = {}

    def add(self, piece: Synthetic) -> None:
        """Write images, and put their labels aside."""
        if not self._streams:
            self._first = piece.take(slice(0))
            for name in piece.arrays:
                if name == "images":
                    self._streams[name] = self._open.enter_context(self._member(name))
                else:
                    waiting = tempfile.SpooledTemporaryFile(_WAITING)  # noqa: SIM115
                    self._streams[name] = self._open.enter_context(waiting)
        with writing(Path(tempfile.gettempdir())):  # where labels wait; the file itself tells its own failures
            for name, values in piece.arrays.items():
                self._streams[name].write(bytes_of(values))

    def __exit__(self, *error: object) -> None:
        with self._open:
            if error[0] is not None or not self._streams:
                return
            self._streams.pop("images").close()
            for name, stream in self._streams.items():
                stream.seek(0)
                with self._member(name) as member:
                    shutil.copyfileobj(stream, member)
            classes = np.array(self._first.classes)
            with member_of(self._archive, "classes", shape=classes.shape, dtype=classes.dtype) as member:
                member.write(bytes_of(classes))

    def _member(self, name: str) -> AbstractContextManager[IO[bytes]]:
        like = self._first.arrays[name]
        return member_of(self._archive, name, shape=(self._n_rows, *like.shape[1:]), dtype=like.dtype)


def _as_arrow(rows: pd.DataFrame | None) -> Any:
    """The table as Arrow has it. What pandas calls its attributes is left out: it would be a place for anything."""
    plain = pd.DataFrame(rows)
    plain.attrs = {}
    return pa.Table.from_pandas(plain, preserve_index=False)


def rows_path(folder: Path) -> Path:
    """The file of rows of a release folder."""
    return folder / (TABLE if (folder / TABLE).is_file() else ARRAYS)


def read_synthetic(folder: Path) -> Synthetic:
    """All synthetic rows of a release folder, in memory."""
    return joined(read_pieces(rows_path(folder)))


def read_pieces(path: Path) -> Iterator[Synthetic]:
    """The synthetic rows as whoever opens the file will see them, group by group."""
    for file in files_at(path).values():
        refuse_not_plain(file)
    try:
        yield from (_table_pieces if path.name == TABLE else _array_pieces)(path)
    except DAMAGED as error:
        raise _cannot_be_read(path, error) from None


def read_head(path: Path) -> tuple[list[int], Synthetic]:
    """The rows of each piece and a dataset of the same columns without rows: a file may be large, its header is not."""
    refuse_not_plain(path)
    try:
        if path.name == ARRAYS:
            return _head_of_arrays(path)
        with pq.ParquetFile(path) as file:
            sizes = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
            return sizes, Synthetic(table=file.schema_arrow.empty_table().to_pandas())
    except DAMAGED as error:
        raise _cannot_be_read(path, error) from None


def _cannot_be_read(path: Path, error: Exception) -> ReleaseError:
    return ReleaseError(f"{path.name} cannot be read ({type(error).__name__}). Get the release again.")


def _table_pieces(path: Path) -> Iterator[Synthetic]:
    """Every piece is a group of each file."""
    with contextlib.ExitStack() as stack:
        file, *beside = (stack.enter_context(pq.ParquetFile(one)) for one in files_at(path).values())
        names = [match[1] for name in files_at(path) if (match := EVENTS.fullmatch(name))]
        if any(events.num_row_groups != file.num_row_groups for events in beside):
            raise ValueError("a table in other groups than that of persons")
        for at in range(file.num_row_groups):
            events = {name: one.read_row_group(at).to_pandas() for name, one in zip(names, beside, strict=True)}
            yield Synthetic(table=file.read_row_group(at).to_pandas(), tables=events)


def _array_pieces(path: Path) -> Iterator[Synthetic]:
    sizes, head = _head_of_arrays(path)
    with zipfile.ZipFile(path) as archive, contextlib.ExitStack() as stack:
        streams = {name: stack.enter_context(archive.open(f"{name}.npy")) for name in (*head.arrays, "classes")}
        classes = tuple(str(name) for name in np.lib.format.read_array(streams["classes"], allow_pickle=False))
        for name in head.arrays:
            read_header(streams[name], n_bytes=archive.getinfo(f"{name}.npy").file_size)
        for size in sizes:
            some: dict[str, Any] = {name: _next(streams[name], size, like) for name, like in head.arrays.items()}
            yield Synthetic(**some, classes=classes)


def _next(stream: Any, size: int, like: NDArray[Any]) -> NDArray[Any]:
    """The next entries of an array that is read from behind its header on."""
    values = np.empty((size, *like.shape[1:]), dtype=like.dtype)
    if stream.readinto(bytes_of(values)) != values.nbytes:
        raise ValueError("an array of fewer rows than there are images")
    return values


def _head_of_arrays(path: Path) -> tuple[list[int], Synthetic]:
    heads, n_rows = dict[str, NDArray[Any]](), 0
    with zipfile.ZipFile(path) as archive:
        for name, member in members_of(archive, n_bytes=path.stat().st_size).items():
            with archive.open(member) as stream:
                shape, dtype = read_header(stream, n_bytes=member.file_size)
            n_rows = shape[0] if name == "images" else n_rows
            heads[name] = np.empty((0, *shape[1:]), dtype=dtype)
    if not math.prod(heads["images"].shape[1:]):
        raise ValueError("images without pixels, of which a small file may hold any number")
    held = Synthetic(images=heads["images"], labels=heads.get("labels"), soft_labels=heads.get("soft_labels"))
    return piece_sizes(n_rows), held
