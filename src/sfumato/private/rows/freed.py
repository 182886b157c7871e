"""Memory that private rows have left, handed back to the system."""

import ctypes
import sys

import pyarrow as pa

#: glibc's call; other C libraries have none. Looked up as the module loads: nothing is loaded while rows are measured.
_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def give_back() -> None:
    """Hand back what is free: what Arrow has kept of it, and the C library where that has a call for it.

    glibc keeps what many arrays of a few megabytes have left, for arrays of that size: without this, the rows of a release
    stand in memory beside the room of the private ones.
    """
    pa.default_memory_pool().release_unused()
    if _TRIM is not None:
        _TRIM(0)
