"""Membership inference: was this row among those that the synthetic ones were made from?

The attacker has the synthetic rows and some rows of the same population. Where the synthetic rows are denser around a row
than the population is, the row was probably used (van Breugel et al., "Membership inference attacks against synthetic
data through overfitting detection", AISTATS 2023). Reads real rows WITHOUT privacy.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.attacks.roc import Attack, measure
from sfumato.lab.attacks.sheets import Comparison, places
from sfumato.lab.boosted_trees import boosting

#: Rows that are scored, and synthetic ones that are searched: more would take minutes and change little.
MOST_ROWS, MOST_SYNTHETIC = 4_000, 20_000
_NEIGHBOURS = 3
_HOW = "Rows around which synthetic rows are denser than the population are taken for members"

Points = NDArray[np.float32]


def density_ratio(found: Comparison) -> list[Attack]:
    """Two estimates of the ratio of densities: by nearest neighbours, and by trees that tell the two apart.

    Half of the held-back rows are the attacker's population, the other half are scored.
    """
    some = found.at_most(MOST_ROWS, synthetic=MOST_SYNTHETIC)
    if some.holdout is None or len(some.holdout) < 4:
        return []
    trees = _told_apart(some, rows_from=(some.real.values, some.holdout.values[1::2]))
    n = len(some.real)
    return [
        by_neighbours(*places(some)),
        measure("density ratio, trees", trees[:n], trees[n:], how=f"{_HOW}; by boosted trees."),
    ]


def by_neighbours(real: Points, synthetic: Points, holdout: Points) -> Attack:
    """The ratio of densities of points of any space, by how far the nearest neighbours are."""
    known, others = holdout[::2], holdout[1::2]
    rows = np.concatenate([real, others])
    near = np.log(reach(known, rows)) - np.log(reach(synthetic, rows))
    n = len(real)
    return measure("density ratio, neighbours", near[:n], near[n:], how=f"{_HOW}; by nearest neighbours.")


def closest(found: Comparison) -> Attack | None:
    """The distance to the closest synthetic row as a score: a sanity figure, which proves nothing where it is .5."""
    some = found.at_most(MOST_ROWS, synthetic=MOST_SYNTHETIC)
    return None if some.holdout is None or not len(some.holdout) else by_closest(*places(some))


def by_closest(real: Points, synthetic: Points, holdout: Points) -> Attack:
    """The same of points of any space."""
    score = -distance_to(synthetic, np.concatenate([real, holdout]))[:, 0]
    how = "Rows near a synthetic row are taken for members."
    return measure("distance to the closest record", score[: len(real)], score[len(real) :], how=how)


def distance_to(points: Points, rows: Points, *, neighbours: int = 1) -> NDArray[np.float64]:
    """Of each row, the distances to its nearest points, rising."""
    from sklearn.neighbors import NearestNeighbors

    wanted = min(neighbours, len(points))
    search = NearestNeighbors(n_neighbors=wanted, algorithm="brute").fit(points)
    return np.asarray(search.kneighbors(rows)[0], dtype=np.float64)


def reach(points: Points, rows: Points) -> NDArray[np.float64]:
    """How far the three nearest points are, as a geometric mean; a copy is near, but not infinitely so."""
    return np.asarray(np.exp(np.log(distance_to(points, rows, neighbours=_NEIGHBOURS) + 1e-3).mean(axis=1)))


def _told_apart(found: Comparison, *, rows_from: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
    """The log-odds of being synthetic, against the population that the attacker knows."""
    holdout = found.holdout.values[::2] if found.holdout is not None else found.real.values[:0]
    x = np.concatenate([found.synthetic.values, holdout])
    y = np.repeat([1, 0], [len(found.synthetic), len(holdout)])
    coded = [at for at, is_number in enumerate(found.is_number) if not is_number]
    trained = boosting(coded).fit(x, y)
    chance = np.asarray(trained.predict_proba(np.concatenate(rows_from)))[:, 1]
    return np.asarray(np.log(chance + 1e-9) - np.log(1 - chance + 1e-9))
