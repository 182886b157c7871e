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
        return np.asarray(parts_of([self], intervals)[0])


def parts_of(shapes: Sequence[DensityShape], intervals: Intervals) -> Floats:
    """The part of all rows in each interval (columns), of several shapes (rows): those of one name together."""
    mass = np.empty((len(shapes), len(intervals.low)))
    names = np.array([shape.name for shape in shapes])
    for name in dict.fromkeys(names.tolist()):
        some = [shape for shape in shapes if shape.name == name]
        middle, width = np.array([[shape.middle, shape.width] for shape in some]).T[:, :, None]
        mass[names == name] = _mass(name, middle, width, intervals)
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))


def _mass(name: str, middle: Floats, width: Floats, on: Intervals) -> Floats:
    if name == "even":
        return np.asarray(on.ends - on.begins)
    low, high = (on.begins, on.ends) if name == "hump along the grid" else (on.low, on.high)
    if name == "log-normal":
        low, high = (np.log(np.maximum(end, 1e-300)) for end in (low, high))
    low, high = (low - middle) / width, (high - middle) / width
    if name == "rising":
        low, high = -high, -low
    if name in ("falling", "rising"):
        return np.asarray(np.exp(-np.maximum(low, 0.0)) - np.exp(-np.maximum(high, 0.0)))
    if name == "flat":
        return np.asarray(np.clip(high, -1.0, 1.0) - np.clip(low, -1.0, 1.0))
    return np.asarray(ndtr(high) - ndtr(low))


def shapes_of(cells: Cells, settings: ColumnSettings) -> list[DensityShape]:
    """All that are considered for a number, the first of them even.

    Humps are normal along the grid, which is nearly logarithmic far from zero, or normal in the values themselves, or in their
    logarithms. What is flat is so in the values, between two of some ends that divide the range, or the grid, evenly.
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
    evenly = np.linspace(0.0, 1.0, settings.shape_ends)
    of_range, of_grid = lowest + evenly * (highest - lowest), np.quantile(np.concatenate(ends), evenly)
    bounds = itertools.combinations(np.unique([of_range, of_grid]).tolist(), 2)
    return [
        DensityShape("even"),
        *(DensityShape("flat", (low + high) / 2, (high - low) / 2) for low, high in bounds),
        *(DensityShape("hump along the grid", place, width) for place in places for width in settings.shape_widths),
        *(DensityShape("hump", middle, width) for middle in middles for width in widths),
        *(
            DensityShape("log-normal", middle, width)
            for middle in _logarithms(lowest, highest, settings)
            for width in settings.shape_logs
        ),
        *(DensityShape("falling", start, width) for width in widths),
        *(DensityShape("rising", highest, width) for width in widths),
    ]


def _logarithms(lowest: float, highest: float, settings: ColumnSettings) -> Floats:
    """Middles of log-normal numbers: logarithms of numbers within the bounds, where nothing lies below zero."""
    if lowest < 0 or highest <= 0:
        return np.zeros(0)
    middles = np.log(highest) - np.log(10) * np.arange(0.0, settings.shape_decades, 0.25)
    return np.asarray(middles[np.exp(middles) > lowest])


@dataclass(frozen=True)
class Mixture:
    """Several shapes, each by its weight."""

    shapes: Sequence[DensityShape]
    weights: Floats
    least: float

    def parts(self, intervals: Intervals) -> Floats:
        """The part of all rows in each interval; what hardly weighs anything is left out."""
        kept = np.flatnonzero(self.weights > self.least * self.weights.max())
        mixed = self.weights[kept] @ parts_of([self.shapes[int(at)] for at in kept], intervals)
        return np.asarray(mixed / mixed.sum())


@dataclass(frozen=True)
class NoisySums:
    """Noisy sums over leaves: `sums` says of which."""

    sums: Floats
    counts: Floats
    variances: Floats

    def of_leaves(self) -> tuple[Floats, Floats]:
        """What all sums say of every leaf together: as if each had been counted by itself, with this covariance of the noise."""
        precision = (self.sums / self.variances[:, None]).T @ self.sums
        covariance = linalg.inv(precision, check_finite=False)
        return covariance @ (self.counts / self.variances @ self.sums), (covariance + covariance.T) / 2


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
    beyond = np.zeros((len(shapes), len(place) - len(leaves.low)))
    of_shapes = np.concatenate([parts_of(shapes, leaves), beyond], axis=1)
    variances = np.append(counted.variances, (settings.density_total * total) ** 2)
    everything = np.vstack([counted.sums, np.ones(len(place))])
    counts, noise = NoisySums(everything, np.append(counted.counts, total), variances).of_leaves()
    of_singles = np.where(single, (settings.density_single * total) ** 2, 0.0)
    anywhere, fewer = settings.density_anywhere, settings.density_fewer
    off = np.diag(of_singles + (settings.density_off * total) ** 2 / len(place))
    weights = _weights(total * of_shapes, counts, noise + off, fewer=fewer)
    squares = (place[:, None] - place) ** 2
    smooth = [(length, np.exp(-squares / (2 * length**2))) for length in settings.density_lengths]
    best = -np.inf
    for shape, mixed in ((of_shapes[0], np.eye(1, len(shapes))[0]), (weights @ of_shapes, weights)):
        base = (1 - anywhere) * shape + anywhere * of_shapes[0]
        whole = (fewer * total) ** 2 * np.outer(shape, shape) + np.diag(of_singles)
        residual = counts - total * shape
        for length, alike in smooth:
            curve = base[:, None] * alike * base * (total / length) ** 2
            for height, rough in itertools.product(settings.density_heights, settings.density_roughness):
                prior = height**2 * curve + whole
                prior.flat[:: len(place) + 1] += rough * total**2 * base
                root = linalg.cholesky(prior + noise, lower=True, check_finite=False, overwrite_a=True)
                turned = linalg.solve_triangular(root, residual, lower=True, check_finite=False)
                fit = -0.5 * float(turned @ turned) - float(np.log(np.diag(root)).sum())
                if fit > best + 1e-9:
                    best, likeliest = fit, (total * shape, prior, root, turned, mixed)
    mean, prior, root, turned, taken = likeliest
    across = linalg.solve_triangular(root, prior, lower=True, check_finite=False)
    left = np.diag(prior) - (across**2).sum(axis=0)
    return mean + turned @ across, np.sqrt(np.maximum(left, 0.0)), Mixture(shapes, taken, settings.shape_least)


def _weights(shapes: Floats, counts: Floats, noise: Floats, *, fewer: float) -> Floats:
    """How likely each shape is by the counts of leaves, if it is all there is."""
    root = linalg.cho_factor(noise, lower=True, check_finite=False)
    residual = counts - shapes
    turned, of_residual = (linalg.cho_solve(root, some.T, check_finite=False).T for some in (shapes, residual))
    spread = 1 + fewer**2 * (turned * shapes).sum(axis=1)
    far = (
        (of_residual * residual).sum(axis=1) - fewer**2 * (turned * residual).sum(axis=1) ** 2 / spread + np.log(spread)
    )
    likely = np.exp(-0.5 * (far - far.min()))
    return np.asarray(likely / likely.sum())
