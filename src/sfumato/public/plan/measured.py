"""A noisy number and its noise: all that mathematics behind the doors needs to know of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Measured:
    """A measurement with its noise: noisy values, and the standard deviation of the noise in each of them."""

    values: NDArray[np.float64]
    stddev: float
