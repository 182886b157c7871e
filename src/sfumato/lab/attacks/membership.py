"""Membership inference: was this row among those that the synthetic ones were made from?

The attacker has the synthetic rows and some rows of the same population. Where the synthetic rows are denser around a row
than the population is, the row was probably used (van Breugel et al., "Membership inference attacks against synthetic
data through overfitting detection", AISTATS 2023). Or the attacker makes shadow releases of other data by the same mechanism, with and
without a row, and takes the likelihood ratio of a score in the two worlds (Carlini et al., "Membership inference attacks from first
principles", IEEE S&P 2022), the score being how near the row's neighbours among the synthetic rows are. Every shadow is a release
from private rows that nobody publishes. Reads real rows WITHOUT privacy.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.fitting import fit
from sfumato.folder.releasing import Release
from sfumato.lab.attacks.roc import Attack, measure
from sfumato.lab.attacks.sheets import Comparison, from_batches, places
from sfumato.lab.baselines.baseline import read_rows
from sfumato.learn.boosted_trees import boosting
from sfumato.mechanism import mechanism_from
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.schema.schema import Batch, n_rows_of

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
    known, others = some.holdout.values[::2], some.holdout.values[1::2]
    x = np.concatenate([some.synthetic.values, known])
    y = np.repeat([1, 0], [len(some.synthetic), len(known)])
    trained = boosting([at for at, is_number in enumerate(some.is_number) if not is_number]).fit(x, y)
    chance = np.asarray(trained.predict_proba(np.concatenate([some.real.values, others])))[:, 1]
    trees, n = np.log(chance + 1e-9) - np.log(1 - chance + 1e-9), len(some.real)  # the log-odds of being synthetic
    by_trees = measure("density ratio, trees", trees[:n], trees[n:], how=f"{_HOW}; by boosted trees.")
    return [by_neighbours(*places(some)), by_trees]


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


#: Members whose membership is guessed, and as many others.
_TARGETS = 1_000


def check_shadows(release: Release) -> None:
    """Refuse a release that cannot be made again from encoded rows."""
    schema = release.schema
    if schema.images:
        raise PlanError("shadow releases are made of tables only. Leave out --shadows.")
    if schema.unit.person is not None:
        raise PlanError("shadow releases are made of single rows, and here persons have several. Leave out --shadows.")


def likelihood_ratio(
    release: Release,
    *,
    real: Batch,
    synthetic: Batch,
    test: Batch,
    shadows: int,
    on_step: Callable[[str], None] = lambda step: None,
) -> Attack:
    """Release so many shadows, in each of which every target is or is not by a coin, and judge the release by them."""
    check_shadows(release)
    rng = np.random.default_rng(0)
    n_real, n_test = n_rows_of(real), n_rows_of(test)
    members = rng.choice(n_real, min(_TARGETS, n_real // 2), replace=False)
    others = rng.choice(n_test, min(_TARGETS, n_test), replace=False)
    targets = {name: np.concatenate([real[name][members], test[name][others]]) for name in real}
    rest = np.setdiff1d(np.arange(n_real), members)
    n_targets = len(members) + len(others)
    inside = rng.random((shadows, n_targets)) < 0.5
    scores = np.empty((shadows, n_targets))
    mechanism = mechanism_from(release.certificate.mechanism)
    for at in range(shadows):
        on_step(f"shadow release {at + 1} of {shadows}")
        rows = {name: np.concatenate([real[name][rest], targets[name][inside[at]]]) for name in real}
        private = Sensitive.read(release.schema.decode(rows), release.schema)
        fitted = fit(mechanism, private, release.certificate.claim.budget, seed=at)
        drawn = read_rows(fitted.sample(n_rows_of(synthetic)).table, release.schema)
        scores[at] = _nearness(release, synthetic, drawn, targets)
    seen = _nearness(release, synthetic, synthetic, targets)
    ratio, n = _ratio(seen, scores, inside), len(members)
    how = "Rows whose neighbourhood looks as in releases with them, not as in those without, are taken for members."
    return measure(f"likelihood ratio, {shadows} shadows", ratio[:n], ratio[n:], how=how)


def _nearness(release: Release, public: Batch, synthetic: Batch, targets: Batch) -> NDArray[np.float64]:
    """Minus the logarithm of the reach, in the space of the release that is judged."""
    found = from_batches(release.schema, real=targets, synthetic=public, holdout=synthetic)
    points, _, drawn = places(found)
    return -np.log(reach(drawn[:MOST_SYNTHETIC], points))


def _ratio(seen: NDArray[np.float64], scores: NDArray[np.float64], inside: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The logarithm of the ratio of two normal densities of one variance, which all targets share."""
    means = []
    for world in (inside, ~inside):
        counts = world.sum(axis=0)
        overall = scores[world].mean()
        # A target that was never in a world is taken for the average one.
        means.append(np.where(counts > 0, (scores * world).sum(axis=0) / np.maximum(1, counts), overall))
    left = scores - np.where(inside, means[0], means[1])
    variance = max(float((left**2).mean()), 1e-12)
    return np.asarray(((seen - means[1]) ** 2 - (seen - means[0]) ** 2) / (2 * variance))
