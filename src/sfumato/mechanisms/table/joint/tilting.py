"""What a class is like of which noise hides nearly all: like one of the other classes, tilted.

Its rows are fewer than the noise of a few bins, so bins are not what they are asked for. Each says how far out it lies along every
number, and which values it has that few rows have: sums that are large where a row is unlike most, with the noise of one
bin. All of them together say which other class it resembles most. From that one it differs in some columns: its shares are
the other's times e to a multiple of what was summed, which is what is likeliest given a mean (exponential tilting).
How large multiples are is learned over all columns, and shares are averaged over those that noise allows.

A mixture of classes would fit the sums better. But columns are drawn one by one, and a row that has one column of this class
and the next of that is like nobody: learners would know the class by such rows, and not its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.table.columns.shortened_persons import Number
from sfumato.mechanisms.table.joint.class_tables import learned_weights
from sfumato.mechanisms.table.joint.scarce_statistics import Statistics
from sfumato.mechanisms.table.settings.joint import JointSettings
from sfumato.public.plan.measured import Measured


@dataclass(frozen=True, eq=False)
class Tilted:
    """How many rows a class has, and its share of every bin, column by column."""

    rows: float
    shares: list[Floats]


def tilted(
    statistics: Statistics,
    sums: Measured,
    counted: Number,
    others: Sequence[Floats],
    settings: JointSettings,
) -> Tilted:
    """From the sums of a class, and from its rows as they were counted: what the shares of `others`, (class, bin), become."""
    kin, rows = _kin(statistics.means(others), sums, counted, deviation=settings.scarce_deviation)
    shares = [np.maximum(share[kin], settings.scarce_least) for share in others]
    shares = [share / share.sum() for share in shares]
    # What is rare is looked for where a column has moved to.
    for kind in (np.flatnonzero(statistics.along), np.flatnonzero(~statistics.along)):
        shares = _moved(shares, statistics, kind, Measured(sums.values[kind], sums.stddev), rows, settings)
    return Tilted(likely_rows(counted), shares)


def _moved(
    shares: list[Floats], statistics: Statistics, some: Integers, sums: Measured, rows: float, settings: JointSettings
) -> list[Floats]:
    """Shares as some statistics tilt them, each by itself."""
    strengths = np.linspace(-settings.tilt_most, settings.tilt_most, settings.tilt_steps)
    ratios, likely = [], np.empty((len(some), len(strengths)))
    columns = statistics.columns[some]
    for i, (j, value) in enumerate(zip(columns, statistics.values[some], strict=True)):
        own = value[: len(shares[j])]
        ratio = np.exp(strengths[:, None] * own)
        ratio /= (ratio @ shares[j])[:, None]
        likely[i] = -0.5 * ((sums.values[i] - rows * ratio @ (shares[j] * own)) / sums.stddev) ** 2
        ratios.append(ratio)
    moved = list(shares)
    if len(some):
        for j, ratio, probable in zip(columns, ratios, _probable(likely, strengths, settings), strict=True):
            moved[j] = moved[j] * (probable @ ratio)
    return [share / share.sum() for share in moved]


def _kin(of_others: Floats, sums: Measured, counted: Number, *, deviation: float) -> tuple[int, float]:
    """Which other class the sums are likeliest of, and how many rows of it have such sums.

    Each sum has noise, and lies a `deviation` from the other's. Before anything is known, the class may have any number of rows up
    to about twice as many as were counted.
    """
    rows = max(counted.value, counted.stddev)
    stddev = float(np.hypot(sums.stddev, rows * deviation))
    # By class as rows of a least-squares fit: the sums, the count, and what was thought before.
    of_one = np.column_stack([of_others / stddev, np.full((len(of_others), 2), (1 / counted.stddev, 1 / rows))])
    seen = np.array([*(sums.values / stddev), counted.value / counted.stddev, 1.0])
    amounts = np.maximum(of_one @ seen / (of_one**2).sum(axis=1), 0.0)
    misfit = ((seen - amounts[:, None] * of_one) ** 2).sum(axis=1)
    kin = int(np.argmin(misfit))
    return kin, float(amounts[kin])


def likely_rows(counted: Number) -> float:
    """As many rows as are likely, given that there are some: the mean of a normal distribution cut off at 0."""
    at = counted.value / counted.stddev
    return max(float(counted.value + counted.stddev * np.exp(-0.5 * at**2 - log_ndtr(at)) / np.sqrt(2 * np.pi)), 0.0)


def _probable(likely: Floats, strengths: Floats, settings: JointSettings) -> Floats:
    """How probable each strength is, by statistic: tilts are as large, as a rule, as goes best with all statistics."""
    sizes = np.array(settings.tilt_sizes)
    prior = np.exp(-0.5 * (strengths / sizes[:, None]) ** 2)
    prior /= prior.sum(axis=1, keepdims=True)
    likelihood = np.exp(likely - likely.max(axis=1, keepdims=True))
    evidence = np.maximum(likelihood @ prior.T, 1e-300)
    weights = learned_weights(np.log(evidence)[:, None], settings)[:, 0]
    probable = likelihood * ((weights / evidence) @ prior)
    return np.asarray(probable / probable.sum(axis=1, keepdims=True))
