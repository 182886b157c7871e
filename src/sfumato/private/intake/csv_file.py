"""CSV files as a source: a header line that names the columns, and records of one line each."""

import copy
import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sfumato.errors import SourceError
from sfumato.private.intake.csv_lines import line_begin, records_of, whole_lines
from sfumato.private.intake.remote import RemotePath
from sfumato.private.intake.tables import no_details, open_binary, require_distinct
from sfumato.private.intake.unread_formats import unread_content
from sfumato.private.intake.values import Values

_HEADER_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"
#: Of a small field, its separator counted in.
_BYTES_OF_A_FIELD = 4
_MARKS = (",", ";", "\t", "|")
#: What some spreadsheets write above the header.
_TELLS_MARK = re.compile(r"sep=([\t -~])\r?\n", re.IGNORECASE)


class CsvSource:
    """A CSV file (RFC 4180 with records of one line, UTF-8, header line), plain or gzipped.

    Every field is read as bytes, so no type is guessed from rows and no value can raise. A line with the wrong number of
    fields or with a quote that does not close is left out; that depends on this line alone.
    """

    def __init__(self, path: Path | RemotePath, *, wanted: Collection[str] = ()) -> None:
        """Read the header line; `wanted` names of columns help to tell its separator."""
        self._path = path
        with no_details(path, "a readable CSV file"), open_binary(path) as stream:
            head = stream.read(_HEADER_BYTES)
            self._private_bytes = path.stat().st_size if isinstance(path, Path) else 0
        if not head:
            raise SourceError(f"{path} is empty: it has no header line.")
        if (what := unread_content(head)) is not None:
            raise SourceError(f"{path} is not a CSV file in UTF-8, whatever its name says: {what}")
        text = head.decode("utf-8-sig", errors="replace")
        header = read_header(text, tabs=".tsv" in path.name.lower(), wanted=wanted)
        if header is None or any("\0" in cell for cell in header.names):
            raise SourceError(
                f"{path} has no header line of column names in UTF-8. Put one above the rows, with quotes that close; "
                "a file in UTF-16 has to be saved as UTF-8 first."
            )
        if any("\ufffd" in cell for cell in header.names):
            raise SourceError(
                f"the header line of {path} is not UTF-8. Save the file as UTF-8, for instance with: "
                "iconv -f latin1 -t utf-8 OLD > NEW"
            )
        self._rows_begin = len(text[: header.end].encode()) + len(_BOM) * head.startswith(_BOM)
        if self._rows_begin >= _HEADER_BYTES:
            raise SourceError(f"the header line of {path} is longer than a million bytes. Shorten the names.")
        self.names, self._mark = header.names, header.mark
        require_distinct(self.names, str(path))
        #: Lines that the last reading left out, for a custodian's dry run; a release never asks.
        self.private_odd_lines = 0
        #: What is packed cannot be read from its middle on.
        self.is_divisible = not path.name.lower().endswith(".gz")
        self._private_end: int | None = None

    @property
    def private_size(self) -> int:
        """About how many rows there are, by the bytes of the file."""
        return self._private_bytes // (_BYTES_OF_A_FIELD * len(self.names))

    def between(self, first: int, end: int) -> "CsvSource":
        """The lines that begin between two parts of the whole, told in rows as `private_size` counts them."""
        part = copy.copy(self)
        with no_details(self._path, "a readable CSV file"), open_binary(self._path) as stream:
            begin, n_bytes = self._rows_begin, self._private_bytes - self._rows_begin
            cuts = [line_begin(stream, begin + n_bytes * at // self.private_size) for at in (first, end)]
            part._rows_begin, part._private_end = cuts
        return part

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """Fields as Arrow texts, which may be no valid UTF-8."""
        wanted = [self.names.index(name) for name in names]
        n_odd = 0
        with no_details(self._path, "a readable CSV file"), open_binary(self._path) as stream:
            stream.seek(self._rows_begin)
            most = None if self._private_end is None else self._private_end - self._rows_begin
            for private_lines in whole_lines(stream, most=most):
                columns, odd = records_of(private_lines, mark=self._mark, n_fields=len(self.names), wanted=wanted)
                n_odd += odd
                for start in range(0, len(columns[0]), rows):
                    yield {name: column.slice(start, rows) for name, column in zip(names, columns, strict=True)}
        self.private_odd_lines = n_odd


class Header(NamedTuple):
    """Names, the mark between them, and where in the text their line ends."""

    names: tuple[str, ...]
    mark: str
    end: int


def read_header(text: str, *, tabs: bool = False, wanted: Collection[str] = ()) -> Header | None:
    r"""The header, told by its own line alone; None where there is none, or where a quote of it does not close.

    The separator is the one that finds most of the wanted names, then the one that finds most names.

    >>> read_header("age;weight, kg;town\n41;80;rome\n")
    Header(names=('age', 'weight, kg', 'town'), mark=';', end=20)
    """
    told = _TELLS_MARK.match(text)
    marks: Sequence[str] = (told[1],) if told else ("\t",) if tabs else _MARKS
    read = [_read(text, told.end() if told else 0, mark) for mark in marks]
    found = [header for header in read if header is not None]
    best = max(found, key=lambda h: (len(set(h.names) & set(wanted)), len(h.names)), default=None)
    return None if best is None or (len(best.names) == 1 and len(found) < len(read)) else best


def _read(text: str, begin: int, mark: str) -> Header | None:
    lines = io.StringIO(text[begin:], newline="")
    # Strict, because a quote that does not close would take rows for a part of a name.
    reader = csv.reader(lines, delimiter=mark, strict=True)
    try:
        names = next((row for row in reader if row), [])
    except csv.Error:
        return None
    return Header(tuple(name.strip() for name in names), mark, begin + lines.tell()) if names else None
