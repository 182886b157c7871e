"""Columns that are nearly equal: one of them is counted by how far it lies from the other.

A planned time and the actual one, a list price and the price paid, two sides of a stone: what matters is often by how much
they differ, and the bins of neither show it. Where a noisy count says that nearly all rows have two columns close
together, beside how far either of them spreads, the second is taken as its difference from the first, in all that follows;
in a released row the two are added up again.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers, Values
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.common.compiled import halvings_of
from sfumato.mechanisms.table.columns.adaptive_grid import Coarse
from sfumato.mechanisms.table.columns.binned import BinnedTable
from sfumato.mechanisms.table.columns.calendar import as_whole_as
from sfumato.mechanisms.table.columns.features import Feature, or_centre
from sfumato.mechanisms.table.settings.columns import ColumnSettings
from sfumato.mechanisms.table.settings.sizes import SumSizes
from sfumato.public.schema.column import Kind
from sfumato.public.schema.schema import Batch, Column


@dataclass(frozen=True)
class ComparedPair:
    """Two columns by their places, and the spread that their difference is compared with."""

    reference: int
    own: int
    spread: float
    gap: float = 0.0


def comparable(features: Sequence[Feature], sizes: SumSizes) -> list[tuple[int, int]]:
    """Pairs of numbers whose bounds have most of the narrower range in common: public, whatever the rows hold.

    Dates are compared with dates. Columns with a bin for each value are left out, and those whose values follow from other columns.
    """
    numbers = [i for i, feature in enumerate(features) if _is_plain_number(feature, sizes)]
    return [
        (i, j) for at, i in enumerate(numbers) for j in numbers[at + 1 :] if _may_be_equal(features[i], features[j])
    ]


def _is_plain_number(feature: Feature, sizes: SumSizes) -> bool:
    column = feature.cells.column
    is_one = feature.group is None and feature.date is None and column.is_number
    is_exact = is_one and max(abs(column.low), abs(column.high)) <= sizes.difference_largest
    return is_exact and not column.depends_on and feature.cells.inner > sizes.number_bins


def _may_be_equal(first: Feature, second: Feature) -> bool:
    one, other = first.cells.column, second.cells.column
    shared = min(one.high, other.high) - max(one.low, other.low)
    narrower = min(one.high - one.low, other.high - other.low)
    return all((one.kind == kind) == (other.kind == kind) for kind in ("datetime", "time")) and shared > narrower / 2


def most_compared(n_pairs: int, sizes: SumSizes, *, share: float, rows: float, mu: float) -> int:
    """How many pairs can be compared so that counts of nearly all rows are sure, if a row has so much precision."""
    supported = (rows * mu / sizes.difference_least) ** 2 * share / sizes.difference_scales
    return int(min(n_pairs, sizes.most_compared, supported))


def fewest_rows(mu: float, sizes: SumSizes, *, share: float) -> int:
    """From how many rows on a pair can be compared, to two digits."""
    return round(float(f"{sizes.difference_least * math.sqrt(sizes.difference_scales / share) / mu:.2g}"))


def difference(reference: Feature, own: Feature, *, spread: float | None = None) -> Feature:
    """The second column as its difference from the first, on a grid that is even within about this spread."""
    one, other = reference.cells.column, own.cells.column
    kind: Kind = "integer" if one.kind == other.kind == "integer" else "numeric"
    bounds = other.low - one.high, other.high - one.low
    column = Column(name=other.name, kind=kind, bounds=bounds, missing=other.missing)
    bend = own.cells.bend if spread is None else (column.high - column.low) / spread
    return Feature(Cells(column, bend, n_places=own.cells.n_places), reference=reference.cells.column)


def widest(features: Sequence[Feature], pairs: Sequence[tuple[int, int]]) -> list[Feature]:
    """For every column that may be taken as a difference, the one with the most cells."""
    reference: dict[int, int] = {}
    for i, j in pairs:
        other = features[reference.get(j, i)].cells.column
        one = features[i].cells.column
        reference[j] = i if one.high - one.low >= other.high - other.low else reference[j]
    return [difference(features[i], features[j]) for j, i in reference.items()]


def to_compare(
    columns: Sequence[Coarse], pairs: Sequence[tuple[int, int]], settings: ColumnSettings, *, most: int
) -> list[ComparedPair]:
    """The pairs whose columns have nearly the same quantiles, by noisy coarse counts; the nearest ones where there are many."""
    quantiles = {i: _quantiles(columns[i], settings) for i in {i for pair in pairs for i in pair}}
    compared = []
    for i, j in pairs:
        one, other = quantiles[i], quantiles[j]
        spread = min(one[-1] - one[0], other[-1] - other[0])
        if spread > 0:
            gap = float(np.abs(one - other).max()) / spread
            compared.append(ComparedPair(i, j, float(spread), gap))
    near = sorted((pair for pair in compared if pair.gap < settings.difference_gap), key=lambda pair: pair.gap)
    return near[:most]


def _quantiles(column: Coarse, settings: ColumnSettings) -> Floats:
    """Values below which a tenth, a half and nine tenths of the rows lie; all alike where one part holds them."""
    cells, part = column.feature.cells, column.part[: column.feature.cells.inner]
    seen = settings.difference_seen * column.stddev
    counts = np.where(column.counts > seen, column.counts, 0.0)[: int(part.max()) + 1]
    upto = np.cumsum((counts / np.bincount(part))[part])
    if upto[-1] <= 0:
        return np.zeros(3)
    outer = settings.difference_outer
    at = np.searchsorted(upto, upto[-1] * np.array([outer, 0.5, 1 - outer]))
    return np.zeros(3) if part[at[0]] == part[at[-1]] else cells.middles()[at]


def scale_codes(features: Sequence[Feature], pairs: Sequence[ComparedPair], batch: Batch, *, scales: int) -> Integers:
    """For each row and pair the scale of the difference; -1 where it says nothing."""
    numbers = {i: features[i].numbers(batch) for i in {i for pair in pairs for i in (pair.reference, pair.own)}}
    codes = []
    for at, pair in enumerate(pairs):
        columns = [features[i].cells.column for i in (pair.reference, pair.own)]
        singles = np.array([0.0, *(bound for column in columns for bound in (column.low, column.high))])
        halvings = halvings_of(numbers[pair.own], numbers[pair.reference], pair.spread, singles, scales)
        codes.append(np.where(halvings < 0, -1, at * scales + halvings))
    return np.stack(codes, axis=1)


def nearly_equal(
    pairs: Sequence[ComparedPair], counts: Floats, settings: ColumnSettings, *, scales: int, stddev: float, rows: float
) -> dict[int, tuple[int, float]]:
    """Columns that are to be taken as differences: by their place, that of the other column, and how far they differ.

    The closest pairs first; a column that others are compared with stays as it is.
    """
    table = counts[: len(pairs) * scales].reshape(len(pairs), scales)
    total = table.sum(axis=1)
    within = np.cumsum(table[:, ::-1], axis=1)[:, ::-1]
    noise = settings.difference_sure * stddev * math.sqrt(scales)
    most, enough = settings.difference_most, settings.difference_enough
    sure = (within - noise >= most * total[:, None]) & (total - noise >= enough * rows)[:, None]
    halvings = np.where(sure, np.arange(scales), 0).max(axis=1)
    order = np.lexsort((-within[np.arange(len(pairs)), halvings], -halvings))
    equal: dict[int, tuple[int, float]] = {}
    kept: set[int] = set()
    for at in order[halvings[order] >= settings.difference_close].tolist():
        pair = pairs[at]
        if pair.own not in equal and pair.own not in kept and pair.reference not in equal:
            equal[pair.own] = (pair.reference, pair.spread / 2.0 ** int(halvings[at]))
            kept.add(pair.reference)
    return equal


def added_up(
    values: Mapping[str, Values], binned: BinnedTable, columns: Sequence[Column], *, hours: Mapping[str, Floats]
) -> dict[str, Values]:
    """The columns themselves, where some were taken as differences.

    `hours` are those that were drawn for a date that was taken as a difference.
    """
    out, by_name = dict(values), {column.name: column for column in columns}
    decimals = {b.cells.column.name: b.points.decimals for b in binned.binnings}
    for feature in binned.features:
        if feature.reference is None:
            continue
        name, other = feature.cells.column.name, feature.reference.name
        terms = [or_centre(_as_released(values[other], feature.reference), feature.reference)]
        terms.append(_as_released(values[name], feature.cells.column))
        total, places = np.sum(terms, axis=0), (decimals[name], decimals[other])
        if places[0] is not None and places[1] is not None:
            total = np.round(total, max(places[0], places[1]))  # without what binary fractions leave behind
        if name in hours:
            total = as_whole_as(total, terms[0], hours[name])
        out[name] = np.clip(total, by_name[name].low, by_name[name].high)
    return out


def _as_released(values: Values, column: Column) -> Floats:
    numbers = values.astype(np.float64)
    return np.rint(numbers) if column.kind == "integer" else numbers
