"""How much of its bounds a column of numbers fills. NOT private: it counts rows."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.dry_run.finding import LITTLE, Finding, found
from sfumato.public.schema.column import Column

_CELLS = 1_000
#: Nearly all rows in this part of the bounds are told.
_PART = 0.01


class Spread:
    """Counts of rows in equal cells between the bounds."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self._counts = np.zeros(_CELLS, dtype=np.int64)

    def add(self, numbers: NDArray[np.float64]) -> None:
        """Count one chunk."""
        column = self._column
        if column.bounds is not None:
            known = numbers[np.isfinite(numbers) & ~np.isin(numbers, column.special)]
            clipped = np.clip(known, column.low, column.high)
            self._counts += np.histogram(clipped, bins=_CELLS, range=column.bounds)[0]

    def findings(self, rows: int) -> list[Finding]:
        """A note where nearly all rows lie in a hundredth of the bounds."""
        held, width = int(self._counts.sum()), int(_PART * _CELLS)
        together = np.convolve(self._counts, np.ones(width, dtype=np.int64), mode="valid")
        if not held or together.max() < (1 - LITTLE) * held:
            return []
        what = f"lie together in a {round(1 / _PART)}th of the bounds: noise is by the width of these"
        remedy = "Are the bounds in the unit of the file? Narrow them by what is known in public; never to the rows."
        near = found(self._column.name, what, rows=int(together.max()), of=rows, remedy=remedy)
        return [replace(finding, is_fault=False) for finding in near]
