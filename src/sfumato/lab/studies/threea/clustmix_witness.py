"""Two datasets that differ in one row, and what ClustMix as published tells about which one it was given.

The claim rests on "one row changes one point by at most 1/l". It holds for a fixed assignment. Here the assignment is
computed from the rows, and one row can turn all of it round.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.studies.threea.clustmix_published import (
    centroids,
    clusters_of_class,
    number_of_clusters,
    published_sigma,
)
from sfumato.public.accounting import epsilon_of_mu

_STARTS = 12


@dataclass(frozen=True)
class Witness:
    """What one row does to the published release.

    Attributes:
        counts: How many points a class gives with a row, and without it: removed, or replaced by one of another class.
        moved: How far the stacked centroids of two datasets lie apart that differ in one replaced row.
        claimed_move: The farthest that the published proof allows.
        sigma: The noise that is added to each entry.
        epsilon: The smallest epsilon that is true of the pair, with the number of points kept the same.
    """

    counts: tuple[int, int]
    moved: float
    claimed_move: float
    sigma: float
    epsilon: float

    @property
    def honest_epsilon(self) -> float:
        """Of the procedure as a whole: infinite where the number of points already gives a row away."""
        return math.inf if self.counts[0] != self.counts[1] else self.epsilon


def find_witness(*, epsilon: float, delta: float, least: int, features: int, classes: int) -> Witness:
    """Run the published clustering on a pair of datasets, and compare what comes out.

    Both hold 2 l rows of one class at the corners of a square, repeated over all features, so that a cut from left to
    right is as good as one from top to bottom; the last row decides between them. The released means have equal Gaussian
    noise on both sides, so the pair is exactly mu-GDP with mu = distance / sigma. Of all ways to match the points, the
    nearest counts, and adaptation is left out: both are in favour of the published claim.

    Args:
        epsilon: The claimed one.
        delta: The claimed one.
        least: The least size of a cluster, at least 4.
        features: Of a row, at least 2.
        classes: Of the target.
    """
    pair = [
        centroids(rows, clusters_of_class(rows, least, seed=0, n_starts=_STARTS)) for rows in _pair(least, features)
    ]
    moved = min(
        float(np.linalg.norm(pair[0] - pair[1][list(order)])) for order in itertools.permutations(range(len(pair[1])))
    )
    sigma = published_sigma(least, epsilon=epsilon, delta=delta, features=features, classes=classes)
    return Witness(
        counts=(number_of_clusters(2 * least, least), number_of_clusters(2 * least - 1, least)),
        moved=moved,
        claimed_move=math.sqrt(classes * features) / least,
        sigma=sigma,
        epsilon=epsilon_of_mu(moved / sigma, delta=delta),
    )


def _pair(least: int, features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Four heaps of rows and one row between two of them, here below, there at the left."""
    half = least // 2
    heaps = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [least - 1 - half, half, half, least - half], axis=0)
    wide = [np.concatenate([heaps, [last]]) for last in ([0.5, 0.0], [0.0, 0.5])]
    across, even = np.arange(features) % 2, np.arange(features) < features - features % 2
    here, there = (rows[:, across] * even for rows in wide)  # an odd feature would favour one of the cuts
    return here, there
