"""Scores of a class with few rows: steeper where noise hides it, by columns where it is far, and its rule where it is no exception."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from sfumato.mechanisms.table.population import Population
from sfumato.mechanisms.table.rare_class import rare_scores

N_COLUMNS, N_BINS, N_ROWS = 12, 8, 40_000
COMMON = np.full(N_BINS, 1 / N_BINS)
DEPARTED = 3.0 ** np.arange(N_BINS) / (3.0 ** np.arange(N_BINS)).sum()


def joints(*, rate: float = 0.01) -> list[NDArray[np.float64]]:
    """Every column of the class lies mostly in its last bins, and hardly ever in the first."""
    return [np.stack([(1 - rate) * COMMON, rate * DEPARTED])] * N_COLUMNS


def drawn(labels: NDArray[np.int64], rng: np.random.Generator, *, departs: float) -> NDArray[np.int64]:
    """Rows whose class departs in so many of its columns."""
    shape = len(labels), N_COLUMNS
    own = (labels == 1)[:, None] & (rng.random(shape) < departs)
    return np.where(own, rng.choice(N_BINS, shape, p=DEPARTED), rng.integers(N_BINS, size=shape))


def population(*, rate: float = 0.01) -> Population:
    """As the generator has it: the class departs in all columns at once; half of the rows are of it and weigh less."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=N_ROWS)
    return Population(labels, drawn(labels, rng, departs=1.0), np.where(labels == 1, rate, 1 - rate), np.zeros((0, 0)))


def naive(rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """What a rule learns where columns are independent."""
    return np.asarray(np.log(DEPARTED / COMMON)[rows].sum(axis=1))[:, None]


def test_rows_that_depart_in_few_columns_are_found() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(2, size=N_ROWS)
    real = Population(labels, drawn(labels, rng, departs=0.25), np.where(labels == 1, 0.01, 0.99), np.zeros((0, 0)))
    by_rule = naive(real.rows)
    by_rule *= 25 / _apart(by_rule, labels)  # as far apart as the generator's own rows would be
    scores = rare_scores(by_rule, joints(), real, rare=1)
    assert roc_auc_score(labels, scores[:, 0]) > roc_auc_score(labels, by_rule[:, 0]) + 0.01


def test_scores_stay_as_far_apart_as_they_were_learned_where_the_class_is_clear() -> None:
    of = population()
    learned = naive(of.rows)
    before, after = (_apart(scores, of.labels) for scores in (learned, rare_scores(learned, joints(), of, rare=1)))
    assert before > 20
    assert after == pytest.approx(before)


@pytest.mark.parametrize(("apart", "reached"), [(0.5, 1.5), (3.0, 8.0), (7.0, 8.0), (12.0, 12.0)])
def test_a_class_that_noise_has_nearly_hidden_is_told_apart_more_steeply(apart: float, reached: float) -> None:
    of = population()
    learned = naive(of.rows)
    learned *= apart / _apart(learned, of.labels)
    scores = rare_scores(learned, joints(), of, rare=1)
    assert _apart(scores, of.labels) == pytest.approx(reached)


def test_columns_are_summed_by_and_by() -> None:
    """A class a little farther from the others is not told by another rule."""
    of = population()
    learned = naive(of.rows)
    learned /= _apart(learned, of.labels)
    ends = [rare_scores(apart * learned, joints(), of, rare=1) / apart for apart in (14.99, 15.01)]
    assert np.abs(ends[0] - ends[1]).max() < 0.01


def test_either_class_may_be_the_rare_one() -> None:
    of = population()
    learned = naive(of.rows)
    turned = Population(1 - of.labels, of.rows, of.weights, of.gauss)
    swapped = [joint[::-1] for joint in joints()]
    expected = rare_scores(learned, joints(), of, rare=1)
    assert rare_scores(-learned, swapped, turned, rare=0) == pytest.approx(-expected)


def test_a_class_of_many_rows_and_one_that_nothing_tells_keep_their_rule() -> None:
    many = population(rate=0.3)
    learned = naive(many.rows)
    assert rare_scores(learned, joints(rate=0.3), many, rare=1) is learned
    nothing = np.zeros((N_ROWS, 1))
    assert rare_scores(nothing, joints(), population(), rare=1) is nothing
    alone = Population(np.zeros(N_ROWS, dtype=np.int64), many.rows, many.weights, many.gauss)
    assert rare_scores(learned, joints(), alone, rare=1) is learned


def _apart(scores: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    return float(scores[labels == 1].mean() - scores[labels == 0].mean())
