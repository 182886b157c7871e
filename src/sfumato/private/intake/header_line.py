"""The header line of a CSV file: its names and its separator, told by this line alone."""

import csv
import io
import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

_MARKS = (",", ";", "\t", "|")
#: What some spreadsheets write above the header.
_TELLS_MARK = re.compile(r"sep=([\t -~])\r?\n", re.IGNORECASE)


class Header(NamedTuple):
    """Names, the mark between them, and how many lines of the file they take."""

    names: tuple[str, ...]
    mark: str
    lines: int


def read_header(lines: io.StringIO, *, tabs: bool = False, wanted: Collection[str] = ()) -> Header | None:
    r"""The header, and `lines` moved behind it; None where there is none, or where a quote of it does not close.

    The separator is the one that finds most of the wanted names, then the one that finds most names.

    >>> read_header(io.StringIO("age;weight, kg;town\n41;80;rome\n"))
    Header(names=('age', 'weight, kg', 'town'), mark=';', lines=1)
    """
    text = lines.getvalue()
    told = _TELLS_MARK.match(text)
    marks: Sequence[str] = (told[1],) if told else ("\t",) if tabs else _MARKS
    begin, above = (told.end(), 1) if told else (0, 0)
    read = [_read(text[begin:], mark) for mark in marks]
    found = [header for header in read if header is not None]
    best = max(found, key=lambda h: (len(set(h.names) & set(wanted)), len(h.names)), default=None)
    if best is None or (len(best.names) == 1 and len(found) < len(read)):
        return None
    lines.seek(begin)
    for _ in range(best.lines):
        lines.readline()
    return best._replace(lines=best.lines + above)


def _read(text: str, mark: str) -> Header | None:
    # Strict, because a quote that does not close would take rows for a part of a name.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    try:
        names = next((row for row in reader if row), [])
    except csv.Error:
        return None
    return Header(tuple(name.strip() for name in names), mark, reader.line_num) if names else None
