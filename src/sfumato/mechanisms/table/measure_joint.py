"""Second stage: classes, correlations, pairs, links and triples, and the population of rows that agrees with them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.counting import count_codes, count_stddev
from sfumato.mechanisms.common.layout import Layout
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.common.simplex import to_simplex
from sfumato.mechanisms.table.columns.binned import Binned, bins_and_labels
from sfumato.mechanisms.table.joint.class_tables import ClassTable, joint_tables
from sfumato.mechanisms.table.joint.copula import correlations, scores_of
from sfumato.mechanisms.table.joint.ordering import LEVELS, Line, bin_lines, class_line, halves, levels_of, most_levels
from sfumato.mechanisms.table.joint.pairs import Goal, Levels, Sums, all_pairs, departures
from sfumato.mechanisms.table.joint.population import (
    Population,
    Table,
    first_population,
    population_rows,
    raked,
    with_links,
)
from sfumato.mechanisms.table.joint.spanning_tree import Link, fine_link, link_coder, link_layout, spanning_tree
from sfumato.mechanisms.table.joint.triples import CUBE_LEVELS, sign_products, sign_tables, strongest_triples
from sfumato.mechanisms.table.person_norms import Number, classes_regained, regained, rows_of
from sfumato.mechanisms.table.plan import Blueprint
from sfumato.mechanisms.table.recount import recounted
from sfumato.mechanisms.table.target.classifier import MOST_CLASSES
from sfumato.public.plan.doors import Doors
from sfumato.public.schema.schema import Batch

#: A class is rare when its count is below this many standard deviations of what the teacher's budget could count.
_RARE = 40.0

#: Coarse goals that the population is brought to, for each column.
_GOALS = 6

#: Rows of the population that stand for all of it in sums over triples.
SUM_ROWS = 10_000


@dataclass(frozen=True)
class Generator:
    """What all tables say together."""

    binned: Binned
    rates: NDArray[np.float64]
    joints: list[NDArray[np.float64]]
    lines: list[Line]
    levels: Levels
    correlation: NDArray[np.float64]
    population: Population = field(repr=False)
    rare_stddev: float | None = None  # the noise in a count of a class that was counted again, all counts together

    @property
    def margins(self) -> list[NDArray[np.float64]]:
        """The probability of each bin."""
        return [joint.sum(axis=0) for joint in self.joints]

    @property
    def orders(self) -> list[NDArray[np.int64]]:
        """The bins of each column in order."""
        return [line.order for line in self.lines]

    @property
    def thinned(self) -> NDArray[np.float64]:
        """What a class's rate is, over its part of the population's rows: less than 1 where they are many for their weight."""
        held = np.bincount(self.population.labels, minlength=len(self.rates)) / len(self.population.labels)
        return np.where(held > 0, self.rates / np.maximum(held, 1e-300), 1.0)


@dataclass(frozen=True)
class GeneratorStage:
    """Asks for tables of classes, pairs and triples. Whatever it asks for, it asks a door."""

    plan: Blueprint
    view: Doors

    def run(self, binned: Binned) -> Generator:
        """All tables together."""
        per_class, joints, rare_stddev = self._joints(binned)
        rates = per_class / per_class.sum()
        line = np.arange(len(rates), dtype=np.float64)
        if binned.target is not None and not binned.target.cells.is_ordered and len(rates) > 2:
            line = class_line(joints, rates)
        lines = bin_lines(binned.binnings, joints, line)
        half = halves(line, rates)
        levels = Levels(
            [
                levels_of(
                    j.sum(axis=0),
                    along.order,
                    most=most_levels(b.cells, LEVELS, of_categories=self.plan.category_levels),
                )
                for b, j, along in zip(binned.binnings, joints, lines, strict=True)
            ],
            half,
        )
        correlation = self._correlation(joints, lines, per_class)
        population = first_population(
            rates, joints, lines, correlation, n_rows=population_rows(self.plan.evidence.rows), seed=0
        )
        generator = Generator(binned, rates, joints, lines, levels, correlation, population, rare_stddev)
        tables: list[Table] = [
            (population.labels * size + population.rows[:, j], joint.ravel())
            for j, (size, joint) in enumerate(zip(binned.sizes, joints, strict=True))
        ]
        if self.plan.has("pairs") and len(joints) > 1:
            generator, goals = self._with_pairs(generator)
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

    def _joints(self, binned: Binned) -> tuple[NDArray[np.float64], list[NDArray[np.float64]], float | None]:
        """Rows of each class, the probabilities of (class, bin), and the noise in a count of a class that was counted again."""
        if not self.plan.has("classes"):
            held = np.ones(1) if binned.target is None else np.maximum(binned.target.margin, 1e-9)
            rates = held / held.sum()
            margins = [_shares(binning.margin) for binning in binned.binnings]
            return rates * binned.total, [np.outer(rates, margin) for margin in margins], None
        tables, per_class = self._class_tables(binned)
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
            tables, per_class = recounted(self.plan, self.view, binned, tables, per_class, margins, rare=rare)
        ordered = 0 if binned.target is None else binned.target.ordered
        # Very many classes have nothing to gain by it, and columns lose.
        as_long = not self.plan.target_apart and binned.n_classes <= MOST_CLASSES
        joints = joint_tables(tables, binned.binnings, margins, per_class, ordered=ordered, as_long=as_long)
        return per_class, joints, rare_stddev

    def _class_tables(self, binned: Binned) -> tuple[list[ClassTable], NDArray[np.float64]]:
        """The centred table of every column, and rows of each class."""
        layout, n_classes = Layout(binned.sizes), binned.n_classes
        own, cells_of_class = binned.target_margin, np.maximum(binned.cells_of_class, 1)
        if not self.plan.centred:

            def codes(batch: Batch) -> NDArray[np.int64]:
                bins, labels = bins_and_labels(batch)
                return bins + layout.starts + labels[:, None] * layout.width

            counts = count_codes(self.view, "classes", self.plan.hot("classes"), codes, n_codes=len(binned.sizes))
            values = counts.values[: n_classes * layout.width].reshape(n_classes, layout.width)
            of_all = layout.split(values.sum(axis=0))
            gain = self._regained(binned, rows_of(of_all, stddev=counts.stddev * math.sqrt(n_classes)))
            values, counts = gain * values, scaled(counts, gain)
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
            held = Number(float(noisy.values[:n_classes, -1].sum()), noisy.stddev * math.sqrt(n_classes))
            gain = self._regained(binned, held)
            values, stddev = gain * noisy.values[:n_classes], gain * noisy.stddev
            tables = [t - t.mean(axis=1, keepdims=True) for t in layout.split(values[:, :-1])]
            first = binned.cell_stddev**-2 / cells_of_class
            per_class = (own * first + values[:, -1] * stddev**-2) / (first + stddev**-2)
        possible = binned.cells_of_class > 0
        per_class = to_simplex(np.where(possible, per_class, -np.inf), total=binned.total)
        return [ClassTable(t, np.full(n_classes, stddev)) for t in tables], np.maximum(
            per_class, 1e-6 * binned.total * possible
        )

    def _correlation(
        self, joints: Sequence[NDArray[np.float64]], lines: Sequence[Line], per_class: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        k, n_classes = len(joints), len(per_class)
        if not self.plan.has("moments") or k < 2:
            return np.broadcast_to(np.eye(k), (n_classes, k, k))
        scores = scores_of(joints, lines, per_class / per_class.sum())
        by_class, most = self.plan.moments_by_class and self.plan.n_classes > 1, self.plan.k

        def products(batch: Batch) -> dict[str, NDArray[np.float64]]:
            bins, labels = bins_and_labels(batch)
            z = scores(bins, labels)
            z = np.concatenate([z, np.zeros((len(z), most - k))], axis=1)
            return {"moments": np.concatenate([z, z, *([labels[:, None]] if by_class else [])], axis=1)}

        noisy = self.view.noisy_sum("moments", products)["moments"]
        moments = noisy.values.reshape(-1, most, most)[:n_classes, :k, :k]
        unit = self.plan.schema.unit
        return correlations(moments, scores, per_class, stddev=noisy.stddev, by_class=by_class, unit=unit)

    def _with_pairs(self, generator: Generator) -> tuple[Generator, list[Table]]:
        """Pairs that depart from the population so far, and fine tables for a tree of the strongest."""
        binned, levels, population = generator.binned, generator.levels, generator.population
        pairs = all_pairs(len(binned.sizes))

        goals = departures(
            levels, pairs, self._pair_sums(binned, levels, pairs), self._held(generator, pairs), total=binned.total
        )
        chosen = spanning_tree([goal.pair for goal in goals], n_columns=len(binned.sizes))
        chosen = chosen if self.plan.has("links") else []
        links = self._links(generator, {goal.columns: goal for goal in goals}, chosen) if chosen else []
        if links:
            population = with_links(population, links, generator.joints, generator.lines, generator.correlation, levels)
        rest = goals[: _GOALS * len(binned.sizes)]
        levelled = levels.of_rows(population.rows, population.labels)
        tables: list[Table] = [(levelled.code(goal.columns), goal.table) for goal in rest]
        tables += [
            (
                population.rows[:, link.left] * binned.sizes[link.right] + population.rows[:, link.right],
                link.table.ravel(),
            )
            for link in links
        ]
        return replace(generator, population=population), tables

    def _pair_sums(self, binned: Binned, levels: Levels, pairs: Sequence[tuple[int, int]]) -> Sums:
        """Tables of all rows, and of the second half of the classes less the first: two sums, the second of signed rows."""
        together = levels.of_all()
        coder = together.coder(pairs)

        def codes(batch: Batch) -> NDArray[np.int32]:
            return coder(*bins_and_labels(batch))

        def signs(batch: Batch) -> NDArray[np.float64]:
            return np.where(levels.of_class[bins_and_labels(batch)[1]] == 1, 1.0, -1.0)

        counts = count_codes(self.view, "pairs", self.plan.hot("pairs"), codes, n_codes=len(pairs))
        gain = self._regained(binned, rows_of(together.layout(pairs).split(counts.values), stddev=counts.stddev))
        if levels.n_halves == 1 or not self.plan.has("contrasts"):
            return Sums(scaled(counts, gain), None)
        block = self.plan.hot("contrasts")
        apart = count_codes(self.view, "contrasts", block, codes, n_codes=len(pairs), signs=signs)
        return Sums(scaled(counts, gain), scaled(apart, gain))

    def _links(
        self, generator: Generator, goals: dict[tuple[int, ...], Goal], chosen: list[tuple[int, int]]
    ) -> list[Link]:
        binned, population = generator.binned, generator.population
        layout, coder = link_layout(chosen, binned.sizes), link_coder(chosen, binned.sizes)

        def codes(batch: Batch) -> NDArray[np.int64]:
            return coder(bins_and_labels(batch)[0])

        counts = count_codes(self.view, "links", self.plan.hot("links"), codes, n_codes=len(chosen))
        held_rows = rows_of(layout.split(counts.values), stddev=counts.stddev)
        counts = scaled(counts, self._regained(binned, held_rows))
        links, margins = [], generator.margins
        for (i, j), flat in zip(chosen, layout.split(counts.values), strict=True):
            shape = binned.sizes[i], binned.sizes[j]
            held = population.share_of(population.rows[:, i] * shape[1] + population.rows[:, j], shape[0] * shape[1])
            links.append(
                fine_link(
                    goals[i, j], generator.levels, flat.reshape(shape), held.reshape(shape), (margins[i], margins[j]),
                    total=binned.total, stddev=counts.stddev,
                )
            )  # fmt: skip
        return links

    def _held(self, generator: Generator, groups: Sequence[tuple[int, ...]]) -> list[NDArray[np.float64]]:
        """What the population has in the table of each group."""
        population, levels = generator.population, generator.levels
        levelled = levels.of_rows(population.rows, population.labels)
        return [
            population.share_of(levelled.code(group), size)
            for group, size in zip(groups, levels.layout(groups).sizes, strict=True)
        ]

    def _cubes(self, generator: Generator) -> list[Table]:
        """Tables of the triples that tell the classes apart together."""
        binned, levels, population = generator.binned, generator.levels, generator.population
        k, most = len(binned.sizes), self.plan.k
        signs = sign_tables(generator.margins, generator.orders)

        def of_rows(bins: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
            own = np.stack([sign[column] for sign, column in zip(signs, bins.T, strict=True)], axis=1)
            return sign_products(own, levels.of_class[labels])

        n_pairs, most_pairs = len(all_pairs(k)), len(all_pairs(most))

        def products(batch: Batch) -> dict[str, NDArray[np.float64]]:
            both = of_rows(*bins_and_labels(batch))
            rows = np.zeros((len(both), most_pairs + most))
            rows[:, :n_pairs], rows[:, most_pairs : most_pairs + k] = both[:, :n_pairs], both[:, n_pairs:]
            return {"triples": rows}

        noisy = self.view.noisy_sum("triples", products)["triples"]
        sums = noisy.values.reshape(most_pairs, most)[:n_pairs, :k]
        some = population.draw(SUM_ROWS, np.random.default_rng(4))
        both = of_rows(population.rows[some], population.labels[some])
        expected = binned.total / len(some) * both[:, :n_pairs].T @ both[:, n_pairs:]
        triples = strongest_triples(sums, expected, stddev=noisy.stddev, total=binned.total)
        if not triples:
            return []
        coarse = Levels(
            [levels_of(m, o, most=CUBE_LEVELS) for m, o in zip(generator.margins, generator.orders, strict=True)],
            levels.of_class,
        )
        coder = coarse.coder(triples)
        counts = count_codes(
            self.view,
            "cubes",
            self.plan.hot("cubes"),
            lambda batch: coder(*bins_and_labels(batch)),
            n_codes=len(triples),
        )
        held_rows = rows_of(coarse.layout(triples).split(counts.values), stddev=counts.stddev)
        counts = scaled(counts, self._regained(binned, held_rows))
        held = self._held(replace(generator, levels=coarse), triples)
        goals = departures(coarse, triples, Sums.of_halves(coarse, triples, counts), held, total=binned.total)
        levelled = coarse.of_rows(population.rows, population.labels)
        return [(levelled.code(goal.columns), goal.table) for goal in goals]

    def _regained(self, binned: Binned, counted: Number) -> float:
        return regained(self.plan.schema.unit, rows=Number(binned.total, binned.total_stddev), counted=counted)

    def rare(self, binned: Binned) -> int | None:
        """One of two classes that has too few rows for a teacher."""
        if self.plan.n_classes != 2 or self.plan.target_apart or not self.plan.has("teacher") or binned.target is None:
            return None
        counts = np.maximum(binned.target.margin, 0.0)
        at = int(np.argmin(counts))
        return at if counts[at] < _RARE * self._recount_stddev(binned) else None

    def _recount_stddev(self, binned: Binned) -> float:
        """The noise in what the teacher's budget could count."""
        return self._stddev("teacher", len(binned.sizes) + 1) / math.sqrt(self.plan.gradients)

    def _stddev(self, stage: str, n_codes: int) -> float:
        return count_stddev(self.view, stage, self.plan.hot(stage), n_codes=n_codes)


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
