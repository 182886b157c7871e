"""How finely a column is counted follows the evidence."""

import numpy as np
import pytest
from counting_noise import counted, mass_of

from sfumato import Column
from sfumato.mechanisms.common.cells import Cells

WIDE = Column(name="x", kind="numeric", bounds=(-1000, 1000), missing=True)
WHOLE = Column(name="x", kind="integer", bounds=(0, 500))
CODES = Column(name="x", kind="categorical", categories=tuple(f"k{i}" for i in range(200)))


def normal(n_rows: int, *, scale: float = 1.0):
    return scale * np.random.default_rng(5).standard_normal(n_rows)


@pytest.mark.parametrize("stddev", [0.0, 3.0, 300.0])
@pytest.mark.parametrize("column", [WIDE, WHOLE, CODES], ids=["wide", "whole", "codes"])
def test_mass_adds_up_and_is_never_negative(column: Column, stddev: float) -> None:
    values = np.abs(normal(2_000, scale=30)).astype(int)
    mass = mass_of(column, values, stddev=stddev)
    assert len(mass) == Cells(column).count
    assert mass.sum() == pytest.approx(2_000)
    assert (mass >= 0).all()


def test_leaves_lie_within_parts_and_more_rows_give_more_of_them() -> None:
    few, many = (counted(WIDE, normal(n), stddev=5.0) for n in (300, 30_000))
    for one in (few, many):
        assert (np.diff(one.part) >= 0).all()
        for leaf in range(one.leaf.max() + 1):
            assert len(np.unique(one.part[one.leaf == leaf])) == 1
    assert many.leaf.max() > 2 * few.leaf.max()


@pytest.mark.parametrize("n_rows", [1_000, 30_000])
def test_noise_far_from_all_rows_is_emptied(n_rows: int) -> None:
    far = np.abs(Cells(WIDE).middles()) > 100
    for seed in range(5):
        mass = mass_of(WIDE, normal(n_rows), stddev=10.0, seed=seed)
        assert mass[:-1][far].sum() < 0.01 * n_rows


def test_missing_values_keep_their_share() -> None:
    values = np.where(np.arange(5_000) % 4 == 0, np.nan, normal(5_000))
    assert mass_of(WIDE, values, stddev=10.0)[-1] == pytest.approx(1250, abs=60)


@pytest.mark.parametrize("n_rows", [2_000, 50_000])
def test_a_value_that_many_rows_share_survives(n_rows: int) -> None:
    values = np.random.default_rng(0).integers(0, 501, size=n_rows)
    values[: n_rows // 2] = 400
    mass = mass_of(WHOLE, values, stddev=5.0)
    near = mass[395:406].sum() if n_rows < 10_000 else mass[400]
    assert near == pytest.approx(n_rows / 2, rel=0.15)


def test_the_shape_of_few_rows_is_found() -> None:
    values = normal(400, scale=40) + 250
    mass = mass_of(WHOLE, values, stddev=8.0)
    middles = Cells(WHOLE).middles()
    mean = mass @ middles / mass.sum()
    assert mean == pytest.approx(250, abs=10)
    assert np.sqrt(mass @ (middles - mean) ** 2 / mass.sum()) == pytest.approx(40, rel=0.4)


def test_rare_categories_are_alike_and_common_ones_counted() -> None:
    values = np.concatenate([np.full(4_000, 17), np.random.default_rng(0).integers(0, 200, size=1_000)])
    mass = mass_of(CODES, values, stddev=20.0)
    assert mass[17] == pytest.approx(4_005, abs=100)
    assert np.quantile(np.delete(mass, 17), 0.95) < 6  # noise lifts one or two of so many


def test_rows_on_both_sides_of_a_single_value_are_kept() -> None:
    """Zero stands alone in the middle of the grid, and is empty here: the noise test goes on beyond it."""
    values = normal(500, scale=300)
    middles = Cells(WIDE).middles()
    for seed in range(8):
        mass = mass_of(WIDE, values, stddev=12.0, seed=seed)[: len(middles)]
        assert 0.3 < mass[middles < 0].sum() / mass.sum() < 0.7


def test_rows_too_thin_to_be_seen_anywhere_are_not_cut_away() -> None:
    even = np.random.default_rng(6).uniform(-1000, 1000, 300)
    for seed in range(8):
        mass = mass_of(WIDE, even, stddev=25.0, seed=seed)
        assert mass.max() < 0.7 * mass.sum()
