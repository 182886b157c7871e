"""Many files as one table, one file after the other, each read by its own header and types."""

import copy
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from sfumato.errors import SourceError
from sfumato.private.intake.csv_file import CsvSource
from sfumato.private.intake.messages import withheld
from sfumato.private.intake.places import SUFFIXES, Place, TableFile, list_files
from sfumato.private.intake.tables import TableSource
from sfumato.private.intake.unchanged import Unchanged, fingerprint
from sfumato.private.intake.values import Values


class FilePart:
    """One file of many, with the columns that the names of its folders give: a part that can be read by itself."""

    def __init__(self, file: TableFile, *, wanted: Collection[str]) -> None:
        """Open a file; its own column wins over a folder's."""
        path, seen = file.path, fingerprint(file.path)
        with withheld(f"{path} does not exist, or cannot be read. Check the path.", (OSError,)):
            size = path.stat().st_size
        if size == 0:
            raise SourceError(f"{path} is empty (0 bytes). Check how it was written.")
        name = path.name.lower()
        if not name.endswith(SUFFIXES):
            raise SourceError(
                f"{path} is no table that can be read together with others. Known: {', '.join(SUFFIXES)}."
            )
        self.path = path
        is_parquet = name.endswith((".parquet", ".pq"))
        self.table: TableSource | CsvSource = TableSource(path) if is_parquet else CsvSource(path, wanted=wanted)
        self._file = Unchanged(self.table, path=path, seen=seen)
        self._constants = {name: value for name, value in file.partition if name not in self.table.names}
        self.names = (*self.table.names, *self._constants)

    def of(self, table: TableSource | CsvSource) -> "FilePart":
        """Some rows of the same file."""
        part = copy.copy(self)
        part.table, part._file = table, self._file.of(table)
        return part

    def require_unchanged(self) -> None:
        """Refuse a file that is no longer the one that was opened."""
        self._file.require_unchanged()

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """The file's chunks, with the same value in all rows of a folder's column."""
        own = [name for name in names if name not in self._constants] or list(self.table.names[:1])
        for private_chunk in self._file.chunks(own, rows=rows):
            n_rows = len(private_chunk[own[0]])
            for name, value in self._constants.items():
                private_chunk[name] = pa.repeat(pa.scalar(value, pa.string()), n_rows)
            yield {name: private_chunk[name] for name in names}


class FilesSource:
    """All files of a listing as one table.

    Columns must be in every file: their names are public structure. Types may differ from file to file, because a missing
    value is enough to change them where a library guesses them from rows: each value is read by itself.
    """

    def __init__(self, places: Sequence[Place], *, wanted: Collection[str] = ()) -> None:
        """List the files and read each header; `wanted` columns must be in all."""
        self._places, self._listed = tuple(places), list_files(places)
        if not self._listed:
            shown = ", ".join(map(str, self._places[:3])) or "the list"
            raise SourceError(
                f"{shown} holds no table ({', '.join(SUFFIXES)}); for pictures, the schema has no image column."
            )
        #: What an engine may read apart.
        self.parts = tuple(FilePart(file, wanted=wanted) for file in self._listed)
        first = self.parts[0]
        for part in self.parts:
            for name in set(wanted) & set(first.names) - set(part.names):
                raise SourceError(
                    f"{part.path} has no column {name!r}, which {first.path} has. Give files of one table, each with all of "
                    "its columns."
                )
        common = set(first.names).intersection(*(part.names for part in self.parts))
        self.names = tuple(name for name in first.names if name in common)
        #: Rows lie where their values say, if folders are named by values: a row that is replaced does not keep its place.
        self.follows_values = any(file.partition for file in self._listed)

    @property
    def types(self) -> dict[str, Any] | None:
        """The types that the first file declares, or None where it declares none, as CSV."""
        table = self.parts[0].table
        return {n: table.types.get(n, pa.string()) for n in self.names} if isinstance(table, TableSource) else None

    @property
    def private_odd_lines(self) -> int:
        """Lines that the last reading left out, for a custodian's dry run."""
        return sum(part.table.private_odd_lines for part in self.parts if isinstance(part.table, CsvSource))

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """The chunks of all files, in the order of their names."""
        self.require_same_files()
        yield from joined((chunk for part in self.parts for chunk in part.chunks(names, rows=rows)), rows=rows)
        self.require_same_files()

    def require_same_files(self) -> None:
        """Refuse a listing that is another one by now."""
        if list_files(self._places) != self._listed:
            raise SourceError(
                "a file came or went while the data was read, so nothing is released. Copy the files to where nobody writes, "
                "and start again."
            )


def joined(chunks: Iterable[dict[str, Values]], *, rows: int) -> Iterator[dict[str, Values]]:
    """Small chunks of Arrow arrays as larger ones: a thousand tiny files would else be a thousand tiny steps."""
    held, n_held, kinds = list[dict[str, Values]](), 0, list[Any]()
    for private_chunk in chunks:
        n_rows = len(next(iter(private_chunk.values())))
        types = [values.type for values in private_chunk.values()]
        if held and (n_held + n_rows > rows or types != kinds):
            yield _merged(held)
            held, n_held = [], 0
        held.append(private_chunk)
        n_held, kinds = n_held + n_rows, types
    if held:
        yield _merged(held)


def _merged(chunks: Sequence[dict[str, Values]]) -> dict[str, Values]:
    if len(chunks) == 1:
        return chunks[0]
    return {name: pa.chunked_array([chunk[name] for chunk in chunks]).combine_chunks() for name in chunks[0]}
