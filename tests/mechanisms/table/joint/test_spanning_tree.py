"""Fine tables of a tree of pairs: columns that determine each other keep doing so."""

import numpy as np
import pytest
from small_tables import JOINT

from sfumato.mechanisms.table.joint.ordering import levels_of
from sfumato.mechanisms.table.joint.pairs import Goal, Levels
from sfumato.mechanisms.table.joint.spanning_tree import Link, fine_link, strongest_tree

TOTAL = 10_000.0
MARGIN = np.full(12, 1 / 12)
LEVEL = levels_of(MARGIN, np.arange(12), most=6)
LEVELS = Levels([LEVEL, LEVEL], np.array([0, 1]))


def link(exact, *, stddev: float, population=None) -> Link:
    """From an exact table of probabilities, with noise on its counts."""
    coarse = np.zeros((6, 6))
    np.add.at(coarse, (LEVEL[:, None], LEVEL[None]), exact)
    goal = Goal((0, 1), np.stack([coarse, coarse]).ravel() / 2, 1.0)
    noise = stddev * np.random.default_rng(0).standard_normal(exact.shape)
    before = np.outer(MARGIN, MARGIN) if population is None else population
    return fine_link(
        goal, LEVELS, TOTAL * exact + noise, before, (MARGIN, MARGIN), JOINT, total=TOTAL, stddev=max(stddev, 1e-9)
    )


@pytest.mark.parametrize("stddev", [0.0, 20.0])
def test_a_column_that_another_determines_stays_determined(stddev: float) -> None:
    shuffled = np.random.default_rng(1).permutation(12)
    exact = np.eye(12)[shuffled] / 12
    found = link(exact, stddev=stddev)
    assert np.abs(found.table - exact).sum() / 2 < 0.05
    assert found.table.argmax(axis=1).tolist() == shuffled.argsort().argsort().tolist()


def test_both_margins_are_kept() -> None:
    found = link(np.eye(12) / 12, stddev=30.0)
    assert found.table.sum(axis=0) == pytest.approx(MARGIN, abs=3e-3)
    assert found.table.sum(axis=1) == pytest.approx(MARGIN, abs=3e-3)


def test_where_nothing_stands_out_the_population_is_followed() -> None:
    alone = np.outer(MARGIN, MARGIN)
    assert np.abs(link(alone, stddev=40.0).table - alone).sum() / 2 < 0.15


def test_given_turns_the_table_to_its_parent() -> None:
    table = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(Link(4, 7, table).given(4), table)
    assert np.array_equal(Link(4, 7, table).given(7), table.T)


def test_a_tree_has_no_circle_and_takes_the_strongest_first() -> None:
    pairs = [(0, 3), (1, 2), (0, 1), (2, 3), (0, 2), (3, 4)]
    assert strongest_tree(pairs, n_columns=5) == [(0, 3), (1, 2), (0, 1), (3, 4)]
    assert strongest_tree([], n_columns=3) == []


def test_each_row_has_one_place_in_every_link() -> None:
    sizes, pairs = (4, 3, 5), [(0, 2), (1, 2)]
    bins, labels = np.array([[3, 2, 4], [0, 0, 0]]), np.array([1, 0])
    fine = Levels([np.zeros(size, dtype=np.int64) for size in sizes], np.array([0, 1])).of_every_bin()
    assert fine.layout(pairs).sizes == (20, 15)
    assert fine.coder(pairs)(bins, labels).tolist() == [[19, 34], [0, 20]]
