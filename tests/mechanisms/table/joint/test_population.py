"""A population of weighted rows that agrees with all tables at once."""

import numpy as np
import pytest
from small_tables import JOINT, SAMPLING

from sfumato.mechanisms.common.simplex import draw_each
from sfumato.mechanisms.table.joint.ordering import Line
from sfumato.mechanisms.table.joint.pairs import Levels
from sfumato.mechanisms.table.joint.population import Population, first_population, raked, with_links
from sfumato.mechanisms.table.joint.spanning_tree import Link

RATES = np.array([0.7, 0.28, 0.02])
LINES = [Line(np.arange(5)), Line(np.array([2, 0, 1]))]


def joints(seed: int = 0):
    given = [np.random.default_rng(seed).dirichlet(np.full(size, 2.0), size=3) for size in (5, 3)]
    return [RATES[:, None] * g for g in given]


def first(correlation: float = 0.0) -> Population:
    matrix = np.array([[1.0, correlation], [correlation, 1.0]])
    return first_population(RATES, joints(), LINES, np.repeat(matrix[None], 3, axis=0), n_rows=100_000, seed=0)


def held(population: Population, j: int, size: int):
    return population.share_of(population.labels * size + population.rows[:, j], 3 * size).reshape(3, size)


def test_it_starts_with_the_tables_of_every_class() -> None:
    for j, joint in enumerate(joints()):
        assert np.abs(held(first(), j, joint.shape[1]) - joint).sum() / 2 < 0.02


def test_a_rare_class_has_rows_to_choose_from() -> None:
    assert (first().labels == 2).mean() > 0.1


def test_correlations_order_the_bins_of_two_columns() -> None:
    rows = first(0.9)
    place = np.argsort(LINES[1].order)[rows.rows[:, 1]]
    assert np.corrcoef(rows.rows[:, 0], place)[0, 1] > 0.6
    assert abs(np.corrcoef(first().rows.T)[0, 1]) < 0.15


def test_raking_meets_goals_that_agree() -> None:
    population, tables = first(), joints(seed=3)
    exact = np.random.default_rng(1).dirichlet(np.ones(15))
    pair = population.rows[:, 0] * 3 + population.rows[:, 1]
    by_first = exact.reshape(5, 3).sum(axis=1)
    goals = [(pair, exact), (population.rows[:, 0], by_first), (population.labels, tables[0].sum(axis=1))]
    after = raked(population, goals, JOINT)
    for codes, goal in goals:
        assert after.share_of(codes, len(goal)) == pytest.approx(goal, abs=2e-3)
    assert after.weights.sum() == pytest.approx(1.0)
    assert np.array_equal(after.rows, population.rows)


def test_goals_that_nobody_can_meet_leave_weights() -> None:
    population = first()
    impossible = [(population.labels, np.array([0.5, 0.5, 0.0])), (population.labels, np.array([0.0, 0.1, 0.9]))]
    after = raked(population, impossible, JOINT)
    assert np.isfinite(after.weights).all()
    assert (after.weights >= 0).all()
    assert after.weights.sum() == pytest.approx(1.0)


def test_rows_are_drawn_as_often_as_they_weigh() -> None:
    weights = np.array([0.1, 0.6, 0.3])
    population = Population(np.arange(3), np.zeros((3, 1), dtype=np.int64), weights, np.zeros((3, 1)))
    drawn = np.bincount(population.draw(1_000, np.random.default_rng(0)), minlength=3)
    assert np.abs(drawn - 1_000 * weights).max() <= 1


def test_every_bin_is_drawn_about_as_often_as_its_rows_weigh() -> None:
    """Of 400 rows in twelve columns of ten bins: drawn one by one, a bin would be off by 6."""
    rng = np.random.default_rng(2)
    rows, weights = rng.integers(0, 10, size=(20_000, 12)), rng.random(20_000)
    population = Population(rng.integers(0, 2, 20_000), rows, weights / weights.sum(), np.zeros((20_000, 12)))

    def off(drawn: np.ndarray) -> float:
        wanted = [400 * population.share_of(column, 10) for column in rows.T]
        held = [np.bincount(column, minlength=10) for column in rows[drawn].T]
        return float(np.sqrt(np.mean(np.square(np.array(held) - wanted))))

    drawn = population.draw_balanced(400, rng, SAMPLING)
    assert len(drawn) == 400
    assert off(rng.choice(20_000, 400, p=population.weights)) > 5
    assert off(drawn) < 2.5
    assert len(population.draw_balanced(0, rng, SAMPLING)) == 0


def test_one_draw_for_each_row_at_its_quantile() -> None:
    table = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 2.0]])
    assert draw_each(table, np.array([0, 0, 1]), np.array([0.1, 0.9, 0.3])).tolist() == [0, 1, 2]


def test_links_draw_a_column_from_its_parent() -> None:
    rates = np.array([0.5, 0.5])
    even = [np.full((2, 4), 1 / 8)] * 2
    lines = [Line(np.arange(4))] * 2
    correlation = np.repeat(np.eye(2)[None], 2, axis=0)
    before = first_population(rates, even, lines, correlation, n_rows=100_000, seed=0)
    levels = Levels([np.arange(4)] * 2, np.array([0, 1]))
    after = with_links(before, [Link(0, 1, np.eye(4) / 4)], even, lines, correlation, levels, JOINT)
    assert (after.rows[:, 0] == after.rows[:, 1]).mean() > 0.99


def test_missing_values_are_drawn_by_chance_whatever_the_gaussian_says() -> None:
    """The last bin of the first column, by class; links say which rows have them."""
    rates, correlation = np.array([0.6, 0.4]), np.repeat(np.array([[1.0, 0.8], [0.8, 1.0]])[None], 2, axis=0)
    some_missing = np.array([[0.3, 0.1, 0.2], [0.1, 0.1, 0.2]])
    joints, lines = [some_missing, some_missing], [Line(np.arange(3), has_missing=True)] * 2
    before = first_population(rates, joints, lines, correlation, n_rows=200_000, seed=0)
    gone = before.rows == 2
    for c in (0, 1):
        mine = before.labels == c
        assert gone[mine].mean(axis=0) == pytest.approx(0.2 / rates[c] * np.ones(2), abs=0.01)
        assert (gone[mine, 0] & gone[mine, 1]).mean() == pytest.approx((0.2 / rates[c]) ** 2, abs=0.01)
    table = np.zeros((3, 3))
    table[:2, :2], table[2, 2] = np.array([[0.3, 0.1], [0.1, 0.1]]), 0.4
    levels = Levels([np.arange(3)] * 2, np.array([0, 0]))
    after = with_links(before, [Link(0, 1, table)], joints, lines, correlation, levels, JOINT)
    assert ((after.rows[:, 0] == 2) == (after.rows[:, 1] == 2)).mean() > 0.99


def test_links_keep_what_each_class_has_in_both_columns() -> None:
    """Parent and child both lean with the class: what the parent brings along is not added to the child once more."""
    lean = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]]) / 2
    lines, correlation = [Line(np.arange(4))] * 2, np.repeat(np.eye(2)[None], 2, axis=0)
    before = first_population(np.array([0.5, 0.5]), [lean] * 2, lines, correlation, n_rows=100_000, seed=0)
    link = Link(0, 1, 0.7 * np.eye(4) / 4 + 0.3 / 16)
    levels = Levels([np.arange(4)] * 2, np.array([0, 1]))
    after = with_links(before, [link], [lean] * 2, lines, correlation, levels, JOINT)
    for c in (0, 1):
        held = np.bincount(after.rows[after.labels == c, 1], minlength=4) / (after.labels == c).sum()
        assert held == pytest.approx(2 * lean[c], abs=0.01)
