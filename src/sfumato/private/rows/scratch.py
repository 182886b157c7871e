"""Room on a disk for private rows that do not fit into memory: encrypted, under a key that only this process has."""

import os
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from sfumato.errors import SourceError
from sfumato.private.intake.messages import withheld

_BLOCK = 16  # bytes that AES encrypts at once: arrays begin at whole blocks


_NO_ROOM = (
    "the rows do not fit into memory, and there is no folder where they can be kept encrypted: all that temporary files go to "
    "are full, or cannot be written to. Free some room, or set TMPDIR to another folder."
)


@dataclass(frozen=True)
class Place:
    """Where an array lies."""

    offset: int
    kind: np.dtype[Any]
    shape: tuple[int, ...]


class Scratch:
    """A file without a name, gone with the process however that ends. Every byte of it is written once.

    It is AES-256 in counter mode, and the counter is the place in the file: so no two arrays share a word of the key stream.
    """

    def __init__(self) -> None:
        """Open a file where temporary files go (TMPDIR)."""
        with withheld(_NO_ROOM, (OSError,)):
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - it is open for as long as this object lives
        self._key, self._end = os.urandom(32), 0

    def put(self, private_values: NDArray[Any]) -> Place:
        """Write an array."""
        private_bytes = np.ascontiguousarray(private_values).tobytes()
        place = Place(self._end, private_values.dtype, private_values.shape)
        written, encrypted = 0, self._encrypted(private_bytes, place.offset)
        try:
            while written < len(encrypted):
                written += os.pwrite(self._file.fileno(), encrypted[written:], place.offset + written)
        except OSError:
            raise SourceError(
                f"the rows do not fit into memory, and {tempfile.gettempdir()}, where they are kept encrypted, is full or "
                "cannot be written to. Free some room there, or set TMPDIR to another folder."
            ) from None
        self._end += -(-len(encrypted) // _BLOCK) * _BLOCK
        return place

    def get(self, place: Place) -> NDArray[Any]:
        """Read an array again."""
        size = place.kind.itemsize * int(np.prod(place.shape))
        private_bytes = self._encrypted(_read(self._file.fileno(), size, place.offset), place.offset)
        private_values = np.frombuffer(private_bytes, dtype=place.kind)
        return private_values.reshape(place.shape)

    def _encrypted(self, content: bytes, offset: int) -> bytes:
        """Encrypted, or decrypted: both add the same key stream."""
        counter = (offset // _BLOCK).to_bytes(16, "big")
        return Cipher(algorithms.AES(self._key), modes.CTR(counter)).encryptor().update(content)

    def close(self) -> None:
        """Give the room back."""
        self._file.close()


def _read(file: int, size: int, offset: int) -> bytes:
    parts = list[bytes]()
    while size > 0:
        parts.append(os.pread(file, size, offset))
        if not parts[-1]:
            raise SourceError("the scratch file is shorter than what was written to it. Start again.")
        size, offset = size - len(parts[-1]), offset + len(parts[-1])
    return b"".join(parts)
