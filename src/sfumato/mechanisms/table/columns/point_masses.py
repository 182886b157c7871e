"""Single values that many rows share, found by looking closer and closer into heavy cells.

Each look divides the interval that is left of every heavy cell into parts and counts them; where one part holds most of
the cell's rows, the next look goes into that part. A row lies in at most one heavy cell of each column, so a look costs
one count a column, whatever the number of cells.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.binning import Spike, Spikes
from sfumato.public.plan.doors import Measured

LOOKS = 4
_PARTS = 32
#: Cells that are looked into, of each column.
_MOST = 32

#: A heavy cell stands this many standard deviations above nothing, and so many times above its neighbours.
HEAVY = 8.0
ABOVE = 3.0

#: The fullest part is followed while it holds this much of the cell, and so many standard deviations.
_HOLDS = 0.2
_SURE = 4.0
#: So many spikes must agree on how many decimals a column has.
_AGREE = 3


def spike_width(n_columns: int) -> int:
    """How many counts a look has room for."""
    return n_columns * _MOST * _PARTS


def has_spikes(cells: Cells) -> bool:
    """Whether a column has cells of more than one value."""
    return cells.column.is_number and not cells.whole


@dataclass(frozen=True)
class Zoom:
    """The heavy cells of one column, and the interval that is left of each; `is_open` while there is one."""

    cells: Cells
    heavy: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    whole: NDArray[np.float64]
    held: NDArray[np.float64]
    is_open: NDArray[np.bool_]

    def codes(self, values: NDArray[np.float64], cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each row the part of its heavy cell that it lies in; -1 for rows in no open one."""
        place = np.full(self.cells.count, -1)
        place[self.heavy[self.is_open]] = np.flatnonzero(self.is_open)
        at = place[cells]
        low, high = self.low[at], self.high[at]
        # Twice nothing is nothing: an interval of no width holds its one value in part 0.
        part = np.floor((values - low) / np.where(high > low, high - low, 1.0) * _PARTS)
        inside = (at >= 0) & (part >= 0) & (part < _PARTS)
        return np.where(inside, at * _PARTS + np.where(inside, part, 0), -1).astype(np.int64)

    def narrowed(self, counts: NDArray[np.float64], *, stddev: float) -> "Zoom":
        """Into the fullest part of each cell, where it holds most of the cell."""
        table = counts.reshape(_MOST, _PARTS)[: len(self.heavy)]
        top = table.argmax(axis=1)
        held = table[np.arange(len(table)), top]
        is_open = self.is_open & (held >= np.maximum(_HOLDS * self.whole, _SURE * stddev))
        step = (self.high - self.low) / _PARTS
        low = np.where(is_open, self.low + step * top, self.low)
        high = np.where(is_open, self.low + step * (top + 1), self.high)
        return Zoom(self.cells, self.heavy, low, high, self.whole, np.where(is_open, held, self.held), is_open)

    def found(self) -> "Spikes":
        """The values that were followed to the end, and the decimals that all of them have."""
        at = np.flatnonzero(self.is_open)
        rounded = [roundest(float(self.low[i]), float(self.high[i])) for i in at]
        parts = np.clip(self.held[at] / self.whole[at], 0.0, 1.0)
        values = {
            int(self.heavy[i]): Spike(value, float(part))
            for i, (value, _), part in zip(at, rounded, parts, strict=True)
        }
        decimals = [decimals for _, decimals in rounded]
        # A number with so few decimals would lie in an interval that narrow by chance: one in thirty times, at most.
        by_chance = [(self.high[i] - self.low[i]) * 10.0**d > 1 / 30 for i, d in zip(at, decimals, strict=True)]
        agreed = max(decimals) if len(decimals) >= _AGREE and not any(by_chance) else None
        return Spikes(values, agreed)


def heavy_cells(cells: Cells, mass: NDArray[np.float64], *, stddev: float) -> Zoom:
    """Where to look: cells far heavier than the lighter of their neighbours."""
    inner = mass[: cells.inner]
    lighter = np.minimum(np.append(inner[1:], 0.0), np.append(0.0, inner[:-1]))
    found = np.flatnonzero((inner > np.maximum(HEAVY * stddev, ABOVE * lighter)) & (cells.grid >= 0))
    found = np.sort(found[np.argsort(-inner[found], kind="stable")[:_MOST]])
    edges = np.array([cells.edges(int(cell)) for cell in found]).reshape(-1, 2)
    nothing = np.zeros(len(found))
    return Zoom(cells, found, edges[:, 0], edges[:, 1], mass[found], nothing, np.ones(len(found), dtype=bool))


def split_by_column(measured: Measured, n_columns: int) -> list[NDArray[np.float64]]:
    """The counts of each column."""
    return list(measured.values[: spike_width(n_columns)].reshape(n_columns, -1))


def roundest(low: float, high: float) -> tuple[float, int]:
    """The number between the two with the fewest decimals, and how many it has: people write round numbers."""
    for decimals in range(-6, 13):
        unit = 10.0**-decimals
        value = round(float(np.ceil(low / unit - 1e-9)) * unit, max(decimals, 0))
        if low - 1e-12 * abs(low) <= value < high:
            return value, max(decimals, 0)
    return (low + high) / 2, 12
