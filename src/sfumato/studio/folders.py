"""Files of this machine, as far as they were allowed when the studio was started: nothing outside of those folders."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sfumato.errors import SourceError
from sfumato.studio.texts import mark

_TABLES = frozenset([".csv", ".tsv", ".txt", ".gz", ".parquet", ".npz", ".feather", ".arrow"])
_DATA = _TABLES | {".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb", ".toml", ".key", ".pub", ".zip"}
#: A folder with more than this is shown in part.
MOST_SHOWN = 500


@dataclass(frozen=True)
class Entry:
    """A file or folder that can be chosen."""

    name: str
    path: str
    is_folder: bool
    size: int


@dataclass(frozen=True)
class Listing:
    """What a folder holds, and the folder above it where that is allowed too."""

    path: str
    above: str | None
    entries: tuple[Entry, ...]
    more: int


class Folders:
    """The folders that were allowed. Every path that a person gives is resolved and held against them."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(dict.fromkeys(root.resolve() for root in roots))

    def inside(self, text: str) -> Path:
        """The path without links and dots, if it lies below an allowed folder; it need not exist."""
        if not text.strip():
            raise SourceError(mark("no path is given. Choose a file, or write its path."))
        try:
            path = Path(text.strip()).expanduser()
            found = (path if path.is_absolute() else self.roots[0] / path).resolve()
            found.exists()  # names that are too long are noticed here
        except (OSError, RuntimeError, ValueError):  # loops of links, null characters, names that are too long
            raise SourceError(mark("this is no path. Choose a file, or write its path.")) from None
        if not any(found.is_relative_to(root) for root in self.roots):
            listed = ", ".join(map(str, self.roots))
            raise SourceError(
                f"that path lies outside of the folders that this studio may use ({listed}). Copy the file into one of them, or start "
                "the studio with: sfumato studio FOLDER"
            )
        return found

    def listing(self, text: str) -> Listing:
        """What lies in a folder: folders, and files of kinds that can be read. Hidden ones are not shown."""
        folder = self.inside(text or str(self.roots[0]))
        try:
            with os.scandir(folder) as inside:
                found = [(one, kind) for one in inside if (kind := self._kind(one)) is not None]
        except OSError:
            raise SourceError(f"the folder {folder} cannot be read. Choose another one.") from None
        found.sort(key=lambda pair: (pair[1] != "folder", pair[0].name.casefold()))
        above = str(folder.parent) if any(folder.parent.is_relative_to(root) for root in self.roots) else None
        entries = tuple(filter(None, (_entry(one, kind) for one, kind in found[:MOST_SHOWN])))
        return Listing(str(folder), above, entries, max(0, len(found) - MOST_SHOWN))

    def _kind(self, one: "os.DirEntry[str]") -> Literal["folder", "file"] | None:
        """What can be chosen, told from the directory itself: a folder may hold a hundred thousand files."""
        try:
            if one.name.startswith(".") or (one.is_symlink() and not self._leads_inside(one.path)):
                return None
            if one.is_dir():
                return "folder"
            is_data = Path(one.name).suffix.lower() in _DATA or "idx" in one.name
            return "file" if is_data and one.is_file() else None
        except (OSError, RuntimeError):
            return None

    def _leads_inside(self, path: str) -> bool:
        found = Path(path).resolve()
        return any(found.is_relative_to(root) for root in self.roots)


def _entry(one: "os.DirEntry[str]", kind: str) -> Entry | None:
    try:
        size = 0 if kind == "folder" else one.stat().st_size
    except OSError:  # gone since the folder was read
        return None
    return Entry(one.name, one.path, is_folder=kind == "folder", size=size)
