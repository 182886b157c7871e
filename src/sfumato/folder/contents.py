"""The files of a release folder as bytes: made in memory, read with care.

Nothing here writes to a disk. So whatever goes wrong while a file is written is a matter of the disk, and whatever goes
wrong while its content is made is not.
"""

import hashlib
import io
import math
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato.errors import DAMAGED, ReleaseError
from sfumato.model import Synthetic

TABLE, ARRAYS = "synthetic.parquet", "synthetic.npz"


def synthetic_file(synthetic: Synthetic) -> tuple[str, bytes]:
    """Name and content of the file of synthetic rows: Parquet for tables, npz for images."""
    if synthetic.table is not None:
        file, table = io.BytesIO(), synthetic.table.copy(deep=False)
        table.attrs = {}  # pandas would write them into the file, and read them back: a place for anything
        table.to_parquet(file, index=False)
        return TABLE, file.getvalue()
    arrays = {"images": synthetic.images, "labels": synthetic.labels, "soft_labels": synthetic.soft_labels}
    return ARRAYS, archive_of({**arrays, "classes": np.array(synthetic.classes)})


def settled_file(synthetic: Synthetic) -> tuple[str, bytes, Synthetic]:
    """The file that reading and writing again leaves as it is, and the rows as its receiver will see them.

    Parquet has its own unit for dates. Once read back they have it too, and the same rows then give the same bytes: so
    `verify` can see that a file holds nothing besides its rows. Arrays come back as they are.
    """
    if synthetic.table is None:
        return *synthetic_file(synthetic), synthetic
    once = synthetic_of(*synthetic_file(synthetic))
    name, content = synthetic_file(once)
    return name, content, once


def archive_of(arrays: Mapping[str, NDArray[Any] | None]) -> bytes:
    """The arrays that are there, as npz. Noise does not compress, so nobody waits for trying.

    The same arrays give the same bytes: no date is written, and no order but that of the arrays.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, values in arrays.items():
            if values is None:
                continue
            plain, member = np.ascontiguousarray(values), zipfile.ZipInfo(f"{name}.npy")
            member.file_size = plain.nbytes  # whether it is a large file, which is written otherwise
            # From the array itself: images stand in memory twice, and no third time.
            with archive.open(member, "w") as stream:
                np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(plain))
                stream.write(plain.reshape(-1).view(np.uint8).data)
    return file.getvalue()


def arrays_of(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of an npz archive that anybody may have written: no pickles, and nothing that unpacks to more."""
    out: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name, member in _members(archive, n_bytes=len(content)).items():
            with archive.open(member) as stream:
                _read_header(stream, n_bytes=member.file_size)
                stream.seek(0)
                out[name] = np.lib.format.read_array(stream, allow_pickle=False)
    return out


def _members(archive: zipfile.ZipFile, *, n_bytes: int) -> dict[str, zipfile.ZipInfo]:
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


def _read_header(file: IO[bytes], *, n_bytes: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type. An array that says to be larger than its bytes is refused, before room is made for it."""
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("not an array of ours")
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != n_bytes - file.tell():
        raise ValueError("an array of another size than it says")
    return shape, dtype


def read_synthetic(folder: Path) -> Synthetic:
    """Read the synthetic rows of a release folder."""
    name = TABLE if (folder / TABLE).is_file() else ARRAYS
    return synthetic_of(name, read_plain(folder / name))


def synthetic_of(name: str, content: bytes, *, rows: int | None = None) -> Synthetic:
    """The synthetic rows as whoever opens the file will see them.

    `rows` is how many there should be. A small file can say that it holds billions, so its footer is asked before it is read.
    """
    try:
        if name == TABLE and rows is not None and (held := pq.read_metadata(io.BytesIO(content)).num_rows) != rows:
            raise ReleaseError(f"{name} holds {held:,} rows, and the certificate speaks of {rows:,}.")
        if name == TABLE:
            return Synthetic(table=pd.read_parquet(io.BytesIO(content)))
        arrays = arrays_of(content)
        return Synthetic(
            images=arrays["images"],
            labels=arrays.get("labels"),
            soft_labels=arrays.get("soft_labels"),
            classes=tuple(str(name) for name in arrays["classes"]),
        )
    except DAMAGED as error:
        raise ReleaseError(f"{name} cannot be read ({type(error).__name__}). Get the release again.") from None


def read_head(folder: Path) -> tuple[int, Synthetic]:
    """The number of rows and a dataset of the same columns without rows: a file may be large, its header is not."""
    name = TABLE if (folder / TABLE).is_file() else ARRAYS
    try:
        if name == ARRAYS:
            return _head_of_arrays(folder / name)
        with pq.ParquetFile(folder / name) as file:
            return file.metadata.num_rows, Synthetic(table=file.schema_arrow.empty_table().to_pandas())
    except DAMAGED as error:
        raise ReleaseError(f"{name} cannot be read ({type(error).__name__}). Get the release again.") from None


def _head_of_arrays(path: Path) -> tuple[int, Synthetic]:
    heads, n_rows = dict[str, NDArray[Any]](), 0
    refuse_not_plain(path)
    with zipfile.ZipFile(path) as archive:
        for name, member in _members(archive, n_bytes=path.stat().st_size).items():
            with archive.open(member) as stream:
                shape, dtype = _read_header(stream, n_bytes=member.file_size)
            n_rows = shape[0] if name == "images" else n_rows
            heads[name] = np.empty((0, *shape[1:]), dtype=dtype)
    return n_rows, Synthetic(images=heads["images"], labels=heads.get("labels"), soft_labels=heads.get("soft_labels"))


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
    refuse_not_plain(path)
    try:
        if most_bytes is not None and path.stat().st_size > most_bytes:
            raise ReleaseError(f"{path.name} is larger than {most_bytes:,} bytes, which none of ours is.")
        return path.read_bytes()
    except OSError as error:
        raise ReleaseError(f"{path.name} cannot be read ({error.strerror}). Get the release again.") from None


def sha256_of(content: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()
