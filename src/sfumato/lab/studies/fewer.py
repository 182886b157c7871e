"""The same benchmark with fewer rows, for quick runs."""

from dataclasses import replace

import numpy as np
import pandas as pd

from sfumato.lab.benchmark.datasets import Benchmark, Rows


def fewer_rows(benchmark: Benchmark, *, train: int | None, test: int | None = None) -> Benchmark:
    """The first so many rows of both parts; all, where there is no number. The schema declares what is left.

    Where all training rows are left, it declares what it did: nothing for the largest datasets, as the protocol's delta is
    above one over their size.
    """
    kept = _first(benchmark.train, train)
    declared = benchmark.schema.rows if train is None else row_count(kept)
    return replace(
        benchmark, train=kept, test=_first(benchmark.test, test), schema=replace(benchmark.schema, rows=declared)
    )


def row_count(rows: Rows) -> int:
    """How many rows."""
    return len(rows) if isinstance(rows, pd.DataFrame) else len(next(iter(rows.values())))


def _first(rows: Rows, count: int | None) -> Rows:
    if isinstance(rows, pd.DataFrame):
        return rows.iloc[:count]
    return {name: np.asarray(values)[:count] for name, values in rows.items()}
