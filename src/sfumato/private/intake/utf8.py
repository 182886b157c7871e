"""Bytes of a file as valid UTF-8: what is not is replaced, as `bytes.decode(errors="replace")` does.

Arrow hands a line with too many fields to Python as a text. Where that line is no valid UTF-8 it fails, prints the
failure with a byte of the line in it, and refuses the whole file: one row would be the reason for an error.
"""

import codecs
from typing import Any


class Utf8Stream:
    """A binary file that is read from its beginning to its end, its bytes repaired on the way."""

    def __init__(self, private_stream: Any) -> None:
        """Take what has `read`."""
        self._private_stream = private_stream
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._private_rest = b""
        self._at_end = False
        self.closed = False

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end, because Arrow takes what it gets for a whole block."""
        private_parts, ready = [self._private_rest], len(self._private_rest)
        while ready < size and not self._at_end:
            private_parts.append(self._next(size - ready))
            ready += len(private_parts[-1])
        private_bytes = b"".join(private_parts)
        self._private_rest = private_bytes[size:]  # a repaired byte takes three, so there may be more than was asked
        return private_bytes[:size]

    def _next(self, size: int) -> bytes:
        private_block = self._private_stream.read(size)
        self._at_end = not private_block
        # Most files are plain ASCII, and such a block needs no repair unless a character began before it.
        if private_block.isascii() and not self._at_end and not self._decoder.getstate()[0]:
            return bytes(private_block)
        return self._decoder.decode(private_block, final=self._at_end).encode()

    def close(self) -> None:
        """The stream below belongs to whoever opened it."""
        self.closed = True

    def readable(self) -> bool:
        """Yes."""
        return True
