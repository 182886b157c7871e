"""Shadow releases: the attacker releases other data by the same mechanism, with and without a row, and compares.

The likelihood ratio of a score in the two worlds (Carlini et al., "Membership inference attacks from first principles",
IEEE S&P 2022), the score being how near the row's neighbours among the synthetic rows are. Every shadow is a release from private
rows that nobody publishes. Reads real rows WITHOUT privacy.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.fitting import fit
from sfumato.folder.releasing import Release
from sfumato.lab.attacks.membership import MOST_SYNTHETIC, reach
from sfumato.lab.attacks.roc import Attack, measure
from sfumato.lab.attacks.sheets import from_batches, places
from sfumato.lab.baselines.baseline import read_rows
from sfumato.mechanism import mechanism_from
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.schema.schema import Batch, n_rows_of

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
    ratio = _ratio(seen, scores, inside)
    return measure(
        f"likelihood ratio, {shadows} shadows",
        ratio[: len(members)],
        ratio[len(members) :],
        how="Rows whose neighbourhood looks as in releases with them, not as in those without, are taken for members.",
    )


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
