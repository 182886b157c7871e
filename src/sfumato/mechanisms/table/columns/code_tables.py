"""Columns of very many categories: rows of each class at every one of them, also where bins pool the rare ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.settings.columns import ColumnSettings
from sfumato.public.plan.measured import Measured

#: By the places of columns: what to add to each set of scores for every category.
CodeScores = Mapping[int, Floats]


@dataclass(frozen=True)
class CodeTable:
    """Noisy counts by class and category."""

    counts: Measured

    @property
    def of_all(self) -> Measured:
        """Rows of all classes at each category."""
        values = self.counts.values
        return Measured(values.sum(axis=0), self.counts.stddev * len(values) ** 0.5)

    def scores(self, binning: Binning, bins: Integers, p: Floats, settings: ColumnSettings) -> Floats:
        """What to add to the scores of a category, so that its classes are as they were counted, as far as noise allows.

        `bins` are those of some rows, and `p` the chances of the classes that these rows have by their scores.
        """
        counts, n_classes = self.counts.values, p.shape[1]
        every, mass = counts.sum(axis=0), np.maximum(binning.mass, 0.0)
        rows = np.maximum(np.bincount(bins, minlength=binning.size), 1)

        def of_bin(values: Floats) -> Floats:
            return np.asarray((np.bincount(bins, weights=values, minlength=binning.size) / rows)[binning.bin_of])

        moves = []
        for c in range(1 if n_classes == 2 else 0, n_classes):  # two classes have one score, that of the second
            mean = of_bin(p[:, c])
            # Of several classes each has a score of its own, and those of the others move as well.
            slope = mass * (of_bin(p[:, c] * (1 - p[:, c])) if n_classes == 2 else mean)
            noise = self.counts.stddev**2 * ((1 - mean) ** 2 + (n_classes - 1) * mean**2)
            variance = noise + mass * mean * (1 - mean)
            moves.append(_shrunk(counts[c] - mean * every, slope, variance, rounds=settings.code_rounds))
        return np.clip(np.stack(moves, axis=1), -settings.code_most, settings.code_most)


def code_scores(of_codes: CodeScores, cells: Mapping[int, Integers] | Sequence[Integers] | Integers) -> Floats | float:
    """The sum of what the categories of each row add, from the cells of columns."""
    return sum((scores[cells[j]] for j, scores in of_codes.items()), start=0.0)


def _shrunk(beyond: Floats, slope: Floats, variance: Floats, *, rounds: int) -> Floats:
    """Means of scores of which `beyond` is `slope` times one, with noise; their size is learned (empirical Bayes)."""
    size = 0.0
    for _ in range(rounds):
        weight = (slope / (variance + size * slope**2)) ** 2
        size = max(float(weight @ (beyond**2 - variance)) / max(float(weight @ slope**2), 1e-300), 0.0)
    return size * slope * beyond / (size * slope**2 + variance)
