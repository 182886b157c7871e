"""A file that changes while it is read would be two datasets in one release: every pass makes sure that it is still the same."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from sfumato.errors import SourceError
from sfumato.private.intake.remote import RemotePath
from sfumato.private.intake.source import Source
from sfumato.private.intake.values import Values

#: The beginning and the end of a file are compared as well: a clock may be set back, and a footer lies at an end.
_EDGE_BYTES = 1 << 16


class Unchanged:
    """A source from a file or folder that may be read only for as long as nobody writes there."""

    def __init__(self, source: Source, *, path: Path | RemotePath, seen: str) -> None:
        """Take what `fingerprint` gave before the source was opened."""
        self.table, self.path, self._seen, self.names = source, path, seen, source.names

    def of(self, source: Source) -> "Unchanged":
        """Another source from the same file, under the same condition."""
        return Unchanged(source, path=self.path, seen=self._seen)

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """The wrapped source's chunks, between two looks at the file."""
        self.require_unchanged()
        yield from self.table.chunks(names, rows=rows)
        self.require_unchanged()

    def require_unchanged(self) -> None:
        """Refuse a file that is no longer the one that was opened."""
        if fingerprint(self.path) != self._seen:
            raise SourceError(
                f"{self.path} was changed while it was read, so nothing is released. Copy it to where nobody writes, and "
                "start again."
            )


def fingerprint(path: Path | RemotePath) -> str:
    """What changes when somebody writes to a file or into a folder; nobody is shown it. Empty where nothing is."""
    digest = hashlib.sha256()
    try:
        for file in _files(path):
            stat = file.stat()
            facts = repr((str(file), stat.st_size, stat.st_mtime_ns, stat.st_ino))
            digest.update(facts.encode("utf-8", "surrogateescape"))
        if path.is_file():
            with path.open("rb") as stream:
                digest.update(stream.read(_EDGE_BYTES))
                stream.seek(-min(_EDGE_BYTES, path.stat().st_size), os.SEEK_END)
                digest.update(stream.read(_EDGE_BYTES))
    except (OSError, SourceError):
        return ""
    return digest.hexdigest()


def _files(path: Path | RemotePath) -> Sequence[Path | RemotePath]:
    """The file with its neighbours of the same stem, where labels lie; or all that a folder of pictures holds."""
    if isinstance(path, RemotePath):
        return [path]
    if not path.is_dir():
        labels = path.with_name(path.name.replace("images", "labels").replace("idx3", "idx1"))
        return [path, labels] if labels != path and labels.exists() else [path]
    folders = [path, *sorted(entry for entry in path.iterdir() if entry.is_dir())]
    return [file for folder in folders for file in sorted(folder.iterdir())]
