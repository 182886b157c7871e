"""The density of a number from a few noisy counts: one of some shapes, times a smooth curve, by a Gaussian process.

Which shape, and how high and smooth the curve is, goes best with the counts. Where these say little, the shape is all there is.
Most numbers are even along the grid, have one hump, or fall from an end. Two numbers give the place and the width of a hump,
and noisy counts determine these much better than the height of every part: rows far from the hump are noise.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import ndtr

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.settings.columns import ColumnSettings


@dataclass(frozen=True)
class Intervals:
    """Intervals of a number's grid: where each begins and ends, on the grid (from 0 to 1) and in values.

    A single value is an interval without a length.
    """

    begins: Floats
    ends: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, cells: Cells, place: Integers) -> "Intervals":
        """Neighbouring cells with the same place make an interval; missing numbers are left out."""
        low, high = cells.ends()
        length = np.ones(cells.inner) if cells.whole else (cells.grid >= 0).astype(np.float64)
        ends = np.cumsum(length) / length.sum()
        first = np.unique(place[: cells.inner], return_index=True)[1]
        last = np.append(first[1:], cells.inner) - 1
        return cls(np.append(0.0, ends)[first], ends[last], low[first], high[last])


@dataclass(frozen=True)
class DensityShape:
    """One of them: `part` says how much of it lies between two ends, on the grid or in values."""

    name: str
    middle: float = 0.0
    width: float = 1.0

    def parts(self, intervals: Intervals) -> Floats:
        """The part of all rows in each interval."""
        mass = self._mass(intervals)
        return np.asarray(mass / mass.sum())

    def _mass(self, on: Intervals) -> Floats:
        if self.name == "even":
            return on.ends - on.begins
        low, high = (on.begins, on.ends) if self.name == "hump along the grid" else (on.low, on.high)
        low, high = (low - self.middle) / self.width, (high - self.middle) / self.width
        if self.name == "rising":
            low, high = -high, -low
        if self.name in ("falling", "rising"):
            return np.asarray(np.exp(-np.maximum(low, 0.0)) - np.exp(-np.maximum(high, 0.0)))
        return np.asarray(ndtr(high) - ndtr(low))


def shapes_of(cells: Cells, settings: ColumnSettings) -> list[DensityShape]:
    """All that are considered for a number, the first of them even.

    Humps are normal along the grid, which is nearly logarithmic far from zero, or normal in the values themselves.
    """
    places = (np.arange(settings.shape_places) + 0.5) / settings.shape_places
    ends = cells.ends()
    lowest, highest = float(ends[0][0]), float(ends[1][-1])
    start = 0.0 if lowest < 0 < highest else lowest
    middles = ends[0][(places * cells.inner).astype(np.int64)]
    parts = settings.shape_longest * settings.shape_shorter ** np.arange(settings.shape_ranges)
    widths = parts * (highest - lowest)
    if not settings.uses_shapes:
        return [DensityShape("even")]
    return [
        DensityShape("even"),
        *(DensityShape("hump along the grid", place, width) for place in places for width in settings.shape_widths),
        *(DensityShape("hump", middle, width) for middle in middles for width in widths),
        *(DensityShape("falling", start, width) for width in widths),
        *(DensityShape("rising", highest, width) for width in widths),
    ]


@dataclass(frozen=True)
class Mixture:
    """Several shapes, each by its weight."""

    shapes: Sequence[DensityShape]
    weights: Floats
    least: float

    def parts(self, intervals: Intervals) -> Floats:
        """The part of all rows in each interval; what hardly weighs anything is left out."""
        kept = np.flatnonzero(self.weights > self.least * self.weights.max())
        mixed = np.sum([self.weights[at] * self.shapes[int(at)].parts(intervals) for at in kept], axis=0)
        return np.asarray(mixed / mixed.sum())


@dataclass(frozen=True)
class NoisySums:
    """Noisy sums over leaves: `sums` says of which."""

    sums: Floats
    counts: Floats
    variances: Floats


def find_density(
    shapes: list[DensityShape],
    leaves: Intervals,
    place: Floats,
    single: Flags,
    counted: NoisySums,
    settings: ColumnSettings,
    *,
    total: float,
) -> tuple[Floats, Floats, Mixture]:
    """Rows in each leaf, how surely they are known, and the shape of the density within leaves, as it goes best with counts.

    The first of the shapes is even. `single` says which leaves stand for one value, or (the last ones, beyond those of the
    grid) for missing ones.
    """
    beyond = np.zeros(len(place) - len(leaves.low))
    of_shapes = np.stack([np.append(shape.parts(leaves), beyond) for shape in shapes])
    variances = np.append(counted.variances, (settings.density_total * total) ** 2)
    counted = NoisySums(np.vstack([counted.sums, np.ones(len(place))]), np.append(counted.counts, total), variances)
    of_singles = np.where(single, (settings.density_single * total) ** 2, 0.0)
    best, anywhere = -np.inf, settings.density_anywhere
    weights = _weights(
        total * of_shapes, counted, of_singles, off=settings.density_off * total, fewer=settings.density_fewer
    )
    for shape, mixed in ((of_shapes[0], np.eye(1, len(shapes))[0]), (weights @ of_shapes, weights)):
        base = (1 - anywhere) * shape + anywhere * of_shapes[0]
        residual = counted.counts - counted.sums @ (total * shape)
        for length, height, rough in itertools.product(
            settings.density_lengths, settings.density_heights, settings.density_roughness
        ):
            alike = np.exp(-((place[:, None] - place) ** 2) / (2 * length**2))
            prior = np.outer(base, base) * alike * (height * total / length) ** 2
            prior += (settings.density_fewer * total) ** 2 * np.outer(shape, shape) + np.diag(
                of_singles + rough * total**2 * base
            )
            across = prior @ counted.sums.T
            root = linalg.cho_factor(counted.sums @ across + np.diag(counted.variances), lower=True)
            answer = linalg.cho_solve(root, residual)
            fit = -0.5 * float(residual @ answer) - float(np.log(np.diag(root[0])).sum())
            if fit > best + 1e-9:
                best, likeliest = fit, (total * shape + across @ answer, prior, across, root, mixed)
    rows, prior, across, root, taken = likeliest
    left = np.diag(prior) - np.einsum("ij,ji->i", across, linalg.cho_solve(root, across.T))
    return rows, np.sqrt(np.maximum(left, 0.0)), Mixture(shapes, taken, settings.shape_least)


def _weights(shapes: Floats, counted: NoisySums, of_singles: Floats, *, off: float, fewer: float) -> Floats:
    """How likely each shape is by the counts, if it is all there is."""
    noise = (counted.sums * of_singles) @ counted.sums.T + np.diag(counted.variances + off**2)
    root = linalg.cho_factor(noise, lower=True)
    expected = shapes @ counted.sums.T
    residual = counted.counts - expected
    turned, of_residual = (linalg.cho_solve(root, some.T).T for some in (expected, residual))
    spread = 1 + fewer**2 * (turned * expected).sum(axis=1)
    far = (
        (of_residual * residual).sum(axis=1) - fewer**2 * (turned * residual).sum(axis=1) ** 2 / spread + np.log(spread)
    )
    likely = np.exp(-0.5 * (far - far.min()))
    return np.asarray(likely / likely.sum())
