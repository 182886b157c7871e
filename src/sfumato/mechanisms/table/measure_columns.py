"""First stage: cells coarse to fine, single heavy values, and the bins that follow."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.common.counting import Codes, count_codes, count_each, count_stddev
from sfumato.mechanisms.common.layout import Layout, side_by_side
from sfumato.mechanisms.common.prepared import BINS, CODES
from sfumato.mechanisms.table.columns.adaptive_grid import COARSE_LOOKS, Coarse
from sfumato.mechanisms.table.columns.binned import Binned, bins_and_labels, whole_numbers
from sfumato.mechanisms.table.columns.binning import Binning, Spikes, bin_column, level_cut
from sfumato.mechanisms.table.columns.code_tables import CodeTable
from sfumato.mechanisms.table.columns.differences import comparable, difference, nearly_equal, scale_codes, to_compare
from sfumato.mechanisms.table.columns.features import Feature, exactly_one, one_of
from sfumato.mechanisms.table.columns.point_masses import (
    LOOKS,
    Zoom,
    has_spikes,
    heavy_cells,
    spike_width,
    split_by_column,
)
from sfumato.mechanisms.table.columns.resolution import Counted, coarse_parts, fine_leaves, number_of_parts
from sfumato.mechanisms.table.columns.round_values import with_round_values
from sfumato.mechanisms.table.person_norms import regained, rows_of
from sfumato.mechanisms.table.plan import NUMBER_BINS, Blueprint
from sfumato.public.plan.doors import Doors, Measured
from sfumato.public.schema.schema import Batch

#: A level of a numeric target should hold this many standard deviations of its counts.
_LEAST_LEVEL = 8.0


@dataclass(frozen=True)
class BinStage:
    """Counts cells and cuts them into bins. Whatever it asks for, it asks a door."""

    plan: Blueprint
    view: Doors

    def run(self) -> Binned:
        """The bins of every column."""
        joined = self._features()
        every, counted = self._count_cells((*joined, *(() if self.plan.target is None else (self.plan.target,))))
        features = every[: len(joined)]
        total, total_stddev = _total(counted)
        by_class = self._codes(features) if self.plan.has("codes") else {}
        counted = [one.with_another(by_class[j].of_all) if j in by_class else one for j, one in enumerate(counted)]
        masses = [one.mass(total=total) for one in counted]
        spikes = self._spikes(every, masses) if self.plan.has("spikes") else [Spikes()] * len(every)
        dates = {column.name for column in self.plan.schema.columns if column.kind == "datetime"}  # no round seconds
        spikes = [
            known if f.cells.column.name in dates else with_round_values(f.cells, mass, known, stddev=one.leaf_stddev)
            for f, mass, known, one in zip(every, masses, spikes, counted, strict=True)
        ]
        class_stddev = self._class_stddev(len(features))
        binnings = tuple(
            bin_column(f.cells, mass, spike, least=self.plan.evidence.least * class_stddev, most=self.plan.most_bins(f))
            for f, mass, spike in zip(features, masses, spikes, strict=False)
        )
        target = None
        if self.plan.target is not None:
            target = self._classes_of(every[-1].cells, masses[-1], spikes[-1], least=_LEAST_LEVEL * class_stddev)
        coded = [b.bin_of for b in (*binnings, *(() if target is None else (target,)))]

        def bins(batch: Batch) -> NDArray[np.int64]:
            codes = whole_numbers(batch[CODES])
            columns = [bin_of[column] for bin_of, column in zip(coded, codes.T, strict=True)]
            return np.stack(columns if target is not None else [*columns, np.zeros(len(codes), dtype=np.int64)], axis=1)

        self.view.prepare(BINS, bins)
        cell_stddev = counted[0].leaf_stddev if counted else 1.0
        n_classes = 1 if target is None else target.size
        in_full = self._sizes(n_classes) if self.plan.has("sizes") else None
        return Binned(features, binnings, target, total, total_stddev, cell_stddev, in_full, by_class)

    def _codes(self, features: Sequence[Feature]) -> dict[int, CodeTable]:
        """Rows of each class at every category of columns that have too many of them for bins, by their places."""
        long = [j for j, feature in enumerate(features) if self.plan.is_long(feature)]
        if not long:
            return {}
        layout, n_classes = Layout(tuple(features[j].cells.count for j in long)), self.plan.n_classes

        def codes(batch: Batch) -> NDArray[np.int64]:
            cells = whole_numbers(batch[CODES])
            return cells[:, long] + layout.starts + cells[:, -1:] * layout.width

        counts = count_codes(self.view, "codes", self.plan.hot("codes"), codes, n_codes=len(long))
        tables = counts.values[: n_classes * layout.width].reshape(n_classes, layout.width)
        return {j: CodeTable(Measured(t, counts.stddev)) for j, t in zip(long, layout.split(tables), strict=True)}

    def _sizes(self, n_classes: int) -> Measured:
        """Rows of each class, every one of them counted."""
        sizes = self.view.noisy_sum("sizes", lambda batch: {"sizes": bins_and_labels(batch)[1][:, None]})["sizes"]
        return Measured(sizes.values[:n_classes], sizes.stddev)

    def _features(self) -> tuple[Feature, ...]:
        """The columns, with the groups that are groups."""
        candidates = self.plan.groups
        if not candidates:
            return self.plan.plain

        def codes(batch: Batch) -> NDArray[np.int64]:
            ones = [one_of(group, batch) < len(group) for group in candidates]
            return np.stack([2 * i + one for i, one in enumerate(ones)], axis=1)

        counts = count_codes(self.view, "groups", self.plan.hot("groups"), codes, n_codes=len(candidates))
        found = exactly_one(counts.values)
        kept = [g for g, is_one in zip(candidates, found, strict=True) if is_one]
        return self.plan.features(kept, bend=self.plan.evidence.bend)

    def _count_cells(self, every: Sequence[Feature]) -> tuple[tuple[Feature, ...], list[Counted]]:
        """Two counts of every column, and the columns with the grids that the coarse ones have led to."""
        coarse, looked_at = self._coarse(every)
        self._prepare([one.feature for one in coarse], before=looked_at)
        leaves = [
            fine_leaves(one.feature.cells, one.part, one.counts, stddev=stddev)
            for one, stddev in zip(coarse, self._stddevs("fine", len(every)), strict=True)
        ]
        fine, stddevs = self._count_by("fine", leaves)
        columns = slice(0, -1 if self.plan.target_apart else None)  # those that have the same noise
        rows = rows_of([one.counts for one in coarse[columns]], stddev=coarse[0].stddev)
        gain = regained(self.plan.schema.unit, rows=rows, counted=rows_of(fine[columns], stddev=stddevs[0]))
        return tuple(one.feature for one in coarse), [
            Counted(one.feature.cells, one.part, one.counts, one.stddev, leaf, gain * counts, gain * stddev)
            for one, leaf, counts, stddev in zip(coarse, leaves, fine, stddevs, strict=True)
        ]

    def _coarse(self, every: Sequence[Feature]) -> tuple[list[Coarse], list[Feature]]:
        """Parts of every column, counted twice; the second time on a grid that follows the first, which is given as well."""
        sizes = [
            number_of_parts(math.sqrt(COARSE_LOOKS) * self.plan.evidence.rows / stddev)
            for stddev in self._stddevs("coarse", len(every))
        ]
        self._prepare(every)
        first = self._look_coarse(every, sizes)
        closer = [one.closer(n_parts) for one, n_parts in zip(first, sizes, strict=True)]
        if self.plan.has("differences"):
            closer = self._with_differences(closer, first)
        self._prepare(closer, before=every)
        second = self._look_coarse(closer, sizes)
        return [
            one.with_another(other).turned(n_parts) for one, other, n_parts in zip(first, second, sizes, strict=True)
        ], closer

    def _with_differences(self, closer: list[Feature], first: Sequence[Coarse]) -> list[Feature]:
        """The columns, of those that are nearly equal the second as its difference from the first."""
        columns = [one.feature for one in first[: len(first) - int(self.plan.target is not None)]]
        pairs = to_compare(first, comparable(columns, most_bins=NUMBER_BINS), most=self.plan.most_compared)
        if not pairs:
            return closer
        block = self.plan.hot("differences")
        counts = count_codes(
            self.view, "differences", block, lambda batch: scale_codes(columns, pairs, batch), n_codes=len(pairs)
        )
        rows = rows_of([one.counts for one in first[: len(columns)]], stddev=first[0].stddev)
        found = nearly_equal(pairs, counts.values, stddev=counts.stddev, rows=rows.value)
        return [
            difference(columns[found[j][0]], columns[j], spread=found[j][1]) if j in found else feature
            for j, feature in enumerate(closer)
        ]

    def _look_coarse(self, every: Sequence[Feature], sizes: Sequence[int]) -> list[Coarse]:
        parts = [coarse_parts(f.cells, n_parts=n_parts) for f, n_parts in zip(every, sizes, strict=True)]
        counts, stddevs = self._count_by("coarse", parts)
        return [Coarse(*one) for one in zip(every, parts, counts, stddevs, strict=True)]

    def _prepare(self, every: Sequence[Feature], *, before: Sequence[Feature] = ()) -> None:
        """The cell of each row in every column; where a column is what it was `before`, the cell that it had then."""
        if not before:
            self.view.prepare(CODES, lambda batch: np.stack([f.code(batch) for f in every], axis=1))
            return
        fresh = [j for j, (new, old) in enumerate(zip(every, before, strict=True)) if new != old]

        def codes(batch: Batch) -> NDArray[np.float32]:
            cells = batch[CODES].copy()
            for j in fresh:
                cells[:, j] = every[j].code(batch)
            return cells

        if fresh:
            self.view.prepare(CODES, codes)

    def _count_by(
        self, stage: str, places: Sequence[NDArray[np.int64]]
    ) -> tuple[list[NDArray[np.float64]], list[float]]:
        """Counts of all columns, each by the places of its cells; and the noise in each."""
        together = [places[:-1], places[-1:]] if self.plan.target_apart else [places]
        firsts = np.cumsum([0, *(len(some) for some in together)])
        blocks = [
            (block, _coder(some, int(first)), len(some))
            for block, some, first in zip(self.plan.hots(stage), together, firsts[:-1], strict=True)
        ]
        measured = count_each(self.view, stage, blocks)
        tables = [
            table
            for some, counts in zip(together, measured, strict=True)
            for table in _layout(some).split(counts.values)
        ]
        return tables, [m.stddev for some, m in zip(together, measured, strict=True) for _ in some]

    def _stddevs(self, stage: str, n_columns: int) -> list[float]:
        """The noise that the counts of each column will have."""
        blocks, apart = self.plan.hots(stage), int(self.plan.target_apart)
        of_columns = count_stddev(self.view, stage, blocks[0], n_codes=n_columns - apart)
        of_target = [count_stddev(self.view, stage, block, n_codes=1) for block in blocks[1:]]
        return [of_columns] * (n_columns - apart) + of_target

    def _class_stddev(self, n_columns: int) -> float:
        """About the noise that the counts of classes will have."""
        if not self.plan.has("classes"):
            return self._stddev("fine", n_columns)
        if self.plan.centred:
            return self.view.noise_stddev("classes", "classes") * math.sqrt(n_columns)
        return self._stddev("classes", n_columns)

    def _spikes(self, every: Sequence[Feature], masses: Sequence[NDArray[np.float64]]) -> list[Spikes]:
        """Single heavy values of every column, looked for where there are heavy cells at all."""
        spiky = [i for i, feature in enumerate(every) if has_spikes(feature.cells)]
        stddev = self._stddev("spikes", len(spiky))
        zooms = {i: heavy_cells(every[i].cells, masses[i], stddev=stddev) for i in spiky}
        zooms = {i: zoom for i, zoom in zooms.items() if len(zoom.heavy)}
        for _ in range(LOOKS if zooms else 0):
            counts = self._look(every, zooms)
            parts = split_by_column(counts, len(zooms))
            zooms = {
                i: zoom.narrowed(part, stddev=counts.stddev)
                for (i, zoom), part in zip(zooms.items(), parts, strict=True)
            }
        return [zooms[i].found() if i in zooms else Spikes() for i in range(len(every))]

    def _look(self, every: Sequence[Feature], zooms: Mapping[int, Zoom]) -> Measured:
        """One look into the heavy cells of all columns."""

        def codes(batch: Batch) -> NDArray[np.int64]:
            cells = whole_numbers(batch[CODES])
            found = [zoom.codes(every[i].numbers(batch), cells[:, i]) for i, zoom in zooms.items()]
            return np.stack([np.where(p >= 0, at * spike_width(1) + p, -1) for at, p in enumerate(found)], axis=1)

        return count_codes(self.view, "spikes", self.plan.hot("spikes"), codes, n_codes=len(zooms))

    def _classes_of(self, cells: Cells, mass: NDArray[np.float64], spikes: Spikes, *, least: float) -> Binning:
        """Categories as they are; a number in levels."""
        if cells.column.is_coded:
            return Binning(cells, cells.count, np.arange(cells.count), mass, spikes)
        most = self.plan.n_classes - int(cells.has_missing_cell)
        level = level_cut(cells, mass[: cells.inner], most=most, least=least)
        if cells.has_missing_cell:
            level = np.append(level, level.max() + 1)
        return Binning(cells, int(level.max()) + 1, level, mass, spikes)

    def _stddev(self, stage: str, n_codes: int) -> float:
        return count_stddev(self.view, stage, self.plan.hot(stage), n_codes=n_codes)


def _layout(places: Sequence[NDArray[np.int64]]) -> Layout:
    """A table for each column."""
    return Layout(tuple(int(place.max()) + 1 for place in places))


def _coder(places: Sequence[NDArray[np.int64]], first: int) -> Codes:
    """For each row the place of its cell in some columns, of which the first is that of this number."""
    layout, of_cell, every = _layout(places), side_by_side(places), np.arange(len(places))

    def codes(batch: Batch) -> NDArray[np.int64]:
        cells = whole_numbers(batch[CODES])[:, first : first + len(places)]
        return np.asarray(of_cell[every, cells] + layout.starts)

    return codes


def _total(counted: Sequence[Counted]) -> tuple[float, float]:
    """All rows, from every count of every column by its precision; and the noise in it."""
    told = [(one.part_counts, one.part_stddev) for one in counted] + [
        (one.leaf_counts, one.leaf_stddev) for one in counted
    ]
    precision = np.array([1 / (len(counts) * stddev**2) for counts, stddev in told])
    total = float(precision @ [counts.sum() for counts, _ in told]) / float(precision.sum())
    return max(total, 1.0), float(precision.sum()) ** -0.5
