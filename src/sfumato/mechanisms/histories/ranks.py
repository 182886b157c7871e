"""Normal ranks: where a value stands among all values of its slot, by noisy counts of cells."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.common.simplex import haar_within, to_simplex


@dataclass(frozen=True)
class Levels:
    """The distribution of a column's values in every slot: counts of cells, without noise where it can be told."""

    cells: Cells
    counts: Floats  # slots x cells, the last of them missing values where these may be

    @property
    def known(self) -> Floats:
        """The same without missing values, and nowhere empty as a whole."""
        inner = np.maximum(self.counts[:, : self.cells.inner], 0.0)
        return np.where(inner.sum(axis=1, keepdims=True) > 0, inner, 1.0)

    @property
    def missing(self) -> Floats:
        """The part of missing values in each slot."""
        if not self.cells.has_missing_cell:
            return np.zeros(len(self.counts))
        return np.asarray(self.counts[:, -1] / np.maximum(self.counts.sum(axis=1), 1e-9))

    def ranks(self, most: float) -> Floats:
        """The normal rank of the middle of every cell."""
        known = self.known
        upto = np.cumsum(known, axis=1) - known / 2
        share = upto / known.sum(axis=1, keepdims=True)
        return np.asarray(np.clip(ndtri(np.clip(share, 1e-9, 1 - 1e-9)), -most, most))

    def at(self, slot: int, parts: Floats) -> Floats:
        """The values at these parts of a slot's distribution; equal parts have equal values."""
        known = self.known[slot]
        upto = np.cumsum(known) / known.sum()
        cell = np.clip(np.searchsorted(upto, parts, side="right"), 0, len(known) - 1)
        low, high = self.cells.ends()
        within = np.clip((parts - (upto[cell] - known[cell] / known.sum())) * known.sum() / known[cell], 0.0, 1.0)
        return np.asarray(low[cell] + within * (high[cell] - low[cell]))


def smoothed(noisy: Floats, *, stddev: float, kept: float) -> Floats:
    """Counts of ordered cells: flat wherever noise explains the difference, nowhere below 0."""
    total = max(float(noisy.sum()), 0.0)
    return to_simplex(haar_within(noisy, noise=stddev, total=total, kept=kept), total=total)


def evenly(order: Floats, distribution: Floats, rng: np.random.Generator) -> Integers:
    """A cell for each, as often as the distribution says, in the given order; ties fall by chance.

    >>> evenly(np.array([3.0, 1.0, 2.0, 4.0]), np.array([0.5, 0.25, 0.25]), np.random.default_rng(0)).tolist()
    [1, 0, 0, 2]
    """
    rank = np.empty(len(order))
    rank[np.lexsort((rng.random(len(order)), order))] = (np.arange(len(order)) + 0.5) / max(len(order), 1)
    upto = np.cumsum(distribution) / max(float(distribution.sum()), 1e-300)
    return np.asarray(np.clip(np.searchsorted(upto, rank, side="right"), 0, len(distribution) - 1))
