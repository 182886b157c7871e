"""Where rows come from: one way to read arrays, tables, files and folders, chunk by chunk."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.errors import SourceError
from sfumato.private.intake.csv_file import CsvSource
from sfumato.private.intake.many_files import FilesSource
from sfumato.private.intake.pictures import FolderSource, IdxSource
from sfumato.private.intake.places import SUFFIXES, Place, local_path, names_several
from sfumato.private.intake.query import Query, QuerySource, is_database, refuse_whole
from sfumato.private.intake.same_rows import SameRows
from sfumato.private.intake.source import Source
from sfumato.private.intake.tables import ArraySource, NpzSource, TableSource, frame_source, no_details
from sfumato.private.intake.unread_formats import unread_suffix
from sfumato.private.intake.values import Values
from sfumato.public.schema.schema import Schema
from sfumato.public.spelling import did_you_mean, words_of

KNOWN = (
    ".csv, .tsv (both also .gz), .parquet, .npz, IDX (images-idx3-ubyte, also .gz), or a folder of pictures, recordings or "
    "tables"
)

_WHERE_LABELS = (
    "Labels are an array of an npz file, the labels-idx1 file beside an IDX file of images, or the names of the "
    "subfolders of a folder of pictures. For pictures without labels, remove the column and the target."
)


#: A longer name in a header is not repeated: it may be rows behind a quote that does not close.
_LONGEST_NAME = 100


class Renamed:
    """A source under the names that the schema uses."""

    def __init__(self, source: Source, *, names: Mapping[str, str]) -> None:
        """Take {schema's name: source's name}; the columns that are not named keep theirs."""
        self._source, self._renamed = source, dict(names)
        back = {theirs: ours for ours, theirs in names.items()}
        self.names = tuple(back.get(name, name) for name in source.names)

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """The source's chunks, renamed."""
        theirs = [self._renamed.get(name, name) for name in names]
        for private_chunk in self._source.chunks(theirs, rows=rows):
            yield {name: private_chunk[their] for name, their in zip(names, theirs, strict=True)}


def open_source(data: Any, schema: Schema) -> Source:
    """Open a path or in-memory data, and check that its header has what the schema declares.

    Args:
        data: a path (CSV, TSV, Parquet, npz, IDX, folder of pictures or of tables), a glob, a URL, a list of these, a
            `Query` of a database, a `pyarrow.dataset.Dataset`, a frame of pandas, polars, Dask or Spark, an Arrow table, a dict of
            arrays, a structured array, a 2-D array with the schema's columns in order, (images, labels).
        schema: the public description of the data.
    """
    private_source = open_place(data, schema) if is_place(data) else _open_object(data, schema)
    renamed = _image_names(private_source, schema)
    needed = _needed(schema)
    named = Renamed(private_source, names=renamed) if renamed else private_source
    is_named_by_hand = isinstance(private_source, NpzSource | IdxSource | FolderSource)
    _require_columns(named.names, needed, schema, may_show_a_row=not is_named_by_hand)
    if isinstance(private_source, NpzSource):
        private_source.require_one_length([renamed.get(name, name) for name in needed])
    return named


def is_place(data: Any) -> bool:
    """Whether data is said by where it lies: a path, a URL, a list of these, a query of a database."""
    is_list = isinstance(data, list | tuple) and len(data) > 0
    return isinstance(data, str | os.PathLike | Query) or (
        is_list and all(isinstance(p, str | os.PathLike) for p in data)
    )


def open_place(data: Place | Sequence[Place] | Query, schema: Schema | None) -> Source:
    """Open what lies somewhere; without a schema only its structure may be asked for."""
    needed = [] if schema is None else _needed(schema)
    if isinstance(data, Query):
        private_query = QuerySource(data)
        there = [name for name in needed if name in private_query.names]  # what is missing is refused by its name
        return SameRows(private_query, needed=there, what=f"the query of {private_query.shown}")
    if not isinstance(data, str | os.PathLike):
        return FilesSource(data, wanted=needed)
    if is_database(data):
        raise refuse_whole(data)
    path = local_path(data)
    return FilesSource([data], wanted=needed) if path is None or names_several(data) else open_path(path, schema)


def open_path(path: Path, schema: Schema | None) -> Source:
    """Open a file or folder by what its name says; without a schema only its structure may be asked for."""
    if path.is_dir():
        if not schema.images if schema is not None else _holds_tables(path):
            return FilesSource([path], wanted=[] if schema is None else _needed(schema))
        return FolderSource(path, None if schema is None else schema.images[0])
    try:
        size = path.stat().st_size
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise SourceError(f"{path} {reason}. Check the path.") from None
    if size == 0:
        raise SourceError(f"{path} is empty (0 bytes). Check how it was written.")
    name = path.name.lower().removesuffix(".gz")
    packed = name != path.name.lower()
    if name.endswith((".csv", ".tsv")):
        return CsvSource(path, wanted=[] if schema is None else _needed(schema))
    if name.endswith((".parquet", ".pq")) and not packed:
        return TableSource(path)
    if name.endswith(".npz") and not packed:
        return NpzSource(path)
    if "idx3" in name:
        return IdxSource(path)
    if "idx1" in name:
        raise SourceError(
            f"{path} holds labels. Give the images-idx3 file: the labels beside it are found by its name."
        )
    raise SourceError(f"{path} has a suffix that is not known. {unread_suffix(path)}Known: {KNOWN}.")


def _holds_tables(folder: Path) -> bool:
    """Whether a folder is one of tables and not of pictures, told by the names in it."""
    with no_details(folder, "a readable folder"):
        return any(name.lower().endswith(SUFFIXES) for _, _, names in os.walk(folder) for name in names)


def _open_object(data: Any, schema: Schema) -> Source:
    if type(data).__module__.startswith("pyarrow._dataset"):  # imported when there is one, because it imports slowly
        from sfumato.private.intake.arrow_dataset import DatasetSource

        private_dataset = DatasetSource(data)
        there = [name for name in _needed(schema) if name in private_dataset.names]
        return SameRows(private_dataset, needed=there, what="the dataset")
    if type(data).__module__.startswith(("dask", "pyspark")):
        private_frame = _frame_of_cluster(data)
        there = [name for name in _needed(schema) if name in private_frame.names]
        return SameRows(private_frame, needed=there, what="the frame")
    if isinstance(data, pd.DataFrame):
        return frame_source(data)
    if isinstance(data, pa.Table):
        return TableSource(data)
    if hasattr(data, "__arrow_c_stream__"):  # polars, DuckDB and whoever else speaks Arrow
        try:
            table = pa.table(data)
        except Exception:  # noqa: BLE001 - whatever a library of any make raises over private rows would be an output
            way = "cannot be read by way of Arrow. Give it as a pandas frame or an Arrow table."
            raise SourceError(f"data of type {type(data).__name__} {way}") from None
        return TableSource(table)
    if isinstance(data, Mapping):
        if not data:
            raise SourceError("the data has no arrays. Give one array for each column of the schema.")
        return ArraySource(data)
    if isinstance(data, tuple) and len(data) == 2 and schema.images:
        return ArraySource({"image": data[0], "label": data[1]})
    if isinstance(data, np.ndarray) and data.dtype.names:
        return ArraySource({name: data[name] for name in data.dtype.names})
    if isinstance(data, np.ndarray) and data.ndim == 2 and not schema.images:
        if data.shape[1] != len(schema.columns):
            raise SourceError(
                "a 2-D array must have the columns of the schema, in its order. Or give a dict of arrays."
            )
        return ArraySource({column.name: data[:, at] for at, column in enumerate(schema.columns)})
    if isinstance(data, np.ndarray) and data.ndim > 1 and schema.images:
        return ArraySource({"image": data})
    lazy = " Call .collect() on it first." if callable(getattr(data, "collect", None)) else ""
    raise SourceError(
        f"data of type {type(data).__name__} is not known. Give a path, a frame, or a dict of arrays.{lazy}"
    )


def _frame_of_cluster(data: Any) -> Source:
    if type(data).__module__.startswith("dask"):
        from sfumato.private.intake.dask_frame import DaskSource

        return DaskSource(data)
    from sfumato.private.intake.spark_frame import SparkSource

    return SparkSource(data)


def _image_names(source: Source, schema: Schema) -> dict[str, str]:
    """Pictures and labels go to the columns of their kind, whatever the schema calls them."""
    renamed = {}
    picture_array, label_array = _picture_and_label(source)
    coded = [column.name for column in schema.columns if column.is_coded]
    label = schema.target if schema.target is not None else coded[0] if len(coded) == 1 else None
    for column in schema.images:
        if column.name not in source.names and picture_array is not None:
            renamed[column.name] = picture_array
        if label is not None and label not in source.names and label_array is not None:
            renamed[label] = label_array
    return renamed


def _picture_and_label(source: Source) -> tuple[str | None, str | None]:
    """What holds the pictures and what the labels; in an npz file the shapes tell, where only one array has each."""
    headers = source.headers if isinstance(source, NpzSource) else {}
    pictures = [name for name, (shape, _, _) in headers.items() if len(shape) in (3, 4)]
    labels = [name for name, (shape, _, _) in headers.items() if len(shape) == 1]
    picture, label = (
        name if name in source.names else by_shape[0] if len(by_shape) == 1 else None
        for name, by_shape in (("image", pictures), ("label", labels))
    )
    return picture, label


def _needed(schema: Schema) -> list[str]:
    """The columns that the data must have."""
    person = schema.unit.person
    return [*(column.name for column in schema.columns), *([person] if person is not None else [])]


def _require_columns(names: Sequence[str], needed: Sequence[str], schema: Schema, *, may_show_a_row: bool) -> None:
    there = set(names)
    missing = [name for name in needed if name not in there]
    if not missing:
        return
    name = missing[0]
    role = "the target " if name == schema.target else "the person column " if name == schema.unit.person else ""
    more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    # A name that is in the schema but for capitals or spaces is public; whatever else a first line holds may be a row.
    words = "".join(words_of(name))
    alike = next((theirs for theirs in names if "".join(words_of(theirs)) == words != ""), None)
    if alike is not None:
        has = f"It has {alike!r}: names must agree to the letter."
    elif len(missing) == len(needed) and may_show_a_row:
        # A table without a header shows its first row where names should be, and that row is private.
        has = "It has none of the schema's columns: is the header missing? Or is the schema that of another file?"
    else:
        shown = [theirs for theirs in names[:20] if len(theirs) <= _LONGEST_NAME and theirs.isprintable()]
        rest = ", ..." if len(names) > len(shown) else ""
        has = f"It has: {', '.join(shown)}{rest}.{did_you_mean(name, shown)}"
    if schema.images and name not in {column.name for column in schema.images}:
        has += f" {_WHERE_LABELS}"
    raise SourceError(f"the data has no column for {role}{name!r} of the schema{more}. {has}")
