"""An orthonormal basis that is a smooth function of what it is made from."""

import numpy as np
from numpy.typing import NDArray


def orthonormal(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The basis that Gram and Schmidt give: the triangle's diagonal is positive, whatever signs the library takes."""
    basis, triangle = np.linalg.qr(matrix)
    return np.asarray(basis * np.where(np.diag(triangle) < 0, -1.0, 1.0))
