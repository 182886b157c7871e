"""The structure of a Parquet file, to the last byte: what stands in it besides the pages of its columns.

A reader of Parquet skips what it does not know, so that a file can carry anything: unknown fields, bytes between pages, notes
beside the schema. Here everything is walked through. Footer and page headers are in Thrift's compact protocol, which says of
every field where it ends.
"""

import base64
import json
import mmap
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

_MARK = b"PAR1"
#: Thrift types: 1 and 2 are true and false, 3 a byte, 4 to 6 whole numbers, 7 a double, 8 bytes, 9 and 10 lists, 12 a struct.
_BYTES, _LISTS, _STRUCT = 8, (9, 10), 12
_DEEPEST = 20
#: Fields of the footer, of a row group, of a column and of a page header, by their numbers in the format.
_ROW_GROUPS, _NOTES, _CREATED_BY = 4, 5, 6
_COLUMNS, _OF_COLUMN, _DATA_AT, _DICTIONARY_AT, _LENGTH = 1, 3, 9, 11, 7
_PAGE_LENGTH, _DICTIONARY = 3, 7
#: No struct of the format has more fields, and no list of numbers in one of ours more entries.
_MOST_FIELDS, _MOST_NUMBERS = 17, 8
_NOTE, _TYPES = b"pandas", b"ARROW:schema"

Fields = dict[int, Any]
#: Of a file: a large one is not in memory.
Content = bytes | mmap.mmap


@dataclass
class Structure:
    """What a file holds besides the pages of its columns."""

    texts: set[bytes] = field(default_factory=set)  # of schema and statistics
    notes: dict[bytes, bytes] = field(default_factory=dict)  # for readers, by their keys
    creator: bytes = b""
    entries: int = 0  # values of its dictionaries
    around: int = 0  # bytes that are not of pages


class _Reader:
    """Reads values of the compact protocol from a place on."""

    def __init__(self, content: Content, at: int, end: int) -> None:
        self.content, self.at, self.end = content, at, end

    def _take(self, n_bytes: int) -> bytes:
        if not 0 <= n_bytes <= self.end - self.at:
            raise ValueError("a field that is cut")
        self.at += n_bytes
        return self.content[self.at - n_bytes : self.at]

    def _varint(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self._take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                if shift > 7 and byte == 0:
                    raise ValueError("a number that is longer than it must be")
                return value

    def _whole(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def fields(self, depth: int = 0) -> Fields:
        """A struct: its fields by their numbers, each once and in their order, as every writer has them."""
        out: Fields = {}
        number = 0
        while (head := self._take(1)[0]) != 0:
            number = number + (head >> 4) if head >> 4 else self._whole()
            if not max(out, default=0) < number <= _MOST_FIELDS:
                raise ValueError("a field twice, in another order, or unknown")
            out[number] = self._value(head & 15, depth, in_list=False)
        return out

    def _value(self, kind: int, depth: int, *, in_list: bool) -> Any:
        if depth > _DEEPEST:
            raise ValueError("deeper than any of ours")
        if kind in (1, 2):
            return self._take(1)[0] == 1 if in_list else kind == 1
        if kind == 3:
            return self._take(1)[0]
        if 4 <= kind <= 6:
            return self._whole()
        if kind == _BYTES:
            return self._take(self._varint())
        if kind in _LISTS:
            head = self._take(1)[0]
            many = head >> 4 if head >> 4 < 15 else self._varint()
            if many > (self.end - self.at if head & 15 in (_BYTES, _STRUCT) else _MOST_NUMBERS):
                raise ValueError("a list that is too long")
            return [self._value(head & 15, depth + 1, in_list=True) for _ in range(many)]
        if kind == _STRUCT:
            return self.fields(depth + 1)
        raise ValueError("a type that no Parquet file has")


def structure_of(content: Content) -> Structure:
    """Walk through a file; a ValueError where something stands between, behind or inside of what a Parquet file has."""
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    if content[:4] != _MARK or content[-4:] != _MARK or start < 4:
        raise ValueError("no Parquet file")
    reader = _Reader(content, start, len(content) - 8)
    footer = reader.fields()
    if reader.at != reader.end:
        raise ValueError("something behind the footer")
    found = Structure(around=len(content) - start, creator=footer.pop(_CREATED_BY, b""))
    for note in footer.pop(_NOTES, []):
        if note[1] in found.notes:
            raise ValueError("a note twice")
        found.notes[note[1]] = note.get(2, b"")
    at = 4
    for group in footer[_ROW_GROUPS]:
        for column in group[_COLUMNS]:
            place = column[_OF_COLUMN]
            if min(place[_DATA_AT], place.get(_DICTIONARY_AT, place[_DATA_AT])) != at:
                raise ValueError("something between the columns")
            end = at + place[_LENGTH]
            while at < end:
                header = _Reader(content, at, min(end, start))
                page = header.fields()
                found.texts.update(_bytes_in(page))
                found.entries += page.get(_DICTIONARY, {}).get(1, 0)
                found.around += header.at - at
                at = header.at + max(0, page[_PAGE_LENGTH])
            if at != end:
                raise ValueError("a page of another length than it says")
    if at != start:
        raise ValueError("something before the footer")
    found.texts.update(_bytes_in(footer))
    return found


def _bytes_in(tree: Any) -> Iterator[bytes]:
    if isinstance(tree, bytes):
        yield tree
    elif isinstance(tree, dict | list):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from _bytes_in(value)


def holds_more(content: Content, ours: Content, *, software: Mapping[str, str]) -> str | None:
    """What the structure of a released file holds that ours, written here for the same rows, does not; None if nothing.

    `software` are the versions that the certificate names: they stand in a file, and no other word may be in their place.
    """
    try:
        found, known = structure_of(content), structure_of(ours)
        if not found.texts <= known.texts:
            return "a text stands in its footer or beside a page, and no column has it"
        if found.entries > known.entries or found.around > 2 * known.around + 1000:
            return "it has more entries, pages or fields than its rows need"
        version = software.get("pyarrow", "").encode()
        if found.creator != re.sub(rb"version .*", lambda _: b"version " + version, known.creator):
            return "it names another writer than the certificate does"
        if list(found.notes) != [_NOTE, _TYPES] or _columns(found.notes, software) != _columns(known.notes):
            return "its notes for readers are not those of its columns"
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, pa.ArrowException) as error:
        return f"no Parquet file of ours has this: {type(error).__name__}, {error}"
    return None


def _columns(notes: dict[bytes, bytes], software: Mapping[str, str] | None = None) -> tuple[Any, list[tuple[str, str]]]:
    """What the notes say of the columns, if they are written as pandas and Arrow write them, under these versions."""
    text, packed = notes[_NOTE].decode(), base64.b64decode(notes[_TYPES], validate=True)
    note, schema = json.loads(text), pa.ipc.read_schema(pa.py_buffer(packed))
    if json.dumps(note) != text or schema.metadata != {_NOTE: notes[_NOTE]} or any(f.metadata for f in schema):
        raise ValueError("notes that nobody writes so")
    versions = note.pop("pandas_version"), note["creator"].pop("version")
    if software is not None and versions != (software.get("pandas"), software.get("pyarrow")):
        raise ValueError("versions that the certificate does not name")
    if len(packed) > len(schema.serialize()):
        raise ValueError("types that take more room than they need")
    # One version of pandas has texts, another large ones.
    return note, [(f.name, str(f.type).replace("large_string", "string")) for f in schema]
