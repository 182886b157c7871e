"""Tables of pairs count where they depart from the population; the rest is noise."""

import numpy as np
import pytest
from small_tables import JOINT, SIZES

from sfumato.mechanisms.table.joint.ordering import bin_lines, category_levels, class_line, halves, levels_of
from sfumato.mechanisms.table.joint.pairs import Levels, PairSums, all_pairs, residual_goals
from sfumato.public.plan.doors import Measured

LEVELS = Levels([np.array([0, 0, 1, 2]), np.array([0, 1, 1]), np.arange(4)], np.array([0, 1, 1]))
TOTAL = 20_000


def rows(*, planted: bool, seed: int = 0):
    """Three columns of bins and a class; where it is planted, the third column is the first."""
    rng = np.random.default_rng(seed)
    bins = np.stack([rng.integers(size, size=TOTAL) for size in (4, 3, 4)], axis=1)
    if planted:
        bins[:, 2] = bins[:, 0]
    return bins, rng.integers(3, size=TOTAL)


def expected(pairs):
    """What the population has where no columns go together."""
    found = []
    for pair in pairs:
        table = np.bincount(LEVELS.of_class, minlength=2) / 3
        for j in pair:
            table = np.multiply.outer(table, np.bincount(LEVELS.of_bin[j]) / len(LEVELS.of_bin[j]))
        found.append(table.ravel())
    return found


def goals(*, planted: bool, stddev: float, seed: int = 0):
    pairs = all_pairs(3)
    codes = LEVELS.coder(pairs)(*rows(planted=planted, seed=seed))
    width = LEVELS.layout(pairs).width
    counts = np.bincount(codes.ravel(), minlength=width) + stddev * np.random.default_rng(9).standard_normal(width)
    sums = PairSums.of_halves(LEVELS, pairs, Measured(counts, stddev))
    return residual_goals(LEVELS, pairs, sums, expected(pairs), JOINT, total=float(TOTAL))


def test_each_row_has_one_place_in_every_table() -> None:
    bins, labels = rows(planted=False)
    layout = LEVELS.layout(all_pairs(3))
    codes = LEVELS.coder(all_pairs(3))(bins, labels)
    assert layout.sizes == (2 * 3 * 2, 2 * 3 * 4, 2 * 2 * 4)
    assert ((codes >= layout.starts) & (codes < layout.starts + layout.sizes)).all()


@pytest.mark.parametrize("groups", [all_pairs(3), [(0, 2), (0, 1), (1, 2)], [(0, 1, 2)], [(1, 2)]])
def test_places_are_the_same_one_by_one_and_along_runs(groups: list[tuple[int, ...]]) -> None:
    bins, labels = rows(planted=True)
    one_by_one = [LEVELS.of_rows(bins, labels).code(group) for group in groups]
    assert np.array_equal(LEVELS.coder(groups)(bins, labels).T - LEVELS.layout(groups).starts[:, None], one_by_one)


def test_a_planted_pair_is_the_strongest_and_its_table_is_near() -> None:
    first = goals(planted=True, stddev=30.0)[0]
    assert first.columns == (0, 2)
    exact = LEVELS.of_rows(*rows(planted=True)).code((0, 2))
    held = np.bincount(exact, minlength=first.table.size) / TOTAL
    assert np.abs(first.table - held).sum() / 2 < 0.02
    assert first.table.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_departs_from_nothing(seed: int) -> None:
    assert goals(planted=False, stddev=300.0, seed=seed) == []


def test_what_both_halves_share_is_split_by_their_rows() -> None:
    """A pair that goes together in all rows alike: the rare half gets its tenth of that, and not half."""
    levels = Levels([np.arange(4)] * 2, np.array([0, 1]))
    rates, together = np.array([0.9, 0.1]), 0.5 * np.eye(4) / 4 + 0.5 / 16
    before = np.multiply.outer(rates, np.full((4, 4), 1 / 16)).ravel()
    noise = 20.0 * np.random.default_rng(3).standard_normal((2, 16))
    signs = np.array([1.0, 1.0]) @ rates, np.array([-1.0, 1.0]) @ rates
    sums = PairSums(*(Measured(TOTAL * s * together.ravel() + n, 20.0) for s, n in zip(signs, noise, strict=True)))
    (goal,) = residual_goals(levels, [(0, 1)], sums, [before], JOINT, total=float(TOTAL))
    rare = goal.table.reshape(2, 4, 4)[1]
    assert rare.sum() == pytest.approx(0.1, abs=0.01)
    assert np.abs(rare / rare.sum() - together).sum() / 2 < 0.05


def test_noise_louder_than_a_rare_half_leaves_it_its_rows() -> None:
    """Among a thousand pairs some contrasts are loud by chance: none may empty the entries of a class of few rows."""
    levels = Levels([np.arange(4)] * 46, np.array([0, 1]))
    pairs, rng = all_pairs(46), np.random.default_rng(4)
    before = np.multiply.outer([0.95, 0.05], np.full(16, 1 / 16)).ravel()
    width = levels.layout(pairs, halves=1).width
    sums = PairSums(
        Measured(TOTAL / 16 + 10.0 * rng.standard_normal(width), 10.0),
        Measured(-0.9 * TOTAL / 16 + 300.0 * rng.standard_normal(width), 300.0),
    )
    found = residual_goals(levels, pairs, sums, [before] * len(pairs), JOINT, total=float(TOTAL))
    assert len(found) <= 2
    assert all(goal.table[16:].min() > 0.2 * 0.05 / 16 for goal in found)


def test_halves_hold_about_half_of_the_rows_each() -> None:
    rates = np.array([0.1, 0.4, 0.2, 0.3])
    half = halves(np.array([3.0, 1.0, 2.0, 0.0]), rates)
    assert rates[half == 0].sum() == pytest.approx(0.5, abs=0.21)
    assert set(half) == {0, 1}
    assert halves(np.zeros(1), np.ones(1)).tolist() == [0]


def test_levels_are_few_and_about_equally_full() -> None:
    mass = np.random.default_rng(0).random(40)
    order = np.random.default_rng(1).permutation(40)
    level = levels_of(mass, order, most=6)
    held = np.bincount(level, weights=mass)
    assert len(held) == 6
    assert held.max() < 2 * held.min()
    assert (np.diff(level[order]) >= 0).all()


def test_categories_are_ordered_by_the_classes_that_they_go_with() -> None:
    from test_class_tables import binnings

    joints = [np.full((2, 9), 1 / 18), np.array([[0.2, 0.0, 0.1, 0.2], [0.0, 0.3, 0.1, 0.1]]), np.full((2, 9), 1 / 18)]
    lines = bin_lines(binnings(), joints, np.arange(2.0))
    assert lines[0].order.tolist() == list(range(9))
    assert lines[1].order.tolist() == [0, 3, 2, 1]


def test_classes_with_similar_rows_lie_side_by_side() -> None:
    given = np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    line = class_line([given / 4], np.full(4, 0.25))
    assert {frozenset(np.argsort(line)[:2]), frozenset(np.argsort(line)[2:])} == {frozenset({0, 2}), frozenset({1, 3})}


def test_categories_have_more_levels_the_more_rows_a_cell_would_hold() -> None:
    assert [category_levels(rows_over_noise, SIZES) for rows_over_noise in (0.0, 100.0, 200.0, 1e6)] == [6, 6, 8, 12]
