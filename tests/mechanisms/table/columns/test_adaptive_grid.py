"""Grids that follow the rows: where few coarse parts hold nearly all of them, these get most of the cells."""

import numpy as np
import pytest
from small_tables import COLUMNS, SIZES

from sfumato import Column
from sfumato.mechanisms.common.cells import Cells, coarse_parts
from sfumato.mechanisms.table.columns.adaptive_grid import Coarse
from sfumato.mechanisms.table.columns.features import Feature

FAR = Column(name="x", kind="numeric", bounds=(0, 1_000))
AROUND_ZERO = Column(name="x", kind="numeric", bounds=(-300, 1_000), missing=True)
N_PARTS, CELLS = 32, SIZES.cells


def coarse(feature: Feature, values: np.ndarray, *, stddev: float = 10.0, seed: int = 0) -> Coarse:
    part = coarse_parts(feature.cells, n_parts=N_PARTS)
    counts = np.bincount(part[feature.cells.code(values)], minlength=int(part.max()) + 1)
    noise = np.random.default_rng(seed).standard_normal(len(counts))
    return Coarse(feature, part, counts + stddev * noise, stddev)


def twice(column: Column, values: np.ndarray) -> Coarse:
    first = coarse(Feature(Cells(column)), values)
    second = coarse(first.closer(N_PARTS, COLUMNS), values, seed=1)
    return first.with_another(second).turned(N_PARTS, COLUMNS)


def around(centre: float, scale: float, n_rows: int = 5_000) -> np.ndarray:
    return centre + scale * np.random.default_rng(3).standard_normal(n_rows)


@pytest.mark.parametrize(("column", "centre"), [(FAR, 700.0), (AROUND_ZERO, 600.0), (AROUND_ZERO, 0.02)])
def test_rows_in_a_sliver_of_the_bounds_come_to_lie_in_many_cells(column: Column, centre: float) -> None:
    values = around(centre, 0.5 if centre > 1 else 0.005)
    before, after = Cells(column), twice(column, values).feature.cells
    assert len(np.unique(after.code(values))) > 8 * len(np.unique(before.code(values)))


def test_rows_that_lie_apart_leave_the_grid_as_it_is() -> None:
    one = twice(FAR, np.random.default_rng(0).uniform(0, 1_000, size=5_000))
    assert one.feature.cells == Cells(FAR)
    assert one.stddev == pytest.approx(10 / np.sqrt(2))  # both counts are of the same parts


def test_few_rows_are_not_spread_until_none_is_seen() -> None:
    """Most rows are zeros, which stand alone; the others lie in two parts, and in twenty they would be below the noise."""
    losses = np.concatenate([np.zeros(20_000), around(700.0, 20.0, n_rows=1_000)])
    one = coarse(Feature(Cells(FAR)), losses, stddev=100.0)
    assert one.closer(N_PARTS, COLUMNS).cells == Cells(FAR)


def test_noise_alone_leaves_the_grid_as_it_is() -> None:
    for seed in range(20):
        one = coarse(Feature(Cells(FAR)), np.zeros(0), stddev=50.0, seed=seed)
        assert one.closer(N_PARTS, COLUMNS).cells == Cells(FAR)


@pytest.mark.parametrize("column", [FAR, AROUND_ZERO])
def test_a_turned_grid_holds_every_value_and_gives_it_back(column: Column) -> None:
    cells = twice(column, around(700.0, 0.5)).feature.cells
    assert cells.turns
    values = np.linspace(column.low, column.high, 5_001)
    codes = cells.code(values)
    assert cells.count == Cells(column).count
    assert (np.diff(codes) >= 0).all()
    on_grid = cells.grid[codes] >= 0
    edges = np.array([cells.edges(int(code)) for code in codes[on_grid]])
    slack = 1e-9 * (column.high - column.low)
    assert (edges[:, 0] - slack <= values[on_grid]).all()
    assert (values[on_grid] <= edges[:, 1] + slack).all()
    drawn = cells.draw(codes, np.random.default_rng(0))
    assert cells.code(drawn).tolist() == codes.tolist()


@pytest.mark.parametrize("column", [FAR, AROUND_ZERO])
def test_what_was_counted_stays_with_its_parts(column: Column) -> None:
    values = around(700.0, 0.5)
    first = coarse(Feature(Cells(column)), values, stddev=0.001)
    second = coarse(first.closer(N_PARTS, COLUMNS), values, stddev=0.001)
    closest = second.turned(N_PARTS, COLUMNS)
    assert closest.feature.cells.turns != second.feature.cells.turns
    assert closest.counts.sum() == pytest.approx(second.counts.sum())
    exact = np.bincount(closest.part[closest.feature.cells.code(values)], minlength=len(closest.counts))
    assert closest.counts == pytest.approx(exact, abs=0.1)
    assert set(closest.part.tolist()) == set(range(len(closest.counts)))


def test_all_cells_are_dealt_out() -> None:
    cells = twice(FAR, around(700.0, 0.5)).feature.cells
    assert all(sum(counts) == CELLS and min(counts) > 0 for counts in cells.turns)


def test_lists_of_values_have_no_grid() -> None:
    assert not Cells(Column(name="x", kind="integer", bounds=(0, 100))).on_grid
    assert not Cells(Column(name="x", kind="categorical", categories=("a", "b"))).on_grid
