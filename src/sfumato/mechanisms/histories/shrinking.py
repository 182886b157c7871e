"""Rows of noisy tables as distributions."""

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers


def shrunk(table: Floats, towards: Floats, *, stddev: float, together: Integers | None = None) -> Floats:
    """Rows of a noisy table as distributions, each cell drawn towards another by the part of its difference that is noise.

    Breiman's garrote ("Better subset regression", 1995). A cell that noise has taken below zero may still hold a few: what
    is never drawn is impossible for whoever learns from it. Rows that are `together` differ no more than all of them
    show beyond noise (James and Stein): where there is nothing, single cells stand out all the same.
    """
    sizes = np.maximum(table.sum(axis=1, keepdims=True), 0.0)
    expected = sizes * towards
    excess = table - expected
    kept = np.clip(1 - 2 * stddev**2 / np.maximum(excess**2, 1e-300), 0.0, 1.0)
    if together is not None:
        squares = np.bincount(together, weights=(excess**2).sum(axis=1))
        noise = np.bincount(together) * table.shape[1] * stddev**2
        kept *= np.clip(1 - noise / np.maximum(squares, 1e-300), 0.0, 1.0)[together][:, None]
    return distributions(np.maximum(expected + kept * excess, np.minimum(expected, stddev / 4)), towards)


def distributions(table: Floats, otherwise: Floats | None = None) -> Floats:
    """Rows that add up to 1, nowhere below 0; a row of nothing is that of all."""
    table = np.maximum(table, 0.0)
    if otherwise is None:
        otherwise = table.sum(axis=0) if table.sum() > 0 else np.ones(table.shape[1])
    total = table.sum(axis=1, keepdims=True)
    rows = np.where(total > 0, table, otherwise)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))
