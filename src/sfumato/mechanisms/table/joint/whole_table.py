"""Columns counted whole: every combination of their values, by class, in one noisy table.

Other stages look at three columns together at most. A whole table, divided by the table of independent columns, is read in
contrasts: what every set of columns adds beyond its subsets (Lancaster's expansion; a Walsh transform, where all columns
have two even values). How far a contrast departs from the population's is kept as far as noise allows: by the size that
departures of its order have, or by itself where it stands far out. So a table without interactions of a high order is left
as it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.table.joint.population import Population
from sfumato.mechanisms.table.settings.joint import JointSettings
from sfumato.public.plan.measured import Measured


@dataclass(frozen=True)
class WholeTable:
    """Noisy counts of every combination of some columns and the class, which comes last."""

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    counts: Measured = field(repr=False)
    total: float

    def codes(self, rows: Integers) -> Integers:
        """The combination that each row of bins has, whatever its class."""
        return combinations_of(rows, self.columns, self.shape[:-1])

    def ratios(self, expected: Floats, n_rows: float, settings: JointSettings) -> Floats | None:
        """How many times as often as expected every combination occurs, by class; None where nothing departs from that.

        `expected` are the shares that so many drawn rows have.
        """
        expected = expected.reshape(self.shape)
        axes, independent = _axes(expected), _independent(expected)
        departures = _turned(self.counts.values.reshape(self.shape) / self.total - expected, axes)
        lengths = _independent_lengths(axes)
        # Drawn rows have their chance, and so have private ones, which is no more to be copied than the noise.
        noise = (self.counts.stddev / self.total * lengths) ** 2 + 1 / self.total + 1 / n_rows
        kept = _kept(departures, noise, settings)
        if not kept.any():
            return None
        more = _turned(kept, [axis.T for axis in axes]) * independent / _smooth(expected, independent, n_rows)
        return np.maximum(1 + more, settings.pair_left).reshape(-1, self.shape[-1])

    def scores(self, population: Population, p: Floats, settings: JointSettings) -> "WholeScores | None":
        """What to add to the scores of every combination, where the population's rows have the chances p by theirs."""
        codes, n_cells = self.codes(population.rows), int(np.prod(self.shape[:-1]))
        weights = population.weights / population.weights.sum()
        by_class = [np.bincount(codes, weights * chance, minlength=n_cells) for chance in p.T]
        expected = np.stack(by_class, axis=1).astype(np.float64)
        ratios = self.ratios(expected, population.effective_rows, settings)
        if ratios is None:
            return None
        more = np.log(ratios)
        return WholeScores(self.columns, self.shape[:-1], more[:, 1:] - more[:, :1] if p.shape[1] == 2 else more)


@dataclass(frozen=True)
class WholeScores:
    """What each combination of some columns adds to the scores of its rows."""

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    scores: Floats = field(repr=False)

    def of_rows(self, rows: Integers) -> Floats:
        """For each row of bins."""
        return np.asarray(self.scores[self.combinations(rows)])

    def combinations(self, rows: Integers) -> Integers:
        """The combination that each row of bins has."""
        return combinations_of(rows, self.columns, self.shape)


def combinations_of(rows: Integers, columns: Sequence[int], shape: Sequence[int]) -> Integers:
    """The combination of each row's bins in some columns, as one number.

    >>> combinations_of(np.array([[1, 9, 2], [0, 9, 1]]), (0, 2), (2, 3)).tolist()
    [5, 1]
    """
    code = np.zeros(len(rows), dtype=np.int64)
    for j, size in zip(columns, shape, strict=True):
        code = code * size + rows[:, j]
    return code


def _axes(shares: Floats) -> list[Floats]:
    """For every axis functions of its values, the constant first, that are orthonormal under its own shares."""
    axes = []
    for axis, size in enumerate(shares.shape):
        own = np.maximum(shares.sum(axis=tuple(other for other in range(shares.ndim) if other != axis)), 1e-6)
        root = np.sqrt(own / own.sum())
        steps = np.tril(np.ones((size, size))).T  # each function differs from those before it at later values alone
        axes.append((np.linalg.qr(root[:, None] * steps.T)[0] / root[:, None]).T)
    return axes


def _independent(shares: Floats) -> Floats:
    """The shares that independent axes would have."""
    out = np.ones(())
    for axis in range(shares.ndim):
        own = shares.sum(axis=tuple(other for other in range(shares.ndim) if other != axis))
        out = np.multiply.outer(out, np.maximum(own, 1e-6))
    return np.asarray(out)


def _independent_lengths(axes: Sequence[Floats]) -> Floats:
    """The length of every contrast, as a vector of combinations: by so much the noise of counts is larger in it."""
    out = np.ones(())
    for axis in axes:
        out = np.multiply.outer(out, np.linalg.norm(axis, axis=1))
    return np.asarray(out)


def _smooth(shares: Floats, independent: Floats, n_rows: float) -> Floats:
    """Shares of drawn rows without their chance: towards those of independent axes, as far as chance explains the rest."""
    beyond = ((shares - independent) ** 2).sum() - independent.sum() / n_rows
    size = max(float(beyond), 0.0) / float((independent**2).sum())  # the mean square of ratios less one
    weight = size * independent / (size * independent + 1 / n_rows)
    return np.asarray(independent + weight * (shares - independent))


def _kept(departures: Floats, noise: Floats, settings: JointSettings) -> Floats:
    """What is believed of departures, which have so much noise (variance)."""
    sure = np.sqrt(2 * np.log(departures.size)) + settings.whole_sure
    stands_out = np.abs(departures) > sure * np.sqrt(noise)
    involved = np.indices(departures.shape) > 0
    order = involved.sum(axis=0)
    kind = 2 * order + involved[-1]  # those with the class are of another size
    part = np.where(stands_out, 1 - noise / np.maximum(departures**2, noise), 0.0)
    for one in np.unique(kind[order > 0]):
        usual = (kind == one) & ~stands_out
        variance = _variance(departures[usual], noise[usual], settings)
        part[kind == one] = np.maximum(part, variance / (variance + noise))[kind == one]
    part[order == 0] = 0.0
    return np.asarray(part * departures)


def _variance(departures: Floats, noise: Floats, settings: JointSettings) -> float:
    """How large departures of one kind are: the likeliest variance, or none where that is nearly as likely."""
    if not len(departures):
        return 0.0
    tried = np.append(0.0, np.median(noise) * 4.0 ** np.arange(*settings.whole_sizes))
    fits = [-0.5 * float((departures**2 / (noise + v) + np.log(noise + v)).sum()) for v in tried]
    best = int(np.argmax(fits))
    return float(tried[best]) if fits[best] - fits[0] > settings.whole_likelier else 0.0


def _turned(table: Floats, axes: Sequence[Floats]) -> Floats:
    """Every axis of a table multiplied by a matrix."""
    for at, axis in enumerate(axes):
        table = np.moveaxis(np.tensordot(axis, table, axes=(1, at)), 0, at)
    return np.asarray(table)
