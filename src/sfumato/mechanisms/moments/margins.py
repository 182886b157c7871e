"""How the values of each number lie, beyond their mean and variance. No doors.

The generator's own rows are the yardstick: a private value is told by which part of them lies below it. Were the generator
right, those parts would be even; how they depart from that is a sum of a few cosines. Columns whose mean lies as many
standard deviations from a bound are skewed alike, so that their departures are averaged, and hardly any noise is left.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers
from sfumato.mechanisms.common.interpolation import interpolated
from sfumato.mechanisms.moments.points import shortened
from sfumato.mechanisms.moments.settings import MomentsSettings
from sfumato.public.plan.doors import Measured
from sfumato.public.schema.schema import Column, Schema

#: Parts of the generator's rows that a value is told by.
_PARTS = 256
_EDGES = np.linspace(0.0, 1.0, _PARTS + 1)
#: None of them is left with less than this of the private rows, over its even share.
_LEAST = 0.02
#: Rows of the generator that are all alike depart by nothing, which is no length to measure others by.
_SHORTEST = 1e-6


def number_groups(n_numbers: int, settings: MomentsSettings) -> int:
    """Of how many groups of columns the departures are averaged."""
    return min(max(n_numbers // settings.columns_each, min(n_numbers, 1)), settings.most_groups)


@dataclass(frozen=True, eq=False)
class Parts:
    """The quantiles of each number by the generator, in the unit box; `rounding` is how far a released one may be moved.

    `group` says which numbers are taken together, and `mirrored` which of them lie near their upper bound.
    """

    quantiles: Floats
    rounding: Floats
    group: Integers
    mirrored: Flags
    n_cosines: int

    def departures(self, box: Floats) -> Floats:
        """For each row the mean of each cosine over the numbers of each group. What is missing departs from nothing."""
        upto = _integrals(self.n_cosines)
        of_part = _PARTS * np.diff(upto, axis=0)
        sums = np.zeros((int(self.group.max()) + 1, len(box), self.n_cosines))
        for j, (quantiles, rounding, group) in enumerate(zip(self.quantiles, self.rounding, self.group, strict=True)):
            values = np.ascontiguousarray(box[:, j])
            order = np.argsort(values)  # what is searched for in order is found several times as fast
            start, end = np.empty_like(order), np.empty_like(order)
            start[order] = np.searchsorted(quantiles, values[order] - rounding) - 1
            end[order] = np.searchsorted(quantiles, values[order] + rounding, side="right")
            start = np.clip(start, 0, _PARTS - 1)
            end = np.clip(end, start + 1, _PARTS)
            if self.mirrored[j]:
                start, end = _PARTS - end, _PARTS - start
            departs = of_part.take(start, axis=0)
            # A value that others share is spread over all parts that it stands for.
            shared = np.flatnonzero(end > start + 1)
            begins, ends = start[shared], end[shared]
            departs[shared] = (upto[ends] - upto[begins]) * (_PARTS / (ends - begins))[:, None]
            departs[np.isnan(values)] = 0.0
            sums[group] += departs
        means = sums / np.bincount(self.group)[:, None, None]
        return np.asarray(means.transpose(1, 0, 2).reshape(len(box), -1))


@dataclass(frozen=True, eq=False)
class Yardstick:
    """Parts, and what rows of the generator depart from even ones: `usual` on average, by less than `most` nearly all of them."""

    parts: Parts
    most: float
    usual: Floats

    def of(self, box: Floats) -> Floats:
        """The departures of each row, of norm at most 1."""
        return shortened(self.parts.departures(box) / self.most)


@dataclass(frozen=True, eq=False)
class Margins:
    """Where a value of the generator goes, number by number: from its quantiles to those of the private rows."""

    quantiles: Floats
    corrected: Floats

    def of(self, box: Floats) -> Floats:
        """The same rows with the shapes that were found; what lies beyond all quantiles stays where it is."""
        columns = zip(box.T, self.quantiles, self.corrected, strict=True)
        return np.column_stack([_moved(column, before, after) for column, before, after in columns])


def lay_yardstick(box: Floats, schema: Schema, settings: MomentsSettings) -> Yardstick:
    """By rows of the generator: which quantiles each number has, and which numbers resemble each other."""
    columns = [column for column in schema.features if column.is_number]
    middle = box.mean(axis=0)
    from_a_bound = np.minimum(middle, 1 - middle) / np.maximum(box.std(axis=0), 1e-12)
    group, n_groups = np.empty(len(columns), dtype=np.int64), number_groups(len(columns), settings)
    for place, members in enumerate(np.array_split(np.argsort(from_a_bound, kind="stable"), n_groups)):
        group[members] = place
    parts = Parts(
        quantiles=np.quantile(box, _EDGES, axis=0).T,
        rounding=np.array([_step(column) / 2 / (column.high - column.low) for column in columns]),
        group=group,
        mirrored=middle > 0.5,
        n_cosines=settings.cosines,
    )
    departures = parts.departures(_rounded(box, columns))
    most = float(np.quantile(np.linalg.norm(departures, axis=1), settings.departures_quantile))
    most = max(most, _SHORTEST)
    return Yardstick(parts, most, shortened(departures / most).mean(axis=0))


def fit_margins(yardstick: Yardstick, sums: Measured, n_rows: float) -> Margins:
    """From noisy sums of the departures, less the generator's own: shrunk by how much of each group's is noise."""
    parts, most = yardstick.parts, yardstick.most
    means = most * (sums.values / n_rows - yardstick.usual).reshape(-1, parts.n_cosines)
    noise = most * sums.stddev / n_rows
    sure = np.maximum(0.0, 1 - parts.n_cosines * noise**2 / np.maximum((means**2).sum(axis=1), 1e-300))
    masses = 1 / _PARTS + (sure[:, None] * means) @ np.diff(_integrals(parts.n_cosines), axis=0).T
    masses = np.maximum(masses, _LEAST / _PARTS)
    upto = np.column_stack([np.zeros(len(masses)), np.cumsum(masses, axis=1)])
    upto /= upto[:, -1:]
    corrected = np.empty_like(parts.quantiles)
    for j, (quantiles, group) in enumerate(zip(parts.quantiles, parts.group, strict=True)):
        line = 1 - upto[group, ::-1] if parts.mirrored[j] else upto[group]
        corrected[j] = np.interp(np.interp(_EDGES, line, _EDGES), _EDGES, quantiles)
    return Margins(parts.quantiles, corrected)


def _step(column: Column) -> float:
    """What released numbers are multiples of; 0 where they may be any."""
    if column.decimals is not None:
        return float(10.0**-column.decimals)
    if column.kind == "time":
        return float(column.tick)
    return 0.0 if column.kind == "numeric" else 1.0


def _rounded(box: Floats, columns: list[Column]) -> Floats:
    """Rows as private ones are: a whole number says less than any that is rounded to it."""
    rounded = box.copy()
    for j, column in enumerate(columns):
        if step := _step(column):
            span = column.high - column.low
            rounded[:, j] = (np.round((box[:, j] * span + column.low) / step) * step - column.low) / span
    return rounded


def _integrals(n_cosines: int) -> Floats:
    """Of sqrt(2) cos(k pi u) from 0 up to each edge, for k from 1."""
    k = np.arange(1, n_cosines + 1)
    return np.asarray(np.sqrt(2) * np.sin(np.pi * k * _EDGES[:, None]) / (np.pi * k))


def _moved(values: Floats, before: Floats, after: Floats) -> Floats:
    return np.where((values > before[0]) & (values < before[-1]), interpolated(values, before, after), values)
