"""Tables of bins: those that may be chosen, their noisy counts, and what is expected of one before it is measured.

Every pair of columns may be chosen, and triples as far as they can be counted. That is public: no row decides.
"""

import itertools
import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.layout import Layout
from sfumato.mechanisms.common.prepared import CODES
from sfumato.mechanisms.common.simplex import to_simplex
from sfumato.mechanisms.marginals.binned import Binned, Columns, codes_in, prepared_bins
from sfumato.mechanisms.marginals.fitting import NoisyTable, Total
from sfumato.public.plan.block import Choice, Hot
from sfumato.public.plan.doors import Doors, PerRecord
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch

#: The mean of |Z| for a standard normal Z.
HALF_NORMAL = math.sqrt(2 / math.pi)
#: Rows that are drawn from a model for each private one, and the fewest and the most of them.
_DRAWN_FOR_EACH, _DRAWN = 2.0, (5_000, 100_000)
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

    def codes(batch: Batch) -> dict[str, Integers]:
        return {"tables": codes_in(prepared_bins(batch), tables, binned.sizes)}

    return codes


def _cells(binned: Binned, table: Columns) -> int:
    return math.prod(binned.shape(table))


def columns_step(binned: Binned, *, share: float = 1.0) -> Step:
    """One sum for all columns: a row counts 1 in each."""
    counts = Hot(name="counts", width=sum(binned.sizes), n_hot=len(binned.sizes))
    return Step(name="columns", blocks=(counts,), share=share)


def chosen_tables_steps(
    binned: Binned, candidates: Sequence[Columns], *, choices: str, uses: int, shares: tuple[float, float, float]
) -> tuple[Step, Step, Step]:
    """Columns once; then, so many times, a choice among the candidates and the table that was chosen.

    The shares are those of columns, of choices, and of the tables that were chosen.
    """
    tables = choice_of(binned, candidates)
    of_columns, of_choices, of_tables = shares
    return (
        columns_step(binned, share=of_columns),
        Step(name=choices, blocks=(tables,), uses=uses, share=of_choices),
        Step(name="tables", blocks=(Hot(name="counts", width=max(tables.widths)),), uses=uses, share=of_tables),
    )


def count_columns(view: Doors, binned: Binned) -> list[NoisyTable]:
    """The noisy counts of every column, from bins that are prepared for all later tables too."""
    view.prepare(CODES, binned.bins)
    return counted_tables(view, "columns", [(column,) for column in range(len(binned.sizes))], binned)


def counted_tables(view: Doors, step: str, tables: Sequence[Columns], binned: Binned) -> list[NoisyTable]:
    """One use of a step whose hot block has a code for each table."""
    shapes = [binned.shape(columns) for columns in tables]
    layout = Layout(tuple(math.prod(shape) for shape in shapes))

    def codes(batch: Batch) -> dict[str, Integers]:
        return {"counts": codes_in(prepared_bins(batch), tables, binned.sizes) + layout.starts}

    noisy = view.noisy_sum(step, codes)["counts"]
    split = zip(tables, layout.split(noisy.values), shapes, strict=True)
    return [NoisyTable(columns, counts.reshape(shape), noisy.stddev) for columns, counts, shape in split]


def margins_of(columns: Sequence[NoisyTable], *, total: Total) -> list[Floats]:
    """The probability of every bin of every column."""
    return [to_simplex(column.counts, total=total.rows) / total.rows for column in columns]


def independent(margins: Sequence[Floats], *, total: Total) -> Floats:
    """What the table of some columns would hold if they had nothing to do with each other.

    >>> independent([np.array([0.5, 0.5]), np.array([0.75, 0.25])], total=Total(8.0, 1.0))
    array([[3., 1.],
           [3., 1.]])
    """
    return np.asarray(reduce(np.multiply.outer, margins, np.array(total.rows)))


def drawn_for(total: Total) -> int:
    """How many rows are drawn from a model to see what it expects: more than there are private ones, within reason."""
    return int(np.clip(_DRAWN_FOR_EACH * total.rows, *_DRAWN))


def expected_in(codes: Integers, shape: tuple[int, ...], *, total: Total) -> Floats:
    """What rows that were drawn from a model lead to expect of a table, in private rows."""
    return np.bincount(codes, minlength=math.prod(shape)).reshape(shape) * np.float64(total.rows / len(codes))


def chance(expected: Floats, *, n_drawn: float = math.inf) -> float:
    """How far a table is from what is expected of it by chance alone: rows fall into cells as Poisson numbers.

    Where what is expected was counted among drawn rows, these have a chance of their own.
    """
    total = float(expected.sum())
    return HALF_NORMAL * math.sqrt(1 + total / n_drawn) * float(np.sqrt(np.maximum(expected, 0.0)).sum())
