"""Correlations within each class: noisy second moments of normal scores.

Within a class every bin of a column has a normal score: what a standard normal variable is on average, when it falls
where the bin lies among the class's rows. The products of two columns' scores, summed over a class, say how the two go
together there: that is a Gaussian copula by class, and what differs between classes is an interaction with the target.

A missing value may be any, so its score is 0, and products say how known values go together. That as many are known of both
columns as would be by chance is assumed here; tables of pairs say it better.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.compiled import looked_up
from sfumato.mechanisms.table.columns.shortened_persons import Number, regained
from sfumato.mechanisms.table.joint.ordering import Line
from sfumato.mechanisms.table.settings.joint import JointSettings
from sfumato.public.budget import PrivacyUnit
from sfumato.public.machine.threads import in_threads


@dataclass(frozen=True)
class NormalScores:
    """For every column a table (class, bin) of normal scores, in units in which no row is longer than 1.

    Tables end in zeros, so that all have the same size.
    """

    tables: Floats
    variances: Floats
    longest_square: float
    of_all: list["_Along"]

    def __call__(self, bins: Integers, labels: Integers) -> Floats:
        """The scores of rows. Each is short enough, or shortened."""
        k, _, most = self.tables.shape
        z = looked_up(self.tables.reshape(k, -1), most * labels[:, None] + bins)
        z /= np.sqrt(self.longest_square)
        return np.asarray(z / np.maximum(np.sqrt((z**2).sum(axis=1, keepdims=True)), 1.0))


@dataclass(frozen=True)
class _Along:
    """Of all classes together, along the order of a column's bins: which part of the rows lies up to each, and its score.

    `known` is the part of all rows that have a value.
    """

    upto: Floats
    score: Floats
    known: float

    @classmethod
    def of(cls, joint: Floats, order: Integers, *, farthest: float) -> "_Along":
        margin = joint.sum(axis=0, keepdims=True)
        upto = np.cumsum(margin[0, order])
        known = float(upto[-1] / max(float(margin.sum()), 1e-300))
        scores = normal_scores(margin, order, farthest=farthest)
        return cls(upto / max(float(upto[-1]), 1e-300), scores[0, order], known)

    def at(self, quantiles: Floats) -> Floats:
        """The scores at these quantiles."""
        return self.score[np.minimum(np.searchsorted(self.upto, quantiles), len(self.score) - 1)]


def scores_of(joints: Sequence[Floats], lines: Sequence[Line], rates: Floats, settings: JointSettings) -> NormalScores:
    """From the probabilities of (class, bin), along the known bins of each column."""
    farthest = settings.score_farthest
    tables = [normal_scores(joint, line.known, farthest=farthest) for joint, line in zip(joints, lines, strict=True)]
    given = [joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300) for joint in joints]
    variances = np.stack([(p * z**2).sum(axis=1) for p, z in zip(given, tables, strict=True)], axis=1) + 1e-3
    longest_square = max(settings.score_clip * float(rates @ variances.sum(axis=1)), 1e-6)
    of_all = [_Along.of(joint, line.known, farthest=farthest) for joint, line in zip(joints, lines, strict=True)]
    most = max(table.shape[1] for table in tables)
    same_size = np.stack([np.pad(table, ((0, 0), (0, most - table.shape[1]))) for table in tables])
    return NormalScores(same_size, variances, longest_square, of_all)


def normal_scores(joint: Floats, order: Integers, *, farthest: float) -> Floats:
    """Among the bins that have a place in the order; 0 of the others."""
    known = np.zeros_like(joint)
    known[:, order] = joint[:, order]
    p = known[:, order] / np.maximum(known.sum(axis=1, keepdims=True), 1e-300)
    upper = np.clip(np.cumsum(p, axis=1), 0.0, 1.0)
    lower = np.concatenate([np.zeros((len(p), 1)), upper[:, :-1]], axis=1)
    middle = ndtri(np.clip((lower + upper) / 2, 1e-3, 1 - 1e-3))
    mean = (_density(lower) - _density(upper)) / np.maximum(p, 1e-9)
    scores = np.zeros_like(joint)
    scores[:, order] = np.clip(np.where(p > 1e-9, mean, middle), -farthest, farthest)
    return np.asarray(scores)


def _density(quantile: Floats) -> Floats:
    """The normal density where this part of the mass lies below."""
    at = ndtri(np.clip(quantile, 1e-12, 1 - 1e-12))
    inside = (quantile > 1e-12) & (quantile < 1 - 1e-12)
    return np.where(inside, np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi), 0.0)


def correlations(
    moments: Floats,
    scores: NormalScores,
    per_class: Floats,
    settings: JointSettings,
    *,
    stddev: float,
    by_class: bool,
    unit: PrivacyUnit,
) -> Floats:
    """A correlation matrix for every class: what all have in common, and what stands out of the noise in each.

    `moments` are noisy sums of products of scores, for every class or all together. Where the unit is a person with
    several rows, rows may count less here than in `per_class`, as squares show.
    """
    k, n_classes = moments.shape[1], len(per_class)
    upper = np.triu_indices(k, 1)
    # Both halves of a symmetric matrix carry noise of their own: their mean has less.
    products = ((moments + moments.transpose(0, 2, 1)) / 2)[:, upper[0], upper[1]] * scores.longest_square
    noise = stddev * scores.longest_square / np.sqrt(2.0)
    expected = (
        np.maximum(per_class, 1.0)[:, None]
        * np.sqrt(scores.variances[:, upper[0]] * scores.variances[:, upper[1]]) ** 2
    )
    over_all = products.sum(axis=0) / expected.sum(axis=0)
    noise_over_all = np.sqrt(len(products)) * noise / expected.sum(axis=0)
    size, of_rows = scores.longest_square, float(per_class @ scores.variances.sum(axis=1))
    squares = Number(size * float(np.trace(moments.sum(axis=0))), size * stddev * float(np.sqrt(moments.shape[0] * k)))
    in_common, gain = _shrunk(over_all, noise_over_all, settings), 1.0
    fewest, most = settings.shortening_rounds
    for turn in range(1, most + 1):
        # Long rows are those along the strongest correlations: these have lost more than others.
        seen = _shortening(_matrix(in_common, k, settings), scores, settings)
        gain = regained(unit, rows=Number(seen.squares_left * of_rows, 0.0), counted=squares)
        in_common = _shrunk(gain * over_all + seen.lost, gain * noise_over_all, settings)
        in_common = np.clip(in_common, -settings.largest_correlation, settings.largest_correlation)
        if turn >= fewest and (1 - seen.products_left) ** turn < settings.still_lost:
            break
    left = seen.products_left / gain
    if not by_class or n_classes == 1:
        return np.broadcast_to(_matrix(in_common, k, settings), (n_classes, k, k))
    # From the mean before it was shrunk: else what a large class has regained of it would divide the classes.
    of_class = _shrunk((products / expected - over_all) / left, noise / expected / left, settings)
    return _matrix(in_common + of_class, k, settings)


def _shrunk(values: Floats, noise: Floats, settings: JointSettings) -> Floats:
    """Towards 0 as far as the noise explains their size; less where one alone is far above it. Each line by itself."""
    size = _likeliest(values, noise, settings)
    among_all = size / (size + noise**2 + 1e-300)
    alone = np.where(
        np.abs(values) > settings.correlation_sure * noise, 1 - (noise / np.maximum(np.abs(values), 1e-9)) ** 2, 0.0
    )
    return np.asarray(values * np.maximum(among_all, alone))


def _likeliest(values: Floats, noise: Floats, settings: JointSettings) -> Floats:
    """The variance that goes best with all values of a line: those with much noise in them say little of it."""
    sizes = np.array([0.0, *np.geomspace(*settings.correlation_variances, settings.n_correlation_variances)])
    fits = []
    for size in sizes:
        variance = size + noise**2 + 1e-12
        fits.append(-0.5 * (values**2 / variance + np.log(variance)).sum(axis=-1, keepdims=True))
    return np.asarray(sizes[np.argmax(fits, axis=0)])


def _matrix(correlation: Floats, k: int, settings: JointSettings) -> Floats:
    """The nearest matrix that correlations can have, roughly: eigenvalues lifted, then ones on the diagonal.

    One for each line of correlations.
    """
    full = np.zeros((*correlation.shape[:-1], k, k))
    upper = np.triu_indices(k, 1)
    full[..., upper[0], upper[1]] = np.clip(correlation, -settings.largest_correlation, settings.largest_correlation)
    full += np.swapaxes(full, -1, -2) + np.eye(k)
    values, vectors = np.linalg.eigh(full)
    lifted = (vectors * np.maximum(values, settings.least_eigenvalue)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    deviation = np.sqrt(np.diagonal(lifted, axis1=-2, axis2=-1))
    return np.asarray(lifted / (deviation[..., :, None] * deviation[..., None, :]))


@dataclass(frozen=True)
class _Shortening:
    """What shortening long rows does: the part that is left of products and of squares; what each correlation has lost."""

    products_left: float
    squares_left: float
    lost: Floats


def _shortening(matrix: Floats, scores: NormalScores, settings: JointSettings) -> _Shortening:
    """On drawn rows with these correlations."""
    k = len(matrix)
    if k < 2:
        return _Shortening(1.0, 1.0, np.zeros(0))
    n_rows = int(np.clip(settings.simulated // k, *settings.simulated_rows))
    quantiles = ndtr(np.random.default_rng(0).standard_normal((n_rows, k)) @ np.linalg.cholesky(matrix).T)
    rows = np.stack(in_threads(lambda j: scores.of_all[j].at(quantiles[:, j]), range(k)), axis=1)
    rows *= np.random.default_rng(1).random(rows.shape) <= np.array([along.known for along in scores.of_all])
    square = (rows**2).sum(axis=1)
    short = rows * np.minimum(1.0, np.sqrt(scores.longest_square / np.maximum(square, 1e-12)))[:, None]
    upper = np.triu_indices(k, 1)
    before, after = (rows.T @ rows)[upper], (short.T @ short)[upper]
    products = float(np.clip((before * after).sum() / max(float((before**2).sum()), 1e-12), 0.2, 1.0))
    variances = (rows**2).mean(axis=0) + 1e-3
    lost = (before - after) / (n_rows * (variances[:, None] * variances)[upper])
    return _Shortening(products, float((short**2).sum() / max(float(square.sum()), 1e-12)), lost)
