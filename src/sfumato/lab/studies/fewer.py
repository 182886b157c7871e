"""The same benchmark with fewer rows, for quick runs."""

from dataclasses import replace

import numpy as np
import pandas as pd

from sfumato.lab.benchmark.datasets import Benchmark, Rows


def fewer_rows(benchmark: Benchmark, *, train: int | None, test: int | None = None) -> Benchmark:
    """The first so many rows of both parts; all, where there is no number. The schema declares what is left."""
    kept = _first(benchmark.train, train)
    return replace(
        benchmark, train=kept, test=_first(benchmark.test, test), schema=replace(benchmark.schema, rows=_count(kept))
    )


def _first(rows: Rows, count: int | None) -> Rows:
    if isinstance(rows, pd.DataFrame):
        return rows.iloc[:count]
    return {name: np.asarray(values)[:count] for name, values in rows.items()}


def _count(rows: Rows) -> int:
    return len(rows) if isinstance(rows, pd.DataFrame) else len(next(iter(rows.values())))
