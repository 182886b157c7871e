"""Single values that can be seen in the counts alone: a cell far above its neighbours holds one, and people write round numbers.

Looks into heavy cells find a value exactly, and are planned for large tables only. What they leave is released as the roundest
number of its cell: no row is asked again, and nothing moves farther than the cell is wide.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.bins import Spike, Spikes
from sfumato.mechanisms.table.cells import Cells
from sfumato.mechanisms.table.spikes import has_spikes, heavy, lighter_neighbour, roundest


def with_round_values(cells: Cells, mass: NDArray[np.float64], spikes: Spikes, *, stddev: float) -> Spikes:
    """The spikes that were found, and the roundest number of every other cell that stands far above its neighbours.

    Args:
        cells: The grid.
        mass: Rows in each cell.
        spikes: Those that are known.
        stddev: The noise of a count.
    """
    if not has_spikes(cells):
        return spikes
    guessed = {}
    beside = lighter_neighbour(mass[: cells.inner])
    for cell in heavy(cells, mass, stddev=stddev).tolist():
        if cell not in spikes.of_cell:
            value, _ = roundest(*cells.edges(cell))
            guessed[cell] = Spike(value, float(1 - beside[cell] / mass[cell]))
    return Spikes({**guessed, **spikes.of_cell}, spikes.decimals)
