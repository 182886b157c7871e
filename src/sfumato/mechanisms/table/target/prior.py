"""What is thought of a rule's corrections before any gradient is heard.

A correction is a sum of parts: one of every bin; one of every column as a whole, along what the generator says of its bins;
and one of all columns together. A generator that misses how columns hang together counts the same thing several times, and
what mends that are the last two: few numbers, of which noisy gradients say much.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sfumato.mechanisms.common.layout import Layout
from sfumato.mechanisms.table.target.classifier import BELIEVED, FARTHEST

#: Corrections of neighbouring bins of a number differ by less than the corrections themselves: so many times the precision.
_ALIKE = 10.0
#: The size of a bin's part and of a column's, before they are learned; their range; and how many parts must be settled first.
_FIRST_SIZES = (0.3, 0.5)
_SIZES = (0.02, 2.0)
_SETTLED = 2.0


@dataclass(frozen=True)
class Prior:
    """Independent Gaussians of mean zero.

    Args:
        alike: The precision of the bins' parts, of size one. The last is how far to believe the trees.
        curves: By class and column, what the generator says of the column's bins; after all columns, their sum.
    """

    alike: NDArray[np.float64]
    curves: NDArray[np.float64]

    @staticmethod
    def of_rule(additive: NDArray[np.float64], layout: Layout, *, runs: Sequence[tuple[int, int]]) -> "Prior":
        """About an additive rule.

        Args:
            additive: The rule's weights, by class: of all bins, and of the intercept.
            layout: Where the bins of each column lie.
            runs: Where the bins of each number start and stop.
        """
        n_columns, width = len(layout.sizes), additive.shape[1]
        column_of = np.repeat(np.arange(n_columns), layout.sizes)
        curves = np.zeros((len(additive), n_columns + 1, width + 1))
        for j, part in enumerate(layout.split(additive)):
            curves[:, j, : layout.width][:, column_of == j] = part - part.mean(axis=1, keepdims=True)
        curves[:, -1] = curves[:, :-1].sum(axis=1)
        return Prior(_alike_along(runs, width=width + 1), curves)

    @property
    def first_sizes(self) -> NDArray[np.float64]:
        """Of the parts of bins and of columns, by class."""
        return np.tile(_FIRST_SIZES, (len(self.curves), 1))

    def corrections(self, c: int, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum of all parts of a class, each by its amount: those of bins, then those of columns."""
        n_bins = len(self.alike)
        return np.asarray(amounts[:n_bins] + amounts[n_bins:] @ self.curves[c])

    def precision(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of the amounts of all parts, given their sizes."""
        of_bins = self.alike / sizes[0] ** 2
        of_bins[-1, -1] = (BELIEVED * FARTHEST) ** -2
        return np.asarray(linalg.block_diag(of_bins, np.eye(self.curves.shape[1]) / sizes[1] ** 2))

    def learned(
        self, sizes: NDArray[np.float64], amounts: NDArray[np.float64], covariance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The sizes that go best with the amounts, by how many of these are settled (MacKay, "Bayesian interpolation", 1992)."""
        n_bins = len(self.alike)
        kinds = (slice(0, n_bins - 1), self.alike[:-1, :-1]), (slice(n_bins, None), np.eye(self.curves.shape[1]))
        new = sizes.copy()
        for i, (kind, alike) in enumerate(kinds):
            settled = len(alike) - float((alike * covariance[kind, kind]).sum()) / sizes[i] ** 2
            if settled > _SETTLED:
                new[i] = np.clip(np.sqrt(float(amounts[kind] @ alike @ amounts[kind]) / settled), *_SIZES)
        return new


def _alike_along(runs: Sequence[tuple[int, int]], *, width: int) -> NDArray[np.float64]:
    """The precision of amounts of size one, of which neighbours along a number are alike."""
    precision = np.eye(width)
    for start, stop in runs:
        steps = np.arange(start, stop - 1)
        for left, right, sign in ((0, 0, 1), (1, 1, 1), (0, 1, -1), (1, 0, -1)):
            np.add.at(precision, (steps + left, steps + right), sign * _ALIKE)
    return precision
