"""Memory that private rows have left, handed back to the system."""

import ctypes
import sys

import pyarrow as pa


def give_back() -> None:
    """Hand back what is free: what Arrow has kept of it, and the C library where that has a call for it.

    glibc keeps what many arrays of a few megabytes have left, for arrays of that size: without this, the rows of a release
    stand in memory beside the room of the private ones.
    """
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other C libraries have none
        if trim is not None:
            trim(0)
