"""Arrays that mechanisms compute with, by name."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
#: Of any type: what a map gives a door, or a column of released rows.
Values = NDArray[np.generic]
