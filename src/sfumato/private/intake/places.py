"""Which files are meant by a path, a folder, a glob, a URL or a list of these: a listing that can be made again and compared."""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from sfumato.errors import SourceError
from sfumato.private.intake.messages import withheld
from sfumato.private.intake.remote import RemotePath, remote_files

SUFFIXES = (".parquet", ".pq", ".csv", ".tsv", ".csv.gz", ".tsv.gz")
#: What Hive and Spark write for a value that is missing.
_MISSING = "__HIVE_DEFAULT_PARTITION__"

#: How names begin that are not meant.
_HIDDEN = (".", "_")

Place = str | os.PathLike[str]


@dataclass(frozen=True)
class TableFile:
    """One file of a table, and the values that the names of its folders give to all of its rows (`year=2024`)."""

    path: Path | RemotePath
    partition: tuple[tuple[str, str | None], ...] = ()


def local_path(place: Place) -> Path | None:
    """The path that a text or a file:// URL names; None for other URLs."""
    text = os.fspath(place)
    if text.startswith("file://"):
        return Path(url2pathname(urlsplit(text).path))
    return None if "://" in text else Path(text)


def names_several(place: Place) -> bool:
    """Whether a text is a glob, or a URL of some other file system."""
    path = local_path(place)
    return path is None or (glob.has_magic(str(path)) and not path.exists())


def list_files(places: Sequence[Place]) -> tuple[TableFile, ...]:
    """All files, in an order that their names give; one that is named twice is refused, as its rows would count twice."""
    files = tuple(file for place in places for file in _files_of(place))
    seen: dict[object, TableFile] = {}
    for file in files:
        first = seen.setdefault(_identity(file.path), file)
        if first is not file:
            raise SourceError(
                f"{first.path} and {file.path} are one file, whose rows would count twice. Name or link it once."
            )
    if len({tuple(name for name, _ in file.partition) for file in files}) > 1:
        raise SourceError(
            "the files do not lie in folders of the same columns (such as year=2024). Move those that lie elsewhere, or read "
            "them by themselves."
        )
    return files


def _files_of(place: Place) -> Iterator[TableFile]:
    path = local_path(place)
    if path is None:
        base, remote = remote_files(os.fspath(place))
        for distant in remote:
            inner = PurePosixPath(distant.path).relative_to(base).parts if base else ()
            if not any(part.startswith(_HIDDEN) for part in inner):
                yield TableFile(distant, _partition(distant.path.split("/")[:-1]))
        return
    found = [path]
    if names_several(place):
        found = sorted(name for name in map(Path, glob.glob(str(path), recursive=True)) if _is_meant(name, path))
        if not found:
            raise SourceError(f"nothing matches {path}. Check the pattern, and the folder that it starts from.")
    for one in found:
        for file in _walk(one, {_identity(one)}) if one.is_dir() else [one]:
            yield TableFile(file, _partition(file.parts[:-1]))


def _is_meant(found: Path, pattern: Path) -> bool:
    """Whether no folder or file begins with a point or a stroke (`_temporary`), but where the pattern itself spells it out."""
    spelled = next((at for at, part in enumerate(pattern.parts) if glob.has_magic(part)), 0)
    *folders, name = found.parts[spelled:] or ("",)
    hidden = [part for part in folders if part.startswith(_HIDDEN)]
    return not hidden and (not name.startswith(_HIDDEN) or pattern.name.startswith(_HIDDEN))


def _walk(folder: Path, above: set[object]) -> Iterator[Path]:
    """The tables in a folder and in its subfolders. Names that begin with a point or a stroke are not meant, as in Hive."""
    with withheld(f"{folder} cannot be read. Check the path and its permissions."):
        names = sorted(os.listdir(folder))
    for name in names:
        path = folder / name
        if name.startswith(_HIDDEN):
            continue
        if path.is_dir():
            identity = _identity(path)
            if identity in above:
                raise SourceError(f"{path} is a link that leads back to a folder above it. Remove the link.")
            yield from _walk(path, above | {identity})
        elif name.lower().endswith(SUFFIXES):
            yield path
        else:
            raise SourceError(
                f"{path} is no table that can be read ({', '.join(SUFFIXES)}). Move it out of the folder, or name the files "
                f"by a pattern such as '{folder}/*.parquet'."
            )


def _identity(path: Path | RemotePath) -> object:
    """The same for two names of one file; a file that is not there is refused when it is opened."""
    if isinstance(path, RemotePath):
        return str(path)
    try:
        stat = path.stat()
    except OSError:
        return str(path)
    return stat.st_dev, stat.st_ino


def _partition(folders: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    """The columns that names of folders hold.

    >>> _partition(["year=2024", "ward=north%20wing", "old"])
    (('year', '2024'), ('ward', 'north wing'))
    """
    named = [folder.partition("=") for folder in folders if "=" in folder.strip("=")]
    return tuple((unquote(name), None if value == _MISSING else unquote(value)) for name, _, value in named)
