"""Silence around private rows: what a map, a library or a C decoder says of them is an output like any other.

Libraries written in C write their complaints to the file descriptors of stdout and stderr, past everything that Python can
redirect. A line about one broken picture would tell that this picture is there.
"""

import ctypes
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress

import numpy as np

_OUTPUTS = (1, 2)
#: File descriptors, the filters of warnings and the level of logging belong to the whole process, and so does its silence: the
#: first thread that wants it begins it, and the last one ends it.
_LOCK = threading.Lock()
_SHARED = ExitStack()
_wanted = 0


@contextmanager
def silence() -> Iterator[None]:
    """Nothing that runs inside reaches stdout, stderr, a log or a warning: not from Python, and not from C.

    It holds for the whole process: what another thread writes meanwhile is lost too, which is the price of hearing nothing
    from C. Threads that want silence at the same time share it, and silence within silence costs nothing: nobody waits for
    somebody who may be waiting for him, as the driver of a cluster does that runs in its own process.
    """
    global _wanted
    with _LOCK:
        if not _wanted:
            _SHARED.enter_context(_all_silent())
        _wanted += 1
    try:
        with np.errstate(all="ignore"):  # which every thread has for itself
            yield
    finally:
        with _LOCK:
            _wanted -= 1
            if not _wanted:
                _SHARED.close()


@contextmanager
def _all_silent() -> Iterator[None]:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        _outputs_to(nowhere.fileno()),
        redirect_stdout(nowhere),  # a notebook's own streams have no descriptor
        redirect_stderr(nowhere),
        warnings.catch_warnings(action="ignore"),
        _no_logging(),
    ):
        yield


@contextmanager
def _no_logging() -> Iterator[None]:
    # For all loggers: a level that somebody gave to a single one would win over that of its parent.
    before = logging.root.manager.disable
    logging.disable(max(before, logging.CRITICAL))
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def _outputs_to(nowhere: int) -> Iterator[None]:
    closed = []
    for output in _OUTPUTS:
        try:
            os.fstat(output)
        except OSError:
            closed.append(output)
    # A closed output is filled first, so that none of the copies below lands in its place.
    for output in closed:
        os.dup2(nowhere, output)
    kept = {output: os.dup(output) for output in _OUTPUTS if output not in closed}
    try:
        _flush_c()
        for output in kept:
            os.dup2(nowhere, output)
        yield
    finally:
        _flush_c()  # while the outputs still lead nowhere: C keeps lines back
        for output, copy in kept.items():
            os.dup2(copy, output)
            os.close(copy)
        for output in closed:
            os.close(output)


#: None where there is no way to ask C; decoders write to stderr, which keeps nothing back.
_FLUSH: Callable[[None], object] | None = None
with suppress(OSError, TypeError, AttributeError):
    _FLUSH = ctypes.CDLL(None).fflush


def _flush_c() -> None:
    if _FLUSH is not None:
        _FLUSH(None)
