"""First stage: cells coarse to fine, single heavy values, and the bins that follow."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.prepared import BINS, CODES
from sfumato.mechanisms.table.binned import Binned, bins_and_labels
from sfumato.mechanisms.table.bins import Binning, Spikes, bin_column, level_cut
from sfumato.mechanisms.table.blueprint import Blueprint
from sfumato.mechanisms.table.cells import Cells
from sfumato.mechanisms.table.counting import count_codes, count_stddev
from sfumato.mechanisms.table.features import Feature, exactly_one, one_of
from sfumato.mechanisms.table.layout import Layout, side_by_side
from sfumato.mechanisms.table.persons import regained, rows_of
from sfumato.mechanisms.table.resolution import Counted, coarse_parts, fine_leaves
from sfumato.mechanisms.table.spikes import LOOKS, Zoom, has_spikes, heavy_cells, spike_width, split_by_column
from sfumato.public.doors import Doors, Measured
from sfumato.public.schema import Batch

#: A level of a numeric target should hold this many standard deviations of its counts.
_LEAST_LEVEL = 8.0


@dataclass(frozen=True)
class BinStage:
    """Counts cells and cuts them into bins. Whatever it asks for, it asks a door."""

    plan: Blueprint
    view: Doors

    def run(self) -> Binned:
        """The bins of every column."""
        features = self._features()
        every = (*features, *(() if self.plan.target is None else (self.plan.target,)))
        self.view.prepare(CODES, lambda batch: np.stack([f.code(batch) for f in every], axis=1))
        counted = self._count_cells(every)
        total, total_stddev = _total(counted)
        masses = [one.mass(total=total) for one in counted]
        spikes = self._spikes(every, masses) if self.plan.has("spikes") else [Spikes()] * len(every)
        class_stddev = self._class_stddev(len(features))
        binnings = tuple(
            bin_column(f.cells, mass, spike, least=self.plan.evidence.least * class_stddev, most=self.plan.most_bins(f))
            for f, mass, spike in zip(features, masses, spikes, strict=False)
        )
        target = None
        if self.plan.target is not None:
            target = self._classes_of(self.plan.target.cells, masses[-1], spikes[-1], least=_LEAST_LEVEL * class_stddev)
        coded = [b.bin_of for b in (*binnings, *(() if target is None else (target,)))]

        def bins(batch: Batch) -> NDArray[np.int64]:
            codes = np.nan_to_num(batch[CODES]).astype(np.int64)
            columns = [bin_of[column] for bin_of, column in zip(coded, codes.T, strict=True)]
            return np.stack(columns if target is not None else [*columns, np.zeros(len(codes), dtype=np.int64)], axis=1)

        self.view.prepare(BINS, bins)
        cell_stddev = counted[0].leaf_stddev if counted else 1.0
        n_classes = 1 if target is None else target.size
        in_full = self._sizes(n_classes) if self.plan.has("sizes") else None
        return Binned(features, binnings, target, total, total_stddev, cell_stddev, in_full)

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

    def _count_cells(self, every: Sequence[Feature]) -> list[Counted]:
        rows_over_noise = self.plan.evidence.rows / self._stddev("coarse", len(every))
        parts = [coarse_parts(f.cells, rows_over_noise=rows_over_noise) for f in every]
        first, first_stddev = self._count_by("coarse", parts)
        second_stddev = self._stddev("fine", len(every))
        leaves = [
            fine_leaves(f.cells, part, counts, stddev=second_stddev)
            for f, part, counts in zip(every, parts, first, strict=True)
        ]
        second, second_stddev = self._count_by("fine", leaves)
        counted = rows_of(second, stddev=second_stddev)
        gain = regained(self.plan.schema.unit, rows=rows_of(first, stddev=first_stddev), counted=counted)
        return [
            Counted(f.cells, part, c1, first_stddev, leaf, gain * c2, gain * second_stddev)
            for f, part, c1, leaf, c2 in zip(every, parts, first, leaves, second, strict=True)
        ]

    def _count_by(self, stage: str, places: Sequence[NDArray[np.int64]]) -> tuple[list[NDArray[np.float64]], float]:
        """Counts of all columns, each by the places of its cells."""
        layout = Layout(tuple(int(place.max()) + 1 for place in places))
        of_cell, every = side_by_side(places), np.arange(len(places))

        def codes(batch: Batch) -> NDArray[np.int64]:
            return np.asarray(of_cell[every, np.nan_to_num(batch[CODES]).astype(np.int64)] + layout.starts)

        counts = count_codes(self.view, stage, self.plan.hot(stage), codes, n_codes=len(places))
        return layout.split(counts.values), counts.stddev

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
            cells = np.nan_to_num(batch[CODES]).astype(np.int64)
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


def _total(counted: Sequence[Counted]) -> tuple[float, float]:
    """All rows, from every count of every column by its precision; and the noise in it."""
    told = [(one.part_counts, one.part_stddev) for one in counted] + [
        (one.leaf_counts, one.leaf_stddev) for one in counted
    ]
    precision = np.array([1 / (len(counts) * stddev**2) for counts, stddev in told])
    total = float(precision @ [counts.sum() for counts, _ in told]) / float(precision.sum())
    return max(total, 1.0), float(precision.sum()) ** -0.5
