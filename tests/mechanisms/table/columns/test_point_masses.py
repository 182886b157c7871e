"""Single values that many rows share are found to the last digit, and none where there are none."""

import numpy as np
import pytest
from counting_noise import mass_of
from small_tables import COLUMNS, SIZES

from sfumato import Column
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.point_masses import heavy_cells, zoom_width

COLUMN = Column(name="x", kind="numeric", bounds=(0, 1_000))


def found(values, *, stddev: float, seed: int = 0, column: Column = COLUMN):
    """What the looks find, with noise on every count."""
    cells, rng = Cells(column), np.random.default_rng(seed)
    values = np.asarray(values, dtype=float)
    zoom = heavy_cells(cells, mass_of(column, values, stddev=stddev, seed=seed), COLUMNS, SIZES, stddev=stddev)
    for _ in range(SIZES.zoom_looks if len(zoom.heavy) else 0):
        codes = zoom.codes(values, cells.code(values))
        counts = np.bincount(codes[codes >= 0], minlength=zoom_width(1, SIZES)).astype(float)
        zoom = zoom.narrowed(counts + stddev * rng.standard_normal(counts.size), COLUMNS, stddev=stddev)
    return zoom.point_masses(COLUMNS)


def even(n_rows: int, *, seed: int = 1):
    return np.random.default_rng(seed).uniform(0, 1_000, n_rows)


@pytest.mark.parametrize("value", [123.45, 0.07, 999.0, 500.0, 1 / 3])
def test_a_planted_value_is_found_with_its_share(value: float) -> None:
    spikes = found(np.concatenate([np.full(3_000, value), even(7_000)]), stddev=5.0)
    cell = int(Cells(COLUMN).code(np.array([value]))[0])
    assert list(spikes.of_cell) == [cell]
    assert spikes.of_cell[cell].value == pytest.approx(value, abs=1e-6)
    assert spikes.of_cell[cell].part > 0.9


def test_a_round_value_is_found_exactly() -> None:
    spikes = found(np.concatenate([np.full(3_000, 123.45), even(7_000)]), stddev=5.0)
    assert [spike.value for spike in spikes.of_cell.values()] == [123.45]


def test_decimals_are_those_that_all_spikes_have() -> None:
    prices = np.repeat([1.99, 4.5, 9.99, 19.95, 120.0], 1_000)
    assert found(np.concatenate([prices, even(2_000)]), stddev=5.0).decimals == 2
    assert found(np.concatenate([np.full(3_000, 4.5), even(7_000)]), stddev=5.0).decimals is None


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_makes_no_spikes(seed: int) -> None:
    assert not found(even(10_000, seed=seed), stddev=30.0, seed=seed).of_cell
    assert not found(even(200, seed=seed), stddev=30.0, seed=seed).of_cell


def test_a_row_is_in_one_part_and_only_where_its_cell_is_heavy() -> None:
    values = np.concatenate([np.full(3_000, 123.45), even(7_000)])
    cells = Cells(COLUMN)
    zoom = heavy_cells(cells, mass_of(COLUMN, values, stddev=5.0), COLUMNS, SIZES, stddev=5.0)
    codes = zoom.codes(values, cells.code(values))
    assert codes.shape == values.shape
    assert (codes[:3_000] >= 0).all()
    assert np.array_equal(codes >= 0, np.isin(cells.code(values), zoom.heavy))
    assert codes.max() < zoom_width(1, SIZES)


def test_only_cells_of_several_values_can_hide_a_spike() -> None:
    assert Cells(COLUMN).on_grid
    assert not Cells(Column(name="x", kind="integer", bounds=(0, 9))).on_grid
    assert not Cells(Column(name="x", kind="boolean")).on_grid
