"""How many rows have each combination of reasons: what rules and columns have counted of it, put together.

Released rows get these shares. A column has bins for what many rows share and noise of every stage in them; here every value
has a count of its own, and where reasons lie along a line, noise is smoothed as far as the counts allow.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.common.simplex import to_simplex
from sfumato.mechanisms.table.columns.adaptive_grid import Counted
from sfumato.mechanisms.table.columns.density import Intervals, NoisySums, find_density, shapes_of
from sfumato.mechanisms.table.columns.rules import CountedRule
from sfumato.mechanisms.table.settings.columns import ColumnSettings
from sfumato.public.schema.column import Column
from sfumato.public.schema.following import places_of, values_of


@dataclass(frozen=True)
class GroupedCounts:
    """Noisy rows of groups of combinations: the group of each, the counts and their standard deviation."""

    of: Integers
    counts: Floats
    stddev: float


def reason_rows(rule: CountedRule, columns: Mapping[str, Counted], settings: ColumnSettings, *, total: float) -> Floats:
    """The rows of each combination, of so many in all; `columns` are what was counted of columns for themselves."""
    rows, variances = _together(rule, list(_groups(rule, columns)), settings)
    reason = rule.of.reasons[0]
    single = columns.get(reason.name)
    is_line = len(rule.of.reasons) == 1 and reason.is_number and single is not None
    if is_line and single is not None and len(rows) <= settings.rule_smoothed:
        return to_simplex(_smoothed(single.cells, rows, variances, settings, total=total), total=total)
    return to_simplex(_unclear_alike(rows, variances), total=total)


def _groups(rule: CountedRule, columns: Mapping[str, Counted]) -> Iterator[GroupedCounts]:
    """What columns have counted of reasons, and of what follows, in terms of combinations."""
    shape = tuple(map(places_of, rule.of.reasons))
    places = np.unravel_index(np.arange(len(rule.rows)), shape)
    for column, place in ((rule.of.column, rule.follows), *zip(rule.of.reasons, places, strict=True)):
        if column.name in columns:
            yield from _of_column(column, place, columns[column.name])


def _of_column(column: Column, place: Integers, counted: Counted) -> Iterator[GroupedCounts]:
    cell = counted.cells.code(values_of(column))[place]
    yield GroupedCounts(counted.leaf[cell], counted.leaf_counts, counted.leaf_stddev)
    yield GroupedCounts(counted.part[cell], counted.part_counts, counted.part_stddev)


def _together(rule: CountedRule, groups: list[GroupedCounts], settings: ColumnSettings) -> tuple[Floats, Floats]:
    """Rows of each combination, and the variance of the noise that is left, by least squares."""
    # Of cells that no combination leads to, counts say nothing.
    places = [np.unique(group.of, return_inverse=True) for group in groups]
    n_groups = sum(len(cells) for cells, _ in places)
    if not n_groups or n_groups * len(rule.rows) > settings.rule_known:
        return rule.rows, rule.variances
    sums = np.concatenate([np.arange(len(cells))[:, None] == at.ravel() for cells, at in places]).astype(np.float64)
    counts = np.concatenate([group.counts[cells] for group, (cells, _) in zip(groups, places, strict=True)])
    noise = np.concatenate([np.full(len(cells), g.stddev**2) for g, (cells, _) in zip(groups, places, strict=True)])
    across = rule.variances[:, None] * sums.T
    gain = np.linalg.solve(sums @ across + np.diag(noise), across.T).T
    rows = rule.rows + gain @ (counts - sums @ rule.rows)
    return rows, np.maximum(rule.variances - (gain * across).sum(axis=1), 1e-9)


def _smoothed(cells: Cells, rows: Floats, variances: Floats, settings: ColumnSettings, *, total: float) -> Floats:
    """Along a line: one of some shapes times a smooth curve, besides values that stand alone and missing ones."""
    inner, place = cells.inner, np.arange(cells.count)
    single = np.ones(cells.count, dtype=bool)
    single[:inner] = stands_alone(rows[:inner], variances[:inner], settings)
    counted = NoisySums(np.eye(cells.count), rows, variances)
    along = np.where(place < inner, (place + 0.5) / inner, 0.0)
    leaves = Intervals.of(cells, place)
    # Private rows have their chance beside any curve: so rough are counts at least.
    rough = replace(settings, density_roughness=(1 / total, *settings.density_roughness[1:]))
    return find_density(shapes_of(cells, rough), leaves, along, single, counted, rough, total=total)[0]


def stands_alone(rows: Floats, variances: Floats, settings: ColumnSettings) -> Flags:
    """Values that have far more or fewer rows than their neighbours' median: point masses and round numbers.

    >>> rows = np.array([10.0, 12.0, 90.0, 11.0, 9.0, 14.0])
    >>> stands_alone(rows, np.full(6, 25.0), ColumnSettings()).tolist()
    [False, False, True, False, False, False]
    """
    n, width = len(rows), 2 * settings.rule_beside + 1
    if n < width:
        return np.zeros(n, dtype=bool)
    first = np.clip(np.arange(n) - settings.rule_beside, 0, n - width)
    window = first[:, None] + np.arange(width)
    beside = np.where(window == np.arange(n)[:, None], np.nan, rows[window])
    usual = np.maximum(np.nanmedian(beside, axis=1), 0.0)
    # A median of four has half the variance of one; rows have their chance, and curves are not flat.
    spread = 1.5 * variances + usual + (0.1 * usual) ** 2
    return np.asarray(np.abs(rows - usual) > settings.rule_alone * np.sqrt(spread))


def _unclear_alike(rows: Floats, variances: Floats) -> Floats:
    """Counts that stand out of the noise as they are; the others between their own and their mean, as their spread says."""
    clear = rows > np.sqrt(2 * variances * np.log(max(len(rows), 2)))
    small, noise = rows[~clear], variances[~clear]
    if len(small) < 2:
        return rows
    mean = max(float(small.mean()), 0.0)
    spread = max(float((small - mean) @ (small - mean) - noise.sum()) / len(small), 0.0)
    out = rows.copy()
    out[~clear] = mean + spread / (spread + noise) * (small - mean)
    return out
