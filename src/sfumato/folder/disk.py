"""Files and folders that are whole or absent: written beside their place, and moved there in one step."""

import contextlib
import errno
import hashlib
import io
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import ReleaseError


class DiskFile(io.RawIOBase):
    """A file that is hashed while it is written. Whatever fails in here is told as a matter of the disk.

    Its content may still be in the making while it is written: whatever goes wrong there is not a matter of the disk.
    """

    def __init__(self, file: io.FileIO, path: Path, target: Path) -> None:
        """`target` is the name that it will have."""
        self._file, self._path, self._target, self._sha256 = file, path, target, hashlib.sha256()
        self._is_in_order = True

    def writable(self) -> bool:
        """It is for writing alone."""
        return True

    def seekable(self) -> bool:
        """As archives need it, which write the heads of their members again."""
        return True

    def write(self, data: Any) -> int:
        """All of the data."""
        left = memoryview(data).cast("B")
        self._sha256.update(left)
        with writing(self._target):
            while left:
                left = left[self._file.write(left) :]
        return memoryview(data).nbytes

    def seek(self, at: int, whence: int = os.SEEK_SET) -> int:
        """Where to write next."""
        self._is_in_order &= whence == os.SEEK_SET and at == self._file.tell()
        return self._file.seek(at, whence)

    def tell(self) -> int:
        """Where the next byte goes."""
        return self._file.tell()

    def sync(self) -> None:
        """To the disk itself."""
        with writing(self._target):
            os.fsync(self._file.fileno())

    def sha256(self) -> str:
        """Of all that is written. The file is read for it only where a part of it was written again."""
        if self._is_in_order:
            return self._sha256.hexdigest()
        with writing(self._target), self._path.open("rb") as written:
            return hashlib.file_digest(written, "sha256").hexdigest()


class NewFolder:
    """A folder that is being written, and the SHA-256 of each of its files so far."""

    def __init__(self, path: Path, target: Path) -> None:
        """`target` is the name that it will have."""
        self._path, self._target = path, target
        self.sha256: dict[str, str] = {}

    @contextlib.contextmanager
    def file(self, name: str) -> Iterator[DiskFile]:
        """A file of it."""
        path = self._path / name
        with writing(self._target):
            opened = path.open("wb", buffering=0)
        with opened:
            file = DiskFile(opened, path, self._target)
            yield file
            file.sync()
            self.sha256[name] = file.sha256()

    def put(self, name: str, content: bytes) -> None:
        """A file of it that is made already."""
        with self.file(name) as file:
            file.write(content)


@contextlib.contextmanager
def whole_folder(target: Path, *, force: bool) -> Iterator[NewFolder]:
    """Write a folder beside the target, and move it there in one step when all is written."""
    # The names are chosen before anything is made, so that whatever stops us, and wherever, all is cleaned up.
    folder, retired = (target.absolute().parent / f".{target.name}.{secrets.token_hex(8)}" for _ in range(2))
    try:
        with writing(target):
            folder.mkdir(mode=0o700)
        yield NewFolder(folder, target)
        with writing(target):
            folder.chmod(0o755)
            if force and target.exists():
                os.replace(target, retired)
                os.replace(folder, target)
            else:
                os.rename(folder, target)
    finally:
        if retired.exists() and not target.exists():
            os.replace(retired, target)  # stopped between the two moves: the old release stays
        for leftover in (folder, retired):
            shutil.rmtree(leftover, ignore_errors=True)


def write_files(target: Path, files: Mapping[str, bytes], *, force: bool) -> None:
    """Write a folder of files that are made already."""
    with whole_folder(target, force=force) as folder:
        for name, content in files.items():
            folder.put(name, content)


@contextlib.contextmanager
def writing(target: Path) -> Iterator[None]:
    """Around operations on files and nothing else: whatever fails in here is told as a matter of the disk."""
    try:
        yield
    except OSError as error:
        why = f"{target} cannot be written ({os.strerror(error.errno or 0)}). Choose another folder."
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            why = f"the disk is full: {target} was not written. Free some space, or release elsewhere."
        raise ReleaseError(why) from None


def check_file_target(target: Path, *, force: bool) -> None:
    """Refuse a place that cannot be written, before any work is done."""
    if target.is_dir():
        raise ReleaseError(f"{target} is a folder. Give the name of a file.")
    if target.exists() and not force:
        raise ReleaseError(f"{target} exists already. Choose another name, or replace it: force=True (--force).")
    if not target.absolute().parent.is_dir():
        raise ReleaseError(f"there is no folder {target.absolute().parent} to write into. Make it first.")


@contextlib.contextmanager
def whole_file(target: Path, *, mode: int = 0o644) -> Iterator[DiskFile]:
    """Write beside the target, and move it there in one step when all is written. `mode` says who may read it."""
    temporary: Path | None = None
    try:
        with writing(target):
            handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.absolute().parent)
            temporary, opened = Path(name), io.FileIO(handle, "wb")
        with opened:
            file = DiskFile(opened, temporary, target)
            yield file
            file.sync()
        with writing(target):
            temporary.chmod(mode)
            os.replace(temporary, target)
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)  # nothing is left here if all went well
