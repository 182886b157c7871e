"""A file that is whole or absent."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sfumato.errors import ReleaseError
from sfumato.folder import cannot_write


def check_file_target(target: Path, *, force: bool) -> None:
    """Refuse a place that cannot be written, before any work is done."""
    if target.is_dir():
        raise ReleaseError(f"{target} is a folder. Give the name of a file.")
    if target.exists() and not force:
        raise ReleaseError(f"{target} exists already. Choose another name, or replace it with --force.")
    if not target.absolute().parent.is_dir():
        raise ReleaseError(f"there is no folder {target.absolute().parent} to write into. Make it first.")


@contextlib.contextmanager
def whole_or_absent(target: Path, *, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Write beside the target, and move it there in one step when all is written. `mode` says who may read it."""
    parent = target.absolute().parent
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        os.replace(temporary, target)
    except OSError as error:
        raise cannot_write(target, error) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)  # nothing is left here if all went well
