"""Class-conditional ratios: how far each class departs from all rows, bin by bin: noisy class tables with the noise taken out.

A class's probabilities are those of all rows times 1 + a, where a is a Gaussian process: along numbers a slope, a smooth
curve and something of every bin's own; among categories each its own, rare ones more. Of what shape and how large a is was
learned over all columns: a class that no column tells apart stays with all rows, and one that few tell apart gets those few
(a mixture of shapes and sizes whose weights are fitted by EM, empirical Bayes). Levels of a number and ordered classes depart
together: what a column says of one it says in part of its neighbours, so they are looked at along their own modes. A class that
was counted again is an exception, and departs as `rare_class_tables` says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.simplex import rows_to_simplex
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.joint.rare_class_tables import no_clearer, rare_ratios
from sfumato.mechanisms.table.settings.joint import JointSettings


@dataclass(frozen=True)
class RatioKernel:
    """A Gaussian process: the parts of a number's ratio, and how much more the rarer of two categories departs."""

    slope: float
    curve: float
    own: float
    length: float  # over which a curve is smooth, as a part of all rows
    rarer: float  # the variance of a is in proportion to a category's probability to minus this


@dataclass(frozen=True)
class ClassTable:
    """A column's noisy counts by class, centred: what each class has beyond its mean over the bins.

    Where a class was counted in intervals of several bins too, its noise hangs together: `precision` is the inverse of the
    covariance, and `stddev` is not asked.
    """

    counts: Floats
    stddev: Floats
    precision: Mapping[int, Floats] = field(default_factory=dict)

    def counted_again(
        self,
        c: int,
        expected: Floats,
        bins: Floats,
        bins_stddev: float,
        intervals: Floats,
        intervals_stddev: float,
        interval_of: Integers,
    ) -> "ClassTable":
        """With two more counts of class c: of its bins, and of intervals of several bins.

        `expected` is what it would have in every bin, if it were like all rows.
        """
        size = len(expected)
        middle = expected.sum() / size  # tables are centred
        seen = [self.counts[c] + middle - expected, bins - bins.mean() + middle - expected]
        beyond = intervals - np.bincount(interval_of, weights=expected)
        precisions = [self.stddev[c] ** -2, bins_stddev**-2]
        joins = (interval_of == np.arange(len(intervals))[:, None]).astype(np.float64)
        precision = np.eye(size) * sum(precisions) + joins.T @ joins / intervals_stddev**2
        pull = precisions[0] * seen[0] + precisions[1] * seen[1] + beyond @ joins / intervals_stddev**2
        counts = self.counts.copy()
        counts[c] = np.linalg.solve(precision, pull) - middle + expected
        return ClassTable(counts, self.stddev, {c: precision})


def joint_tables(
    tables: Sequence[ClassTable],
    binnings: Sequence[Binning],
    margins: Sequence[Floats],
    per_class: Floats,
    settings: JointSettings,
    *,
    ordered: int = 0,
    expected: Sequence[Floats] | None = None,
    better_known: Sequence[bool] | None = None,
    lengthened: bool = False,
) -> list[Floats]:
    """The probabilities of (class, bin) of every column, of which margins are the probabilities of bins.

    Classes depart from what is `expected` of each, or else from all rows. The first `ordered` classes lie along a line: all
    but the one for missing numbers, or none. In columns whose margins are `better_known` than the sum of class tables, classes
    add up to them; not along a number, where curves are smooth, and so is what they add up to. Departures that
    are `lengthened` are as large as the true ones should be.
    """
    shapes, sizes = [RatioKernel(*kernel) for kernel in settings.ratio_shapes], np.array(settings.ratio_sizes)
    modes = [[_modes(one, b, margin) for one in shapes] for b, margin in zip(binnings, margins, strict=True)]
    shrunk = [np.zeros_like(table.counts) for table in tables]
    expected = [margin[None] for margin in margins] if expected is None else expected
    expected = [np.broadcast_to(of_column, t.counts.shape) for of_column, t in zip(expected, tables, strict=True)]
    for start in range(0, len(per_class), settings.ratio_at_once):
        some = slice(start, start + settings.ratio_at_once)
        rows = per_class[some, None]
        in_order = min(max(ordered - start, 0), len(rows))
        across = _across_classes(per_class[some], RatioKernel(*settings.ratio_across), ordered=in_order)
        looks = []
        for counted, of_column, along in zip(tables, expected, modes, strict=True):
            seen = across.vectors.T @ (counted.counts[some] + rows / of_column.shape[1] - rows * of_column[some])
            looks.append(_Look.at(seen, along, across.values[:, None], counted.stddev[some], sizes=sizes))
        weights = learned_weights(np.stack([look.log_likelihood for look in looks]), settings)
        beyond = [across.vectors @ look.mean(w) for look, w in zip(looks, weights, strict=True)]
        if lengthened:
            doubts = [across.vectors**2 @ look.variance(w) for look, w in zip(looks, weights, strict=True)]
            longer = _lengthening(beyond, doubts, margins, most=settings.most_lengthened)
            beyond = [longer[:, None] * of_column for of_column in beyond]
        for c in tables[0].precision:
            of_rare = _of_exception(c, tables, binnings, margins, per_class, settings)
            for of_column, own in zip(beyond, of_rare, strict=True):
                of_column[c] = own
        for j, (departs, of_column) in enumerate(zip(beyond, expected, strict=True)):
            mean = rows * of_column[some]
            estimate = np.maximum(mean + departs, settings.ratio_least * mean)
            shrunk[j][some] = rows_to_simplex(estimate, totals=np.maximum(per_class[some], 1e-9))
    total = float(per_class.sum())
    joints, floor = [], settings.ratio_floor
    better_known = [False] * len(tables) if better_known is None else better_known
    for own, of_column, margin, binning, is_known in zip(
        shrunk, expected, margins, binnings, better_known, strict=True
    ):
        adds_up = is_known and not binning.ordered
        table = _adding_up(own, per_class, total * margin, settings) if adds_up else own
        joint = (1 - floor) * table / total + floor * per_class[:, None] / total * of_column
        joints.append(np.asarray(joint / joint.sum()))
    return joints


def _adding_up(table: Floats, per_class: Floats, rows: Floats, settings: JointSettings) -> Floats:
    """The rows of (class, bin) such that all classes together have the `rows` of each bin, which are known better than theirs.

    What is missing is shared by how far classes may depart, which is in proportion to their rows: a small class keeps what it has.
    """
    shared = per_class**2 / max(float((per_class**2).sum()), 1e-300)
    moved = table + shared[:, None] * (rows - table.sum(axis=0))
    return rows_to_simplex(np.maximum(moved, settings.ratio_least * table), totals=np.maximum(per_class, 1e-9))


@dataclass(frozen=True)
class _Modes:
    """A process's own directions for a class of one row, and the variance along each where its size is 1."""

    values: Floats
    vectors: Floats


def _across_classes(per_class: Floats, along: RatioKernel, *, ordered: int) -> _Modes:
    """The directions in which classes depart together, and the variance along each; each by itself where there is no order."""
    if not ordered:
        return _Modes(per_class**2, np.eye(len(per_class)))
    rates = per_class / max(float(per_class.sum()), 1e-300)
    kernel = per_class[:, None] * _kernel_along(along, rates, ordered) * per_class
    values, vectors = np.linalg.eigh(kernel)
    return _Modes(np.maximum(values, 0.0), vectors)


def _modes(shape: RatioKernel, binning: Binning, margin: Floats) -> _Modes:
    kernel = margin[:, None] * _kernel_along(shape, margin, binning.ordered) * margin
    # What a class has beyond all rows in some bins it lacks in others: the process given that all of it adds up to zero.
    across = kernel.sum(axis=1)
    values, vectors = np.linalg.eigh(kernel - np.outer(across, across) / max(float(across.sum()), 1e-300))
    return _Modes(np.maximum(values, 0.0), vectors)


def _kernel_along(shape: RatioKernel, margin: Floats, along: int) -> Floats:
    """The covariance of departures, of mean size one over the rows: the first `along` lie on a line, the others alone."""
    own = np.maximum(margin, 1e-12) ** -shape.rarer
    kernel = np.diag(own / max(float(margin @ own), 1e-300))
    if along:
        middle = np.cumsum(margin[:along]) - margin[:along] / 2
        middle = middle / max(float(margin[:along].sum()), 1e-9) - 0.5
        curve = np.exp(-((middle[:, None] - middle) ** 2) / (2 * shape.length**2))
        kernel[:along, :along] = 12 * shape.slope * np.outer(middle, middle) + shape.curve * curve
        kernel[:along, :along] += shape.own * np.eye(along)
    return np.asarray(kernel)


@dataclass(frozen=True)
class _Look:
    """What a column says of each class: how likely every shape and size is, and the departure if it is that."""

    log_likelihood: Floats  # by class, and shape and size
    means: Floats  # by class, shape and size, and bin
    variances: Floats  # of the departure, likewise

    @classmethod
    def at(cls, seen: Floats, modes: Sequence[_Modes], squares: Floats, stddev: Floats, *, sizes: Floats) -> "_Look":
        """Of what was seen, by class and in coordinates of which each has noise of its own."""
        likely, means, variances = [], [], []
        noise = stddev[:, None, None] ** 2
        for mode in modes:
            along = (seen @ mode.vectors)[:, None]
            signal = (sizes**2)[:, None] * (squares * mode.values)[:, None]
            variance = signal + noise
            likely.append(-0.5 * (along**2 / variance + np.log(variance)).sum(axis=2))
            means.append((signal / variance * along) @ mode.vectors.T)
            variances.append((signal / variance * noise) @ mode.vectors.T**2)
        return cls(*(np.concatenate(each, axis=1) for each in (likely, means, variances)))

    def mean(self, weights: Floats) -> Floats:
        """The departure of each class, each shape and size by its probability."""
        return np.asarray(np.einsum("cs,csb->cb", weights, self.means))

    def variance(self, weights: Floats) -> Floats:
        """What is not known of it: within shapes and sizes, and between them."""
        squares = np.einsum("cs,csb->cb", weights, self.means**2 + self.variances)
        return np.asarray(np.maximum(squares - self.mean(weights) ** 2, 0.0))


def _of_exception(
    c: int,
    tables: Sequence[ClassTable],
    binnings: Sequence[Binning],
    margins: Sequence[Floats],
    per_class: Floats,
    settings: JointSettings,
) -> list[Floats]:
    """How a class departs in every column that was counted again."""
    rows = float(per_class[c])
    likely = []
    for table, binning, margin in zip(tables, binnings, margins, strict=True):
        counts, precision = table.counts[c] + rows / len(margin), table.precision[c]
        likely.append(rare_ratios(binning, margin, settings, rows=rows, counts=counts, precision=precision))
    weights = learned_weights(np.stack([one.log_likelihood for one in likely])[:, None], settings)[:, 0]
    shares = [margin + w @ one.mean / rows for margin, w, one in zip(margins, weights, likely, strict=True)]
    shares = no_clearer(shares, margins, settings)
    return [rows * (share - margin) for share, margin in zip(shares, margins, strict=True)]


def _lengthening(
    beyond: Sequence[Floats], doubts: Sequence[Floats], margins: Sequence[Floats], *, most: float
) -> Floats:
    """By what to multiply the departures of each class, so that all of them together are as large as they should be.

    A mean over what is possible is smaller than what is true: by as much as noise hides. Rows drawn by it have classes that
    are harder to distinguish than real ones, and the chance in them is as large as ever. So departures are as long
    as the true ones are expected to be, in the direction that is known (constrained Bayes: Louis 1984, Ghosh 1992); but not
    many times as long, or they would be farther from the truth, on average, than none at all.
    """
    known = sum(
        (ratio**2 / np.maximum(margin, 1e-12)).sum(axis=1) for ratio, margin in zip(beyond, margins, strict=True)
    )
    hidden = sum((doubt / np.maximum(margin, 1e-12)).sum(axis=1) for doubt, margin in zip(doubts, margins, strict=True))
    return np.asarray(np.minimum(np.sqrt(1 + hidden / np.maximum(known, 1e-300)), most))


def learned_weights(log_likelihood: Floats, settings: JointSettings) -> Floats:
    """By column and class the probability of every shape and size, with the class's odds that go best with all columns."""
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=2, keepdims=True))
    odds = np.full(likelihood.shape[1:], 1 / likelihood.shape[2])
    for _ in range(settings.ratio_rounds):
        of_column = likelihood * odds
        of_column /= of_column.sum(axis=2, keepdims=True)
        odds = of_column.sum(axis=0) + settings.ratio_prior
        odds /= odds.sum(axis=1, keepdims=True)
    return np.asarray(of_column)
