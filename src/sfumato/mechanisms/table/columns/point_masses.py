"""Single values that many rows share: point masses.

Each look divides the interval that is left of every heavy cell into parts and counts them; where one part holds most of
the cell's rows, the next look goes into that part. A row lies in at most one heavy cell of each column, so a look costs
one count a column, whatever the number of cells. Looks are planned for large tables only: what they leave is released as the
roundest number of its cell, since people write round numbers, and nothing moves farther than the cell is wide.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.settings.columns import ColumnSettings
from sfumato.mechanisms.table.settings.sizes import SumSizes


@dataclass(frozen=True)
class PointMass:
    """One value that holds a part of a cell's rows."""

    value: float
    part: float


@dataclass(frozen=True)
class PointMasses:
    """The point masses of a column by cell, and the decimals that its values seem to have; None if that is not known."""

    of_cell: dict[int, PointMass] = field(default_factory=dict)
    decimals: int | None = None


def zoom_width(n_columns: int, sizes: SumSizes) -> int:
    """How many counts a look has room for."""
    return n_columns * sizes.zoom_cells * sizes.zoom_parts


@dataclass(frozen=True)
class Zoom:
    """The heavy cells of one column, and the interval that is left of each; `is_open` while there is one."""

    cells: Cells
    sizes: SumSizes
    heavy: Integers
    low: Floats
    high: Floats
    whole: Floats
    inside: Floats
    is_open: Flags

    def codes(self, values: Floats, cells: Integers) -> Integers:
        """For each row the part of its heavy cell that it lies in; -1 for rows in no open one."""
        n_parts = self.sizes.zoom_parts
        place = np.full(self.cells.count, -1)
        place[self.heavy[self.is_open]] = np.flatnonzero(self.is_open)
        at = place[cells]
        low, high = self.low[at], self.high[at]
        # Twice nothing is nothing: an interval of no width holds its one value in part 0.
        part = np.floor((values - low) / np.where(high > low, high - low, 1.0) * n_parts)
        is_inside = (at >= 0) & (part >= 0) & (part < n_parts)
        return np.where(is_inside, at * n_parts + np.where(is_inside, part, 0), -1).astype(np.int64)

    def narrowed(self, counts: Floats, settings: ColumnSettings, *, stddev: float) -> "Zoom":
        """Into the fullest part of each cell, where it holds most of the cell."""
        table = counts.reshape(self.sizes.zoom_cells, self.sizes.zoom_parts)[: len(self.heavy)]
        top = table.argmax(axis=1)
        inside = table[np.arange(len(table)), top]
        is_open = self.is_open & (inside >= np.maximum(settings.point_holds * self.whole, settings.point_sure * stddev))
        step = (self.high - self.low) / self.sizes.zoom_parts
        low = np.where(is_open, self.low + step * top, self.low)
        high = np.where(is_open, self.low + step * (top + 1), self.high)
        return replace(self, low=low, high=high, inside=np.where(is_open, inside, self.inside), is_open=is_open)

    def point_masses(self, settings: ColumnSettings) -> PointMasses:
        """The values that were followed to the end, and the decimals that all of them have."""
        at = np.flatnonzero(self.is_open)
        rounded = [roundest(float(self.low[i]), float(self.high[i])) for i in at]
        parts = np.clip(self.inside[at] / self.whole[at], 0.0, 1.0)
        values = {
            int(self.heavy[i]): PointMass(value, float(part))
            for i, (value, _), part in zip(at, rounded, parts, strict=True)
        }
        decimals = [decimals for _, decimals in rounded]
        # How often a number with so few decimals would lie in an interval that narrow by chance.
        by_chance = [
            (self.high[i] - self.low[i]) * 10.0**d > settings.point_by_chance for i, d in zip(at, decimals, strict=True)
        ]
        agreed = max(decimals) if len(decimals) >= settings.point_agree and not any(by_chance) else None
        return PointMasses(values, agreed)


def heavy_cells(cells: Cells, mass: Floats, settings: ColumnSettings, sizes: SumSizes, *, stddev: float) -> Zoom:
    """Where to look: cells far heavier than the lighter of their neighbours."""
    inner = mass[: cells.inner]
    lighter = np.minimum(np.append(inner[1:], 0.0), np.append(0.0, inner[:-1]))
    least = np.maximum(settings.point_heavy * stddev, settings.point_above * lighter)
    heavy = np.flatnonzero((inner > least) & (cells.grid >= 0))
    heavy = np.sort(heavy[np.argsort(-inner[heavy], kind="stable")[: sizes.zoom_cells]])
    edges = np.array([cells.edges(int(cell)) for cell in heavy]).reshape(-1, 2)
    nothing = np.zeros(len(heavy))
    return Zoom(cells, sizes, heavy, edges[:, 0], edges[:, 1], mass[heavy], nothing, np.ones(len(heavy), dtype=bool))


def roundest(low: float, high: float) -> tuple[float, int]:
    """The number between the two with the fewest decimals, and how many it has: people write round numbers."""
    for decimals in range(-6, 13):
        unit = 10.0**-decimals
        value = round(float(np.ceil(low / unit - 1e-9)) * unit, max(decimals, 0))
        if low - 1e-12 * abs(low) <= value < high:
            return value, max(decimals, 0)
    return (low + high) / 2, 12


def with_round_values(
    cells: Cells, mass: Floats, known: PointMasses, settings: ColumnSettings, *, stddev: float
) -> PointMasses:
    """The point masses that are known, and the roundest number of every other cell that stands far above its neighbours."""
    if not (settings.rounds_values and cells.on_grid):
        return known
    at = np.flatnonzero(cells.grid >= 0)
    rows = mass[at]
    # Nothing looks closer here, so both neighbours along the grid must be light: one alone is, beside what was emptied.
    heavier = np.maximum(np.append(rows[1:], 0.0), np.append(0.0, rows[:-1]))
    least = np.maximum(settings.point_heavy * stddev, settings.point_above * heavier)
    guessed = {
        int(at[i]): PointMass(roundest(*cells.edges(int(at[i])))[0], float(1 - heavier[i] / rows[i]))
        for i in np.flatnonzero(rows > least)
    }
    return PointMasses({**guessed, **known.of_cell}, known.decimals)


def with_decimals(cells: Cells, mass: Floats, known: PointMasses, settings: ColumnSettings) -> PointMasses:
    """The same with decimals for the values beside them, where none are known: a column of 127 and 99.04 has no 85.601093.

    As many as the point masses have, or more where cells are so narrow that rounding would move a value out of its own.
    """
    if not known.of_cell or known.decimals is not None or not cells.on_grid:
        return known
    starts, ends = cells.ends()
    wide = np.flatnonzero(ends > starts)
    rows = np.cumsum(mass[wide][order := np.argsort((ends - starts)[wide], kind="stable")])
    narrow = wide[order[int(np.searchsorted(rows, settings.point_narrow * rows[-1]))]]
    own = max(roundest(point.value, np.nextafter(point.value, np.inf))[1] for point in known.of_cell.values())
    fine = int(np.clip(np.ceil(-np.log10(ends[narrow] - starts[narrow])) + 1, 0, 12))
    return PointMasses(known.of_cell, max(own, fine))
