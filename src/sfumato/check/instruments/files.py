"""Files that native code writes: no audit event tells of them, so the places where they would lie are compared.

A forgotten `to_parquet`, `torch.save` or `cv2.imwrite` opens its file in C. Relative names and temporary files land in
folders that nobody else writes to, and whatever is there afterwards counts. In places that others use, too, a file counts if
it holds planted values. And in a process without other threads, writing can be forbidden altogether for a while.
"""

import contextlib
import os
import signal
import stat
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from threadpoolctl import ThreadpoolController

from sfumato.check.instruments.watch import restore_process

_MOST_ENTRIES, _DEEPEST, _MOST_BYTES = 20_000, 3, 64 << 20
_LINKED = 1_000
#: A path, and what changes about it when it is written to.
Seen = dict[str, tuple[int, int, int]]


@contextlib.contextmanager
def own_folders() -> Iterator[list[str]]:
    """A working folder and a temporary folder of its own. What was written there is listed at the end, also if it is gone again.

    Whatever stands in the real working folder can be read by its name, so that public files are found.
    """
    here, left = Path.cwd(), list[str]()
    with tempfile.TemporaryDirectory(prefix="sfumato-check-") as base, restore_process():
        work, temporary = Path(base).resolve() / "work", Path(base).resolve() / "temporary"
        for folder in (work, temporary):
            folder.mkdir()
        with contextlib.suppress(OSError):  # Windows wants a permission for links
            for entry in sorted(os.scandir(here), key=lambda entry: entry.name)[:_LINKED]:
                (work / entry.name).symlink_to(entry.path)
        known = {entry.name for entry in os.scandir(work)}
        for folder in (work, temporary):
            os.utime(folder, (0, 0))  # long ago: a file that comes and goes leaves another time
        os.environ.update(dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)))
        tempfile.tempdir = str(temporary)
        os.chdir(work)
        try:
            yield left
        finally:
            for folder, name, old in ((work, "working", known), (temporary, "temporary", set[str]())):
                new = sorted({entry.name for entry in os.scandir(folder)} - old)
                if new or folder.stat().st_mtime_ns:
                    left.append(f"{', '.join(new) or 'something that was deleted again'} in the {name} folder")


def shared_places(*more: Path) -> list[Path]:
    """Where else a forgotten line might write: folders that other programs use, too."""
    home = Path.home()
    usual = ("/tmp", "/var/tmp", "/dev/shm", tempfile.gettempdir(), os.environ.get("XDG_CACHE_HOME", home / ".cache"))
    places = dict.fromkeys(Path(place).resolve() for place in (*more, Path.cwd(), *usual, home))
    return [place for place in places if place.is_dir()]


def seen_in(places: Iterable[Path]) -> Seen:
    """Every file of this user there, not too far down."""
    seen: Seen = {}
    for place in places:
        _look(str(place), seen, depth=_DEEPEST, most=len(seen) + _MOST_ENTRIES)
    return seen


def _look(folder: str, seen: Seen, *, depth: int, most: int) -> None:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:  # somebody else's folder, or one that is gone
        for entry in entries:
            if len(seen) >= most:
                return
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    if depth > 1:
                        _look(entry.path, seen, depth=depth - 1, most=most)
                    continue
                facts = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(facts.st_mode) and (not hasattr(os, "getuid") or facts.st_uid == os.getuid()):
                    seen[entry.path] = (facts.st_ino, facts.st_size, facts.st_mtime_ns)


def holding(needles: list[bytes], *, before: Seen, after: Seen) -> list[str]:
    """The files that are new or changed and hold one of the needles."""
    changed = [path for path, facts in after.items() if before.get(path) != facts and facts[1] <= _MOST_BYTES]
    return [path for path in changed if any(needle in _content(path) for needle in needles)]


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""  # gone, or not ours to read


@contextlib.contextmanager
def no_files() -> Iterator[list[int]]:
    """Within it nothing can be written to any file, by whomever in this process, and every try is counted.

    Only where the system knows such a limit, in the main thread of a process that has no other: theirs would fail as well.
    Libraries compute with one thread meanwhile: several of them would share a semaphore, which the system keeps in a file.
    """
    tries: list[int] = []
    if not hasattr(signal, "SIGXFSZ") or threading.active_count() > 1:
        yield tries
        return
    import resource  # where there is the signal, there is the limit

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, lambda number, frame: tries.append(number))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with ThreadpoolController().limit(limits=1, user_api="openmp"):
            yield tries
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
