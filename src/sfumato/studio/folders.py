"""Files of this machine, as far as they were allowed when the studio was started: nothing outside of those folders."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
            found = [path for path in folder.iterdir() if not path.name.startswith(".")]
            entries = sorted(filter(None, map(self._entry, found)), key=lambda e: (not e.is_folder, e.name.casefold()))
        except OSError:
            raise SourceError(f"the folder {folder} cannot be read. Choose another one.") from None
        above = str(folder.parent) if any(folder.parent.is_relative_to(root) for root in self.roots) else None
        return Listing(str(folder), above, tuple(entries[:MOST_SHOWN]), max(0, len(entries) - MOST_SHOWN))

    def _entry(self, path: Path) -> Entry | None:
        try:
            if not any(path.resolve().is_relative_to(root) for root in self.roots):  # a link that leads out
                return None
            if path.is_dir():
                return Entry(path.name, str(path), is_folder=True, size=0)
            is_data = path.is_file() and (path.suffix.lower() in _DATA or "idx" in path.name)
            return Entry(path.name, str(path), is_folder=False, size=path.stat().st_size) if is_data else None
        except (OSError, RuntimeError):
            return None
