"""Two datasets that differ in one row, and what ClustMix as published tells about which one it was given.

The claim rests on "one row changes one point by at most 1/l". It holds for a fixed assignment. Here the assignment is
computed from the rows, and one row can turn all of it round.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.studies.threea.clustmix_published import approximate, number_of_clusters
from sfumato.lab.studies.threea.readings import EQUATION_7, Claim
from sfumato.public.accounting import epsilon_of_mu
from sfumato.public.machine.torch_extra import need_torch

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


def find_witness(claim: Claim, *, least: int) -> Witness:
    """Run the published clustering on a pair of datasets, and compare what comes out.

    Both hold 2 l rows of one class at the corners of a square, repeated over all features, so that a cut from left to
    right is as good as one from top to bottom; the last row decides between them. The released means have equal Gaussian
    noise on both sides, so the pair is exactly mu-GDP with mu = distance / sigma. Of all ways to match the points, the
    nearest counts, and adaptation is left out: both are in favour of the published claim, as is the largest noise of all
    readings, that of Eq. 7.

    Args:
        claim: With at least 2 features.
        least: The least size of a cluster, at least 4.
    """
    pair = [centroids(rows, least=least) for rows in _pair(least, claim.features)]
    moved = min(
        float(np.linalg.norm(pair[0] - pair[1][list(order)])) for order in itertools.permutations(range(len(pair[1])))
    )
    sigma = claim.noise(EQUATION_7, least)
    return Witness(
        counts=(number_of_clusters(2 * least, least), number_of_clusters(2 * least - 1, least)),
        moved=moved,
        claimed_move=claim.move(EQUATION_7) / least,
        sigma=sigma,
        epsilon=epsilon_of_mu(moved / sigma, delta=claim.delta),
    )


def centroids(rows: NDArray[np.float64], *, least: int) -> NDArray[np.float64]:
    """Of rows of one class in one slice."""
    torch = need_torch("the witness")
    x, y = torch.from_numpy(rows), torch.zeros(len(rows), dtype=torch.int64)
    points = approximate(x, y, n_classes=1, least=least, n_starts=_STARTS).points
    return np.asarray(points.numpy(), dtype=np.float64)


def _pair(least: int, features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Four heaps of rows and one row between two of them, here below, there at the left."""
    half = least // 2
    heaps = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [least - 1 - half, half, half, least - half], axis=0)
    wide = [np.concatenate([heaps, [last]]) for last in ([0.5, 0.0], [0.0, 0.5])]
    across, even = np.arange(features) % 2, np.arange(features) < features - features % 2
    here, there = (rows[:, across] * even for rows in wide)  # an odd feature would favour one of the cuts
    return here, there
