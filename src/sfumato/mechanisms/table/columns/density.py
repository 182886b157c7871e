"""The density of a number from a few noisy counts: one of some shapes, times a smooth curve, by a Gaussian process.

Which shape, and how high and smooth the curve is, goes best with the counts. Where these say little, the shape is all there is.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sfumato.mechanisms.table.columns.humps import Mixture, Shape, Stretches

#: The heights and lengths of the curve, as parts of all rows and of the grid; how many rows a single value may hold; and how
#: rough the density may be from leaf to leaf.
_HEIGHTS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_LENGTHS = (0.02, 0.05, 0.1, 0.2)
_SINGLE = 0.3
_ROUGH = (1e-6, 1e-3, 3e-2)
#: How far rows that are not single values may be fewer than all; and how surely all of them are known together.
_FEWER = 0.3
_TOTAL = 0.01
#: So much of the curve may lie anywhere, whatever the shape.
_ANYWHERE = 0.05
#: How likely a shape is follows from counts that may be off by so much, since none is quite right.
_OFF = 0.01


@dataclass(frozen=True)
class Told:
    """Noisy sums over leaves: `sums` says of which."""

    sums: NDArray[np.float64]
    counts: NDArray[np.float64]
    variances: NDArray[np.float64]

    def with_total(self, total: float) -> "Told":
        """And that of all leaves."""
        return Told(
            np.concatenate([self.sums, np.ones((1, self.sums.shape[1]))]),
            np.append(self.counts, total),
            np.append(self.variances, (_TOTAL * total) ** 2),
        )


@dataclass(frozen=True)
class Density:
    """Rows in each leaf, how surely they are known, and the shape that the density has within leaves."""

    held: NDArray[np.float64]
    stddev: NDArray[np.float64]
    shape: Mixture


def find_density(
    shapes: list[Shape],
    leaves: Stretches,
    place: NDArray[np.float64],
    single: NDArray[np.bool_],
    told: Told,
    *,
    total: float,
) -> Density:
    """What goes best with the counts.

    Args:
        shapes: That are thought of; the first is even.
        leaves: Where the leaves of the grid lie.
        place: The place of each leaf on the grid.
        single: Which leaves stand for one value, or (the last ones, beyond those of the grid) for missing ones.
        told: What was counted.
        total: All rows.
    """
    beyond = np.zeros(len(place) - len(leaves.low))
    of_shapes = np.stack([np.append(shape.parts(leaves), beyond) for shape in shapes])
    told = told.with_total(total)
    apart_singles = np.where(single, (_SINGLE * total) ** 2, 0.0)
    best = -np.inf
    weights = _weights(total * of_shapes, told, apart_singles, off=_OFF * total)
    for shape, mixed in ((of_shapes[0], np.eye(1, len(shapes))[0]), (weights @ of_shapes, weights)):
        base = (1 - _ANYWHERE) * shape + _ANYWHERE * of_shapes[0]
        apart = told.counts - told.sums @ (total * shape)
        for length, height, rough in itertools.product(_LENGTHS, _HEIGHTS, _ROUGH):
            alike = np.exp(-((place[:, None] - place) ** 2) / (2 * length**2))
            prior = np.outer(base, base) * alike * (height * total / length) ** 2
            prior += (_FEWER * total) ** 2 * np.outer(shape, shape) + np.diag(apart_singles + rough * total**2 * base)
            across = prior @ told.sums.T
            root = linalg.cho_factor(told.sums @ across + np.diag(told.variances), lower=True)
            answer = linalg.cho_solve(root, apart)
            fit = -0.5 * float(apart @ answer) - float(np.log(np.diag(root[0])).sum())
            if fit > best + 1e-9:
                best, found = fit, (total * shape + across @ answer, prior, across, root, mixed)
    held, prior, across, root, taken = found
    left = np.diag(prior) - np.einsum("ij,ji->i", across, linalg.cho_solve(root, across.T))
    return Density(held, np.sqrt(np.maximum(left, 0.0)), Mixture(shapes, taken))


def _weights(
    shapes: NDArray[np.float64], told: Told, apart_singles: NDArray[np.float64], *, off: float
) -> NDArray[np.float64]:
    """How likely each shape is by the counts, if it is all there is."""
    noise = (told.sums * apart_singles) @ told.sums.T + np.diag(told.variances + off**2)
    root = linalg.cho_factor(noise, lower=True)
    held = shapes @ told.sums.T
    apart = told.counts - held
    turned, of_apart = (linalg.cho_solve(root, some.T).T for some in (held, apart))
    spread = 1 + _FEWER**2 * (turned * held).sum(axis=1)
    far = (of_apart * apart).sum(axis=1) - _FEWER**2 * (turned * apart).sum(axis=1) ** 2 / spread + np.log(spread)
    likely = np.exp(-0.5 * (far - far.min()))
    return np.asarray(likely / likely.sum())
