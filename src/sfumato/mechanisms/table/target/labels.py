"""Labels drawn by scores, at the rates that the classes should have.

A class that has too few rows for gradients gets steeper scores: where noise hides much of what is true of it, scores hardly
distinguish it from the others, and from few labels that look like chance a learner learns chance.
"""

import math
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.compiled import count_distinct
from sfumato.mechanisms.common.labels import expected_labels, score_order, systematic_labels
from sfumato.mechanisms.table.columns.code_tables import CodeScores
from sfumato.mechanisms.table.joint.balanced_sampling import balanced_walk
from sfumato.mechanisms.table.joint.population import Population
from sfumato.mechanisms.table.joint.whole_table import WholeScores
from sfumato.mechanisms.table.settings.sampling import SamplingSettings
from sfumato.mechanisms.table.settings.target import TargetSettings
from sfumato.mechanisms.table.target.correction import CorrectedRule


@dataclass(frozen=True)
class ClassLabels:
    """What the generator's rule and the corrected one say of every row of the population; those of scarce classes stay what they are."""

    generator: Floats
    corrected: Floats
    codes: CodeScores = field(default_factory=dict)  # by the places of columns; both rules have them besides
    whole: WholeScores | None = None  # of columns that were counted whole; both rules have them within
    rule: CorrectedRule | None = None  # what says the same of rows that the population does not have


def draw_labels(
    scores: Floats,
    rates: Floats,
    rng: np.random.Generator,
    *,
    alike: NDArray[np.int32],
    same: Integers,
    settings: SamplingSettings | None = None,
) -> Integers:
    """A label for each row by its scores, with intercepts that keep the rates of the classes.

    Rows that are `alike` in a column, where they share its code, share the chance: of those with one category, of one
    interval of a number, of one interval of scores, about as many have a label as should; rows of the `same` kind share
    everything. That leaves a learner less chance to mistake for a rule, above all in large categories. Where the rarest
    class has fewer rows than there are categories and intervals, it is balanced among coarser parts of them; where it
    has not even two rows for each column, rows with like scores alone share the chance. Rows that are alike in two
    columns share it too, in coarse parts of both: a learner looks at them next.
    """
    settings = settings or SamplingSettings()
    p = without_unlikely(expected_labels(scores, rates, rounds=settings.rate_rounds), settings)
    rarest, n_columns = len(p) * float(p.mean(axis=0).min()), alike.shape[1]
    if not (settings.balances_rows and 0 < 2 * n_columns <= rarest):
        return systematic_labels(p, rng)
    place = np.empty(len(p), dtype=np.int64)
    place[score_order(p)] = np.arange(len(p))
    weight = (p / np.maximum(p.mean(axis=0), 1e-12)).sum(axis=1)  # every class counts alike, however rare it is
    in_pairs = _pairs_of(alike, p, weight, settings, rarest=rarest)
    if count_distinct(alike, alike.max(axis=0)) < rarest:
        interval = place * settings.score_intervals // len(p)
    else:
        alike = np.stack([_parts(codes, weight, int(rarest / n_columns)) for codes in alike.T], axis=1, dtype=np.int32)
        interval = _parts(place, weight, min(settings.score_intervals, int(rarest)))
    alone = np.column_stack([alike, *(codes.astype(np.int32) for codes in (same, interval))])
    # Pairs come on top: single columns are balanced as firmly as without them.
    firmly = replace(settings, balance=settings.balance * (1 + len(in_pairs) / alone.shape[1]))
    return balanced_walk(p, np.column_stack([alone, *in_pairs]), rng, firmly)


def without_unlikely(p: Floats, settings: SamplingSettings) -> Floats:
    """The same chances, but none for a row to get a class that rows have far more often on average.

    A class gives up less than `least_chance` of its rows. They would lie where no others of it do, each on its own, and boosted
    trees that weigh classes alike take steps without bound towards such rows of a rare class.

    >>> without_unlikely(np.array([[0.999, 0.001], [0.8, 0.2]]), SamplingSettings()).tolist()
    [[1.0, 0.0], [0.8, 0.2]]
    """
    likely = np.where(p < settings.least_chance * p.mean(axis=0), 0.0, p)
    likely /= likely.sum(axis=1, keepdims=True)
    return likely


def _pairs_of(
    alike: NDArray[np.int32], p: Floats, weight: Floats, settings: SamplingSettings, *, rarest: float
) -> list[NDArray[np.int32]]:
    """Where each row lies in every two of the columns that say most of the label, each in parts; few parts where rows are few."""
    size = min(settings.pair_parts, math.isqrt(int(rarest / settings.pair_rows)))
    if size < 2 or not settings.balances_pairs:
        return []
    parts = [_parts(codes, weight, size).astype(np.int32) for codes in alike.T]
    most = sorted(parts, key=lambda part: -_spread(part, p))[: settings.pair_columns]
    return [left * size + right for left, right in combinations(most, 2)]


def _spread(part: NDArray[np.int32], p: Floats) -> float:
    """How far the chances of the classes differ from part to part: the mean square, each class in its own rate."""
    rows, mean = np.maximum(np.bincount(part), 1), p.mean(axis=0)
    sums = np.stack([np.bincount(part, weights=of_class) for of_class in p.T], axis=1)
    return float((rows[:, None] * (sums / rows[:, None] - mean) ** 2 / np.maximum(mean, 1e-12)).sum())


def _parts(codes: NDArray[np.integer], weight: Floats, most: int) -> Integers:
    """The part of each row, at most so many: neighbouring codes together, with about the same weight in each part."""
    mass = np.bincount(codes, weights=weight)
    middle = np.cumsum(mass) - mass / 2
    return np.asarray(np.minimum(middle / mass.sum() * most, most - 1).astype(np.int64)[codes])


def rare_steepness(learned: Floats, population: Population, settings: TargetSettings, *, rare: int) -> float:
    """How many times as steep the scores of the second of two classes should be as those that were learned of every row."""
    share = np.average(population.labels == rare, weights=population.weights)
    if not settings.steepens_rare or share >= settings.rare_exception:
        return 1.0
    gap = _gap(learned[:, 0] if rare == 1 else -learned[:, 0], population, rare)
    if gap <= 0:  # noise has hidden the class altogether
        return 1.0
    return float(np.clip(settings.rare_near / gap, 1.0, settings.rare_steeper))


def _gap(scores: Floats, population: Population, rare: int) -> float:
    """How far the mean score of a class lies above that of the other."""
    is_rare = population.labels == rare
    if not is_rare.any() or is_rare.all():
        return 0.0
    means = [float(np.average(scores[of], weights=population.weights[of])) for of in (is_rare, ~is_rare)]
    return means[0] - means[1]
