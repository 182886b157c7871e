"""What a model says of its rows when it knows the noisy number of each class."""

import math

import numpy as np

from sfumato.mechanisms.common.arrays import Floats
from sfumato.model import CountedRows
from sfumato.public.plan.doors import Measured


def class_rates(counts: Floats) -> Floats:
    """What part of all rows each class seems to have; equal parts where none stands above 0."""
    kept = np.maximum(counts, 0.0)
    return kept / kept.sum() if kept.sum() > 0 else np.full(len(kept), 1 / len(kept))


class CountedClasses(CountedRows):
    """The noisy number of rows, by the noisy numbers of rows of each class."""

    class_counts: Measured

    @property
    def noisy_rows(self) -> float:
        """The noisy number of private rows."""
        return float(self.class_counts.values.sum())

    @property
    def noisy_rows_stddev(self) -> float:
        """The standard deviation of the noise in it."""
        return self.class_counts.stddev * math.sqrt(len(self.class_counts.values))
