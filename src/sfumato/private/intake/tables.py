"""Tables as sources: arrays, frames, Parquet and npz, each read chunk by chunk.

What a source may say in an error is public structure: a path, a format, the names in a header. Never what a
row holds, how many rows there are, or which of them is odd; Arrow's own messages do, so they are replaced.
"""

import copy
import gzip
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import accumulate
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.errors import SourceError
from sfumato.private.intake.messages import withheld
from sfumato.private.intake.remote import RemotePath
from sfumato.private.intake.values import Coded, Values, unreadable
from sfumato.public.damaged import DAMAGED


class ArraySource:
    """Columns that are already in memory."""

    def __init__(self, columns: Mapping[str, Values]) -> None:
        self._columns = {str(name): _as_values(str(name), values) for name, values in columns.items()}
        self.names = tuple(self._columns)
        if len({len(values) for values in self._columns.values()}) > 1:
            raise SourceError("the arrays have different lengths. Give one value for each row in every array.")

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """Slices of the arrays."""
        n_rows = len(next(iter(self._columns.values()), ()))
        for start in range(0, n_rows, rows):
            yield {name: _settle(self._columns[name], slice(start, start + rows)) for name in names}


def frame_source(frame: pd.DataFrame) -> ArraySource:
    """A pandas frame as a source; its column names must differ."""
    names = [str(name) for name in frame.columns]
    require_distinct(names, "the table")
    return ArraySource({name: frame.iloc[:, at] for at, name in enumerate(names)})


def _as_values(name: str, values: Any) -> Any:
    if isinstance(values, pd.Series | pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, pd.api.extensions.ExtensionArray | pd.Index):
        return pd.Series(values)
    if hasattr(values, "__arrow_c_stream__"):  # a column of polars: as an array, a null would make floats of all
        return pa.chunked_array(values)
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(object), None)
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise SourceError(f"column {name!r} is no array. Give an array with one value for each row.")
    try:
        if isinstance(values, Sequence) and not hasattr(values, "__array__"):
            # As objects: a common type for all would let one row change how another is read.
            return np.fromiter(values, object, count=len(values))
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise SourceError(f"column {name!r} cannot be read as an array. Give an array of numbers or texts.") from None
    if array.ndim == 0:
        raise SourceError(f"column {name!r} is no array. Give an array with one value for each row.")
    return array


def _settle(values: Any, rows: slice = slice(None)) -> Values:
    """Some rows of a column as NumPy or Arrow values, without looking at what it holds."""
    if not isinstance(values, pd.Series):
        return values[rows]
    values = values.iloc[rows]  # before pandas 3, a plain slice goes by the labels of a fractional index
    kind = values.dtype
    if isinstance(kind, pd.PeriodDtype | pd.IntervalDtype):
        raise unreadable(kind)
    if isinstance(kind, pd.CategoricalDtype):
        return Coded(_settle(pd.Series(kind.categories)), values.cat.codes.to_numpy().astype(np.int64))
    if isinstance(kind, pd.DatetimeTZDtype):
        return values.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    masked = isinstance(kind, pd.api.extensions.ExtensionDtype) and kind.kind in "biuf" and kind.na_value is pd.NA
    if isinstance(kind, pd.ArrowDtype) or masked or (isinstance(kind, pd.StringDtype) and kind.storage == "pyarrow"):
        return pa.array(values.array)
    return values.to_numpy()


class TableSource:
    """An Arrow table in memory, or a Parquet file: typed columns, read batch by batch."""

    is_divisible = True

    def __init__(self, table: pa.Table | Path | RemotePath) -> None:
        self._table = table
        self._private_stretch: tuple[int, int] | None = None
        if isinstance(table, Path | RemotePath):
            with no_details(table, "a Parquet file"), _for_arrow(table) as where, pq.ParquetFile(where) as file:
                schema, self.private_size = file.schema.to_arrow_schema(), sum(_sizes_of_groups(file))
        else:
            schema, self.private_size = table.schema, len(table)
        require_distinct(schema.names, "the table")
        self.names = tuple(schema.names)
        #: The declared Arrow type of each column: public structure.
        self.types: dict[str, Any] = dict(zip(schema.names, schema.types, strict=True))

    def between(self, first: int, end: int) -> "TableSource":
        """The rows of a file from one place to another, to be read by themselves."""
        part = copy.copy(self)
        part._private_stretch = (first, end)
        return part

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """Batches of the table; texts stay dictionaries, which are cheap to map."""
        if not isinstance(self._table, Path | RemotePath):
            for batch in self._table.select(list(names)).to_batches(max_chunksize=rows):
                yield dict(zip(names, batch.columns, strict=True))
            return
        texts = [n for n in names if pa.types.is_string(self.types[n]) or pa.types.is_large_string(self.types[n])]
        with no_details(self._table, "a readable Parquet file"), _for_arrow(self._table) as where, pq.ParquetFile(
            where, read_dictionary=texts, memory_map=False, pre_buffer=False
        ) as file:  # fmt: skip
            sizes = _sizes_of_groups(file)
            groups, skipped, left = _within(sizes, *(self._private_stretch or (0, sum(sizes))))
            for batch in file.iter_batches(batch_size=rows, row_groups=groups, columns=list(names)):
                own = batch.slice(skipped, left)
                skipped, left = max(0, skipped - len(batch)), left - len(own)
                if len(own):
                    yield {name: own.column(name) for name in names}


def _sizes_of_groups(file: pq.ParquetFile) -> list[int]:
    return [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]


def _within(sizes: Sequence[int], first: int, end: int) -> tuple[list[int], int, int]:
    """The groups of rows that lie between two places; how many rows of the first to skip, and how many to take in all.

    >>> _within([10, 10, 10], 12, 25)
    ([1, 2], 2, 13)
    """
    ends = list(accumulate(sizes))
    groups = [at for at, (size, last) in enumerate(zip(sizes, ends, strict=True)) if first < last and last - size < end]
    return groups, first - (ends[groups[0]] - sizes[groups[0]]) if groups else 0, end - first


class NpzSource:
    """The arrays of a .npz file, streamed member by member."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.headers: dict[str, tuple[tuple[int, ...], np.dtype[Any], bool]] = {}
        try:
            with ZipFile(path) as archive:
                for member in archive.namelist():
                    with archive.open(member) as stream:
                        self.headers[member.removesuffix(".npy")] = _npy_header(stream)
        except DAMAGED:
            raise SourceError(f"{path} is not a .npz file of plain arrays. Write it with numpy.savez.") from None
        self.names = tuple(self.headers)
        for name, (shape, dtype, _) in self.headers.items():
            if dtype.hasobject:
                raise SourceError(f"array {name!r} of {path} holds Python objects. Save it as numbers or texts.")
            if not shape:
                raise SourceError(f"array {name!r} of {path} has no rows: it is a single value. Remove it.")

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """Slices of the arrays, read as they are needed."""
        self.require_one_length(names)
        with no_details(self._path, "a readable .npz file"), ZipFile(self._path) as archive:
            streams = {name: archive.open(name + ".npy") for name in names}
            for stream in streams.values():
                _npy_header(stream)
            for parts in zip(*(self._slices(streams[name], name, rows) for name in names), strict=True):
                yield dict(zip(names, parts, strict=True))

    def require_one_length(self, names: Sequence[str]) -> None:
        """Refuse arrays that cannot be columns of one table."""
        if len({self.headers[name][0][0] for name in names}) > 1:
            raise SourceError(f"the arrays {', '.join(map(repr, names))} of {self._path} have different lengths.")

    def _slices(self, stream: Any, name: str, rows: int) -> Iterator[Values]:
        (n_rows, *inner), dtype, fortran = self.headers[name]
        if fortran and inner:
            # Stored by column: a slice of rows lies all over the file, so this array has to be held whole.
            whole = read_block(stream, (*reversed(inner), n_rows), dtype).T
            yield from (whole[start : start + rows] for start in range(0, n_rows, rows))
            return
        for start in range(0, n_rows, rows):
            yield read_block(stream, (min(rows, n_rows - start), *inner), dtype)


def _npy_header(stream: Any) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(stream)
    return shape, dtype, fortran


def read_block(stream: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The next values of a stream as an array; EOFError where it ends too early."""
    size = math.prod(shape) * dtype.itemsize
    content = stream.read(size)
    if len(content) != size:
        raise EOFError("the file is shorter than its header says")
    return np.frombuffer(content, dtype=dtype).reshape(shape)


def no_details(path: Path | RemotePath, what: str) -> AbstractContextManager[None]:
    """Replace a reader's message, which may quote rows, by one about the file."""
    return withheld(f"{path} is not {what}: it is damaged, or not what its name says.")


def require_distinct(names: Sequence[str], where: str) -> None:
    """Refuse a header in which a name does not say which column is meant."""
    first: dict[str, int] = {}
    for at, name in enumerate(names, start=1):
        if first.setdefault(name, at) != at:  # by their places: a header that is none may hold a row
            raise SourceError(
                f"{where} names a column twice in its header: columns {first[name]} and {at}. Give each column its own name."
            )


def open_binary(path: Path | RemotePath) -> Any:
    """The bytes of a file, unpacked where its name ends in .gz."""
    if not path.name.lower().endswith(".gz"):
        return path.open("rb")
    return gzip.open(path if isinstance(path, Path) else path.open("rb"), "rb")


def _for_arrow(path: Path | RemotePath) -> AbstractContextManager[Any]:
    """What Arrow reads from: it opens local files better than Python does."""
    return nullcontext(path) if isinstance(path, Path) else path.open("rb")
