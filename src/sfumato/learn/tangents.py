"""Public random features whose inner products are, on average, a neural tangent kernel.

For unit vectors x, y and Gaussian w, g: E relu(w.x) relu(w.y) = k1/2 and E [w.x > 0] [w.y > 0] (g.x) (g.y) = u k0/2, so
half of the features of either kind give the kernel (k1 + u k0)/2 of `ntk.py` with one hidden layer; the second kind is
what a network's first layer contributes, projected on g. (Rahimi and Recht, "Random features for large-scale kernel
machines", 2007; Cho and Saul, "Kernel methods for deep learning", 2009.)
"""

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.public.machine.exact_arithmetic import exact_products

_SEED = 11


def tangent_features(vectors: Any, *, n_features: int, xp: ModuleType = np) -> Any:
    """Features of each row's direction, of length 1. Numpy arrays, or tensors where `xp` is torch.

    Numpy rows may be private, and their products are exact: no row's features depend on the others.

    >>> tangent_features(np.eye(3), n_features=8).shape
    (3, 8)
    """
    w, g = _directions(vectors.shape[1], n_features)
    times = exact_products
    if xp is not np:
        w, g = (xp.as_tensor(each, dtype=vectors.dtype) for each in (w, g))
        times = xp.matmul
    unit = _scaled(vectors)
    heights = times(unit, w)
    on = heights > 0
    return _scaled(xp.concatenate([heights * on, times(unit, g) * on], axis=1))


def _scaled(rows: Any) -> Any:
    return rows / ((rows * rows).sum(axis=1) + 1e-12)[:, None] ** 0.5


@cache
def _directions(width: int, n_features: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Gaussian directions, one a column, the same for everyone."""
    rng = np.random.default_rng([_SEED, width, n_features])
    half = n_features // 2
    w, g = (rng.normal(size=(width, half)) for _ in range(2))
    return w.astype(np.float32), g.astype(np.float32)
