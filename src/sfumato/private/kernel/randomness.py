"""The streams that all privacy randomness is drawn from: AES-256 in counter mode."""

import hashlib
import os
import threading
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from sfumato.errors import PrivacyError
from sfumato.public.certificate.randomness import KNOWN_RANDOMNESS, SECRET_RANDOMNESS

_ZEROS = memoryview(bytes(1 << 18))


class KeyStream:
    """The words of one key, always the same: whoever draws them again, in another process too, draws the same.

    `number` names one of 2^64 streams of the key, of 2^64 blocks each, so that no two of them share a word.
    """

    def __init__(self, key: bytes, *, number: int = 0) -> None:
        """Begin a stream at its first word."""
        self._cipher = Cipher(algorithms.AES(key), modes.CTR(number.to_bytes(8, "big") + bytes(8))).encryptor()

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words of the stream, each uniform on 64 bits."""
        # Encrypting zeros yields the key stream itself. update_into wants room for one block more.
        stream = np.empty(count + 2, dtype=np.uint64)
        for start in range(0, 8 * count, _ZEROS.nbytes):
            size = min(_ZEROS.nbytes, 8 * count - start)
            self._cipher.update_into(_ZEROS[:size], stream.view(np.uint8).data[start:])
        return stream[:count]


class NoiseSource(KeyStream):
    """Unpredictable 64-bit words, and nothing else: every distribution is built on them exactly.

    Without a seed the key comes from the operating system and the stream is cryptographically secure. With a seed
    anyone who knows it can subtract the noise: the certificate of such a release is stamped `research`.

    A forked process would repeat its parent's words. A secure stream therefore takes a new key there; a seeded one, which
    has no other key to take, refuses.

    >>> NoiseSource(research_seed=1).words(2).tolist() == NoiseSource(research_seed=1).words(2).tolist()
    True
    >>> NoiseSource().is_secure, NoiseSource(research_seed=1).is_secure
    (True, False)
    """

    def __init__(self, *, research_seed: int | None = None) -> None:
        """Key the stream from the operating system, or from a seed for tests and studies."""
        self.is_secure, self._process = research_seed is None, os.getpid()
        seeded = None if research_seed is None else hashlib.sha256(b"sfumato %d" % research_seed).digest()
        super().__init__(seeded or os.urandom(32))
        self._one_at_a_time = threading.Lock()

    @property
    def description(self) -> str:
        """What the certificate says of the randomness."""
        return SECRET_RANDOMNESS if self.is_secure else KNOWN_RANDOMNESS

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words of the stream, each uniform on 64 bits."""
        if os.getpid() != self._process:
            self._leave_the_parent()
        with self._one_at_a_time:
            return super().words(count)

    def key(self) -> bytes:
        """A fresh key, for draws that must fall the same when they are made again."""
        return self.words(4).tobytes()

    def _leave_the_parent(self) -> None:
        if not self.is_secure:
            raise PrivacyError("a seeded NoiseSource cannot be used in a forked process: it would repeat its noise.")
        # A new lock too: the parent's may be taken by a thread that is not here.
        super().__init__(os.urandom(32))
        self._one_at_a_time = threading.Lock()
        self._process = os.getpid()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a NoiseSource cannot be copied or pickled: two copies would draw the same noise.")


def is_own_and_secure(source: NoiseSource) -> bool:
    """Whether this is the package's own stream with a secret key: whatever else draws words may draw zeros."""
    return type(source) is NoiseSource and "words" not in vars(source) and source.is_secure
