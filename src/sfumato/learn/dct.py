"""The cosine basis: a public basis in which the first few coefficients hold most of an image."""

from functools import cache

import numpy as np
from numpy.typing import NDArray


@cache
def cosine_basis(height: int, width: int, n_coefficients: int) -> NDArray[np.float32]:
    """The orthonormal 2-D cosine functions of lowest frequency, one a column of flattened pixels.

    >>> basis = cosine_basis(8, 8, 10)
    >>> bool(np.allclose(basis.T @ basis, np.eye(10), atol=1e-5))
    True
    """
    rows, columns = cosines(height), cosines(width)
    frequencies = [(u / height) ** 2 + (v / width) ** 2 for u in range(height) for v in range(width)]
    chosen = np.argsort(frequencies, kind="stable")[:n_coefficients]
    basis = np.empty((height * width, len(chosen)), dtype=np.float32)
    for at, index in enumerate(chosen):
        basis[:, at] = np.outer(rows[index // width], columns[index % width]).ravel()
    return basis


def cosines(length: int) -> NDArray[np.float64]:
    """The orthonormal cosine functions of a line, one a row."""
    place, frequency = np.arange(length) + 0.5, np.arange(length)
    waves: NDArray[np.float64] = np.cos(np.pi * np.outer(frequency, place) / length) * np.sqrt(2 / length)
    waves[0] = np.sqrt(1 / length)
    return waves
