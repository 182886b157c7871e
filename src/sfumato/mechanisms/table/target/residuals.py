"""Effects on a numeric target from noisy sums of what a rule for it misses: the posterior mean, with sizes that are learned.

A sum of errors over the rows of an entry is the number of these rows times what is missing there, and likewise for all other
entries that the same rows have: a linear equation whose matrix is known from the generator's rows. Each table has an unknown
size of its own, so tables of which the noise says nothing vanish.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.table.settings.target import TargetSettings
from sfumato.mechanisms.table.target.effects import Effects


@dataclass(frozen=True)
class ResidualSums:
    """Noisy sums of errors: at every entry of the effects, and along the rule's own deviations from the mean."""

    values: Floats
    stddevs: Floats
    along: float
    along_stddev: float


@dataclass(frozen=True)
class LearnedEffects:
    """What to add: to the rows of every entry, and in proportion to the rule's deviations."""

    effects: Effects
    values: Floats
    slope: float

    def added(self, cells: Integers, deviations: Floats) -> Floats:
        """To each row, from its cells and its deviation."""
        return np.asarray(self.values[self.effects.codes(cells)].sum(axis=1) + self.slope * deviations)


def learn_effects(
    effects: Effects,
    sums: ResidualSums,
    cells: Integers,
    deviations: Floats,
    settings: TargetSettings,
    *,
    total: float,
    scale: float,
) -> LearnedEffects:
    """The posterior mean of what may be added, by rows of the generator that stand for all private ones.

    `deviations` are what the rule says of them less its mean, within [-1, 1]; `scale` is the largest, in units of the
    largest error.
    """
    gram = _gram(effects.codes(cells), deviations, width=effects.layout.width) * (total / len(cells))
    trust = 1 / np.append(sums.stddevs, sums.along_stddev) ** 2
    known = (gram * trust) @ gram
    pull = gram @ (trust * np.append(sums.values, sums.along))
    precisions = effects.precisions(settings)
    most = settings.effect_all / np.sqrt(len(precisions))
    sizes = np.full(len(precisions), min(settings.effect_size, most))
    for _ in range(settings.effect_rounds):
        amounts, covariance = _posterior(known, pull, precisions, sizes, slope=settings.effect_slope * scale)
        sizes = _sizes(amounts, covariance, precisions, sizes, effects.layout.starts, settings, most=most)
    amounts, _ = _posterior(known, pull, precisions, sizes, slope=settings.effect_slope * scale)
    return LearnedEffects(effects, amounts[:-1], float(amounts[-1]))


def _gram(codes: Integers, deviations: Floats, *, width: int) -> Floats:
    n_rows, n_codes = codes.shape
    ones = sparse.csr_matrix(
        (np.ones(codes.size), (np.repeat(np.arange(n_rows), n_codes), codes.ravel())), (n_rows, width)
    )
    full = sparse.hstack([ones, sparse.csr_matrix(deviations[:, None])]).tocsr()
    return np.asarray((full.T @ full).toarray())


def _posterior(
    known: Floats, pull: Floats, precisions: Sequence[Floats], sizes: Floats, *, slope: float
) -> tuple[Floats, Floats]:
    prior = [one / size**2 for one, size in zip(precisions, sizes, strict=True)]
    covariance = linalg.inv(known + linalg.block_diag(*prior, [[max(slope, 1e-6) ** -2]]), overwrite_a=True)
    return covariance @ pull, covariance


def _sizes(
    amounts: Floats,
    covariance: Floats,
    precisions: Sequence[Floats],
    sizes: Floats,
    starts: Integers,
    settings: TargetSettings,
    *,
    most: float,
) -> Floats:
    """The sizes that go best with the amounts, by how many of these are settled (MacKay, "Bayesian interpolation", 1992).

    What tables have in common is settled first, and counts in each of them.
    """
    pooling, settled, energies = settings.effect_pooled, [], []
    for start, precision, size in zip(starts, precisions, sizes, strict=True):
        table = slice(start, start + len(precision))
        settled.append(max(len(precision) - float((precision * covariance[table, table]).sum()) / size**2, 0.0))
        energies.append(float(amounts[table] @ precision @ amounts[table]))
    pooled = min(sum(energies) / (sum(settled) + pooling), most**2)
    new = (np.array(energies) + pooling * pooled) / (np.array(settled) + pooling)
    return np.asarray(np.clip(np.sqrt(new), *settings.effect_sizes))
