"""Scores of a class with few rows: steeper where noise hides it, and as they were learned where it is no exception."""

import numpy as np
import pytest
from numpy.typing import NDArray
from small_tables import TARGET

from sfumato.mechanisms.table.joint.population import Population
from sfumato.mechanisms.table.target.labels import rare_steepness

N_ROWS = 40_000


def population(*, rate: float = 0.01) -> Population:
    """As the generator has it: half of the rows are of the class, and weigh less."""
    labels = np.random.default_rng(0).integers(2, size=N_ROWS)
    rows = np.zeros((N_ROWS, 1), dtype=np.int64)
    return Population(labels, rows, np.where(labels == 1, rate, 1 - rate), np.zeros((0, 0)))


def learned(of: Population, *, apart: float) -> NDArray[np.float64]:
    """Scores whose means of the two classes lie so far apart."""
    scores = np.random.default_rng(1).normal(size=(len(of.labels), 1)) + 3.0 * of.labels[:, None]
    return scores * (apart / _apart(scores, of.labels))


@pytest.mark.parametrize(("apart", "reached"), [(0.5, 1.5), (3.0, 8.0), (7.0, 8.0), (12.0, 12.0), (30.0, 30.0)])
def test_a_class_that_noise_has_nearly_hidden_is_told_apart_more_steeply(apart: float, reached: float) -> None:
    of = population()
    scores = learned(of, apart=apart)
    scores = scores * rare_steepness(scores, of, TARGET, rare=1)
    assert _apart(scores, of.labels) == pytest.approx(reached)


def test_either_class_may_be_the_rare_one() -> None:
    of = population()
    turned = Population(1 - of.labels, of.rows, of.weights, of.gauss)
    scores = learned(of, apart=3.0)
    steepness = rare_steepness(scores, of, TARGET, rare=1)
    assert steepness > 1
    assert rare_steepness(-scores, turned, TARGET, rare=0) == pytest.approx(steepness)


def test_a_class_of_many_rows_and_one_that_nothing_tells_keep_their_rule() -> None:
    many = population(rate=0.3)
    scores = learned(many, apart=3.0)
    assert rare_steepness(scores, many, TARGET, rare=1) == 1.0
    nothing = np.zeros((N_ROWS, 1))
    assert rare_steepness(nothing, population(), TARGET, rare=1) == 1.0
    alone = Population(np.zeros(N_ROWS, dtype=np.int64), many.rows, many.weights, many.gauss)
    assert rare_steepness(scores, alone, TARGET, rare=1) == 1.0


def _apart(scores: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    return float(scores[labels == 1].mean() - scores[labels == 0].mean())
