"""Where the rows of a wide table are measured from, and in which unit."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Frame:
    """A point of the unit box, and a length."""

    centre: NDArray[np.float64]
    unit: float

    def inward(self, box: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points of the box as rows about the centre."""
        return (box - self.centre) / self.unit

    def outward(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows as points of the box."""
        return np.asarray(np.clip(self.centre + rows * self.unit, 0.0, 1.0))
