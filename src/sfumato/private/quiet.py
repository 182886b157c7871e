"""Silence around private rows: what a map, a library or a C decoder says of them is an output like any other."""

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout

import numpy as np


@contextmanager
def silence() -> Iterator[None]:
    """Nothing that runs inside reaches stdout, stderr, a log or a warning: not from Python, and not from C.

    It holds for the whole process, so one process makes one release at a time.
    """
    with ExitStack() as stack:
        nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
        for number in (1, 2):
            stack.enter_context(_redirected(number, nowhere.fileno()))
        stack.enter_context(redirect_stdout(nowhere))
        stack.enter_context(redirect_stderr(nowhere))
        stack.enter_context(np.errstate(all="ignore"))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        before = logging.root.manager.disable
        stack.callback(logging.disable, before)
        logging.disable(logging.CRITICAL)
        yield


@contextmanager
def _redirected(number: int, target: int) -> Iterator[None]:
    """One of the process's own files, sent elsewhere for a while: C libraries write there past Python."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    try:
        kept = os.dup(number)
    except OSError:  # a daemon may have closed it: then there is nothing to be heard on it
        yield
        return
    os.dup2(target, number)
    try:
        yield
    finally:
        os.dup2(kept, number)
        os.close(kept)
