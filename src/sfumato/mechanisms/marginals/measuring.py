"""Noisy tables of bins, asked for at the doors, and what is expected of a table before it is measured."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.marginals.binned import Binned, Columns, codes_in, prepared_bins
from sfumato.mechanisms.marginals.fitting import NoisyTable
from sfumato.mechanisms.table.layout import Layout
from sfumato.mechanisms.table.smooth import to_simplex
from sfumato.public.block import Hot
from sfumato.public.doors import Doors
from sfumato.public.schema import Batch
from sfumato.public.step import Step


def columns_step(binned: Binned, *, share: float = 1.0) -> Step:
    """One sum for all columns: a row counts 1 in each."""
    counts = Hot(name="counts", width=sum(binned.sizes), n_hot=len(binned.sizes))
    return Step(name="columns", blocks=(counts,), share=share)


def count_columns(view: Doors, binned: Binned) -> list[NoisyTable]:
    """The noisy counts of every column."""
    return counted_tables(view, "columns", [(column,) for column in range(len(binned.sizes))], binned)


def counted_tables(view: Doors, step: str, tables: Sequence[Columns], binned: Binned) -> list[NoisyTable]:
    """One use of a step whose hot block has a code for each table."""
    shapes = [binned.shape(columns) for columns in tables]
    layout = Layout(tuple(math.prod(shape) for shape in shapes))

    def codes(batch: Batch) -> dict[str, NDArray[np.int64]]:
        return {"counts": codes_in(prepared_bins(batch), tables, binned.sizes) + layout.starts}

    noisy = view.noisy_sum(step, codes)["counts"]
    split = zip(tables, layout.split(noisy.values), shapes, strict=True)
    return [NoisyTable(columns, counts.reshape(shape), noisy.stddev) for columns, counts, shape in split]


def independent(columns: Sequence[NoisyTable], table: Columns, *, total: float) -> NDArray[np.float64]:
    """What a table would hold if its columns had nothing to do with each other."""
    out = np.array(total)
    for column in table:
        out = np.multiply.outer(out, to_simplex(columns[column].counts))
    return np.asarray(out)


def chance(expected: NDArray[np.float64]) -> float:
    """How far a table is from what is expected of it by chance alone: rows fall into cells as Poisson numbers."""
    return math.sqrt(2 / math.pi) * float(np.sqrt(np.maximum(expected, 0.0)).sum())
