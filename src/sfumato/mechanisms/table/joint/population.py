"""Rows of bins that agree with all noisy tables, each with a weight: post-processing only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.compiled import scale_at, weights_at
from sfumato.mechanisms.common.simplex import draw_each, fit_margins
from sfumato.mechanisms.table.joint.balanced_sampling import balanced_walk
from sfumato.mechanisms.table.joint.ordering import Line
from sfumato.mechanisms.table.joint.pairs import Levels
from sfumato.mechanisms.table.joint.spanning_tree import Link
from sfumato.mechanisms.table.settings.joint import JointSettings
from sfumato.mechanisms.table.settings.sampling import SamplingSettings
from sfumato.public.machine.threads import in_threads


def population_rows(private_rows: float, settings: JointSettings) -> int:
    """How many rows stand for about so many private ones.

    >>> [population_rows(rows, JointSettings()) for rows in (500, 10_000, 1_000_000)]
    [20000, 40000, 100000]
    """
    return int(
        min(max(settings.population_per_row * private_rows, settings.population_fewest), settings.population_rows)
    )


#: Of every row its code in a table, and the probability of every code.
Table = tuple[NDArray[np.integer[Any]], Floats]


@dataclass(frozen=True)
class Population:
    """Rows of bins, the class of each, how much each weighs, and the Gaussian behind each (see `copula`)."""

    labels: Integers
    rows: Integers
    weights: Floats
    gauss: Floats

    @property
    def effective_rows(self) -> float:
        """As many rows of one weight would have the same chance (Kish)."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    def draw(self, n_rows: int, rng: np.random.Generator) -> Integers:
        """Places of rows by their weights, as evenly as whole rows allow (systematic sampling), in random order."""
        upto = np.cumsum(self.weights)
        places = (np.arange(n_rows) + rng.random()) / n_rows * upto[-1]
        return rng.permutation(np.minimum(np.searchsorted(upto, places), len(upto) - 1))

    def draw_balanced(self, n_rows: int, rng: np.random.Generator, settings: SamplingSettings) -> Integers:
        """Places of rows by their weights, in random order: of every class and of every bin about as many as weigh so much."""
        if not settings.balances_rows:
            return self.draw(n_rows, rng)
        share = self.weights / float(self.weights.sum())
        often = n_rows * share
        times = np.floor(often).astype(np.int64)
        order, part = rng.permutation(len(often)), often - times
        alike = np.column_stack([self.rows, self.labels, np.zeros_like(self.labels)])  # all are alike in the last
        times[order] += balanced_walk(np.column_stack([1 - part, part])[order], alike[order], rng, settings)
        drawn = rng.permutation(np.repeat(np.arange(len(times)), times))
        missing = rng.choice(len(often), size=max(n_rows - len(drawn), 0), p=share)
        return np.concatenate([drawn[:n_rows], missing])

    def share_of(self, codes: NDArray[np.integer[Any]], size: int) -> Floats:
        """The weight at every code, in all 1."""
        return np.asarray(weights_at(codes, self.weights, size) / float(self.weights.sum()))


def draw_known(line: Line, table: Floats, at: Integers, quantile: Floats) -> Integers:
    """A bin for each row that is not the missing one, at the quantile of the table's row `at`."""
    return np.asarray(line.known[draw_each(table[:, line.known], at, quantile)])


def with_missing(known: Integers, line: Line, table: Floats, at: Integers, rng: np.random.Generator) -> Integers:
    """The same bins, but for missing ones by chance, whatever the quantile."""
    if not line.has_missing:
        return known
    last = line.order[-1]
    return np.where(rng.random(len(at)) * table.sum(axis=1)[at] <= table[at, last], last, known)


def first_population(
    rates: Floats, joints: Sequence[Floats], lines: Sequence[Line], correlation: Floats, *, n_rows: int, seed: int
) -> Population:
    """The class of each row, a Gaussian with the class's correlations, and of every column the bin at its quantile."""
    rng = np.random.default_rng(seed)
    # Half of the rows are spread evenly over the classes and weigh less: a rare class needs rows to choose from.
    odds = np.where(rates > 0, 0.5 * rates + 0.5 / max(int((rates > 0).sum()), 1), 0.0)
    labels = draw_each(odds[None], np.zeros(n_rows, dtype=np.int64), rng.random(n_rows))
    gauss = rng.standard_normal((n_rows, len(joints)))
    independent = np.eye(len(joints))
    by_class = np.argsort(labels, kind="stable")
    present, starts = np.unique(labels[by_class], return_index=True)
    for c, mine in zip(present, np.split(by_class, starts[1:]), strict=True):
        if np.any(correlation[c] != independent):  # thousands of columns of few rows have no correlations to draw
            gauss[mine] = gauss[mine] @ np.linalg.cholesky(correlation[c]).T
    quantiles = ndtr(gauss)
    rows = np.zeros((n_rows, len(joints)), dtype=np.int64)
    known = in_threads(lambda j: draw_known(lines[j], joints[j], labels, quantiles[:, j]), range(len(joints)))
    for j, (joint, line) in enumerate(zip(joints, lines, strict=True)):
        rows[:, j] = with_missing(known[j], line, joint, labels, rng)
    weights = (rates / np.maximum(odds, 1e-300))[labels]
    return Population(labels, rows, weights / weights.sum(), gauss)


def with_links(
    before: Population,
    links: Sequence[Link],
    joints: Sequence[Floats],
    lines: Sequence[Line],
    correlation: Floats,
    levels: Levels,
    settings: JointSettings,
) -> Population:
    """Every column of a tree drawn anew, given its parent's bin and the class.

    The table of a link is one for all classes. For each class it is multiplied by what the two columns have in common
    beyond all rows, at the level of `levels`, and brought to what the class has in either of them.
    """
    rows, rng = before.rows.copy(), np.random.default_rng(1)
    drawn = [(j, parent, link) for j, parent, link in _from_the_roots(len(joints), links) if link is not None]

    def given_and_left(at: tuple[int, int, Link]) -> tuple[Floats, Floats]:
        """The table of a column for every class and bin of the parent, and what is left of its quantile beyond the parent's."""
        j, parent, link = at
        table = link.given(parent)
        more = _dependence_by_class(before, levels, parent, j, n_classes=len(joints[j]), chance=settings.tree_chance)
        by_class = fit_margins(table * more, joints[parent], joints[j], rounds=settings.margin_rounds)
        own = correlation[before.labels, j, parent]
        left = (before.gauss[:, j] - own * before.gauss[:, parent]) / np.sqrt(1 - np.minimum(own**2, 0.98))
        return by_class.reshape(-1, table.shape[1]), ndtr(left)

    for (j, parent, _), (given, left) in zip(drawn, in_threads(given_and_left, drawn), strict=True):
        at = before.labels * (len(given) // len(joints[j])) + rows[:, parent]
        rows[:, j] = with_missing(draw_known(lines[j], given, at, left), lines[j], given, at, rng)
    return Population(before.labels, rows, before.weights, before.gauss)


def _dependence_by_class(
    population: Population, levels: Levels, parent: int, child: int, *, n_classes: int, chance: float
) -> Floats:
    """How much more two bins go together in a class than in all: for (class, parent's bin, child's bin)."""
    shape = n_classes, levels.sizes[parent], levels.sizes[child]
    of_parent, of_child = levels.of_bin[parent], levels.of_bin[child]
    code = (population.labels * shape[1] + of_parent[population.rows[:, parent]]) * shape[2]
    share = population.share_of(code + of_child[population.rows[:, child]], int(np.prod(shape))).reshape(shape)
    of_class = np.maximum(share.sum(axis=(1, 2), keepdims=True), 1e-300)
    expected = share.sum(axis=2, keepdims=True) * share.sum(axis=1, keepdims=True) / of_class
    # Over what would be in all if rows and columns had nothing to do with each other.
    of_all = share.sum(axis=0)
    independent = of_all.sum(axis=1, keepdims=True) * of_all.sum(axis=0, keepdims=True) / of_all.sum()
    expected = expected * (of_all / np.maximum(independent, 1e-300))
    some = chance * of_class / np.maximum(np.bincount(population.labels, minlength=n_classes), 1)[:, None, None]
    ratio = (share + some) / (expected + some)
    return np.asarray(ratio[:, of_parent][:, :, of_child])


def _from_the_roots(n_columns: int, tree: Sequence[Link]) -> list[tuple[int, int, Link | None]]:
    """Columns in an order in which each comes after its parent."""
    order: list[tuple[int, int, Link | None]] = []
    seen: set[int] = set()
    for root in range(n_columns):
        waiting: list[tuple[int, int, Link | None]] = [] if root in seen else [(root, -1, None)]
        while waiting:
            at = waiting.pop()
            order.append(at)
            seen.add(at[0])
            for link in tree:
                for near, far in ((link.left, link.right), (link.right, link.left)):
                    if near == at[0] and far not in seen and far not in {w[0] for w in waiting}:
                        waiting.append((far, near, link))
    return order


def with_rates(population: Population, rates: Floats) -> Population:
    """The weights of each class brought to its rate."""
    reached = np.bincount(population.labels, weights=population.weights, minlength=len(rates))
    weights = population.weights * (rates / np.maximum(reached, 1e-300))[population.labels]
    return Population(population.labels, population.rows, weights / weights.sum(), population.gauss)


def raked(population: Population, goals: Sequence[Table], settings: JointSettings) -> Population:
    """Weights with which the population holds what each goal says, as far as the goals agree among themselves."""
    start = population.weights / population.weights.sum()
    weights, tiny = start.copy(), 1e-2 / len(start)
    tables = [(codes.astype(np.int32, copy=False), goal) for codes, goal in goals]
    for turn in range(settings.raking_rounds):
        # Noisy tables contradict each other a little: smaller and smaller steps settle between them.
        power = 1.0 if turn < settings.raking_rounds // 2 else 0.5
        for codes, goal in tables:
            reached = weights_at(codes, weights, goal.size)
            scale_at(weights, codes, ((goal + tiny) / (reached + tiny)) ** power)
        weights = np.minimum(weights / weights.sum(), settings.largest_weight * start)
        weights = np.minimum(weights / weights.sum(), settings.largest_weight * start)
    return Population(population.labels, population.rows, weights, population.gauss)
