"""What a learner reaches on real test rows: areas under curves for classes, R2 for numbers. Not private."""

import numpy as np

import sfumato as sf
from sfumato.lab.benchmark.any_target import each_column
from sfumato.lab.benchmark.any_target import score as utility
from sfumato.public.schema.schema import Batch

__all__ = ["every_column", "utility"]


def every_column(real: Batch, train: Batch, test: Batch, schema: sf.Schema) -> float:
    """The mean score of columns predicted from the others, on a scale where 0 says nothing and 1 is all."""
    return float(np.mean(list(each_column(real, train, test, schema).values())))
