"""Files cut for processes of this machine: each reads its own stretch of the rows, and no row passes through another process."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import cast

from sfumato.private.intake.csv_file import CsvSource
from sfumato.private.intake.many_files import FilePart, FilesSource
from sfumato.private.intake.source import Source
from sfumato.private.intake.tables import TableSource
from sfumato.private.intake.unchanged import Unchanged
from sfumato.private.intake.values import Values

_File = Unchanged | FilePart


@dataclass(frozen=True)
class InTurn:
    """Sources of one table, one after the other."""

    sources: Sequence[Source]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the first."""
        return self.sources[0].names

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """The chunks of all."""
        for source in self.sources:
            yield from source.chunks(names, rows=rows)


def stretches_of(source: Source, *, stretches: int, least: int) -> list[Source]:
    """The rows of local tables in stretches that are about as long, in the order of the data.

    None where a source is another one, has hardly `least` rows, or cannot be cut into so many.
    """
    files: Sequence[_File] = (source,) if isinstance(source, Unchanged) else ()
    files = source.parts if isinstance(source, FilesSource) else files
    if not all(isinstance(file.path, Path) and isinstance(file.table, TableSource | CsvSource) for file in files):
        return []
    private_sizes = [max(1, _table(file).private_size) for file in files]
    if sum(private_sizes) <= max(least, stretches):
        return []
    if isinstance(source, FilesSource):
        source.require_same_files()
    cuts = [sum(private_sizes) * at // stretches for at in range(stretches)]
    found: list[list[Source]] = [[] for _ in cuts]
    for file, size, end in zip(files, private_sizes, accumulate(private_sizes), strict=True):
        begin = end - size
        places = [begin, *(cut for cut in cuts if begin < cut < end and _table(file).is_divisible), end]
        for first, last in pairwise(places):
            part = file if len(places) == 2 else _between(file, first - begin, last - begin)
            found[bisect_right(cuts, first) - 1].append(part)
    return [InTurn(some) for some in found] if all(found) else []


def _table(file: _File) -> TableSource | CsvSource:
    return cast("TableSource | CsvSource", file.table)


def _between(file: _File, first: int, last: int) -> Source:
    file.require_unchanged()  # where to cut a file of lines, its bytes say
    return file.of(_table(file).between(first, last))
