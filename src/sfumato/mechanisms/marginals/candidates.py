"""Tables that may be chosen: every pair of columns, and triples as far as they can be counted. Public: no row decides."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.marginals.binned import Binned, Columns, codes_in, prepared_bins
from sfumato.public.plan.block import Choice
from sfumato.public.plan.doors import PerRecord
from sfumato.public.schema.schema import Batch

#: Cells of a triple, and of all triples together: smaller ones come first.
_MOST_CELLS, _MOST_IN_ALL = 2**15, 2**24


def pairs_of(binned: Binned) -> list[Columns]:
    """All pairs of columns."""
    return list(itertools.combinations(range(len(binned.sizes)), 2))


def triples_of(binned: Binned, *, around: int | None = None) -> list[Columns]:
    """Triples of columns, all of them or those with one of the columns, if they are small enough."""
    triples = itertools.combinations(range(len(binned.sizes)), 3)
    small: list[Columns] = [t for t in triples if (around is None or around in t) and _cells(binned, t) <= _MOST_CELLS]
    small.sort(key=lambda triple: (_cells(binned, triple), triple))
    upto = np.cumsum([_cells(binned, triple) for triple in small])
    return small[: int(np.searchsorted(upto, _MOST_IN_ALL, side="right"))]


def choice_of(binned: Binned, tables: Sequence[Columns]) -> Choice:
    """One of these tables."""
    return Choice(name="tables", widths=tuple(_cells(binned, table) for table in tables))


def codes_of(binned: Binned, tables: Sequence[Columns]) -> PerRecord:
    """The map of a choice among these tables."""

    def codes(batch: Batch) -> dict[str, NDArray[np.int64]]:
        return {"tables": codes_in(prepared_bins(batch), tables, binned.sizes)}

    return codes


def _cells(binned: Binned, table: Columns) -> int:
    return math.prod(binned.shape(table))
