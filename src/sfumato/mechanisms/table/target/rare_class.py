"""Scores of a class that has too few rows for a teacher.

Labels are drawn by what a rule has learned from rows of the generator. Where noise hides much of what is true of the class,
scores hardly tell it from the others: they are made steeper, since from few labels that look like chance a learner learns chance.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.joint.population import Population

#: A class with this part of all rows or more is no exception, and keeps what the rule has learned.
_EXCEPTION = 0.05

#: Scores are made steeper where the class lies less than this above the others, on average; up to so many times.
_NEAR = 8.0
_STEEPER = 3.0


def rare_scores(learned: NDArray[np.float64], population: Population, *, rare: int) -> NDArray[np.float64]:
    """Scores of the second of two classes for every row of the population.

    Args:
        learned: By the rule, one for each row.
        population: The rows, each with the class that it was drawn for.
        rare: The rarer class.
    """
    if np.average(population.labels == rare, weights=population.weights) >= _EXCEPTION:
        return learned
    apart = _apart(learned[:, 0] if rare == 1 else -learned[:, 0], population, rare)
    if apart <= 0:  # noise has hidden the class altogether
        return learned
    return learned * float(np.clip(_NEAR / apart, 1.0, _STEEPER))


def _apart(scores: NDArray[np.float64], population: Population, rare: int) -> float:
    """How far the mean score of a class lies above that of the other."""
    is_rare = population.labels == rare
    if not is_rare.any() or is_rare.all():
        return 0.0
    means = [float(np.average(scores[of], weights=population.weights[of])) for of in (is_rare, ~is_rare)]
    return means[0] - means[1]
