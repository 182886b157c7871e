"""First stage: cells coarse to fine, single heavy values, and the bins that follow."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.cells import Cells, coarse_parts
from sfumato.mechanisms.common.counting import count_codes, count_each, count_stddev
from sfumato.mechanisms.common.layout import Layout, side_by_side
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.common.prepared import BINS, CODES
from sfumato.mechanisms.table.columns import maps
from sfumato.mechanisms.table.columns.adaptive_grid import Coarse, Counted, fine_leaves, number_of_parts
from sfumato.mechanisms.table.columns.binned import BinnedTable
from sfumato.mechanisms.table.columns.binning import Binning, bin_column, level_cut
from sfumato.mechanisms.table.columns.code_tables import CodeTable
from sfumato.mechanisms.table.columns.differences import comparable, difference, nearly_equal, scale_codes, to_compare
from sfumato.mechanisms.table.columns.features import Feature, exactly_one
from sfumato.mechanisms.table.columns.point_masses import (
    PointMasses,
    heavy_cells,
    with_decimals,
    with_round_values,
    zoom_width,
)
from sfumato.mechanisms.table.columns.reasons import reason_rows
from sfumato.mechanisms.table.columns.rules import CountedRule, counted_shape
from sfumato.mechanisms.table.columns.shortened_persons import regained, rows_of
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.public.plan.doors import Doors, Measured
from sfumato.public.schema.following import Known, values_of


@dataclass(frozen=True)
class ColumnStage:
    """Counts cells and cuts them into bins. Whatever it asks for, it asks a door."""

    plan: TablePlan
    view: Doors

    def run(self, rules: Sequence[CountedRule] = ()) -> BinnedTable:
        """The bins of every column; columns of rules that were counted have one count more."""
        settings = self.plan.settings.columns
        joined = self._features()
        every, counted = self._count_cells((*joined, *(() if self.plan.target is None else (self.plan.target,))))
        features = every[: len(joined)]
        total, total_stddev = _total(counted)
        by_class = self._codes(features) if self.plan.has("codes") else {}
        counted = [one.with_another(by_class[j].of_all) if j in by_class else one for j, one in enumerate(counted)]
        cell_stddev = counted[0].leaf_stddev if counted else 1.0
        again = [self._with_columns(rule, every, counted, total=total) for rule in rules]
        rules, known = [rule for rule, _ in again], {rule.of.column.name: known for rule, known in again}
        counted = [self._with_rules(f, one, rules) for f, one in zip(every, counted, strict=True)]
        masses = [one.mass(settings, total=total) for one in counted]
        points = self._point_masses(every, masses) if self.plan.has("spikes") else [PointMasses()] * len(every)
        dates = {
            column.name for column in self.plan.schema.columns if column.kind in ("datetime", "time")
        }  # no round seconds
        for j, (f, one) in enumerate(zip(every, counted, strict=True)):
            if f.cells.column.name not in dates:
                points[j] = with_round_values(f.cells, masses[j], points[j], settings, stddev=one.leaf_stddev)
                points[j] = with_decimals(f.cells, masses[j], points[j], settings)
        class_stddev = self._class_stddev(len(features))
        least, kept = self.plan.evidence.least * class_stddev, settings.category_kept
        binnings = tuple(
            bin_column(f.cells, mass, of_column, least=least, most=self.plan.most_bins(f), category_kept=kept)
            for f, mass, of_column in zip(features, masses, points, strict=False)
        )
        target = None
        if self.plan.target is not None:
            least = settings.level_least * class_stddev
            target = self._classes_of(every[-1].cells, masses[-1], points[-1], least=least)
        bin_of = side_by_side([b.bin_of for b in (*binnings, *(() if target is None else (target,)))])
        self.view.prepare(BINS, partial(maps.bins_of, bin_of=bin_of, has_target=target is not None))
        in_full = self._sizes(1 if target is None else target.size) if self.plan.has("sizes") else None
        margins = tuple(one.leaf_stddev for one in counted[: len(features)])
        return BinnedTable(
            features, binnings, target, total, total_stddev, cell_stddev, margins, in_full, by_class, known
        )

    def rules(self) -> list[CountedRule]:
        """What follows from every combination of reasons, for the columns that are a function of others."""
        rules = self.plan.rules
        if not rules:
            return []
        settings = self.plan.settings.columns
        blocks = [
            (block, partial(maps.reason_and_consequence, rule=one), 1)
            for block, one in zip(self.plan.hots("rules"), rules, strict=True)
        ]
        tables = count_each(self.view, "rules", blocks)
        return [
            CountedRule.read(one, scaled(counts, 1.0, *counted_shape(one)), settings)
            for one, counts in zip(rules, tables, strict=True)
        ]

    def _with_columns(
        self, rule: CountedRule, every: Sequence[Feature], counted: Sequence[Counted], *, total: float
    ) -> tuple[CountedRule, Known]:
        """A rule as it is read where columns were counted too, and the rows of each combination of reasons.

        Where persons are shortened, by each count in another way, a rule stays as it is.
        """
        settings = self.plan.settings.columns
        if self.plan.schema.unit.max_rows > 1:
            obeys = rule.obeys(rule.rows)
            return rule, Known(rule.follows, None, obeys, unsure=obeys < settings.rule_unsure)
        involved = (rule.of.column, *rule.of.reasons)
        columns = {
            feature.cells.column.name: counts
            for feature, counts in zip(every, counted, strict=True)
            if feature.cells.column in involved
        }
        again = rule.with_rows(reason_rows(rule, columns, settings, total=total), settings)
        rows = again.surely(reason_rows(again, columns, settings, total=total), settings)
        obeys = again.obeys(rows)
        return again, Known(again.follows, rows, obeys, unsure=obeys < settings.rule_unsure)

    def _with_rules(self, feature: Feature, counted: Counted, rules: Sequence[CountedRule]) -> Counted:
        """A column with what rules have counted of it; not where persons are shortened, by each count in another way."""
        if self.plan.schema.unit.max_rows > 1:
            return counted
        every = [one.reason_rows(j) for one in rules for j in range(len(one.of.reasons))]
        for one in (*every, *(rule.consequence_rows() for rule in rules)):
            if one.column == feature.cells.column:
                counted = counted.with_values(values_of(one.column), one.rows, one.variances)
        return counted

    def _codes(self, features: Sequence[Feature]) -> dict[int, CodeTable]:
        """Rows of each class at every category of columns that have too many of them for bins, by their places."""
        long = [j for j, feature in enumerate(features) if self.plan.pooled(feature) > 0]
        if not long:
            return {}
        layout, n_classes = Layout(tuple(features[j].cells.count for j in long)), self.plan.n_classes
        codes = partial(maps.categories_by_class, columns=tuple(long), layout=layout)
        counts = count_codes(self.view, self.plan.hot("codes"), codes, n_codes=len(long))
        tables = counts.values[: n_classes * layout.width].reshape(n_classes, layout.width)
        return {j: CodeTable(Measured(t, counts.stddev)) for j, t in zip(long, layout.split(tables), strict=True)}

    def _sizes(self, n_classes: int) -> Measured:
        """Rows of each class, every one of them counted."""
        sizes = self.view.noisy_sum("sizes", maps.class_of)["sizes"]
        return Measured(sizes.values[:n_classes], sizes.stddev)

    def _features(self) -> tuple[Feature, ...]:
        """The columns, with the groups that are groups."""
        candidates = self.plan.groups
        if not candidates:
            return self.plan.plain
        codes = partial(maps.groups_of, groups=tuple(candidates))
        counts = count_codes(self.view, self.plan.hot("groups"), codes, n_codes=len(candidates))
        is_group = exactly_one(counts.values, least=self.plan.settings.columns.group_rows)
        kept = [g for g, is_one in zip(candidates, is_group, strict=True) if is_one]
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
        columns = slice(0, -1 if self.plan.number_target else None)  # those that have the same noise
        rows = rows_of([one.counts for one in coarse[columns]], stddev=coarse[0].stddev)
        gain = regained(self.plan.schema.unit, rows=rows, counted=rows_of(fine[columns], stddev=stddevs[0]))
        return tuple(one.feature for one in coarse), [
            Counted(one.feature.cells, one.part, one.counts, one.stddev, leaf, gain * counts, gain * stddev)
            for one, leaf, counts, stddev in zip(coarse, leaves, fine, stddevs, strict=True)
        ]

    def _coarse(self, every: Sequence[Feature]) -> tuple[list[Coarse], list[Feature]]:
        """Parts of every column, counted twice; the second time on a grid that follows the first, which is given as well."""
        settings, looks = self.plan.settings.columns, self.plan.sizes.coarse_looks
        sizes = [
            number_of_parts(math.sqrt(looks) * self.plan.evidence.rows / stddev, self.plan.sizes.coarse_parts)
            for stddev in self._stddevs("coarse", len(every))
        ]
        self._prepare(every)
        first = self._look_coarse(every, sizes)
        closer = [one.closer(n_parts, settings) for one, n_parts in zip(first, sizes, strict=True)]
        if self.plan.has("differences"):
            closer = self._with_differences(closer, first)
        self._prepare(closer, before=every)
        second = self._look_coarse(closer, sizes)
        return [
            one.with_another(other).turned(n_parts, settings)
            for one, other, n_parts in zip(first, second, sizes, strict=True)
        ], closer

    def _with_differences(self, closer: list[Feature], first: Sequence[Coarse]) -> list[Feature]:
        """The columns, of those that are nearly equal the second as its difference from the first."""
        columns = [one.feature for one in first[: len(first) - int(self.plan.target is not None)]]
        settings, sizes = self.plan.settings.columns, self.plan.sizes
        pairs = to_compare(first, comparable(columns, sizes), settings, most=self.plan.most_compared)
        if not pairs:
            return closer
        codes = partial(scale_codes, columns, pairs, scales=sizes.difference_scales)
        counts = count_codes(self.view, self.plan.hot("differences"), codes, n_codes=len(pairs))
        rows = rows_of([one.counts for one in first[: len(columns)]], stddev=first[0].stddev)
        equal = nearly_equal(
            pairs, counts.values, settings, scales=sizes.difference_scales, stddev=counts.stddev, rows=rows.value
        )
        return [
            difference(columns[equal[j][0]], columns[j], spread=equal[j][1]) if j in equal else feature
            for j, feature in enumerate(closer)
        ]

    def _look_coarse(self, every: Sequence[Feature], sizes: Sequence[int]) -> list[Coarse]:
        parts = [coarse_parts(f.cells, n_parts=n_parts) for f, n_parts in zip(every, sizes, strict=True)]
        counts, stddevs = self._count_by("coarse", parts)
        return [Coarse(*one) for one in zip(every, parts, counts, stddevs, strict=True)]

    def _prepare(self, every: Sequence[Feature], *, before: Sequence[Feature] = ()) -> None:
        """The cell of each row in every column; where a column is what it was `before`, the cell that it had then."""
        if not before:
            self.view.prepare(CODES, partial(maps.cells_of, features=tuple(every)))
            return
        fresh = tuple(j for j, (new, old) in enumerate(zip(every, before, strict=True)) if new != old)
        if fresh:
            self.view.prepare(CODES, partial(maps.cells_of, features=tuple(every), fresh=fresh))

    def _count_by(self, stage: str, places: Sequence[Integers]) -> tuple[list[Floats], list[float]]:
        """Counts of all columns, each by the places of its cells; and the noise in each."""
        together = [places[:-1], places[-1:]] if self.plan.number_target else [places]
        blocks, first = [], 0
        for block, some in zip(self.plan.hots(stage), together, strict=True):
            of_cell = (side_by_side(some) + _layout(some).starts[:, None]).astype(np.int32)  # small is fast
            blocks.append((block, partial(maps.places_of, of_cell=of_cell, first=first), len(some)))
            first += len(some)
        tables, stddevs = [], []
        for some, counts in zip(together, count_each(self.view, stage, blocks), strict=True):
            tables += _layout(some).split(counts.values)
            stddevs += [counts.stddev] * len(some)
        return tables, stddevs

    def _stddevs(self, stage: str, n_columns: int) -> list[float]:
        """The noise that the counts of each column will have."""
        blocks, separate = self.plan.hots(stage), int(self.plan.number_target)
        of_columns = count_stddev(self.view, stage, blocks[0], n_codes=n_columns - separate)
        of_target = [count_stddev(self.view, stage, block, n_codes=1) for block in blocks[1:]]
        return [of_columns] * (n_columns - separate) + of_target

    def _class_stddev(self, n_columns: int) -> float:
        """About the noise that the counts of classes will have."""
        if not self.plan.has("classes"):
            return self._stddev("fine", n_columns)
        if self.plan.centred:
            return self.view.noise_stddev("classes", "classes") * math.sqrt(n_columns)
        return self._stddev("classes", n_columns)

    def _point_masses(self, every: Sequence[Feature], masses: Sequence[Floats]) -> list[PointMasses]:
        """Point masses of every column, looked for where there are heavy cells at all."""
        settings, sizes = self.plan.settings.columns, self.plan.sizes
        spiky = [i for i, feature in enumerate(every) if feature.cells.on_grid]
        stddev = self._stddev("spikes", len(spiky))
        zooms = {i: heavy_cells(every[i].cells, masses[i], settings, sizes, stddev=stddev) for i in spiky}
        zooms = {i: zoom for i, zoom in zooms.items() if len(zoom.heavy)}
        for _ in range(sizes.zoom_looks if zooms else 0):
            codes = partial(maps.zoomed, features=tuple(every), zooms=zooms, width=zoom_width(1, sizes))
            counts = count_codes(self.view, self.plan.hot("spikes"), codes, n_codes=len(zooms))
            parts = counts.values[: zoom_width(len(zooms), sizes)].reshape(len(zooms), -1)
            zooms = {
                i: zoom.narrowed(part, settings, stddev=counts.stddev)
                for (i, zoom), part in zip(zooms.items(), parts, strict=True)
            }
        return [zooms[i].point_masses(settings) if i in zooms else PointMasses() for i in range(len(every))]

    def _classes_of(self, cells: Cells, mass: Floats, points: PointMasses, *, least: float) -> Binning:
        """Categories as they are; a number in levels."""
        if cells.column.is_coded:
            return Binning(cells, cells.count, np.arange(cells.count), mass, points)
        most = self.plan.n_classes - int(cells.has_missing_cell)
        level = level_cut(cells, mass[: cells.inner], most=most, least=least)
        if cells.has_missing_cell:
            level = np.append(level, level.max() + 1)
        return Binning(cells, int(level.max()) + 1, level, mass, points)

    def _stddev(self, stage: str, n_codes: int) -> float:
        return count_stddev(self.view, stage, self.plan.hot(stage), n_codes=n_codes)


def _layout(places: Sequence[Integers]) -> Layout:
    """A table for each column."""
    return Layout(tuple(int(place.max()) + 1 for place in places))


def _total(counted: Sequence[Counted]) -> tuple[float, float]:
    """All rows, from every count of every column by its precision; and the noise in it."""
    counts_of = [(one.part_counts, one.part_stddev) for one in counted] + [
        (one.leaf_counts, one.leaf_stddev) for one in counted
    ]
    precision = np.array([1 / (len(counts) * stddev**2) for counts, stddev in counts_of])
    total = float(precision @ [counts.sum() for counts, _ in counts_of]) / float(precision.sum())
    return max(total, 1.0), float(precision.sum()) ** -0.5
