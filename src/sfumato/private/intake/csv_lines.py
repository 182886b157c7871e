"""Lines of a CSV file become records, each line alone: whatever one of them holds, the others are read as if it were not there.

A reader that lets a quoted value go on in the next line gives every line power over those that follow: one quote that does
not close takes all of them with it. So here a record is a line. Its quotes must close before it ends, and its fields must
be as many as the header's; otherwise it is left out, and nothing else is.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.private.kernel.arrays import compile_kernel

#: How much is read at once, and the longest line that is read: a longer one is left out.
BLOCK_BYTES, LONGEST_LINE = 1 << 20, 64 << 20
_QUOTE, _LF, _CR = 34, 10, 13

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]


def records_of(private_lines: bytes, *, mark: str, n_fields: int, wanted: list[int]) -> tuple[list[Any], int]:
    r"""The wanted fields of some whole lines, by column, and how many lines are left out. Empty lines are none.

    >>> columns, n_odd = records_of(b'a,"b, ""c"" d"\n"e,f\ng,h\n', mark=",", n_fields=2, wanted=[1])
    >>> columns[0].to_pylist(), n_odd
    (['b, "c" d', 'h'], 1)
    """
    text = np.frombuffer(private_lines, dtype=np.uint8)
    slot_of = np.full(n_fields, -1)
    slot_of[wanted] = np.arange(len(wanted))
    spans, n_odd = _spans(text, ord(mark), slot_of, len(wanted), LONGEST_LINE)
    return [_column(text, spans[:, slot]) for slot in range(len(wanted))], int(n_odd)


@compile_kernel
def _spans(text: Bytes, mark: int, slot_of: Places, n_wanted: int, longest: int) -> tuple[Places, int]:
    """Where the wanted fields of every good line begin and end, quotes included; and how many lines are no good."""
    ends = np.append(np.flatnonzero((text == _LF) | (text == _CR)), text.size)
    most = min(ends.size, text.size // slot_of.size + 1)  # a good line has a byte for each field, its end among them
    spans, n_good, n_odd, start = np.empty((most + 1, n_wanted, 2), dtype=np.int64), 0, 0, 0
    for end in ends:
        at, field, closes = start, 0, end - start <= longest
        while closes and at <= end:
            begin = at
            if at < end and text[at] == _QUOTE:
                at, closes = _behind_quotes(text, at + 1, end)
            while at < end and text[at] != mark:
                at += 1
            if field < slot_of.size and slot_of[field] >= 0:
                spans[n_good, slot_of[field], 0], spans[n_good, slot_of[field], 1] = begin, at
            field += 1
            at += 1
        if end > start:
            is_good = closes and field == slot_of.size
            n_good, n_odd = n_good + is_good, n_odd + (not is_good)
        start = end + 1
    return spans[:n_good], n_odd


@compile_kernel
def _behind_quotes(text: Bytes, at: int, end: int) -> tuple[int, bool]:
    """Where the text goes on behind the quote that closes, and whether one does. Two quotes are a quote of the text."""
    while at < end:
        if text[at] == _QUOTE:
            if at + 1 == end or text[at + 1] != _QUOTE:
                return at + 1, True
            at += 1
        at += 1
    return end, False


def _column(text: Bytes, spans: Places) -> Any:
    """One field of every record as an Arrow array of texts; whether they are valid UTF-8 is asked later, of each alone."""
    offsets, content = _unquoted(text, spans)
    return pa.Array.from_buffers(pa.string(), len(spans), [None, pa.py_buffer(offsets), pa.py_buffer(content)])


@compile_kernel
def _unquoted(text: Bytes, spans: Places) -> tuple[NDArray[np.int32], Bytes]:
    content = np.empty((spans[:, 1] - spans[:, 0]).sum(), dtype=np.uint8)
    offsets, used = np.zeros(len(spans) + 1, dtype=np.int32), 0
    for i in range(len(spans)):
        at, end = spans[i, 0], spans[i, 1]
        within = at < end and text[at] == _QUOTE
        at += within
        while at < end:
            if within and text[at] == _QUOTE:
                at += 1
                if at == end or text[at] != _QUOTE:
                    within = False
                    continue
            content[used] = text[at]
            used += 1
            at += 1
        offsets[i + 1] = used
    return offsets, content[:used]


def line_begin(private_stream: Any, at: int) -> int:
    """Where the first line begins that begins at a place or behind it; the end of the stream where none does."""
    private_stream.seek(at := at - 1)  # a line begins behind the end of another one
    while private_block := private_stream.read(BLOCK_BYTES):
        ends: list[int] = [end for end in (private_block.find(b"\n"), private_block.find(b"\r")) if end >= 0]
        if ends:
            return at + min(ends) + 1
        at += len(private_block)
    return at


def whole_lines(private_stream: Any, *, most: int | None = None) -> Iterator[bytes]:
    """A stream of bytes as blocks of whole lines. Of a line that is too long, only so much that it can be counted.

    With `most`, the stream ends after so many bytes.
    """
    private_rest, skips, left = b"", False, math.inf if most is None else most
    while private_block := private_stream.read(int(min(BLOCK_BYTES, left))):
        left -= len(private_block)
        private_text = private_rest + private_block
        end = 1 + max(private_text.rfind(b"\n"), private_text.rfind(b"\r"))
        if skips and end:
            first = 1 + min(at for at in (private_text.find(b"\n"), private_text.find(b"\r")) if at >= 0)
            private_text, end, skips = private_text[first:], end - first, False
        if end:
            yield private_text[:end]
        private_rest = b"" if skips else private_text[end:]
        if len(private_rest) > LONGEST_LINE:
            yield private_rest
            private_rest, skips = b"", True
    if private_rest:
        yield private_rest
