"""Pictures as rows of a table, a column for each pixel: for methods that make tables alone."""

from dataclasses import replace

import numpy as np
import pandas as pd

from sfumato.lab.benchmark.datasets import Benchmark, Rows
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Schema


def as_table(benchmark: Benchmark) -> Benchmark:
    """The same rows with as many columns as a picture has pixels; a table stays what it is."""
    if not benchmark.schema.images:
        return benchmark
    (picture,), target = benchmark.schema.images, benchmark.schema.require_coded_target()
    n_pixels = int(np.prod(np.asarray(benchmark.train[picture.name]).shape[1:]))
    pixels = tuple(
        Column(name=f"pixel_{j}", kind="integer", bounds=(picture.low, picture.high)) for j in range(n_pixels)
    )

    def rows(of: Rows) -> pd.DataFrame:
        values = np.asarray(of[picture.name]).reshape(-1, n_pixels)
        return pd.DataFrame(values, columns=[p.name for p in pixels]).assign(
            **{target.name: np.asarray(of[target.name])}
        )

    schema = Schema(columns=(*pixels, target), target=target.name, rows=benchmark.schema.rows)
    return replace(benchmark, train=rows(benchmark.train), test=rows(benchmark.test), schema=schema)
