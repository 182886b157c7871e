"""Effects on a numeric target from noisy sums of what a rule for it misses: the posterior mean, with sizes that are learned.

Errors are cut early, as by Huber ("Robust estimation of a location parameter", 1964): noise is in proportion to the cut, and
what a shift adds to a sum falls more slowly. The generator's rows stand for private ones. Without any shift the sums would be
theirs; with a shift every row adds it that is not cut. So sums are linear in what is missing at each entry, at all other
entries that the same rows have, and along columns. Each table has an unknown size of its own, so tables of which the noise
says nothing vanish.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, sparse

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.table.settings.target import TargetSettings
from sfumato.mechanisms.table.target.effects import Effects, Prior


@dataclass(frozen=True)
class ResidualSums:
    """Noisy sums of errors: at every entry of the effects, along the rule's own deviations from the mean; and of their squares."""

    values: Floats
    stddevs: Floats
    along: float
    along_stddev: float
    squares: float


@dataclass(frozen=True)
class LearnedEffects:
    """What to add: to the rows of every entry, and in proportion to the rule's deviations."""

    effects: Effects
    values: Floats
    slope: float

    def added(self, cells: Integers, deviations: Floats) -> Floats:
        """To each row, from its cells and its deviation."""
        return np.asarray(self.values[self.effects.codes(cells)].sum(axis=1) + self.slope * deviations)

    def times(self, unit: float) -> "LearnedEffects":
        """So many times as much."""
        return replace(self, values=unit * self.values, slope=unit * self.slope)


@dataclass(frozen=True)
class ErrorRows:
    """Rows of the generator that stand for all private ones, a `total`: their cells, and of each what the rule says and misses.

    `deviations` are what the rule says less its mean, within [-1, 1]; `errors` are in units of the cut.
    """

    cells: Integers
    deviations: Floats
    errors: Floats
    total: float

    def shifted(self, learned: LearnedEffects) -> "ErrorRows":
        """The same rows, if what was learned is what the rule misses."""
        return replace(self, errors=self.errors + learned.added(self.cells, self.deviations))

    def sums(self, effects: Effects) -> tuple[Floats, Floats]:
        """The sum of errors at every entry, and the variance that it has by chance."""
        codes, cut = effects.codes(self.cells), np.clip(self.errors, -1.0, 1.0)
        each, width = self.total / len(cut), effects.layout.width
        sums, squares = (sum(np.bincount(at, x, minlength=width) for at in codes.T) for x in (cut, cut**2))
        return np.asarray(each * sums), np.asarray(each * squares)

    def response(self, effects: Effects) -> Floats:
        """What a shift of each entry adds to the sum of every other; the rule's own slope last. Rows that are cut add nothing."""
        uncut = np.flatnonzero(np.abs(self.errors) < 1)
        codes = effects.codes(self.cells[uncut])
        places = np.repeat(np.arange(len(uncut)), codes.shape[1])
        ones = sparse.csr_matrix((np.ones(codes.size), (places, codes.ravel())), (len(uncut), effects.layout.width))
        full = sparse.hstack([ones, sparse.csr_matrix(self.deviations[uncut][:, None])]).tocsr()
        return self.total / len(self.errors) * np.asarray((full.T @ full).toarray())


def learn_effects(
    effects: Effects, sums: ResidualSums, rows: ErrorRows, settings: TargetSettings, *, scale: float
) -> LearnedEffects:
    """The posterior mean of what may be added, in units of the cut; `scale` is the largest deviation in these units."""
    unshifted, by_chance = rows.sums(effects)
    cut = np.clip(rows.errors, -1.0, 1.0)
    each = rows.total / len(cut)
    unshifted = np.append(unshifted, each * (cut @ rows.deviations))
    by_chance = np.append(by_chance, each * (cut**2 @ rows.deviations**2))
    gram = rows.response(effects)
    spread_out, prior = effects.prior(settings)
    gram = np.asarray(gram @ linalg.block_diag(spread_out, np.ones((1, 1))))
    by_noise = np.append(sums.stddevs, sums.along_stddev) ** 2 + by_chance
    missed = np.append(sums.values, sums.along) - unshifted
    # Private rows respond otherwise: columns that are copies of each other there are nearly so here, and shifts against each
    # other would explain what is missed.
    doubted = (settings.hessian_doubt * gram) ** 2
    doubted[:, -1] = 0.0  # the rule's slope is one number of all rows: it is set against no other
    # Pairs are few, and were chosen for their size; of all other tables the size in all is limited.
    most = np.where(
        [one.kind == "pair" for one in prior], settings.effect_sizes[1], settings.effect_all / len(prior) ** 0.5
    )
    sizes, slope = np.minimum(settings.effect_size, most), settings.effect_slope * scale
    amounts = np.append(np.repeat(sizes, [len(one.precision) for one in prior]), 0.0)
    for _ in range(settings.effect_rounds + 1):
        weighed = gram.T / (by_noise + doubted @ amounts**2)
        amounts, covariance = _posterior(weighed @ gram, weighed @ missed, prior, sizes, slope=slope)
        sizes = _sizes(amounts, covariance, prior, sizes, settings, most=most)
    return LearnedEffects(effects, spread_out @ amounts[:-1], float(amounts[-1]))


def _posterior(
    known: Floats, pull: Floats, prior: Sequence[Prior], sizes: Floats, *, slope: float
) -> tuple[Floats, Floats]:
    blocks = [one.precision / size**2 for one, size in zip(prior, sizes, strict=True)]
    covariance = linalg.inv(known + linalg.block_diag(*blocks, [[max(slope, 1e-6) ** -2]]), overwrite_a=True)
    return covariance @ pull, covariance


def _sizes(
    amounts: Floats,
    covariance: Floats,
    prior: Sequence[Prior],
    sizes: Floats,
    settings: TargetSettings,
    *,
    most: Floats,
) -> Floats:
    """The sizes that go best with the amounts, by how many of these are settled (MacKay, "Bayesian interpolation", 1992).

    What those of one kind have in common is settled first, and counts in each of them.
    """
    pooling, start = settings.effect_pooled, 0
    settled, energies = np.zeros(len(prior)), np.zeros(len(prior))
    for at, (one, size) in enumerate(zip(prior, sizes, strict=True)):
        table = slice(start, start + len(one.precision))
        lost = float((one.precision * covariance[table, table]).sum()) / size**2
        settled[at] = max(len(one.precision) - lost, 0.0)
        energies[at] = float(amounts[table] @ one.precision @ amounts[table])
        start += len(one.precision)
    kinds = np.array([one.kind for one in prior])
    pooled = np.array([energies[kinds == kind].sum() / (settled[kinds == kind].sum() + pooling) for kind in kinds])
    new = (energies + pooling * np.minimum(pooled, most**2)) / (settled + pooling)
    return np.asarray(np.clip(np.sqrt(new), *settings.effect_sizes))
