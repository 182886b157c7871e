"""The straight line of the method: each stage asks a door, with what the stages before it have shown.

cells -> bins -> classes -> correlations -> pairs -> links -> triples -> population -> rule -> teacher -> judge
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.table import links as tree_of
from sfumato.mechanisms.table import triples as triples_of
from sfumato.mechanisms.table.bins import Binning, Spikes, bin_column, level_cut
from sfumato.mechanisms.table.blueprint import Blueprint
from sfumato.mechanisms.table.copula import correlations, scores_of
from sfumato.mechanisms.table.counting import count_codes
from sfumato.mechanisms.table.features import Feature, exactly_one, features_of, one_of
from sfumato.mechanisms.table.layout import Layout, codes_in
from sfumato.mechanisms.table.lifts import FLOOR, ClassTable, joint_tables
from sfumato.mechanisms.table.logistic import errors, losses, probabilities
from sfumato.mechanisms.table.ordering import bin_orders, class_line, halves, levels_of
from sfumato.mechanisms.table.pairs import LEVELS, Goal, Levels, all_pairs, departures
from sfumato.mechanisms.table.population import Population, first_population, raked, with_links
from sfumato.mechanisms.table.resolution import Counted, coarse_parts, fine_leaves
from sfumato.mechanisms.table.rule import Bins, GeneratorRule, learn_rule
from sfumato.mechanisms.table.smooth import to_simplex
from sfumato.mechanisms.table.spikes import LOOKS, heavy_cells, split_by_column
from sfumato.mechanisms.table.table_model import FittedTable
from sfumato.mechanisms.table.teacher import GRADIENTS, Pupils, corrected, no_corrections, pupils, teach
from sfumato.public.block import Hot
from sfumato.public.doors import Doors, Measured
from sfumato.public.schema import Batch, n_rows_of

#: A level of a numeric target should hold this many standard deviations of its counts.
_LEAST_LEVEL = 8.0

#: A class is rare when its count is below this many standard deviations of what the teacher's budget could count.
_RARE = 60.0
_RARE_FLOOR = 0.25

#: Coarse goals that the population is brought to, for each column.
_GOALS = 6

#: Rows of the population from which the rule is learned, and that stand for private ones in the teacher's Hessian.
LEARNING_ROWS = 60_000
HESSIAN_ROWS = 10_000

#: A row's log-loss is cut here for two classes; more classes may lose more.
_MOST_LOSS = 3.0

#: Names of the columns that are computed once for all later doors.
_CODES, _BINS, _RULE = " codes", " bins", " rule"


@dataclass(frozen=True)
class Binned:
    """The bins of every column, and the classes; `total` rows, with noise `total_stddev`."""

    features: tuple[Feature, ...]
    binnings: tuple[Binning, ...]
    target: Binning | None
    total: float
    total_stddev: float
    cell_stddev: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bins of each column."""
        return tuple(binning.size for binning in self.binnings)

    @property
    def n_classes(self) -> int:
        """Classes that a row can have."""
        return 1 if self.target is None else self.target.size


@dataclass(frozen=True)
class Generator:
    """What all tables say together."""

    binned: Binned
    rates: NDArray[np.float64]
    joints: list[NDArray[np.float64]]
    orders: list[NDArray[np.int64]]
    levels: Levels
    correlation: NDArray[np.float64]
    population: Population = field(repr=False)

    @property
    def margins(self) -> list[NDArray[np.float64]]:
        """The probability of each bin."""
        return [joint.sum(axis=0) for joint in self.joints]


def bins_and_labels(batch: Batch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The prepared bins of each row, and its class."""
    prepared = np.nan_to_num(batch[_BINS]).astype(np.int64)
    return prepared[:, :-1], prepared[:, -1]


@dataclass(frozen=True)
class Measuring:
    """One run of the method. Whatever it asks for, it asks a door."""

    plan: Blueprint
    view: Doors

    def run(self) -> FittedTable:
        """All stages."""
        binned = self._bin()
        if not binned.binnings:
            return FittedTable.of_target(binned.features, binned.target, binned.total, binned.total_stddev)
        generator = self._generate(binned)
        fitted = FittedTable(
            features=binned.features,
            binnings=binned.binnings,
            target=binned.target,
            total=binned.total,
            total_stddev=binned.total_stddev,
            rates=generator.rates,
            population=generator.population,
        )
        rule = self._rule(generator) if self.plan.has("teacher") and self._rare(binned) is None else None
        return fitted if rule is None else self._taught(fitted, generator, rule)

    # ---- cells and bins ----------------------------------------------------------------------------------------

    def _bin(self) -> Binned:
        features = self._features()
        every = (*features, *(() if self.plan.target is None else (self.plan.target,)))
        self.view.prepare(_CODES, lambda batch: np.stack([f.code(batch) for f in every], axis=1))
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
            target = self._classes_of(masses[-1], spikes[-1], least=_LEAST_LEVEL * class_stddev)
        coded = [b.bin_of for b in (*binnings, *(() if target is None else (target,)))]

        def bins(batch: Batch) -> NDArray[np.int64]:
            codes = np.nan_to_num(batch[_CODES]).astype(np.int64)
            columns = [bin_of[column] for bin_of, column in zip(coded, codes.T, strict=True)]
            return np.stack(columns if target is not None else [*columns, np.zeros(len(codes), dtype=np.int64)], axis=1)

        self.view.prepare(_BINS, bins)
        return Binned(features, binnings, target, total, total_stddev, counted[0].leaf_stddev if counted else 1.0)

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
        return features_of(
            self.plan.schema.features, [g for g, is_one in zip(candidates, found, strict=True) if is_one]
        )

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
        return [
            Counted(f.cells, part, c1, first_stddev, leaf, c2, second_stddev)
            for f, part, c1, leaf, c2 in zip(every, parts, first, leaves, second, strict=True)
        ]

    def _count_by(self, stage: str, places: Sequence[NDArray[np.int64]]) -> tuple[list[NDArray[np.float64]], float]:
        """Counts of all columns, each by the places of its cells."""
        layout = Layout(tuple(int(place.max()) + 1 for place in places))

        def codes(batch: Batch) -> NDArray[np.int64]:
            cells = np.nan_to_num(batch[_CODES]).astype(np.int64)
            return codes_in(layout, [place[column] for place, column in zip(places, cells.T, strict=True)])

        counts = count_codes(self.view, stage, self.plan.hot(stage), codes, n_codes=len(places))
        return layout.split(counts.values), counts.stddev

    def _stddev(self, stage: str, n_codes: int) -> float:
        """The noise on a count, if a row has so many codes."""
        block = self.plan.hot(stage)
        fewer = n_codes / block.n_hot if block.weighted else 1.0
        return self.view.noise_stddev(stage, block.name) * math.sqrt(fewer)

    def _class_stddev(self, n_columns: int) -> float:
        """About the noise that the counts of classes will have."""
        if not self.plan.has("classes"):
            return self._stddev("fine", n_columns)
        if self.plan.centred:
            return self.view.noise_stddev("classes", "classes") * math.sqrt(n_columns)
        return self._stddev("classes", n_columns)

    def _spikes(self, every: Sequence[Feature], masses: Sequence[NDArray[np.float64]]) -> list[Spikes]:
        names = {feature.cells.column.name for feature in self.plan.spiky}
        at = [i for i, f in enumerate(every) if f.cells.column.name in names]
        stddev = self._stddev("spikes", len(at))
        zooms = [heavy_cells(every[i].cells, masses[i], stddev=stddev) for i in at]
        open_ones = [j for j, zoom in enumerate(zooms) if len(zoom.heavy)]
        if not open_ones:
            return [Spikes()] * len(every)
        for _ in range(LOOKS):
            now = list(zooms)

            def codes(batch: Batch, now: list[object] = now) -> NDArray[np.int64]:  # type: ignore[assignment]
                cells = np.nan_to_num(batch[_CODES]).astype(np.int64)
                width = self.plan.hot("spikes").width // self.plan.hot("spikes").n_hot
                parts = []
                for place, j in enumerate(open_ones):
                    zoom = now[j]
                    part = zoom.codes(batch[zoom.cells.column.name].astype(np.float64), cells[:, at[j]])  # type: ignore[attr-defined]
                    parts.append(np.where(part >= 0, place * width + part, -1))
                return np.stack(parts, axis=1)

            counts = count_codes(self.view, "spikes", self.plan.hot("spikes"), codes, n_codes=len(open_ones))
            split = split_by_column(counts, [zooms[j] for j in open_ones])
            for place, j in enumerate(open_ones):
                zooms[j] = zooms[j].narrowed(split[place], stddev=counts.stddev)
        found = [Spikes() for _ in every]
        for i, zoom in zip(at, zooms, strict=True):
            found[i] = zoom.found()
        return found

    def _classes_of(self, mass: NDArray[np.float64], spikes: Spikes, *, least: float) -> Binning:
        """Categories as they are; a number in levels."""
        cells = self.plan.target.cells  # type: ignore[union-attr]
        if cells.column.is_coded:
            return Binning(cells, cells.count, np.arange(cells.count), mass, spikes)
        most = self.plan.n_classes - int(cells.has_missing_cell)
        level = level_cut(cells, mass[: cells.inner], most=most, least=least)
        if cells.has_missing_cell:
            level = np.append(level, level.max() + 1)
        return Binning(cells, int(level.max()) + 1, level, mass, spikes)

    # ---- the generator -----------------------------------------------------------------------------------------

    def _generate(self, binned: Binned) -> Generator:
        per_class, joints, floors = self._joints(binned)
        rates = per_class / per_class.sum()
        line = np.arange(len(rates), dtype=np.float64)
        if binned.target is not None and not binned.target.cells.is_ordered and len(rates) > 2:
            line = class_line(joints, rates)
        orders = bin_orders(binned.binnings, joints, line)
        half = halves(line, rates)
        levels = Levels([levels_of(j.sum(axis=0), o, most=LEVELS) for j, o in zip(joints, orders, strict=True)], half)
        correlation = self._correlation(binned, joints, orders, per_class)
        for c in np.flatnonzero(floors > FLOOR):  # too few rows to say how its columns hang together
            correlation[c] = np.eye(len(joints))
        population = first_population(rates, joints, orders, correlation, seed=0)
        generator = Generator(binned, rates, joints, orders, levels, correlation, population)
        tables = [
            (population.labels * size + population.rows[:, j], joint.ravel())
            for j, (size, joint) in enumerate(zip(binned.sizes, joints, strict=True))
        ]
        if self.plan.has("pairs") and len(joints) > 1:
            generator, goals = self._with_pairs(generator, free=floors <= FLOOR)
            population = generator.population
            tables = goals + [
                (population.labels * size + population.rows[:, j], joint.ravel())
                for j, (size, joint) in enumerate(zip(binned.sizes, joints, strict=True))
            ]
        population = raked(population, tables)
        if self.plan.has("cubes") and len(joints) > 2:
            cubes = self._cubes(replace(generator, population=population))
            if cubes:
                population = raked(population, [*cubes, *tables, *cubes])
        # Noisy tables and the limit on weights may have moved the classes.
        held = np.bincount(population.labels, weights=population.weights, minlength=len(rates))
        weights = population.weights * (rates / np.maximum(held, 1e-300))[population.labels]
        return replace(generator, population=replace(population, weights=weights / weights.sum()))

    def _joints(self, binned: Binned) -> tuple[NDArray[np.float64], list[NDArray[np.float64]], NDArray[np.float64]]:
        """Rows of each class, the probabilities of (class, bin), and the part of each class that looks like all rows."""
        if not self.plan.has("classes"):
            held = np.ones(1) if binned.target is None else np.maximum(binned.target.margin, 1e-9)
            rates = held / held.sum()
            margins = [_shares(binning.margin) for binning in binned.binnings]
            return rates * binned.total, [np.outer(rates, margin) for margin in margins], np.full(len(rates), FLOOR)
        tables, per_class = self._class_tables(binned)
        floors = np.full(len(per_class), FLOOR)
        margins = _better_margins(binned, tables)
        rare = self._rare(binned)
        if rare is not None:
            tables, per_class = self._recounted(binned, tables, per_class, rare)
            floors[rare] = _RARE_FLOOR
        return per_class, joint_tables(tables, binned.binnings, margins, per_class, floors=floors), floors

    def _class_tables(self, binned: Binned) -> tuple[list[ClassTable], NDArray[np.float64]]:
        """The centred table of every column, and rows of each class."""
        layout, n_classes = Layout(binned.sizes), binned.n_classes
        assert binned.target is not None  # noqa: S101
        own = binned.target.margin
        if not self.plan.centred:

            def codes(batch: Batch) -> NDArray[np.int64]:
                bins, labels = bins_and_labels(batch)
                return bins + layout.starts + labels[:, None] * layout.width

            counts = count_codes(self.view, "classes", self.plan.hot("classes"), codes, n_codes=len(binned.sizes))
            values = counts.values[: n_classes * layout.width].reshape(n_classes, layout.width)
            tables = [t - t.mean(axis=1, keepdims=True) for t in layout.split(values)]
            per_class = own
            stddev = counts.stddev
        else:
            norm = math.sqrt(sum(1 - 1 / size for size in binned.sizes) + 1)
            width = self.plan.width
            means = np.repeat(1 / np.array(binned.sizes), binned.sizes)

            def centred(batch: Batch) -> dict[str, NDArray[np.float64]]:
                bins, labels = bins_and_labels(batch)
                rows = np.zeros((len(bins), width + 3))
                rows[:, 0] = 1.0
                rows[:, 1 : layout.width + 1] = -means / norm
                at = np.arange(len(bins))[:, None]
                rows[at, 1 + bins + layout.starts] += 1 / norm
                rows[:, width + 1] = 1 / norm
                rows[:, width + 2] = labels
                return {"classes": rows}

            noisy = scaled(self.view.noisy_sum("classes", centred)["classes"], norm, self.plan.n_classes, width + 1)
            values, stddev = noisy.values[:n_classes], noisy.stddev
            tables = [t - t.mean(axis=1, keepdims=True) for t in layout.split(values[:, :-1])]
            first = binned.cell_stddev**-2 / np.maximum(np.bincount(binned.target.bin_of), 1)
            per_class = (own * first + values[:, -1] * stddev**-2) / (first + stddev**-2)
        possible = np.bincount(binned.target.bin_of, minlength=n_classes) > 0
        per_class = to_simplex(np.where(possible, per_class, -np.inf), total=binned.total)
        return [ClassTable(t, np.full(n_classes, stddev)) for t in tables], np.maximum(
            per_class, 1e-6 * binned.total * possible
        )

    def _rare(self, binned: Binned) -> int | None:
        """One of two classes that has too few rows for a teacher."""
        if self.plan.n_classes != 2 or not self.plan.has("teacher") or binned.target is None:
            return None
        counts = np.maximum(binned.target.margin, 0.0)
        stddev = self._stddev("teacher", len(binned.sizes) + 1) / math.sqrt(GRADIENTS)
        at = int(np.argmin(counts))
        return at if counts[at] < _RARE * stddev else None

    def _recounted(
        self, binned: Binned, tables: list[ClassTable], per_class: NDArray[np.float64], rare: int
    ) -> tuple[list[ClassTable], NDArray[np.float64]]:
        """A class with few rows teaches nothing by gradients: count its bins again instead, as often as planned."""
        layout, block = Layout(binned.sizes), self.plan.hot("teacher")
        coder = Bins(layout)
        weight = math.sqrt(block.n_hot / (len(binned.sizes) + 1))

        def counts(batch: Batch) -> dict[str, NDArray[np.float64]]:
            bins, labels = bins_and_labels(batch)
            codes = _padded(coder.codes(bins), block.n_hot)
            held = weight * (labels == rare)
            return {"bins": np.column_stack([codes, held]), "trees": np.zeros((len(bins), 1))}

        again = [self.view.noisy_sum("teacher", counts)["bins"] for _ in range(GRADIENTS)]
        mean = np.mean([one.values for one in again], axis=0) / weight
        stddev = again[0].stddev / weight / math.sqrt(GRADIENTS)
        out = []
        for table, new in zip(tables, layout.split(mean), strict=True):
            values, noise = table.counts.copy(), table.stddev.copy()
            first, second = noise[rare] ** -2, stddev**-2
            values[rare] = (first * values[rare] + second * (new - new.mean())) / (first + second)
            noise[rare] = (first + second) ** -0.5
            out.append(ClassTable(values, noise))
        per_class = per_class.copy()
        before = tables[0].stddev[rare] ** -2
        counted = (before * per_class[rare] + stddev**-2 * mean[layout.width]) / (before + stddev**-2)
        per_class[rare] = np.clip(counted, 1e-6 * binned.total, 0.5 * binned.total)
        per_class[1 - rare] = binned.total - per_class[rare]
        return out, per_class

    def _correlation(
        self,
        binned: Binned,
        joints: Sequence[NDArray[np.float64]],
        orders: Sequence[NDArray[np.int64]],
        per_class: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        k, n_classes = len(joints), len(per_class)
        if not self.plan.has("moments") or k < 2:
            return np.repeat(np.eye(k)[None], n_classes, axis=0)
        scores = scores_of(joints, orders, per_class / per_class.sum())
        by_class, most = self.plan.moments_by_class and self.plan.n_classes > 1, self.plan.k

        def products(batch: Batch) -> dict[str, NDArray[np.float64]]:
            bins, labels = bins_and_labels(batch)
            z = scores(bins, labels)
            z = np.concatenate([z, np.zeros((len(z), most - k))], axis=1)
            return {"moments": np.concatenate([z, z, *([labels[:, None]] if by_class else [])], axis=1)}

        noisy = self.view.noisy_sum("moments", products)["moments"]
        moments = noisy.values.reshape(-1, most, most)[:n_classes, :k, :k]
        return correlations(moments, scores, per_class, stddev=noisy.stddev, by_class=by_class)

    def _with_pairs(
        self, generator: Generator, *, free: NDArray[np.bool_]
    ) -> tuple[Generator, list[tuple[NDArray[np.int64], NDArray[np.float64]]]]:
        """Pairs that depart from the population so far, and fine tables for a tree of the strongest."""
        binned, levels, population = generator.binned, generator.levels, generator.population
        pairs = all_pairs(len(binned.sizes))

        def codes(batch: Batch) -> NDArray[np.int64]:
            return levels.codes(*bins_and_labels(batch), pairs)

        counts = count_codes(self.view, "pairs", self.plan.hot("pairs"), codes, n_codes=len(pairs))
        goals = departures(
            levels, pairs, counts.values, self._held(generator, pairs), total=binned.total, stddev=counts.stddev
        )
        chosen = tree_of.spanning_tree([goal.columns for goal in goals], n_columns=len(binned.sizes))  # type: ignore[misc]
        chosen = chosen if self.plan.has("links") else []
        links = self._links(generator, {goal.columns: goal for goal in goals}, chosen) if chosen else []
        if links and free.all():
            population = with_links(
                population, links, generator.joints, generator.orders, generator.correlation, levels
            )
        rest = goals[: _GOALS * len(binned.sizes)]
        tables = [(levels.code(population.rows, population.labels, goal.columns), goal.table) for goal in rest]
        tables += [
            (
                population.rows[:, link.left] * binned.sizes[link.right] + population.rows[:, link.right],
                link.table.ravel(),
            )
            for link in links
        ]
        return replace(generator, population=population), tables

    def _links(
        self, generator: Generator, goals: dict[tuple[int, ...], Goal], chosen: list[tuple[int, int]]
    ) -> list[tree_of.Link]:
        binned, population = generator.binned, generator.population
        layout = tree_of.link_layout(chosen, binned.sizes)

        def codes(batch: Batch) -> NDArray[np.int64]:
            return tree_of.link_codes(bins_and_labels(batch)[0], chosen, binned.sizes)

        counts = count_codes(self.view, "links", self.plan.hot("links"), codes, n_codes=len(chosen))
        links, margins = [], generator.margins
        for (i, j), flat in zip(chosen, layout.split(counts.values), strict=True):
            shape = binned.sizes[i], binned.sizes[j]
            held = population.share_of(population.rows[:, i] * shape[1] + population.rows[:, j], shape[0] * shape[1])
            links.append(
                tree_of.fine_link(
                    goals[i, j], generator.levels, flat.reshape(shape), held.reshape(shape), (margins[i], margins[j]),
                    total=binned.total, stddev=counts.stddev,
                )
            )  # fmt: skip
        return links

    def _held(self, generator: Generator, groups: Sequence[tuple[int, ...]]) -> list[NDArray[np.float64]]:
        """What the population has in the table of each group."""
        population, levels = generator.population, generator.levels
        return [
            population.share_of(levels.code(population.rows, population.labels, group), size)
            for group, size in zip(groups, levels.layout(groups).sizes, strict=True)
        ]

    def _cubes(self, generator: Generator) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Tables of the triples that tell the classes apart together."""
        binned, levels, population = generator.binned, generator.levels, generator.population
        k, most = len(binned.sizes), self.plan.k
        signs = triples_of.sign_tables(generator.margins, generator.orders)

        def of_rows(bins: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
            own = np.stack([sign[column] for sign, column in zip(signs, bins.T, strict=True)], axis=1)
            return triples_of.sign_products(own, levels.of_class[labels])

        n_pairs, most_pairs = len(all_pairs(k)), len(all_pairs(most))

        def products(batch: Batch) -> dict[str, NDArray[np.float64]]:
            both = of_rows(*bins_and_labels(batch))
            rows = np.zeros((len(both), most_pairs + most))
            rows[:, :n_pairs], rows[:, most_pairs : most_pairs + k] = both[:, :n_pairs], both[:, n_pairs:]
            return {"triples": rows}

        noisy = self.view.noisy_sum("triples", products)["triples"]
        sums = noisy.values.reshape(most_pairs, most)[:n_pairs, :k]
        both = of_rows(population.rows, population.labels)
        expected = binned.total * (both[:, :n_pairs].T * population.weights) @ both[:, n_pairs:]
        triples = triples_of.strongest_triples(sums, expected, stddev=noisy.stddev, total=binned.total)
        if not triples:
            return []
        coarse = Levels(
            [
                levels_of(m, o, most=triples_of.CUBE_LEVELS)
                for m, o in zip(generator.margins, generator.orders, strict=True)
            ],
            levels.of_class,
        )
        counts = count_codes(
            self.view, "cubes", self.plan.hot("cubes"),
            lambda batch: coarse.codes(*bins_and_labels(batch), triples), n_codes=len(triples),
        )  # fmt: skip
        held = self._held(replace(generator, levels=coarse), triples)
        goals = departures(coarse, triples, counts.values, held, total=binned.total, stddev=counts.stddev)
        return [(coarse.code(population.rows, population.labels, goal.columns), goal.table) for goal in goals]

    # ---- labels ------------------------------------------------------------------------------------------------

    def _rule(self, generator: Generator) -> GeneratorRule | None:
        population = generator.population
        chosen = population.draw(LEARNING_ROWS, np.random.default_rng(2))
        bins = Bins(Layout(generator.binned.sizes))
        return learn_rule(
            population.rows[chosen],
            population.labels[chosen],
            generator.orders,
            bins,
            n_classes=generator.binned.n_classes,
        )

    def _taught(self, fitted: FittedTable, generator: Generator, rule: GeneratorRule) -> FittedTable:
        binned, population = generator.binned, generator.population
        n_sets = rule.additive.shape[0]

        def both(batch: Batch) -> NDArray[np.float64]:
            bins, _ = bins_and_labels(batch)
            additive = rule.additive_scores(bins)
            return np.concatenate([additive, rule.beyond(bins, additive)], axis=1)

        self.view.prepare(_RULE, both)
        chosen = population.draw(HESSIAN_ROWS, np.random.default_rng(3))
        standing = pupils(rule, population.rows[chosen], total=binned.total)
        start = no_corrections(n_sets, rule.bins.width)
        runs = [
            (int(at), int(at) + binning.ordered)
            for at, binning in zip(rule.bins.layout.starts, binned.binnings, strict=True)
            if binning.ordered
        ]
        taught = teach(self._asking(rule, n_sets), standing, start, runs=runs)
        gain = self._judge(rule, start, taught) if self.plan.has("judge") else None
        additive = rule.additive_scores(population.rows)
        everyone = Pupils(rule.bins.codes(population.rows), None, additive, rule.beyond(population.rows, additive), 1.0)
        return replace(
            fitted,
            generator_scores=_scores(start, everyone),
            taught_scores=_scores(taught, everyone),
            gain=gain,
        )

    def _asking(self, rule: GeneratorRule, n_sets: int) -> Callable[[NDArray[np.float64]], tuple[Measured, Measured]]:
        width, most = rule.bins.width, self.plan.width + 1
        n_codes, most_codes = len(rule.bins.layout.sizes) + 1, self.plan.k + 1
        weight = math.sqrt(most_codes / n_codes)

        def ask(corrections: NDArray[np.float64]) -> tuple[Measured, Measured]:
            def wrong(batch: Batch) -> dict[str, NDArray[np.float64]]:
                bins, labels = bins_and_labels(batch)
                codes, said = rule.bins.codes(bins), np.nan_to_num(batch[_RULE]).astype(np.float64)
                additive, beyond = said[:, :n_sets], said[:, n_sets:]
                wrong_by = errors(probabilities(corrected(corrections, codes, additive, beyond)), labels)
                if self.plan.n_sets == 1:
                    at_bins = np.column_stack([_padded(codes, most_codes), weight * wrong_by])
                else:
                    at = np.zeros((len(codes), most))
                    np.put_along_axis(at, codes, weight, axis=1)
                    pad = np.zeros((len(codes), self.plan.n_sets - n_sets))
                    at_bins = np.concatenate([wrong_by, pad, at], axis=1)
                of_trees = np.zeros((len(codes), self.plan.n_sets))
                of_trees[:, :n_sets] = wrong_by * beyond
                return {"bins": at_bins, "trees": of_trees}

            noisy = self.view.noisy_sum("teacher", wrong)
            bins = scaled(noisy["bins"], 1 / weight)
            values = bins.values.reshape(self.plan.n_sets, most)[:n_sets, :width]
            return Measured(values, bins.stddev), Measured(noisy["trees"].values[:n_sets], noisy["trees"].stddev)

        return ask

    def _judge(self, rule: GeneratorRule, start: NDArray[np.float64], taught: NDArray[np.float64]) -> Measured:
        """How much smaller the teacher's log-loss is than the generator's, in a mean over rows: noisy."""
        n_sets = len(start)
        most = _MOST_LOSS + math.log(max(n_sets, 2) / 2)

        def gains(batch: Batch) -> dict[str, NDArray[np.float64]]:
            bins, labels = bins_and_labels(batch)
            codes, said = rule.bins.codes(bins), np.nan_to_num(batch[_RULE]).astype(np.float64)
            before, after = (
                losses(probabilities(corrected(c, codes, said[:, :n_sets], said[:, n_sets:])), labels, most=most)
                for c in (start, taught)
            )
            return {"judge": ((before - after) / most)[:, None]}

        return scaled(self.view.noisy_sum("judge", gains)["judge"], most)


def _scores(corrections: NDArray[np.float64], of: Pupils) -> NDArray[np.float64]:
    return corrected(corrections, of.codes, of.additive, of.beyond)


def _padded(codes: NDArray[np.int64], n_hot: int) -> NDArray[np.int64]:
    """Codes with unused ones at the end."""
    return np.concatenate([codes, np.full((len(codes), n_hot - codes.shape[1]), -1)], axis=1)


def _total(counted: Sequence[Counted]) -> tuple[float, float]:
    """All rows, from every count of every column by its precision; and the noise in it."""
    told = [(one.part_counts, one.part_stddev) for one in counted] + [
        (one.leaf_counts, one.leaf_stddev) for one in counted
    ]
    precision = np.array([1 / (len(counts) * stddev**2) for counts, stddev in told])
    total = float(precision @ [counts.sum() for counts, _ in told]) / float(precision.sum())
    return max(total, 1.0), float(precision.sum()) ** -0.5


def _shares(mass: NDArray[np.float64]) -> NDArray[np.float64]:
    held = np.maximum(mass, 1e-9)
    return np.asarray(held / held.sum())


def _better_margins(binned: Binned, tables: Sequence[ClassTable]) -> list[NDArray[np.float64]]:
    """The probability of each bin, from its cells and from the sum of its class tables."""
    out = []
    for binning, table in zip(binned.binnings, tables, strict=True):
        noise = float((table.stddev**2).sum())
        own = noise / (noise + binned.cell_stddev**2)
        counted = table.counts.sum(axis=0) + binned.total / binning.size
        out.append(_shares(to_simplex(own * binning.margin + (1 - own) * counted, total=binned.total)))
    return out


__all__ = ["Hot", "Measuring", "bins_and_labels", "n_rows_of"]
