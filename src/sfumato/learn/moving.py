"""Images seen from elsewhere: one compiled loop, since whole-array indexing takes ten times as long.

It runs in one thread and lets others run: images are varied in pieces, several pieces at a time.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def moved(images: NDArray[Any], turns: NDArray[Any]) -> NDArray[Any]:
    """Images of shape (n, height, width, channels) by linear interpolation; black outside.

    Args:
        images: In any units.
        turns: For each image a 2 x 3 matrix that takes (row, column, 1), from the middle, to where to look.
    """
    n, height, width, channels = images.shape
    out = np.zeros_like(images)
    one = np.float32(1)
    middle_row, middle_column = (height - 1) / 2, (width - 1) / 2
    for i in range(n):
        a = turns[i]
        for r in range(height):
            for c in range(width):
                row = a[0, 0] * (r - middle_row) + a[0, 1] * (c - middle_column) + a[0, 2] + middle_row
                column = a[1, 0] * (r - middle_row) + a[1, 1] * (c - middle_column) + a[1, 2] + middle_column
                top, left = int(np.floor(row)), int(np.floor(column))
                if 0 <= top < height - 1 and 0 <= left < width - 1:  # nearly always: four pixels without a question
                    down, right = np.float32(row - top), np.float32(column - left)
                    for k in range(channels):
                        above = (one - right) * images[i, top, left, k] + right * images[i, top, left + 1, k]
                        below = (one - right) * images[i, top + 1, left, k] + right * images[i, top + 1, left + 1, k]
                        out[i, r, c, k] = (one - down) * above + down * below
                    continue
                for at_row in range(max(top, 0), min(top + 2, height)):
                    for at_column in range(max(left, 0), min(left + 2, width)):
                        weight = (1 - abs(row - at_row)) * (1 - abs(column - at_column))
                        for k in range(channels):
                            out[i, r, c, k] += weight * images[i, at_row, at_column, k]
    return out
