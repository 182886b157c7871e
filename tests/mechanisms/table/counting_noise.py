"""Noisy counts of made-up values, as the doors would give them."""

import numpy as np
from small_tables import COLUMNS, SIZES

from sfumato import Column
from sfumato.mechanisms.common.cells import Cells, coarse_parts
from sfumato.mechanisms.table.columns.adaptive_grid import Counted, fine_leaves, number_of_parts


def counted(column: Column, values, *, stddev: float, seed: int = 0) -> Counted:
    """The two counts of a column, with the same noise on both."""
    cells, rng = Cells(column), np.random.default_rng(seed)
    held = np.bincount(cells.code(np.asarray(values)), minlength=cells.count).astype(float)
    part = coarse_parts(cells, n_parts=number_of_parts(len(values) / max(stddev, 1e-9), SIZES.coarse_parts))
    first = np.bincount(part, weights=held) + stddev * rng.standard_normal(part.max() + 1)
    leaf = fine_leaves(cells, part, first, stddev=max(stddev, 1e-9))
    second = np.bincount(leaf, weights=held) + stddev * rng.standard_normal(leaf.max() + 1)
    return Counted(cells, part, first, max(stddev, 1e-9), leaf, second, max(stddev, 1e-9))


def mass_of(column: Column, values, *, stddev: float, seed: int = 0):
    """Rows in each cell, as far as the noise shows them."""
    return counted(column, values, stddev=stddev, seed=seed).mass(COLUMNS, total=float(len(values)))
