"""Every value has one cell, and every cell gives values of its own."""

from itertools import pairwise

import numpy as np
import pytest

from sfumato import Column
from sfumato.mechanisms.common.cells import Cells

COLUMNS = {
    "short": Column(name="x", kind="integer", bounds=(18, 90)),
    "missing": Column(name="x", kind="integer", bounds=(0, 9), missing=True),
    "long": Column(name="x", kind="integer", bounds=(0, 10**6)),
    "number": Column(name="x", kind="numeric", bounds=(-5, 80_000)),
    "positive": Column(name="x", kind="numeric", bounds=(3, 4), missing=True),
    "huge": Column(name="x", kind="numeric", bounds=(-1e300, 1e300)),
    "tiny": Column(name="x", kind="numeric", bounds=(1e-12, 1e-9)),
    "date": Column(name="x", kind="datetime", bounds=(1.5e9, 1.7e9)),
    "category": Column(name="x", kind="categorical", categories=("a", "b", "c"), missing=True),
    "grade": Column(name="x", kind="ordinal", categories=("low", "high")),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_what_is_drawn_in_a_cell_lies_in_it(name: str) -> None:
    cells = Cells(COLUMNS[name])
    every = np.arange(cells.count)
    drawn = cells.draw(every, np.random.default_rng(0))
    assert np.array_equal(cells.code(drawn), every)


@pytest.mark.parametrize("name", [name for name, column in COLUMNS.items() if column.is_number])
def test_whatever_a_number_is_it_has_a_cell(name: str) -> None:
    cells = Cells(COLUMNS[name])
    low, high = cells.column.low, cells.column.high
    odd = np.array([low - 1, high + 1, -np.inf, np.inf, np.nan, 0.0, low, high, (low + high) / 2])
    codes = cells.code(odd)
    assert ((codes >= 0) & (codes < cells.count)).all()
    assert (codes[4] == cells.count - 1) == cells.has_missing_cell


def test_zero_and_the_bounds_are_cells_of_their_own() -> None:
    cells = Cells(Column(name="gain", kind="numeric", bounds=(-100, 900)))
    single = cells.code(np.array([-100.0, 0.0, 900.0]))
    beside = cells.code(np.array([-99.99, -1e-6, 1e-6, 899.9]))
    assert not set(single) & set(beside)
    assert (cells.grid[single] == -1).all()
    assert cells.draw(single, np.random.default_rng(0)).tolist() == [-100.0, 0.0, 900.0]


def test_numbers_are_finer_near_zero_and_dates_even() -> None:
    number = np.diff(Cells(COLUMNS["number"]).middles())
    assert number[-10] > 100 * number[200]
    date = np.diff(Cells(COLUMNS["date"]).middles()[1:-1])
    assert date.max() < 1.01 * date.min()


def test_edges_meet_and_hold_the_middle() -> None:
    cells = Cells(COLUMNS["number"])
    at = np.flatnonzero(cells.grid >= 0)[100:110]
    edges = [cells.edges(int(cell)) for cell in at]
    assert all(left[1] == right[0] for left, right in pairwise(edges))
    assert all(low < cells.middles()[cell] < high for cell, (low, high) in zip(at, edges, strict=True))
