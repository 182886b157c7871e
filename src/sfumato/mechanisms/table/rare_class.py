"""Scores of a class that has too few rows for a teacher: what a rule has learned, and what each column says by itself.

A rule learned from rows of the generator takes it that rows of the class depart in all columns at once, as those rows do. Real
ones depart in some of them, and a column in which such a row is like all others says little against it. So half of a score
is a sum over columns in which departing is an exception; and since noise hides much of what is true of a class with few rows,
scores that hardly tell it from the others are made steeper.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.population import Population

#: The chance that a row of the class departs in a column; where it does not, it is like the others.
_DEPARTS = 0.1

#: A class with this part of all rows or more is no exception, and keeps what the rule has learned.
_EXCEPTION = 0.05

#: Scores are made steeper where the class lies less than this above the others, on average; up to so many times.
_APART = 8.0
_STEEPER = 2.0


def rare_scores(
    learned: NDArray[np.float64], joints: Sequence[NDArray[np.float64]], population: Population, *, rare: int
) -> NDArray[np.float64]:
    """Scores of the second of two classes for every row of the population.

    Args:
        learned: By the rule, one for each row.
        joints: The probabilities of (class, bin) of every column.
        population: The rows, each with the class that it was drawn for.
        rare: The rarer class.
    """
    if np.average(population.labels == rare, weights=population.weights) >= _EXCEPTION:
        return learned
    towards = 1.0 if rare == 1 else -1.0
    by_rule = towards * learned[:, 0]
    by_columns = np.zeros(len(by_rule))
    for joint, bins in zip(joints, population.rows.T, strict=True):
        of_class = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        likelier = of_class[rare] / np.maximum(of_class[1 - rare], 1e-300)
        by_columns += np.log1p(_DEPARTS * (likelier - 1))[bins]
    apart = [_apart(scores, population, rare) for scores in (by_rule, by_columns)]
    if min(apart) <= 0:  # noise has hidden the class altogether
        return learned
    steeper = float(np.clip(_APART / apart[0], 1.0, _STEEPER))
    both = (by_rule + apart[0] / apart[1] * by_columns) / 2
    return np.asarray(towards * steeper * both)[:, None]


def _apart(scores: NDArray[np.float64], population: Population, rare: int) -> float:
    """How far the mean score of a class lies above that of the other."""
    is_rare = population.labels == rare
    if not is_rare.any():
        return 0.0
    means = [float(np.average(scores[of], weights=population.weights[of])) for of in (is_rare, ~is_rare)]
    return means[0] - means[1]
