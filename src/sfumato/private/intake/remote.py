"""Files on other file systems (`s3://`, `gs://`, `hdfs://`, `memory://`), as much of a path as the readers use."""

import importlib
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import pyarrow.fs

from sfumato.errors import MissingLibraryError, SourceError
from sfumato.private.intake.messages import withheld

_ANY = (Exception,)  # file systems are of any make, and so is what they raise
#: Read by Arrow itself, which brings what they need; fsspec reads all others.
_BY_ARROW = ("s3", "gs", "gcs")
#: Options of a bucket at the end of a URL, as Arrow has them: ?endpoint_override=localhost:9000&scheme=http
_OPTIONS = re.compile(r"\?((?:\w+=[^&/?]*&?)+)$")


class Stat(NamedTuple):
    """What changes when somebody writes to a file."""

    st_size: int
    st_mtime_ns: str
    st_ino: int = 0


@dataclass(frozen=True)
class RemotePath:
    """One file of a file system that fsspec knows. Its text never holds a password."""

    path: str
    system: Any = field(repr=False, compare=False)
    url: str = ""

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """The last part, whose suffix tells the format."""
        return PurePosixPath(self.path).name

    def is_dir(self) -> bool:
        """No: folders are listed, not opened."""
        return False

    def is_file(self) -> bool:
        """Yes."""
        return True

    def stat(self) -> Stat:
        """Size, and all else that the file system says of the file: its time, its tag."""
        with withheld(f"{self.url} cannot be read. Check that it is there, and that you may read it.", _ANY):
            self.system.invalidate_cache()
            facts = {**self.system.info(self.path), "tag": self._tag()}
            return Stat(int(facts["size"] or 0), repr(sorted(facts.items(), key=str)))

    def _tag(self) -> Any:
        """What a bucket says of the content beside size and time; Arrow leaves it out of a listing."""
        if not isinstance(getattr(self.system, "fs", None), pyarrow.fs.FileSystem):
            return None
        with self.system.fs.open_input_stream(self.path) as stream:
            return sorted(stream.metadata().items())

    def open(self, mode: str = "rb") -> Any:
        """Its bytes, read as they are asked for."""
        with withheld(f"{self.url} cannot be read. Check that it is there, and that you may read it.", _ANY):
            return self.system.open(self.path, mode)


def remote_files(url: str) -> tuple[str, list[RemotePath]]:
    """The files that a URL names (a file, a folder, a glob), and the folder that they lie under ('' for one file)."""
    shown, scheme = without_password(url), url.partition("://")[0]
    try:
        core = importlib.import_module("fsspec.core")
        registry = importlib.import_module("fsspec.registry")
    except ImportError:
        raise MissingLibraryError(
            f"{shown} needs fsspec, which is not installed. Run: pip install 'sfumato[remote]'"
        ) from None
    if scheme not in registry.known_implementations and scheme not in registry.registry:
        raise SourceError(
            f"{shown} has a scheme that is not known. Known are file, s3, gs, hdfs and what fsspec reads."
        )
    try:
        if scheme not in _BY_ARROW:
            registry.get_filesystem_class(scheme)
    except ImportError:
        what = registry.known_implementations[scheme].get("err", "Install what fsspec needs for it").rstrip(".")
        raise MissingLibraryError(f"{shown} needs a file system that is not installed. {what}.") from None
    with withheld(f"{shown} cannot be listed. Check the address, and that you may read there.", _ANY):
        system, path = _bucket(url) if scheme in _BY_ARROW else core.url_to_fs(url)
        system.invalidate_cache()
        if re.search(r"[*?\[]", path):
            base = path[: re.search(r"[*?\[]", path).start()].rpartition("/")[0]  # type: ignore[union-attr]
            found = [name for name in sorted(system.glob(path)) if not system.isdir(name)]
        elif system.isdir(path):
            base, found = path.rstrip("/"), sorted(system.find(path))
        else:
            return "", [RemotePath(path, system, shown)]
    if not found:
        raise SourceError(f"there is no file at {shown}. Check the address.")
    return base, [RemotePath(name, system, f"{scheme}://{_without_user(name).lstrip('/')}") for name in found]


def _bucket(url: str) -> tuple[Any, str]:
    """A bucket, by the options at the end of a URL or by AWS_ENDPOINT_URL and the like; and the path in it, to the letter."""
    options = _OPTIONS.search(url)
    scheme, _, rest = url[: options.start() if options else None].partition("://")
    bucket, _, inner = rest.partition("/")
    there, name = pyarrow.fs.FileSystem.from_uri(f"{scheme}://{bucket}/{options[0] if options else ''}")
    wrapper = importlib.import_module("fsspec.implementations.arrow").ArrowFSWrapper
    return wrapper(there), f"{name.rstrip('/')}/{inner}".rstrip("/")


def without_password(url: str) -> str:
    """A URL as it may be shown: without user, password and options.

    >>> without_password("postgresql://me:secret@db.example:5432/clinic?sslpassword=x")
    'postgresql://db.example:5432/clinic'
    """
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{_without_user(re.split('[?#]', rest)[0])}" if mark else url


def _without_user(rest: str) -> str:
    """The last @ before the path ends the user; a password may hold one, or a stroke."""
    return rest.rpartition("@")[2]
