"""Files and folders that are whole or absent: written beside their place, and moved there in one step."""

import contextlib
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from sfumato.errors import ReleaseError


def write_files(target: Path, files: Mapping[str, bytes], *, force: bool) -> None:
    """Write a folder of files that are made already: whatever fails in here is a matter of the disk."""
    # The names are chosen before anything is made, so that whatever stops us, and wherever, all is cleaned up.
    folder, retired = (target.absolute().parent / f".{target.name}.{secrets.token_hex(8)}" for _ in range(2))
    try:
        with writing(target):
            folder.mkdir(mode=0o700)
            for name, content in files.items():
                with (folder / name).open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
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
def whole_file(target: Path, *, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Write beside the target, and move it there in one step when all is written. `mode` says who may read it."""
    temporary: Path | None = None
    try:
        with writing(target):
            handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.absolute().parent)
            temporary = Path(name)
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(mode)
            os.replace(temporary, target)
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)  # nothing is left here if all went well
