"""Single values that can be seen in the counts alone: a cell far above its neighbours holds one, and people write round numbers.

Looks into heavy cells find a value exactly, and are planned for large tables only. What they leave is released as the roundest
number of its cell: no row is asked again, and nothing moves farther than the cell is wide.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.binning import Spike, Spikes
from sfumato.mechanisms.table.columns.point_masses import ABOVE, HEAVY, has_spikes, roundest


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
    at = np.flatnonzero(cells.grid >= 0)
    held = mass[at]
    # Nothing looks closer here, so both neighbours along the grid must be light: one alone is, beside what was emptied.
    heavier = np.maximum(np.append(held[1:], 0.0), np.append(0.0, held[:-1]))
    guessed = {
        int(at[i]): Spike(roundest(*cells.edges(int(at[i])))[0], float(1 - heavier[i] / held[i]))
        for i in np.flatnonzero(held > np.maximum(HEAVY * stddev, ABOVE * heavier))
    }
    return Spikes({**guessed, **spikes.of_cell}, spikes.decimals)
