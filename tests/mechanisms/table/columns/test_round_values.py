"""Heavy cells that no look has resolved come out as their roundest number, and nothing else is moved."""

import numpy as np
import pandas as pd
import pytest
from small_tables import COLUMNS

import sfumato as sf
from sfumato import Column
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.point_masses import PointMass, PointMasses, with_decimals, with_round_values

GRID = Cells(Column(name="x", kind="numeric", bounds=(-10, 10)))


def mass_at(*values: float, rows: float) -> np.ndarray:
    return rows * np.bincount(GRID.code(np.array(values)), minlength=GRID.count).astype(float)


def test_a_heavy_cell_is_its_roundest_number() -> None:
    spikes = with_round_values(GRID, mass_at(1.5, 2.0, 2.5, rows=500) + 2.0, PointMasses(), COLUMNS, stddev=10.0)
    assert sorted(spike.value for spike in spikes.of_cell.values()) == [1.5, 2.0, 2.5]
    assert all(spike.part > 0.9 for spike in spikes.of_cell.values())
    assert spikes.decimals is None


def test_what_a_look_has_found_stays() -> None:
    cell = int(GRID.code(np.array([1.503]))[0])
    known = PointMasses({cell: PointMass(1.503, 0.7)}, 3)
    assert with_round_values(GRID, mass_at(1.5, rows=500), known, COLUMNS, stddev=10.0) == known


def test_noise_and_smooth_shapes_hold_no_single_values() -> None:
    smooth = 500 * np.exp(-(GRID.middles() ** 2))
    assert not with_round_values(GRID, smooth, PointMasses(), COLUMNS, stddev=10.0).of_cell
    assert not with_round_values(GRID, mass_at(1.5, rows=70), PointMasses(), COLUMNS, stddev=10.0).of_cell
    apart = np.where(GRID.grid < 0, 0.0, smooth)  # no row is zero, and beyond 1 everything was emptied
    apart[GRID.middles() > 1] = 0.0
    assert not with_round_values(GRID, apart, PointMasses(), COLUMNS, stddev=10.0).of_cell


@pytest.mark.slow
def test_numbers_in_steps_come_out_in_steps() -> None:
    rng = np.random.default_rng(0)
    steps = np.round(2 * rng.normal(size=(10_000, 8))) / 2
    columns = [Column(name=f"x{j}", kind="numeric", bounds=(-10, 10)) for j in range(8)]
    frame = pd.DataFrame({f"x{j}": steps[:, j] for j in range(8)} | {"y": steps[:, 0] > 0})
    schema = sf.Schema(columns=(*columns, Column(name="y", kind="boolean")), target="y", rows=10_000)
    model = sf.fit("3a-table", sf.Sensitive.read(frame, schema), sf.Budget(epsilon=1.0, delta=1e-5), seed=0).model
    released = model.sample(10_000, seed=0).table[[f"x{j}" for j in range(8)]].to_numpy()
    assert (
        np.mean(released * 2 == np.round(released * 2)) > 0.66
    )  # three releases had .76 to .78, and .53 to .54 without


def test_values_beside_point_masses_have_as_many_decimals() -> None:
    cells = Cells(Column(name="x", kind="numeric", bounds=(0, 1_000)))
    mass = np.where((cells.middles() > 50) & (cells.middles() < 150), 20.0, 0.0)
    known = PointMasses({int(cells.code(np.array([127.0]))[0]): PointMass(127.0, 0.9)}, None)
    decimals = with_decimals(cells, mass, known, COLUMNS).decimals
    assert decimals is not None
    ends = np.stack(cells.ends())[:, mass > 0]
    assert 10.0**-decimals <= (ends[1] - ends[0]).min()  # so rounding moves hardly a value out of its cell
    assert decimals <= 3
    finer = PointMasses({5: PointMass(99.0412, 0.9)}, None)
    assert with_decimals(cells, mass, finer, COLUMNS).decimals == 4
    assert with_decimals(cells, mass, PointMasses(), COLUMNS).decimals is None
    assert with_decimals(cells, mass, PointMasses(known.of_cell, 1), COLUMNS).decimals == 1
