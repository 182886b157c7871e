"""Second stage: classes, correlations, pairs, links and triples, and the population of rows that agrees with them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers
from sfumato.mechanisms.common.counting import count_codes, count_stddev, weight_of
from sfumato.mechanisms.common.layout import BinCodes, Layout, side_by_side
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.common.simplex import to_simplex
from sfumato.mechanisms.table.columns.binned import BinnedTable
from sfumato.mechanisms.table.columns.shortened_persons import Number, classes_regained, regained, rows_of
from sfumato.mechanisms.table.joint import maps
from sfumato.mechanisms.table.joint.class_tables import ClassTable, joint_tables
from sfumato.mechanisms.table.joint.copula import correlations, scores_of
from sfumato.mechanisms.table.joint.generator import Generator
from sfumato.mechanisms.table.joint.ordering import Line, bin_lines, class_line, halves, levels_of, most_levels
from sfumato.mechanisms.table.joint.pairs import Goal, Levels, PairSums, all_pairs, residual_goals
from sfumato.mechanisms.table.joint.population import (
    Population,
    Table,
    first_population,
    population_rows,
    raked,
    with_links,
    with_rates,
)
from sfumato.mechanisms.table.joint.spanning_tree import Link, fine_link, strongest_tree
from sfumato.mechanisms.table.joint.triples import products_of_rows, sign_tables, strongest_triples
from sfumato.mechanisms.table.measure_scarce import Scarce, ScarceStage, ScarceSums
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.mechanisms.table.settings.joint import JointSettings
from sfumato.public.machine.threads import in_threads
from sfumato.public.plan.doors import Doors, Measured


@dataclass(frozen=True, eq=False)
class _Classes:
    """Rows of each class and the probabilities of (class, bin); for the rest see `Generator`."""

    rows: Floats
    joints: list[Floats]
    rare_stddev: float | None = None
    scarce: Flags | None = None
    spent: int = 0


@dataclass(frozen=True)
class JointStage:
    """Asks for tables of classes, pairs and triples. Whatever it asks for, it asks a door."""

    plan: TablePlan
    view: Doors

    @property
    def _settings(self) -> JointSettings:
        return self.plan.settings.joint

    def run(self, binned: BinnedTable) -> Generator:
        """All tables together."""
        classes = self._joints(binned)
        joints, rates = classes.joints, classes.rows / classes.rows.sum()
        line = np.arange(len(rates), dtype=np.float64)
        if binned.target is not None and not binned.target.cells.is_ordered and len(rates) > 2:
            line = class_line(joints, rates)
        lines = bin_lines(binned.binnings, joints, line)
        of_numbers, of_categories = self.plan.sizes.pair_levels, self.plan.category_levels
        most = [most_levels(b.cells, of_numbers, of_categories=of_categories) for b in binned.binnings]
        columns = zip(joints, lines, most, strict=True)
        levels = Levels([levels_of(j.sum(axis=0), at.order, most=m) for j, at, m in columns], halves(line, rates))
        correlation = self._correlation(joints, lines, classes.rows)
        n_rows = population_rows(self.plan.evidence.rows, self._settings)
        population = first_population(rates, joints, lines, correlation, n_rows=n_rows, seed=0)
        generator = Generator(
            binned,
            rates,
            joints,
            lines,
            levels,
            correlation,
            population,
            rare_stddev=classes.rare_stddev,
            scarce=classes.scarce,
            spent=classes.spent,
        )
        tables = _class_goals(population, binned, joints)
        if self.plan.has("pairs") and len(joints) > 1:
            generator, goals = self._with_pairs(generator)
            population = generator.population
            tables = goals + _class_goals(population, binned, joints)
        population = raked(population, tables, self._settings)
        if self.plan.has("cubes") and len(joints) > 2:
            cubes = self._cubes(replace(generator, population=population))
            if cubes:
                population = raked(population, [*cubes, *tables, *cubes], self._settings)
        # Noisy tables and the limit on weights may have moved the classes.
        return replace(generator, population=with_rates(population, rates))

    def _joints(self, binned: BinnedTable) -> "_Classes":
        if not self.plan.has("classes"):
            rows = np.ones(1) if binned.target is None else np.maximum(binned.target.margin, 1e-9)
            rates = rows / rows.sum()
            margins = [_shares(binning.margin) for binning in binned.binnings]
            return _Classes(rates * binned.total, [np.outer(rates, margin) for margin in margins])
        few = ScarceStage(self.plan, self.view)
        of_cells = [_shares(binning.margin) for binning in binned.binnings]
        scarce = few.find(binned, of_cells, stddev=self._class_stddev(binned))
        tables, per_class, answer = self._class_tables(binned, scarce)
        if binned.in_full is not None:
            stddev = float(tables[0].stddev[0])
            gains = classes_regained(self.plan.schema.unit, per_class, stddev=stddev, in_full=binned.in_full)
            tables = [ClassTable(gains[:, None] * table.counts, gains * table.stddev) for table in tables]
            per_class = gains * per_class
        margins = _better_margins(binned, tables)
        rare = self.rare(binned)
        rare_stddev = None
        if rare is not None:
            rare_stddev = (float(tables[0].stddev[rare]) ** -2 + self._recount_stddev(binned) ** -2) ** -0.5
            tables, per_class = self._counted_again(binned, tables, per_class, margins, rare=rare)
        ordered = 0 if binned.target is None else binned.target.ordered
        joints = joint_tables(
            tables,
            binned.binnings,
            margins,
            per_class,
            self._settings,
            ordered=ordered,
            better_known=binned.better_known,
            lengthened=self._lengthens(binned.n_classes),
        )
        if scarce is None:
            return _Classes(per_class, joints, rare_stddev)
        if answer is None:
            stddev = binned.cell_stddev * math.sqrt(max(binned.cells_of_class[scarce.classes].max(), 1))
            answer = few.ask(scarce, Measured(per_class, stddev))
        per_class, joints = few.tilted(scarce, answer, joints, per_class)
        return _Classes(per_class, joints, rare_stddev, scarce.classes, few.uses)

    def _lengthens(self, n_classes: int) -> bool:
        """Whether departures of classes are lengthened: of several, which have few rows each. Very many have nothing to gain."""
        is_several = 2 < n_classes <= self.plan.settings.target.tree_classes
        return is_several and not self.plan.number_target and self._settings.lengthens_ratios

    def _class_stddev(self, binned: BinnedTable) -> float:
        """The noise that counts of classes will have."""
        if not self.plan.centred:
            return self._stddev("classes", len(binned.sizes))
        return self.view.noise_stddev("classes", "classes") * _centred_norm(binned)

    def _class_tables(
        self, binned: BinnedTable, scarce: Scarce | None
    ) -> tuple[list[ClassTable], Floats, ScarceSums | None]:
        """The centred table of every column, rows of each class, and what those of scarce classes have said instead."""
        answer = None
        layout, n_classes = Layout(binned.sizes), binned.n_classes
        own = np.array([binned.total]) if binned.target is None else binned.target.margin
        if not self.plan.centred:
            codes = partial(maps.bins_by_class, layout=layout)
            counts = count_codes(self.view, self.plan.hot("classes"), codes, n_codes=len(binned.sizes))
            values = counts.values[: n_classes * layout.width].reshape(n_classes, layout.width)
            of_all = layout.split(values.sum(axis=0))
            gain = self._regained(binned, rows_of(of_all, stddev=counts.stddev * math.sqrt(n_classes)))
            values, counts = gain * values, scaled(counts, gain)
            tables = [t - t.mean(axis=1, keepdims=True) for t in layout.split(values)]
            per_class = own
            stddev = counts.stddev
        else:
            norm = _centred_norm(binned)
            width = self.plan.width
            centred = partial(maps.centred_bins, layout=layout, width=width, norm=norm)
            if scarce is not None:
                centred = partial(centred, scarce=scarce.classes, statistics=scarce.statistics)
            noisy = self.view.noisy_sum("classes", centred)["classes"]
            noisy = scaled(noisy, norm, self.plan.n_classes, width + 1)
            rows = Number(float(noisy.values[:n_classes, -1].sum()), noisy.stddev * math.sqrt(n_classes))
            gain = self._regained(binned, rows)
            values, stddev = gain * noisy.values[:n_classes], gain * noisy.stddev
            tables = [t - t.mean(axis=1, keepdims=True) for t in layout.split(values[:, :-1])]
            first = binned.cell_stddev**-2 / np.maximum(binned.cells_of_class, 1)
            per_class = (own * first + values[:, -1] * stddev**-2) / (first + stddev**-2)
            if scarce is not None:
                counted = Measured(per_class, float((first[scarce.classes].min() + stddev**-2) ** -0.5))
                answer = ScarceSums(Measured(values[:, :-1], stddev), counted)
                tables = [np.where(scarce.classes[:, None], 0.0, table) for table in tables]
        possible = binned.cells_of_class > 0
        per_class = to_simplex(np.where(possible, per_class, -np.inf), total=binned.total)
        every = [ClassTable(table, np.full(n_classes, stddev)) for table in tables]
        return every, np.maximum(per_class, 1e-6 * binned.total * possible), answer

    def _correlation(self, joints: Sequence[Floats], lines: Sequence[Line], per_class: Floats) -> Floats:
        k, n_classes = len(joints), len(per_class)
        if not self.plan.has("moments") or k < 2:
            return np.broadcast_to(np.eye(k), (n_classes, k, k))
        scores = scores_of(joints, lines, per_class / per_class.sum(), self._settings)
        by_class, most = self.plan.moments_by_class and self.plan.n_classes > 1, self.plan.k
        products = partial(maps.score_products, scores=scores, width=most, by_class=by_class)
        noisy = self.view.noisy_sum("moments", products)["moments"]
        moments, unit = noisy.values.reshape(-1, most, most)[:n_classes, :k, :k], self.plan.schema.unit
        return correlations(
            moments, scores, per_class, self._settings, stddev=noisy.stddev, by_class=by_class, unit=unit
        )

    def _with_pairs(self, generator: Generator) -> tuple[Generator, list[Table]]:
        """Pairs that depart from the population so far, and fine tables for a tree of the strongest."""
        binned, levels, population = generator.binned, generator.levels, generator.population
        pairs = all_pairs(len(binned.sizes))
        sums, shares = self._pair_sums(binned, levels, pairs), self._shares_of(generator, pairs)
        goals = residual_goals(levels, pairs, sums, shares, self._settings, total=binned.total)
        chosen = strongest_tree([(goal.columns[0], goal.columns[1]) for goal in goals], n_columns=len(binned.sizes))
        chosen = chosen if self.plan.has("links") else []
        links = self._links(generator, {goal.columns: goal for goal in goals}, chosen) if chosen else []
        if links:
            population = with_links(
                population, links, generator.joints, generator.lines, generator.correlation, levels, self._settings
            )
        rest = goals[: self._settings.pair_goals * len(binned.sizes)]
        levelled = levels.of_rows(population.rows, population.labels)
        tables: list[Table] = in_threads(lambda goal: (levelled.code(goal.columns), goal.table), rest)
        for link in links:
            left, right = population.rows[:, link.left], population.rows[:, link.right]
            tables.append((left * binned.sizes[link.right] + right, link.table.ravel()))
        return replace(generator, population=population), tables

    def _pair_sums(self, binned: BinnedTable, levels: Levels, pairs: Sequence[tuple[int, int]]) -> PairSums:
        """Tables of all rows, and of the second half of the classes less the first: two sums, the second of signed rows."""
        together = levels.of_all()
        codes = partial(maps.level_codes, coder=together.coder(pairs))
        counts = count_codes(self.view, self.plan.hot("pairs"), codes, n_codes=len(pairs))
        gain = self._regained(binned, rows_of(together.layout(pairs).split(counts.values), stddev=counts.stddev))
        if levels.n_halves == 1 or not self.plan.has("contrasts"):
            return PairSums(scaled(counts, gain), None)
        signs = partial(maps.half_signs, of_class=levels.of_class)
        contrast = count_codes(self.view, self.plan.hot("contrasts"), codes, n_codes=len(pairs), signs=signs)
        return PairSums(scaled(counts, gain), scaled(contrast, gain))

    def _links(
        self, generator: Generator, goals: dict[tuple[int, ...], Goal], chosen: list[tuple[int, int]]
    ) -> list[Link]:
        binned, levels, population = generator.binned, generator.levels, generator.population
        fine = levels.of_every_bin()
        layout, codes = fine.layout(chosen), partial(maps.level_codes, coder=fine.coder(chosen))
        counts = count_codes(self.view, self.plan.hot("links"), codes, n_codes=len(chosen))
        rows = rows_of(layout.split(counts.values), stddev=counts.stddev)
        counts = scaled(counts, self._regained(binned, rows))
        links, margins = [], generator.margins
        for (i, j), flat in zip(chosen, layout.split(counts.values), strict=True):
            shape = binned.sizes[i], binned.sizes[j]
            shares = population.share_of(population.rows[:, i] * shape[1] + population.rows[:, j], shape[0] * shape[1])
            counted, expected, of_bins = flat.reshape(shape), shares.reshape(shape), (margins[i], margins[j])
            link = fine_link(
                goals[i, j],
                levels,
                counted,
                expected,
                of_bins,
                self._settings,
                total=binned.total,
                stddev=counts.stddev,
            )
            links.append(link)
        return links

    def _shares_of(self, generator: Generator, groups: Sequence[tuple[int, ...]]) -> list[Floats]:
        """What the population has in the table of each group."""
        population, levels = generator.population, generator.levels
        levelled = levels.of_rows(population.rows, population.labels)
        sized = list(zip(groups, levels.layout(groups).sizes, strict=True))
        return in_threads(lambda at: population.share_of(levelled.code(at[0]), at[1]), sized)

    def _cubes(self, generator: Generator) -> list[Table]:
        """Tables of the triples that determine the class together."""
        binned, levels, population = generator.binned, generator.levels, generator.population
        k, most = len(binned.sizes), self.plan.k
        signs = tuple(sign_tables(generator.margins, generator.orders))
        n_pairs, most_pairs = len(all_pairs(k)), len(all_pairs(most))
        products = partial(maps.triple_products, signs=signs, of_class=levels.of_class, n_columns=most)
        noisy = self.view.noisy_sum("triples", products)["triples"]
        sums = noisy.values.reshape(most_pairs, most)[:n_pairs, :k]
        some = population.draw(self._settings.triple_rows, np.random.default_rng(4))
        both = products_of_rows(population.rows[some], population.labels[some], signs, levels.of_class)
        expected = binned.total / len(some) * both[:, :n_pairs].T @ both[:, n_pairs:]
        most, sure = self.plan.sizes.most_cubes, self._settings.triple_sure
        triples = strongest_triples(sums, expected, stddev=noisy.stddev, total=binned.total, most=most, sure=sure)
        if not triples:
            return []
        columns, most = zip(generator.margins, generator.orders, strict=True), self.plan.sizes.cube_levels
        coarse = Levels([levels_of(margin, order, most=most) for margin, order in columns], levels.of_class)
        codes = partial(maps.level_codes, coder=coarse.coder(triples))
        counts = count_codes(self.view, self.plan.hot("cubes"), codes, n_codes=len(triples))
        rows = rows_of(coarse.layout(triples).split(counts.values), stddev=counts.stddev)
        counts = scaled(counts, self._regained(binned, rows))
        shares = self._shares_of(replace(generator, levels=coarse), triples)
        cube_sums = PairSums.of_halves(coarse, triples, counts)
        goals = residual_goals(coarse, triples, cube_sums, shares, self._settings, total=binned.total)
        levelled = coarse.of_rows(population.rows, population.labels)
        return [(levelled.code(goal.columns), goal.table) for goal in goals]

    def _counted_again(
        self,
        binned: BinnedTable,
        tables: Sequence[ClassTable],
        per_class: Floats,
        margins: Sequence[Floats],
        *,
        rare: int,
    ) -> tuple[list[ClassTable], Floats]:
        """The class tables and the rows of both classes, with the rarer counted again as often as gradients were planned.

        A class with few rows teaches nothing by gradients. Some of the counts are of bins, some of intervals of a number. What
        lies in a tail is seen in bins; that many rows have moved a little is seen in a few intervals, each of which has the
        noise of one bin. The fewer rows the class has, the less bins say.
        """
        settings, unit = self._settings, self.plan.schema.unit
        intervals = [
            levels_of(margin, np.arange(binning.size), most=settings.rare_intervals)
            if binning.ordered
            else np.arange(binning.size)
            for binning, margin in zip(binned.binnings, margins, strict=True)
        ]
        before = Number(float(per_class[rare]), float(tables[0].stddev[rare]))
        uses = self.plan.gradients
        few = min(1.0, settings.rare_few * before.stddev / max(before.value, 1e-9))
        of_intervals = max(1, round(uses / 2 * few))
        fine = self._count_class([np.arange(size) for size in binned.sizes], rare=rare, uses=uses - of_intervals)
        wide = self._count_class(intervals, rare=rare, uses=of_intervals)
        if unit.max_rows > 1:
            # Whose rows are all of this class is shortened most. What it has at each bin is asked; of how many, tables say.
            fine, wide = (one.times(regained(unit, rows=before, counted=one.rows)) for one in (fine, wide))
        counts = (before, fine.rows, wide.rows)
        precision = np.array([one.stddev**-2 for one in counts])
        rows = float(precision @ [one.value for one in counts] / precision.sum())
        per_class = per_class.copy()
        per_class[rare] = np.clip(rows, 1e-6 * binned.total, 0.5 * binned.total)
        per_class[1 - rare] = binned.total - per_class[rare]
        again = [
            table.counted_again(
                rare, per_class[rare] * margin, in_bins, fine.rows.stddev, in_wide, wide.rows.stddev, of
            )
            for table, margin, in_bins, in_wide, of in zip(
                tables, margins, fine.tables, wide.tables, intervals, strict=True
            )
        ]
        return again, per_class

    def _count_class(self, of_bin: Sequence[Integers], *, rare: int, uses: int) -> "_Recount":
        """Rows of a class in every column, its bins joined as `of_bin` says, and all of them: several counts averaged."""
        layout, block = Layout(tuple(int(joined.max()) + 1 for joined in of_bin)), self.plan.hot("teacher")
        weight = weight_of(block, len(of_bin) + 1)
        counts = partial(
            maps.rare_counts,
            of_bin=side_by_side(of_bin),
            codes=BinCodes(layout),
            rare=rare,
            block=block,
            weight=weight,
            has_trees=self.plan.has_trees,
        )
        again = [self.view.noisy_sum("teacher", counts)["bins"] for _ in range(uses)]
        mean = np.mean([one.values for one in again], axis=0) / weight
        stddev = again[0].stddev / weight / math.sqrt(uses)
        return _Recount(layout.split(mean), Number(float(mean[layout.width]), stddev))

    def _regained(self, binned: BinnedTable, counted: Number) -> float:
        return regained(self.plan.schema.unit, rows=Number(binned.total, binned.total_stddev), counted=counted)

    def rare(self, binned: BinnedTable) -> int | None:
        """One of two classes that has too few rows for gradients."""
        is_possible = self._settings.recounts_rare and self.plan.n_classes == 2 and self.plan.has("teacher")
        if not is_possible or self.plan.number_target or binned.target is None:
            return None
        counts = np.maximum(binned.target.margin, 0.0)
        at = int(np.argmin(counts))
        return at if counts[at] < self._settings.rare_below * self._recount_stddev(binned) else None

    def _recount_stddev(self, binned: BinnedTable) -> float:
        """The noise in what the budget of the gradients could count."""
        return self._stddev("teacher", len(binned.sizes) + 1) / math.sqrt(self.plan.gradients)

    def _stddev(self, stage: str, n_codes: int) -> float:
        return count_stddev(self.view, stage, self.plan.hot(stage), n_codes=n_codes)


@dataclass(frozen=True)
class _Recount:
    """A table of each column, and all rows of the class; its noise is that of every count."""

    tables: list[Floats]
    rows: Number

    def times(self, gain: float) -> "_Recount":
        """Every count so many times."""
        return _Recount([gain * t for t in self.tables], Number(gain * self.rows.value, gain * self.rows.stddev))


def _class_goals(population: Population, binned: BinnedTable, joints: Sequence[Floats]) -> list[Table]:
    """Every column by class, as the population is to have it."""
    return [
        (population.labels * size + population.rows[:, j], joint.ravel())
        for j, (size, joint) in enumerate(zip(binned.sizes, joints, strict=True))
    ]


def _centred_norm(binned: BinnedTable) -> float:
    """The length of a row, each column of which is less its mean over the bins, and which counts itself."""
    return math.sqrt(sum(1 - 1 / size for size in binned.sizes) + 1)


def _shares(mass: Floats) -> Floats:
    rows = np.maximum(mass, 1e-9)
    return np.asarray(rows / rows.sum())


def _better_margins(binned: BinnedTable, tables: Sequence[ClassTable]) -> list[Floats]:
    """The probability of each bin, from its cells and from the sum of its class tables."""
    out = []
    for binning, table, of_margin in zip(binned.binnings, tables, binned.margin_stddevs, strict=True):
        noise = float((table.stddev**2).sum())
        own = noise / (noise + of_margin**2)
        counted = table.counts.sum(axis=0) + binned.total / binning.size
        out.append(_shares(to_simplex(own * binning.margin + (1 - own) * counted, total=binned.total)))
    return out
