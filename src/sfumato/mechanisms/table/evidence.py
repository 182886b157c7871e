"""What noisy counts say: bins, class tables, edges and the field, each from what was measured before it."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Measurements
from sfumato.mechanisms.table.bins import Binning, bin_column
from sfumato.mechanisms.table.layout import codes_in
from sfumato.mechanisms.table.pairs import all_pairs, coarse_edge, excess_of, fine_edge, levels_of, spanning_tree
from sfumato.mechanisms.table.population import Edge, Population, make_population
from sfumato.mechanisms.table.shape import Shape
from sfumato.mechanisms.table.smooth import to_simplex
from sfumato.mechanisms.table.teacher import GRADIENTS
from sfumato.public.schema import Batch

#: A bin of a number should hold this many standard deviations of its class counts.
_LEAST = 4.0
#: Coarse edges that the field keeps, for each column.
_EDGES = 6
#: A class is rare when its count is below this many standard deviations of what the teacher's budget could count.
_RARE = 30.0
#: This part of every class looks like all rows, so that no value is impossible. More of a rare class: its columns
#: are drawn one by one, so without it no row of the class would be as plain in most columns as many real ones are.
_FLOOR = 0.01
_RARE_FLOOR = 0.25


@dataclass(frozen=True, eq=False)
class Evidence:
    """Noisy counts, and what follows from them. Two are equal where all counts are."""

    shape: Shape
    found: Measurements
    noise: dict[str, float]

    def __eq__(self, other: object) -> bool:
        """Whether all counts are the same."""
        return (
            isinstance(other, Evidence)
            and (self.shape, self.noise, set(self.found)) == (other.shape, other.noise, set(other.found))
            and all(np.array_equal(values, other.found[name]) for name, values in self.found.items())
        )

    def __hash__(self) -> int:
        """Of the first counts."""
        return hash(np.asarray(self.found["cells"]).tobytes())

    @cached_property
    def binnings(self) -> tuple[Binning, ...]:
        """The bins of every column."""
        tables = self.shape.cells.split(self.found["cells"])
        least = _LEAST * self.noise.get("classes", 0.0)
        return tuple(
            bin_column(cells, table, noise=self.noise["cells"], least=least, most=size - int(cells.has_missing_cell))
            for cells, table, size in zip(self.shape.features, tables, self.shape.bin_sizes, strict=False)
        )

    @cached_property
    def target_binning(self) -> Binning | None:
        """The classes: the target's categories, or about equally full bins of a number."""
        cells = self.shape.target
        if cells is None:
            return None
        counts = self.shape.cells.split(self.found["cells"])[-1]
        most = self.shape.n_classes - int(cells.has_missing_cell)
        even = float(np.maximum(counts.sum(), 0.0)) / max(most, 1)
        return bin_column(cells, counts, noise=self.noise["cells"], least=even, most=most)

    def bins(self, batch: Batch) -> NDArray[np.int64]:
        """The bin of each row in every column."""
        return np.stack([b.code(batch[b.cells.column.name]) for b in self.binnings], axis=1)

    def codes(self, batch: Batch) -> NDArray[np.int64]:
        """For each row the place of its bin in the layout of all."""
        return self.bins(batch) + self.shape.bins.starts

    def label(self, batch: Batch) -> NDArray[np.int64]:
        """The class of each row."""
        binning = self.target_binning
        if binning is None:
            return np.zeros(len(next(iter(batch.values()))), dtype=np.int64)
        return binning.code(batch[binning.cells.column.name])

    @cached_property
    def class_counts(self) -> NDArray[np.float64]:
        """Rows of each class, from the target's own counts and from every column's."""
        s = self.shape
        counts, precision = np.zeros(s.n_classes), 0.0
        if self.target_binning is not None:
            cells = s.cells.split(self.found["cells"])[-1]
            counts += np.bincount(self.target_binning.bin_of, weights=cells, minlength=s.n_classes)
            precision += 1.0
        if "classes" in self.found:
            gain = (self.noise["cells"] / self.noise["classes"]) ** 2
            for table, size in zip(self._class_tables, s.bin_sizes, strict=True):
                counts += table.sum(axis=1) * gain / size
                precision += gain / size
        counts /= max(precision, 1e-12)
        if "teacher" in self.found and s.n_classes == 2 and (rare := self._rare_by(counts)) is not None:
            gain = GRADIENTS * (self.noise["cells"] / self.noise["teacher"]) ** 2
            again = float(np.asarray(self.found["teacher"])[0, -1])
            counts[rare] = (precision * counts[rare] + gain * again) / (precision + gain)
        there = np.ones(s.n_classes)
        if self.target_binning is not None:  # a class that no value falls into is never drawn
            there = np.minimum(np.bincount(self.target_binning.bin_of, minlength=s.n_classes), 1.0)
        counts = there * np.maximum(counts, 0.0)
        return counts if counts.sum() > 0 else there

    @property
    def total(self) -> float:
        """The noisy number of rows."""
        return float(self.class_counts.sum())

    @property
    def total_stddev(self) -> float:
        """The noise in that number, as it follows from the weights of `class_counts`."""
        told = 0 if self.shape.target is None else 1
        gain = (self.noise["cells"] / self.noise["classes"]) ** 2 if "classes" in self.found else 0.0
        by_tables = sum(gain / size for size in self.shape.bin_sizes)
        in_sum = told * self.shape.cells.sizes[-1] + self.shape.n_classes * by_tables
        return self.noise["cells"] * float(np.sqrt(in_sum)) / max(told + by_tables, 1e-12)

    @property
    def rates(self) -> NDArray[np.float64]:
        """The probability of each class."""
        return self.class_counts / self.total

    @cached_property
    def _class_tables(self) -> list[NDArray[np.float64]]:
        s = self.shape
        return s.bins.split(np.asarray(self.found["classes"]).reshape(s.n_classes, s.bins.width))

    @cached_property
    def rare(self) -> int | None:
        """One of two classes that has too few rows for a teacher, by the noisy counts of all."""
        return self._rare_by(self.before_teacher.class_counts)

    @property
    def before_teacher(self) -> "Evidence":
        """Without what the teacher's step gave."""
        before = {name: sums for name, sums in self.found.items() if name not in ("teacher", "generator")}
        return Evidence(self.shape, before, self.noise)

    def _rare_by(self, counts: NDArray[np.float64]) -> int | None:
        if "teacher" not in self.noise or self.shape.n_classes != 2:
            return None
        at = int(np.argmin(counts))
        return at if counts[at] < _RARE * self.noise["teacher"] / np.sqrt(GRADIENTS) else None

    def _class_counts_of(self, j: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A column's noisy counts by class, and the noise on those of each class."""
        table, noise = self._class_tables[j].copy(), np.full(self.shape.n_classes, self.noise["classes"])
        if self.rare is not None and "teacher" in self.found:
            again = self.shape.bins.split(np.asarray(self.found["teacher"])[0])[j]
            first, second = noise[self.rare] ** -2, GRADIENTS / self.noise["teacher"] ** 2
            table[self.rare] = (first * table[self.rare] + second * again) / (first + second)
            noise[self.rare] = (first + second) ** -0.5
        return table, noise

    @cached_property
    def margins(self) -> list[NDArray[np.float64]]:
        """The probability of each bin, from fine cells and class tables by their precision."""
        cells = self.shape.cells.split(self.found["cells"])
        out = []
        for binning, fine, table in zip(self.binnings, cells, self._class_tables, strict=False):
            sizes = np.bincount(binning.bin_of, minlength=binning.size)
            first = np.bincount(binning.bin_of, weights=fine, minlength=binning.size)
            gain = self.shape.n_classes * self.noise["classes"] ** 2 / self.noise["cells"] ** 2 / np.maximum(sizes, 1)
            merged = np.where(sizes > 0, (first * gain + table.sum(axis=0)) / (gain + 1), -self.noise["cells"] * 1e3)
            out.append(to_simplex(merged, total=self.total) / self.total)
        return out

    @cached_property
    def joints(self) -> list[NDArray[np.float64]]:
        """The probability of (class, bin): each class shrunk towards all rows, as far as noise explains the difference."""
        out = []
        for j, margin in enumerate(self.margins):
            table, noise = self._class_counts_of(j)
            rows = []
            for counts, total, spread in zip(table, self.class_counts, noise, strict=True):
                expected = total * margin
                excess, sure = excess_of(counts, expected, noise=float(spread))
                apart = np.where(margin > 0, counts - expected, 0.0)
                kept = excess / max(float((apart**2).sum()), 1e-12) if sure else 0.0
                rows.append(to_simplex(expected + min(kept, 1.0) * apart, total=max(float(total), 1e-9)))
            plain = np.where(np.arange(len(noise)) == self.rare, _RARE_FLOOR, _FLOOR)[:, None]
            own = np.where(margin > 0, np.stack(rows), 0.0) / self.total
            out.append((1 - plain) * own + plain * self.rates[:, None] * margin)
        return [joint / joint.sum() for joint in out]

    @cached_property
    def levels(self) -> list[NDArray[np.int64]]:
        """The level of each bin: numbers in their order, categories by their classes or, without any, by size."""
        out = []
        order = np.arange(self.shape.n_classes)
        for binning, margin, joint in zip(self.binnings, self.margins, self.joints, strict=True):
            by = np.arange(len(margin), dtype=np.float64)
            if binning.cells.column.is_coded:
                by = (order @ joint) / np.maximum(joint.sum(axis=0), 1e-12) if len(order) > 1 else -margin
            out.append(levels_of(margin, order=by, most=self.shape.n_levels))
        return out

    def pair_codes(self, batch: Batch) -> NDArray[np.int64]:
        """For each row its cell in every coarse table."""
        level = [levels[bins] for levels, bins in zip(self.levels, self.bins(batch).T, strict=True)]
        sizes = self.shape.level_sizes
        columns = [level[i] * sizes[j] + level[j] for i, j in all_pairs(len(sizes))]
        return codes_in(self.shape.pairs, columns)

    @cached_property
    def coarse(self) -> list[tuple[Edge, float]]:
        """Edges that are sure to be there, the strongest first."""
        sizes = self.shape.level_sizes
        out = []
        for pair, flat in zip(all_pairs(len(sizes)), self.shape.pairs.split(self.found["pairs"]), strict=True):
            i, j = pair
            edge = coarse_edge(
                pair,
                flat.reshape(sizes[i], sizes[j]),
                (self.margins[i], self.margins[j]),
                (self.levels[i], self.levels[j]),
                total=self.total,
                noise=self.noise["pairs"],
            )
            if edge is not None:
                out.append(edge)
        return sorted(out, key=lambda e: -e[1])

    @cached_property
    def linked(self) -> list[int]:
        """The edges that are asked for in full: a tree of the strongest."""
        return spanning_tree([edge for edge, _ in self.coarse], n_columns=len(self.shape.features))

    def link_codes(self, batch: Batch) -> NDArray[np.int64]:
        """For each row its cell in every fine table; none in those that are not used."""
        bins = self.bins(batch).T
        most = max(self.shape.bin_sizes)
        edges = [self.coarse[at][0] for at in self.linked]
        columns = [bins[e.left] * most + bins[e.right] for e in edges]
        unused = np.full(len(bins[0]), -self.shape.links.width - 1)
        return codes_in(self.shape.links, columns + [unused] * (self.shape.n_links - len(edges)))

    @cached_property
    def tree(self) -> list[Edge]:
        """The fine edges."""
        most = max(self.shape.bin_sizes)
        out = []
        for at, flat in zip(self.linked, self.shape.links.split(self.found["links"]), strict=False):
            edge = self.coarse[at][0]
            margins = self.margins[edge.left], self.margins[edge.right]
            table = flat.reshape(most, most)[: len(margins[0]), : len(margins[1])]
            out.append(fine_edge(edge, table, margins, total=self.total, noise=self.noise["links"]))
        return out

    @property
    def population(self) -> Population:
        """Rows that agree with all of it. Gradients say nothing of rows, and a rare class has none: counts instead."""
        return _population_of(self if self.rare is not None else self.before_teacher)


@lru_cache(maxsize=1)  # `measure` needs it for the teacher, and `build` again
def _population_of(evidence: Evidence) -> Population:
    tree, others = [], []
    if "pairs" in evidence.found:
        tree, linked = evidence.tree, set(evidence.linked)
        others = [edge for at, (edge, _) in enumerate(evidence.coarse) if at not in linked]
    kept = others[: _EDGES * len(evidence.shape.features)]
    return make_population(evidence.rates, evidence.joints, tree, kept, seed=0, rare=evidence.rare)
