"""The arrays that the kernel computes with, by name, and how loops over them are compiled."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

#: What a map has given: numbers of any type.
Values = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Integers of one row: all of them together are short, so that 32 bits hold each.
Small = NDArray[np.int32]
Flags = NDArray[np.bool_]
#: Random bits, 64 at a time.
Words = NDArray[np.uint64]


def compile_kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a loop to machine code, kept on disk between runs."""
    return numba.njit(cache=True, nogil=True, **options)(function)
