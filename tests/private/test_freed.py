"""Memory that rows have left goes back to the system."""

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest

from sfumato.private.rows.freed import give_back


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"),
    reason="only glibc keeps it, and gives it back",
)
def test_what_many_small_arrays_have_left_is_handed_back() -> None:
    arrays = [np.ones(12_000) for _ in range(2_000)]  # 192 MB in pieces that the C library keeps
    kept = arrays.pop()
    arrays.clear()
    before = resident_bytes()
    give_back()
    assert resident_bytes() < before - 100e6
    assert kept.all()
