"""How long rows are, by class: classes may differ in nothing else. No doors: noisy counts alone.

Lengths are counted along their logarithm: bounds may be a thousand times too wide, and rows of one class ten times as
long as those of another.
"""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.simplex import to_simplex
from sfumato.public.plan.doors import Measured

#: Of a smoothed histogram, this part of the noise is left with a kernel of one cell.
_NOISE_LEFT = float(np.sqrt(1 / (2 * np.sqrt(np.pi))))
#: A cell counts from this many standard deviations of the noise that is left.
_SURE = 3.0


@dataclass(frozen=True)
class LengthScale:
    """Cells of lengths, even in their logarithm, from `shortest` up to `longest`; what is shorter is in the first."""

    shortest: float
    longest: float
    cells: int

    def places(self, lengths: Floats) -> Floats:
        """Where lengths lie among the cells."""
        part = np.log(np.maximum(lengths, self.shortest) / self.shortest) / np.log(self.longest / self.shortest)
        return np.asarray(np.minimum(part, 1.0) * self.cells)

    def cells_of(self, lengths: Floats) -> Integers:
        """The cell of each length."""
        return np.asarray(np.minimum(self.places(lengths), self.cells - 1).astype(np.int64))

    def at(self, places: Floats | float) -> Floats:
        """The lengths at these places."""
        return np.asarray(self.shortest * (self.longest / self.shortest) ** (np.asarray(places) / self.cells))


@dataclass(frozen=True, eq=False)
class Lengths:
    """The shares of the cells within each class, and the log-odds of the second of two classes in each cell."""

    scale: LengthScale
    shares: Floats
    odds: Floats

    def quantiles(self, of_class: int, parts: Floats) -> Floats:
        """The lengths below which these parts of the rows of a class lie."""
        upto = np.r_[0.0, np.cumsum(self.shares[of_class])] + 1e-9 * np.arange(self.scale.cells + 1)
        return self.scale.at(np.interp(parts, upto / upto[-1], np.arange(self.scale.cells + 1)))

    def odds_at(self, lengths: Floats) -> Floats:
        """The log-odds of these lengths."""
        places = self.scale.places(lengths) - 0.5
        return np.asarray(np.interp(places, np.arange(self.scale.cells), self.odds))


def fit_lengths(scale: LengthScale, counts: Measured) -> Lengths:
    """From noisy counts, a line for each class: smoothed, and empty where nothing near stands above the noise."""
    smooth = gaussian_filter1d(counts.values, 1.0, axis=1, mode="constant")
    noise = _NOISE_LEFT * counts.stddev
    totals = np.maximum(counts.values.sum(axis=1), counts.stddev)
    shares = np.stack(
        [to_simplex(_near_the_sure(line, noise) / total) for line, total in zip(smooth, totals, strict=True)]
    )
    if len(shares) == 1:
        return Lengths(scale, shares, np.zeros(scale.cells))
    some = noise / totals.min()
    return Lengths(scale, shares, np.log((shares[1] + some) / (shares[0] + some)))


def _near_the_sure(line: Floats, noise: float) -> Floats:
    """Cells within two of one that stands above the noise; others cannot be. A single long row would outweigh hundreds."""
    sure = line > _SURE * noise
    return np.where(maximum_filter1d(sure, 5), line, -np.inf) if sure.any() else line
