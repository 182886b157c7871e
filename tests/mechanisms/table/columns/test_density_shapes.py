"""Shapes of a density, and what few noisy counts make of them."""

import numpy as np
import pytest
from counting_noise import mass_of
from small_tables import COLUMNS

from sfumato import Column
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.density import Intervals, Mixture, NoisySums, shapes_of

NUMBER = Column(name="x", kind="numeric", bounds=(-15, 15))
BELOW = Column(name="x", kind="numeric", bounds=(-30, -5))
WHOLE = Column(name="x", kind="integer", bounds=(0, 120))


@pytest.mark.parametrize("column", [NUMBER, BELOW, WHOLE], ids=["number", "below zero", "whole"])
def test_every_shape_is_a_density_and_leaves_add_up_to_it(column: Column) -> None:
    cells = Cells(column)
    each, ten = Intervals.of(cells, np.arange(cells.inner)), Intervals.of(cells, np.arange(cells.inner) // 10)
    for shape in shapes_of(cells, COLUMNS)[::37]:
        parts = shape.parts(each)
        assert parts.sum() == pytest.approx(1.0)
        assert (parts >= 0).all()
        np.testing.assert_allclose(
            np.bincount(np.arange(cells.inner) // 10, weights=parts), shape.parts(ten), atol=1e-9
        )


def test_single_values_have_no_part_of_a_shape() -> None:
    cells = Cells(NUMBER)
    for shape in shapes_of(cells, COLUMNS)[::101]:
        assert (shape.parts(Intervals.of(cells, np.arange(cells.inner)))[cells.grid < 0] == 0).all()


def test_a_mixture_lies_between_its_shapes() -> None:
    cells = Cells(WHOLE)
    every = Intervals.of(cells, np.arange(cells.inner))
    along = [shape for shape in shapes_of(cells, COLUMNS) if shape.name == "hump along the grid"]
    low, high = along[0], along[-1]
    mixed = Mixture([low, high], np.array([0.25, 0.75]), COLUMNS.shape_least).parts(every)
    np.testing.assert_allclose(mixed, 0.25 * low.parts(every) + 0.75 * high.parts(every), atol=1e-12)


@pytest.mark.parametrize("middle", [-4.0, 0.0, 6.0])
def test_a_hump_under_much_noise_is_not_spread_over_the_bounds(middle: float) -> None:
    """All rows are twelve standard deviations of a count: the mean is known to a fraction, and the tails are not made of noise."""
    values, middles = middle + 2 * np.random.default_rng(1).standard_normal(500), Cells(NUMBER).middles()
    means, spreads = [], []
    for seed in range(8):
        mass = mass_of(NUMBER, values, stddev=500 / 12, seed=seed) / 500
        means.append(mass @ middles)
        spreads.append(np.sqrt(mass @ (middles - means[-1]) ** 2))
    assert np.median(np.abs(np.array(means) - middle)) < 1.2
    assert 1.0 < np.median(spreads) < 4.0


def test_two_humps_that_are_clear_stay_two() -> None:
    rng = np.random.default_rng(2)
    values = np.where(rng.random(2_000) < 0.4, -8, 8) + rng.standard_normal(2_000)
    mass, middles = mass_of(NUMBER, values, stddev=10.0) / 2_000, Cells(NUMBER).middles()
    assert mass[middles < 0].sum() == pytest.approx(0.4, abs=0.06)
    assert mass[np.abs(middles) < 3].sum() < 0.1


@pytest.mark.parametrize(("low", "high"), [(-15.0, 15.0), (-6.0, 11.0)])
def test_what_is_even_stays_even_though_many_leaves_are_counted(low: float, high: float) -> None:
    """The noise of a leaf is as large as what it holds: by itself none says anything."""
    values, middles = np.linspace(low, high, 1_000), Cells(NUMBER).middles()
    tenth = np.clip((middles - low) / (high - low) * 10, -1, 10).astype(int) + 1  # and what lies outside, at either end
    wanted = np.array([0.0, *[0.1] * 10, 0.0])
    far = []
    for seed in range(6):
        mass = mass_of(NUMBER, values, stddev=9.0, seed=seed) / 1_000
        far.append(
            np.abs(np.bincount(np.where(middles < low, 0, tenth), weights=mass, minlength=12) - wanted).sum() / 2
        )
    assert np.mean(far) < 0.045


def test_all_sums_together_say_of_leaves_what_least_squares_say() -> None:
    rng = np.random.default_rng(3)
    sums = np.vstack([np.eye(4), [[1, 1, 0, 0], [0, 0, 1, 1]], np.ones(4)])
    counts, variances = rng.normal(size=7), rng.uniform(0.5, 2, size=7)
    rows, covariance = NoisySums(sums, counts, variances).of_leaves()
    root = np.sqrt(variances)
    np.testing.assert_allclose(rows, np.linalg.lstsq(sums / root[:, None], counts / root, rcond=None)[0])
    np.testing.assert_allclose(np.linalg.inv(covariance), (sums / variances[:, None]).T @ sums)
