"""Directions of the unit sphere that a row may be reported by: a finite, public set of them, so that odds are exact.

PrivUnit (Bhowmick, Duchi, Freudiger, Kapoor and Rogers, "Protection against reconstruction and its applications in private
federated learning", 2018) reports a random direction, more often one of a cap around the row's own. Here the cap is that of the
nearest directions of a public set, always as many, which is all that privacy rests on: docs/proofs/noisy-reports.md.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtri

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.plan.block import Response
from sfumato.public.plan.doors import Measured

#: Directions there are: a row is told by so many at most, and so are ten bits of it.
N_DIRECTIONS = 2**10
_SEED = 7
#: Public points on which the reach of a cap is measured.
_POINTS = 500
_LARGEST_EPSILON = 500.0  # beyond, odds are certain as far as float64 can tell


@dataclass(frozen=True)
class Directions:
    """Random directions and their opposites, so that their mean is 0."""

    width: int

    @property
    def vectors(self) -> Floats:
        """One a line, each of length 1."""
        return _vectors(N_DIRECTIONS, self.width)

    def nearest(self, points: Floats, *, n_near: int) -> Integers:
        """The places of the nearest directions to each point; the product is exact, so that each point alone decides."""
        scores = exact_products(points, self.vectors.T)
        return np.argpartition(-scores, n_near - 1, axis=1)[:, :n_near]

    def reach(self, *, n_near: int) -> float:
        """How long, on average, the mean of the nearest directions is along a point of the sphere."""
        points = _on_sphere(_POINTS, self.width, seed=_SEED + 1)
        near = self.vectors[self.nearest(points, n_near=n_near)].mean(axis=1)
        return float((near * points).sum(axis=1).mean())


@dataclass(frozen=True)
class NearDirections:
    """What a row is reported by at an epsilon: one of the directions near it, or any. Rows are clipped to `length`."""

    directions: Directions
    length: float
    epsilon: float

    @property
    def n_near(self) -> int:
        """Directions that are near: a public number."""
        return best_cap(epsilon=self.epsilon)

    def block(self, name: str, *, share: float) -> Response:
        """The response that the door draws."""
        return Response(name=name, categories=N_DIRECTIONS, share=share, codes=self.n_near, pure=True)

    def codes(self, rows: Floats) -> Integers:
        """The directions near each row."""
        return self.directions.nearest(lifted(rows, length=self.length), n_near=self.n_near)

    def reports(self, codes: Integers) -> Measured:
        """Directions, so scaled that they are the rows on average, and the noise in each entry of them."""
        reach = truth(self.n_near, epsilon=self.epsilon) * self.directions.reach(n_near=self.n_near)
        scale = self.length / reach
        spread = scale * math.sqrt(max(1 - reach**2, 0.0) / self.directions.width)
        return Measured(scale * self.directions.vectors[codes, :-1], spread)


def lifted(rows: Floats, *, length: float) -> Floats:
    """Rows of a ball of this radius as points of the sphere: one entry more makes up for what a row is short of.

    >>> lifted(np.array([[3.0, 0.0], [0.0, 10.0]]), length=5.0).round(3)
    array([[0.6, 0. , 0.8],
           [0. , 1. , 0. ]])
    """
    inside = rows / length
    squares = exact_products(inside**2, np.ones((rows.shape[1], 1)))
    inside = inside / np.sqrt(np.maximum(squares, 1.0))
    return np.concatenate([inside, np.sqrt(np.maximum(1.0 - squares, 0.0))], axis=1)


def truth(n_near: int, *, epsilon: float) -> float:
    """How often a report is one of the nearest on purpose, at this epsilon.

    >>> round(truth(N_DIRECTIONS // 2, epsilon=1.0), 4)  # so that it is a near one with e / (1 + e)
    0.4621
    """
    odds = n_near / N_DIRECTIONS * math.expm1(min(epsilon, _LARGEST_EPSILON))
    return odds / (1 + odds)


def best_cap(*, epsilon: float) -> int:
    """How many directions should count as near: those that make a report point along its row most.

    A cap of the part f of a sphere reaches phi(z) / f in standard deviations, z its upper quantile; a report is of it on purpose
    with probability `truth`. Asi, Feldman and Talwar, "Optimal algorithms for mean estimation under local differential privacy"
    (2022), choose cap and truth together in this way. Powers of two, so that no rounding decides.
    """

    def signal(n_near: int) -> float:
        part = n_near / N_DIRECTIONS
        height = float(ndtri(part))
        return truth(n_near, epsilon=epsilon) * math.exp(-(height**2) / 2) / part

    return max((1 << power for power in range(int(math.log2(N_DIRECTIONS)))), key=signal)


@cache
def _vectors(count: int, width: int) -> Floats:
    half = _on_sphere(count // 2, width, seed=_SEED)
    return np.concatenate([half, -half])


def _on_sphere(count: int, width: int, *, seed: int) -> Floats:
    drawn = np.random.default_rng(seed).normal(size=(count, width))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
