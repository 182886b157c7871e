"""The small files of a release folder as bytes, archives of arrays, and any file of a folder read with care."""

import contextlib
import hashlib
import io
import math
import stat
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ReleaseError


def archive_of(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The arrays as npz. Noise does not compress, so nobody waits for trying.

    The same arrays give the same bytes: no date is written, and no order but that of the arrays.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, values in arrays.items():
            with member_of(archive, name, shape=values.shape, dtype=values.dtype) as stream:
                stream.write(bytes_of(values))
    return file.getvalue()


@contextlib.contextmanager
def member_of(
    archive: zipfile.ZipFile, name: str, *, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Iterator[IO[bytes]]:
    """An array of an archive that is written, from behind its header on."""
    member = zipfile.ZipInfo(f"{name}.npy")
    member.compress_type = archive.compression
    member.file_size = math.prod(shape) * dtype.itemsize  # whether it is a large file, which is written otherwise
    with archive.open(member, "w") as stream:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, header)
        yield stream


def bytes_of(values: NDArray[Any]) -> memoryview:
    """The bytes of an array, from the array itself where they lie in order."""
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).data


def arrays_of(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of an npz archive that anybody may have written: no pickles, and nothing that unpacks to more."""
    out: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name, member in members_of(archive, n_bytes=len(content)).items():
            with archive.open(member) as stream:
                read_header(stream, n_bytes=member.file_size)
                stream.seek(0)
                out[name] = np.lib.format.read_array(stream, allow_pickle=False)
    return out


def members_of(archive: zipfile.ZipFile, *, n_bytes: int) -> dict[str, zipfile.ZipInfo]:
    """The members of an archive of so many bytes by the names of their arrays; one that is not ours is refused."""
    if sum(member.file_size for member in archive.infolist()) > n_bytes:
        raise ValueError("members that share their bytes")
    found: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if member.compress_type != zipfile.ZIP_STORED or name == member.filename or name in found:
            raise ValueError("not an archive of ours")
        found[name] = member
    return found


def read_header(file: IO[bytes], *, n_bytes: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type. An array that says to be larger than its bytes is refused, before room is made for it."""
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("not an array of ours")
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != n_bytes - file.tell():
        raise ValueError("an array of another size than it says")
    return shape, dtype


def why_not_plain(path: Path) -> str | None:
    """What a path is if it is no plain file of its own: opening a pipe would wait for ever, a link leads elsewhere.

    >>> why_not_plain(Path("/"))
    'a folder'
    """
    try:
        mode = path.lstat().st_mode
    except OSError:
        return "not there"
    kinds = {stat.S_IFREG: None, stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe"}
    return (kinds | {stat.S_IFSOCK: "a socket"}).get(stat.S_IFMT(mode), "a device")


def refuse_not_plain(path: Path) -> None:
    """Refuse a path that is no plain file of its own."""
    if (why := why_not_plain(path)) is not None:
        raise ReleaseError(f"{path.name} is {why} and should be a plain file. Get the release again.")


def read_plain(path: Path, *, most_bytes: int | None = None) -> bytes:
    """The content of a plain file."""
    with _opened(path) as file:
        if most_bytes is not None and path.stat().st_size > most_bytes:
            raise ReleaseError(f"{path.name} is larger than {most_bytes:,} bytes, which none of ours is.")
        return file.read()


def sha256_of_plain(path: Path) -> str:
    """The SHA-256 of a plain file, which may be large."""
    with _opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    refuse_not_plain(path)
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise ReleaseError(f"{path.name} cannot be read ({error.strerror}). Get the release again.") from None


def sha256_of(content: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()
