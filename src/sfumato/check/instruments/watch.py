"""Everything by which a computation can speak, besides what it returns: texts, warnings, files, processes, the environment."""

import _thread
import atexit
import contextlib
import gc
import io
import logging
import mmap
import os
import random
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from sfumato.check.instruments.canonical import Leaf, digest, leaves

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: Beginnings of the audit events (docs.python.org/3/library/audit_events.html) that change the world outside.
_DEEDS = (
    *("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.utime"),
    *("os.setxattr", "os.mkfifo", "os.mknod", "tempfile.", "shutil.", "socket.", "subprocess.", "os.system", "os.exec"),
    *("os.fork", "os.posix_spawn", "os.spawn", "os.startfile", "os.kill", "ftplib.", "urllib.", "http.", "smtplib."),
    *("sqlite3.connect", "syslog.", "webbrowser.", "winreg.", "ctypes.dlopen", "ctypes.dlsym", "sys.addaudithook"),
    *("os.putenv", "os.unsetenv"),
    # And what looks for objects that nobody handed over.
    *("gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys._current_frames"),
)
#: Compiled code that is loaded, or kept for the next time: by the interpreter and by numba, never from private rows.
_COMPILERS = ("<frozen importlib._bootstrap_external>", os.path.join("numba", "core", "caching.py"))
#: Libraries that load others by ctypes, while they compute.
_LOADERS = [f"{os.sep}{name}{os.sep}" for name in ("numba", "llvmlite", "torch", "scipy", "sklearn")]
_LOADERS.append("threadpoolctl.py")
#: A descriptor that is still open afterwards and leads elsewhere than to such a thing can be read by anybody who finds it.
_HARMLESS = ("anon_inode:", "/dev/null", "/dev/urandom", "/dev/nvidia", "/proc/", "/sys/")
_DESCRIPTORS = next((folder for folder in ("/proc/self/fd", "/dev/fd") if os.path.isdir(folder)), None)


@dataclass
class Heard:
    """What was heard while something ran. `deeds` are files written, processes started, connections opened."""

    said: list[Leaf] = field(default_factory=list)
    deeds: list[str] = field(default_factory=list)


@contextlib.contextmanager
def watched() -> Iterator[Heard]:
    """Listen to all that goes on inside, and leave the process as it was.

    Global random numbers begin at the same state every time, so that they are alike in two runs that are alike.
    """
    heard = Heard()
    _listen()
    with restore_process(), _remains(heard.deeds), contextlib.ExitStack() as stack:
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002 - it is watched
        printed, logged = io.StringIO(), io.StringIO()
        warned = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        stack.enter_context(contextlib.redirect_stdout(printed))
        stack.enter_context(contextlib.redirect_stderr(printed))
        files = [stack.enter_context(_taped(number)) for number in (1, 2)]
        stack.enter_context(_log_into(logged))
        _LISTENERS.append(heard.deeds)
        try:
            yield heard
        finally:
            _LISTENERS.remove(heard.deeds)
            switches = (np.geterr(), np.get_printoptions(), gc.isenabled(), sys.getrecursionlimit())
            told = {
                "text printed": printed.getvalue(),
                "text written to the process's own files": [_tape(file) for file in files],
                "log": logged.getvalue(),
                "warnings": [(w.category.__name__, str(w.message)) for w in warned],
                "environment": repr(sorted(os.environ.items())),
                "working directory": os.getcwd(),
                "switches of the process": switches,
                "global random state": (repr(random.getstate()), np.random.get_state()),  # noqa: NPY002
            }
            heard.said += digest(leaves(told, name="outside"))


@contextlib.contextmanager
def restore_process() -> Iterator[None]:
    """Leave environment, folders and global random numbers as they were."""
    environment, folder, temporary = dict(os.environ), os.getcwd(), tempfile.tempdir
    state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        for name in set(os.environ) - set(environment):
            del os.environ[name]
        os.environ.update(environment)
        os.chdir(folder)
        tempfile.tempdir = temporary
        random.setstate(state)
        np.random.set_state(numpy_state)  # noqa: NPY002


@contextlib.contextmanager
def _remains(deeds: list[str]) -> Iterator[None]:
    """Note what goes on after the end: open files and connections, threads, and what was left to be done at exit."""
    files, threads, at_exit, hooks = _open_files(), _thread._count(), atexit._ncallbacks(), _hooks()
    modules = len(sys.modules)
    try:
        yield
    finally:
        for number, target in _open_files().items():
            if files.get(number) != target and not target.startswith(_HARMLESS):
                deeds.append("a file or a connection is left open")
        if _thread._count() > threads:
            deeds.append("a thread is left running")
        imported = len(sys.modules) > modules  # a library leaves some when it is imported, and none at the next run
        if atexit._ncallbacks() > at_exit and not imported:
            deeds.append("something is left to be done at exit")
        if _hooks() != hooks and not imported:
            deeds.append("a hook or a log handler is left behind")


def _hooks() -> list[object]:
    """What is called by others, at some other time."""
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    handlers = [handler for logger in loggers for handler in getattr(logger, "handlers", ())]
    called = (sys.excepthook, sys.unraisablehook, sys.displayhook, sys.gettrace(), sys.getprofile())
    return [*called, warnings.showwarning, *gc.callbacks, *handlers]


def _open_files() -> dict[str, str]:
    """Descriptors and what they lead to; none where the system does not list them."""
    found = {}
    for number in os.listdir(_DESCRIPTORS) if _DESCRIPTORS else ():
        with contextlib.suppress(OSError):  # the one that lists them is closed by now
            found[number] = os.readlink(f"{_DESCRIPTORS}/{number}")
    return found


@contextlib.contextmanager
def _taped(number: int) -> Iterator[Any]:
    """One of the process's own files, written to a tape: what os.write and C libraries say passes Python's streams."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        if stream is not None and not stream.closed:
            stream.flush()
    with tempfile.TemporaryFile() as tape:
        kept = os.dup(number)
        os.dup2(tape.fileno(), number)
        try:
            yield tape
        finally:
            os.dup2(kept, number)
            os.close(kept)


def _tape(tape: Any) -> bytes:
    tape.seek(0)
    content: bytes = tape.read()
    return content


@contextlib.contextmanager
def _log_into(target: io.StringIO) -> Iterator[None]:
    root, handler = logging.getLogger(), logging.StreamHandler(target)
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)  # not lower: compilers tell every step that they take
    try:
        yield
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


_LISTENERS: list[list[str]] = []


@cache
def _listen() -> None:
    """Install the audit hook, once: it cannot be taken away, and costs nothing while nobody listens."""
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _LISTENERS:
        return
    if event == "open":
        path, mode, flags = arguments
        writing = bool(flags & _WRITING) if isinstance(flags, int) else any(c in str(mode) for c in "wax+")
        if isinstance(path, int) or not writing or os.fspath(path) in (os.devnull, os.fsencode(os.devnull)):
            return
    elif arguments[2] == mmap.ACCESS_READ if event == "mmap.__new__" else not _is_deed(event):
        return
    if not _by_a_compiler(event):
        _LISTENERS[-1].append(event)


@cache  # there are few names, and thousands of events
def _is_deed(event: str) -> bool:
    return event.startswith(_DEEDS)


def _by_a_compiler(event: str) -> bool:
    frame: types.FrameType | None = sys._getframe()
    files = []
    while frame is not None:
        files.append(frame.f_code.co_filename)
        frame = frame.f_back
    if event.startswith("ctypes."):
        caller = next((file for file in files if file != __file__ and f"{os.sep}ctypes{os.sep}" not in file), "")
        if any(part in caller for part in _LOADERS):
            return True
    return any(file.endswith(_COMPILERS) for file in files)
