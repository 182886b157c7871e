"""Scores of a class that has too few rows for a teacher.

Labels are drawn by what a rule has learned from rows of the generator. Where noise hides much of what is true of the class,
scores hardly tell it from the others: they are made steeper, since from few labels that look like chance a learner learns chance.
Where the class is far from all others, a rule that was learned from rows which depart in every column at once counts a column in
which a row is like all others against it. Real ones depart in some columns: so a score is then in part a sum over columns in
which departing is an exception.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.population import Population

#: A class with this part of all rows or more is no exception, and keeps what the rule has learned.
_EXCEPTION = 0.05

#: Scores are made steeper where the class lies less than this above the others, on average; up to so many times.
_NEAR = 8.0
_STEEPER = 3.0

#: From here on columns are summed, by and by: this part of a score where the class lies so much farther above the others.
_FAR = 15.0
_FARTHER = 5.0
_BY_COLUMNS = 0.5

#: The chance that a row of the class departs in a column, where columns are summed.
_DEPARTS = 0.3


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
    apart = _apart(by_rule, population, rare)
    if apart <= 0:  # noise has hidden the class altogether
        return learned
    if apart <= _FAR:
        return learned * float(np.clip(_NEAR / apart, 1.0, _STEEPER))
    sums = _sums(joints, population.rows, rare)
    part = _BY_COLUMNS * min((apart - _FAR) / _FARTHER, 1.0)
    as_far = apart / _apart(sums, population, rare)
    return np.asarray(towards * ((1 - part) * by_rule + part * as_far * sums))[:, None]


def _sums(joints: Sequence[NDArray[np.float64]], rows: NDArray[np.int64], rare: int) -> NDArray[np.float64]:
    """Over columns, of how much likelier a bin is in the class, where rows depart seldom and by themselves in each."""
    sums = np.zeros(len(rows))
    for joint, bins in zip(joints, rows.T, strict=True):
        of_class = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        likelier = of_class[rare] / np.maximum(of_class[1 - rare], 1e-300)
        sums += np.log1p(_DEPARTS * (likelier - 1))[bins]
    return sums


def _apart(scores: NDArray[np.float64], population: Population, rare: int) -> float:
    """How far the mean score of a class lies above that of the other."""
    is_rare = population.labels == rare
    if not is_rare.any() or is_rare.all():
        return 0.0
    means = [float(np.average(scores[of], weights=population.weights[of])) for of in (is_rare, ~is_rare)]
    return means[0] - means[1]
