"""BinCodes of a column: few enough, full enough, and drawn from by their mass."""

import numpy as np
import pytest
from small_tables import COLUMNS

from sfumato import Budget, Column, Schema
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.binning import Binning, bin_column, level_cut
from sfumato.mechanisms.table.columns.point_masses import PointMass, PointMasses
from sfumato.mechanisms.table.plan import TablePlan

NUMBER = Cells(Column(name="x", kind="numeric", bounds=(0, 100), missing=True))
CODES = Cells(Column(name="c", kind="categorical", categories=tuple(f"k{i}" for i in range(300))))


def smooth(total: float = 10_000.0):
    inner = np.exp(-((np.linspace(-3, 3, NUMBER.inner)) ** 2) / 2)
    return np.append(inner * (0.9 * total / inner.sum()), 0.1 * total)


@pytest.mark.parametrize("least", [1.0, 200.0, 3_000.0])
@pytest.mark.parametrize("most", [4, 32])
def test_bins_of_a_number_are_few_in_order_and_full(least: float, most: int) -> None:
    binning = bin_column(NUMBER, smooth(), PointMasses(), least=least, most=most, category_kept=COLUMNS.category_kept)
    assert binning.size <= most + 1
    assert (np.diff(binning.bin_of) >= 0).all()
    assert binning.bin_of[-1] == binning.size - 1, "missing values are the last bin"
    assert binning.margin[:-1].min() >= 0.2 * min(least, 4_500)
    assert binning.margin.sum() == pytest.approx(10_000)
    assert binning.ordered == binning.size - 1


def test_a_value_that_many_rows_share_stands_alone() -> None:
    mass = smooth()
    mass[500] += 5_000
    binning = bin_column(NUMBER, mass, PointMasses(), least=100.0, most=32, category_kept=COLUMNS.category_kept)
    assert (binning.bin_of == binning.bin_of[500]).sum() == 1


def test_common_categories_have_bins_and_rare_ones_share_one() -> None:
    mass = np.full(300, 1.0)
    mass[[7, 70]] = 1_000.0
    mass[200] = 4.0  # a tenth of what a bin of a number holds: noise in its counts is taken out later
    binning = bin_column(CODES, mass, PointMasses(), least=40.0, most=64, category_kept=COLUMNS.category_kept)
    assert binning.size == 4
    assert len({int(binning.bin_of[at]) for at in (7, 70, 200, 0)}) == 4
    assert binning.margin[binning.bin_of[0]] == pytest.approx(297)
    assert binning.ordered == 0


@pytest.mark.parametrize(("classes", "columns", "most"), [(2, 3, 256), (4, 3, 128), (16, 3, 64), (2, 48, 32)])
def test_a_category_has_more_bins_where_classes_and_columns_are_few(classes: int, columns: int, most: int) -> None:
    target = Column(name="y", kind="categorical", categories=tuple(f"y{i}" for i in range(classes)))
    others = (Column(name=f"x{j}", kind="numeric", bounds=(0, 1)) for j in range(columns - 1))
    plan = TablePlan(Schema(columns=(CODES.column, *others, target), target="y"), Budget(epsilon=1.0, delta=1e-5))
    assert [plan.most_bins(feature) for feature in plan.plain[:2]] == [most, 32]


def test_a_column_without_any_mass_still_has_bins() -> None:
    binning = bin_column(
        NUMBER, np.zeros(NUMBER.count), PointMasses(), least=10.0, most=8, category_kept=COLUMNS.category_kept
    )
    cells = binning.cells_in(np.arange(binning.size).repeat(50), np.random.default_rng(0))
    assert np.array_equal(binning.bin_of[cells], np.arange(binning.size).repeat(50))


def test_cells_are_drawn_within_their_bin_and_by_their_mass() -> None:
    binning = bin_column(NUMBER, smooth(), PointMasses(), least=500.0, most=8, category_kept=COLUMNS.category_kept)
    bins = np.random.default_rng(0).integers(binning.size, size=40_000)
    cells = binning.cells_in(bins, np.random.default_rng(1))
    assert np.array_equal(binning.bin_of[cells], bins)
    fullest = int(binning.margin[:-1].argmax())
    inside = cells[bins == fullest]
    own = binning.mass * (binning.bin_of == fullest)
    assert inside.mean() == pytest.approx(own @ np.arange(len(own)) / own.sum(), rel=0.01)


def test_no_cell_is_drawn_that_holds_nothing() -> None:
    """One row in a million far from all others is enough to spoil a target of huge numbers."""
    mass = np.zeros(NUMBER.count)
    mass[[3, 900]] = 0.01, 1e6
    binning = Binning(NUMBER, 2, (np.arange(NUMBER.count) >= 500).astype(np.int64), mass, PointMasses())
    cells = binning.cells_in(np.arange(2).repeat(1_000), np.random.default_rng(0))
    assert set(cells.tolist()) == {3, 900}


def test_values_within_a_cell_are_even_but_for_its_spike() -> None:
    spikes = PointMasses({300: PointMass(5.5, 0.7)}, 2)
    binning = bin_column(NUMBER, smooth(), spikes, least=500.0, most=8, category_kept=COLUMNS.category_kept)
    values = binning.values_in(np.full(5_000, 300), np.random.default_rng(0)).astype(float)
    assert (values == 5.5).mean() == pytest.approx(0.7, abs=0.03)
    assert np.array_equal(values, np.round(values, 2))


@pytest.mark.parametrize("most", [6, 16])
def test_levels_of_a_target_are_few_ordered_and_full(most: int) -> None:
    level = level_cut(NUMBER, smooth()[:-1], most=most, least=300.0)
    held = np.bincount(level, weights=smooth()[:-1])
    assert 2 <= len(held) <= most
    assert (np.diff(level) >= 0).all()
    assert held.min() >= 300.0


def test_one_level_is_left_where_nothing_can_be_told() -> None:
    assert (level_cut(NUMBER, smooth()[:-1], most=6, least=1e6) == 0).all()
    assert (level_cut(NUMBER, np.zeros(NUMBER.inner), most=6, least=1.0) == 0).all()
