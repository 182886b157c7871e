"""The files of a release folder as bytes: made in memory, read with care.

Nothing here writes to a disk. So whatever goes wrong while a file is written is a matter of the disk, and whatever goes
wrong while its content is made is not.
"""

import hashlib
import io
import math
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato.errors import ReleaseError
from sfumato.model import Synthetic

TABLE, ARRAYS = "synthetic.parquet", "synthetic.npz"

#: What libraries raise over a file that is not what its name says.
DAMAGED = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    ArithmeticError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
    SyntaxError,
    tokenize.TokenError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
    pa.ArrowException,
)


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
    `verify` can see that a file holds nothing besides its rows.
    """
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
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(values), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
    return file.getvalue()


def arrays_of(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of an npz archive that anybody may have written: no pickles, and nothing that unpacks to more."""
    out: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(member.file_size for member in archive.infolist()) > len(content):
            raise ValueError("members that share their bytes")
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if member.compress_type != zipfile.ZIP_STORED or name == member.filename or name in out:
                raise ValueError("not an archive of ours")
            packed = archive.read(member)
            _check_size(packed)
            out[name] = np.lib.format.read_array(io.BytesIO(packed), allow_pickle=False)
    return out


def _check_size(packed: bytes) -> None:
    """Refuse an array that says to be larger than its bytes, before room is made for it."""
    file = io.BytesIO(packed)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("not an array of ours")
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(packed) - file.tell():
        raise ValueError("an array of another size than it says")


def read_synthetic(folder: Path) -> Synthetic:
    """Read the synthetic rows of a release folder."""
    name = TABLE if (folder / TABLE).is_file() else ARRAYS
    return synthetic_of(name, read_plain(folder / name))


def synthetic_of(name: str, content: bytes) -> Synthetic:
    """The synthetic rows as whoever opens the file will see them."""
    try:
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
    """The number of rows and a dataset of the same columns without rows: a table may be large, its header is not."""
    if not (folder / TABLE).is_file():
        synthetic = read_synthetic(folder)
        return len(synthetic), synthetic
    try:
        with pq.ParquetFile(folder / TABLE) as file:
            table = file.schema_arrow.empty_table().to_pandas()
            return file.metadata.num_rows, Synthetic(table=table)
    except DAMAGED as error:
        raise ReleaseError(f"{TABLE} cannot be read ({type(error).__name__}). Get the release again.") from None


def why_not_plain(path: Path) -> str | None:
    """What a path is if it is no plain file of its own: opening a pipe would wait for ever, a link leads elsewhere.

    >>> why_not_plain(Path("/"))
    'a folder'
    """
    try:
        mode = path.lstat().st_mode
    except OSError:
        return "not there"
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISLNK, "a link"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
    )
    if stat.S_ISREG(mode):
        return None
    return next((words for is_kind, words in kinds if is_kind(mode)), "a device")


def read_plain(path: Path, *, most_bytes: int | None = None) -> bytes:
    """The content of a plain file."""
    why = why_not_plain(path)
    if why is not None:
        raise ReleaseError(f"{path.name} is {why} and should be a plain file. Get the release again.")
    try:
        if most_bytes is not None and path.stat().st_size > most_bytes:
            raise ReleaseError(f"{path.name} is larger than {most_bytes:,} bytes, which none of ours is.")
        return path.read_bytes()
    except OSError as error:
        raise ReleaseError(f"{path.name} cannot be read ({error.strerror}). Get the release again.") from None


def sha256_of(content: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()
