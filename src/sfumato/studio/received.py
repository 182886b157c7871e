"""Releases that somebody hands in, as a zip or as files: taken apart with care, into a folder of their own, whole or not at all.

A release folder is flat and has a handful of files. Everything else is refused before it is unpacked.
"""

import os
import secrets
import shutil
import stat
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from sfumato.errors import ReleaseError
from sfumato.studio.texts import mark

MOST_FILES, MOST_BYTES, _PIECE = 20, 2 << 30, 1 << 20
_CERTIFICATE = "certificate.json"


class Received:
    """Folders of releases that were handed in, below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def get(self, identity: str) -> Path | None:
        """The folder of one of them."""
        if not (len(identity) == 16 and identity.isalnum() and identity.isascii()):
            return None
        inside = self._folder / identity / "release"
        return inside if inside.is_dir() else None

    def from_zip(self, file: IO[bytes]) -> str:
        """Unpack a zip. What its directory says is looked at first, and every byte that comes out of it is counted."""
        try:
            with zipfile.ZipFile(file) as archive:
                members = [member for member in archive.infolist() if not member.is_dir()]
                for member in members:
                    _refuse_odd(member)
                if sum(member.file_size for member in members) > MOST_BYTES:
                    raise ReleaseError(
                        f"the zip holds more than {MOST_BYTES >> 30} GB, so it was not unpacked. Is it a release?"
                    )
                return self._keep((member.filename, archive.open(member)) for member in _few(members))
        except (
            zipfile.BadZipFile,
            zipfile.LargeZipFile,
            NotImplementedError,
            RuntimeError,
            EOFError,
            OSError,
        ) as error:
            raise ReleaseError(
                f"this is no zip that can be unpacked here ({type(error).__name__}). Zip the release folder again, without a password."
            ) from None

    def from_files(self, files: Iterable[tuple[str, IO[bytes]]]) -> str:
        """Keep files as a browser sends them, each with its path."""
        return self._keep(_few(list(files)))

    def remove(self, identity: str) -> None:
        """Forget one of them."""
        if self.get(identity) is not None:
            shutil.rmtree(self._folder / identity, ignore_errors=True)

    def _keep(self, files: Iterable[tuple[str, IO[bytes]]]) -> str:
        left, tops = MOST_BYTES, set[str]()
        with self._whole() as (identity, folder):
            for name, file in files:
                top, inside = _flat(name)
                tops.add(top)
                if len(tops) > 1:
                    raise ReleaseError(
                        mark("the files lie in several folders, and a release is one folder. Hand in one release.")
                    )
                left = _copy(file, folder / inside, left)
            if not (folder / _CERTIFICATE).is_file():
                raise ReleaseError(
                    f"there is no {_CERTIFICATE} in it, so it is no release. Hand in the whole release folder."
                )
        return identity

    @contextmanager
    def _whole(self) -> Iterator[tuple[str, Path]]:
        identity = secrets.token_hex(8)
        hidden = self._folder / f".{identity}"
        try:
            (hidden / "release").mkdir(mode=0o700, parents=True)
            yield identity, hidden / "release"
            hidden.rename(self._folder / identity)
        except OSError as error:
            raise ReleaseError(
                f"it cannot be kept ({os.strerror(error.errno or 0)}). Free some space, and hand it in again."
            ) from None
        finally:
            shutil.rmtree(hidden, ignore_errors=True)


def _few(files: "list[zipfile.ZipInfo] | list[tuple[str, IO[bytes]]]") -> list:  # type: ignore[type-arg]
    if not files:
        raise ReleaseError(mark("nothing was handed in. Choose a zip, or a release folder."))
    if len(files) > MOST_FILES:
        raise ReleaseError(f"it has more than {MOST_FILES} files, and a release has fewer. Hand in one release folder.")
    return files


def _refuse_odd(member: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise ReleaseError(mark("the zip holds a link or a device, which no release has. It was not unpacked."))
    if member.flag_bits & 1:
        raise ReleaseError(mark("the zip has a password. Hand it in without one: a release is public."))


def _flat(name: str) -> tuple[str, str]:
    """The folder and the name of a file; refused where it would lie anywhere but in one folder."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    is_plain = 0 < len(parts) <= 2 and not any(
        part in ("..", "/", ".") or ":" in part or "\0" in part for part in parts
    )
    if not is_plain or name.startswith("/") or len(parts[-1]) > 100 or parts[-1].startswith("."):
        raise ReleaseError(
            mark("it holds a path that leaves its folder, or lies too deep, which no release has. It was not unpacked.")
        )
    return (parts[0] if len(parts) == 2 else ""), parts[-1]


def _copy(file: IO[bytes], target: Path, left: int) -> int:
    """Copy, and give what may still come."""
    with file, target.open("xb") as out:
        while piece := file.read(min(_PIECE, left + 1)):
            left -= len(piece)
            if left < 0:
                raise ReleaseError(f"it grows to more than {MOST_BYTES >> 30} GB when it is unpacked. It was not kept.")
            out.write(piece)
    return left
