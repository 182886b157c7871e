"""Rows drawn from a fitted model of bins."""

from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.marginals.binned import Binned
from sfumato.mechanisms.marginals.fitting import Total
from sfumato.mechanisms.marginals.markov import MarkovModel
from sfumato.model import Synthetic, check_row_count, rows_counted


@dataclass(frozen=True)
class BinnedModel:
    """A model of bins, and what the bins stand for."""

    binned: Binned
    rows_of_bins: MarkovModel
    total: Total

    @property
    def noisy_rows(self) -> float:
        """The noisy number of private rows."""
        return self.total.rows

    @property
    def noisy_rows_stddev(self) -> float:
        """The standard deviation of the noise in it."""
        return self.total.stddev

    @property
    def default_rows(self) -> int:
        """As many as there seem to be."""
        return rows_counted(self.total.rows, stddev=self.total.stddev)

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Draw rows of bins, then a value in each bin."""
        check_row_count(n_rows)
        rng = np.random.default_rng(seed)
        batch = self.binned.values(self.rows_of_bins.draw(n_rows, rng), rng)
        return Synthetic(table=self.binned.schema.decode(batch))
