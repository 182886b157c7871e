"""Silence around a decoder: whatever it writes, warns or logs about a private row stays here.

Decoders written in C write their complaints to the file descriptors of stdout and stderr, past everything that Python
can redirect. A line about one broken picture would tell that this picture is there.
"""

import contextlib
import ctypes
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator

_OUTPUTS = (1, 2)
#: File descriptors, the filters of warnings and the level of logging belong to the whole process.
_ONE_AT_A_TIME = threading.RLock()


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Throw away what is written to stdout and stderr, and warnings and log records, until the block ends.

    It holds for the whole process, so the blocks should be short; other threads that decode wait for their turn. What
    another thread writes meanwhile is lost too: that is the price of hearing nothing from C.
    """
    with _ONE_AT_A_TIME, _no_logging(), warnings.catch_warnings(action="ignore"), _outputs_to_nowhere():
        yield


@contextlib.contextmanager
def _no_logging() -> Iterator[None]:
    # For all loggers: a level that somebody gave to a single one of Pillow's would win over that of its parent.
    before = logging.root.manager.disable
    logging.disable(max(before, logging.CRITICAL))
    try:
        yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def _outputs_to_nowhere() -> Iterator[None]:
    closed = [output for output in _OUTPUTS if not _is_open(output)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
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
        for place in {nowhere, *closed}:
            os.close(place)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _find_flush() -> Callable[[None], object] | None:
    try:
        flush: Callable[[None], object] = ctypes.CDLL(None).fflush
    except (OSError, TypeError, AttributeError):
        return None  # no way to ask C; decoders write to stderr, which keeps nothing back
    return flush


_FLUSH = _find_flush()


def _flush_c() -> None:
    if _FLUSH is not None:
        _FLUSH(None)
