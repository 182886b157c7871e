"""Compiled loops say what a dense matrix would."""

import numpy as np
import pytest

from sfumato.mechanisms.common.compiled import (
    codes_of_others,
    count_distinct,
    drawn_within,
    looked_up,
    not_below_zero,
    products_at,
    scale_at,
    sums_and_others,
    weights_at,
)
from sfumato.mechanisms.common.layout import BinCodes, Layout, added

SIZES = (3, 2, 4)


def rows_of_bins(n_rows: int = 50) -> np.ndarray:
    return np.random.default_rng(0).integers(0, SIZES, size=(n_rows, len(SIZES)))


def test_weights_are_added_as_by_a_matrix() -> None:
    bins, weights = BinCodes(Layout(SIZES)), np.random.default_rng(1).normal(size=(2, sum(SIZES) + 1))
    dense = bins.one_hot(rows_of_bins()).toarray()
    np.testing.assert_allclose(added(weights, bins.codes(rows_of_bins())), dense @ weights.T)


@pytest.mark.parametrize("code", [-1, sum(SIZES) + 1])
def test_a_code_without_a_weight_is_refused(code: int) -> None:
    with pytest.raises(IndexError):
        added(np.zeros((1, sum(SIZES) + 1)), np.array([[0, code]]))


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_weights_at_codes_are_counted_and_scaled_as_by_numpy(kind: type) -> None:
    rng = np.random.default_rng(3)
    codes, weights, factors = rng.integers(0, 5, size=200).astype(kind), rng.random(200), rng.random(7)
    assert np.array_equal(weights_at(codes, weights, 7), np.bincount(codes, weights=weights, minlength=7))
    wanted = weights * factors[codes]
    scale_at(weights, codes, factors)
    assert np.array_equal(weights, wanted)


def test_a_place_is_drawn_in_its_bin_by_the_mass_there() -> None:
    mass, bin_of = np.array([1.0, 3.0, 2.0, 0.5, 0.5, 4.0]), np.array([0, 0, 1, 2, 2, 2])
    upto, first, last = np.cumsum(mass), np.array([0, 2, 3]), np.array([1, 2, 5])
    below, inside = upto[first] - mass[first], np.bincount(bin_of, weights=mass)
    rng = np.random.default_rng(4)
    bins, uniform = rng.integers(0, 3, size=500), rng.random(500)
    places = drawn_within(upto, first, last, below, inside, bins, uniform)
    assert np.array_equal(places, np.searchsorted(upto, below[bins] + uniform * inside[bins], side="right"))
    assert drawn_within(upto, first, last, below, inside, np.array([0, 2]), np.array([1.0, 1.0])).tolist() == [1, 5]


def test_products_are_those_of_a_matrix() -> None:
    bins, rng = BinCodes(Layout(SIZES)), np.random.default_rng(2)
    slopes, beyond = rng.random(50), rng.normal(size=50)
    full = np.column_stack([bins.one_hot(rows_of_bins()).toarray(), beyond])
    found = products_at(bins.codes(rows_of_bins()), beyond, slopes, bins.width)
    np.testing.assert_allclose(found, full.T @ (slopes[:, None] * full), atol=1e-12)


def test_what_is_prepared_is_read_as_whole_numbers() -> None:
    prepared = np.array([[3.0, -1.0], [np.nan, 70_000.0]], dtype=np.float32)
    prepared.flags.writeable = False  # as batches are
    assert not_below_zero(prepared).tolist() == [[3, 0], [0, 70_000]]
    assert not_below_zero(prepared[:, 1:]).tolist() == [[0], [70_000]]


@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_every_column_is_looked_up_in_its_own_table(kind: type) -> None:
    tables = np.array([[5, 6, 7], [8, 9, 0]], dtype=kind)
    found = looked_up(tables, np.array([[0, 1, 99], [2, 0, 99]]))  # the last has no table
    assert found.tolist() == [[5, 9], [7, 8]]
    assert found.dtype == kind


@pytest.mark.parametrize("row", [[0, -1], [0, 3], [0]])
def test_a_code_that_no_table_has_is_refused(row: list[int]) -> None:
    with pytest.raises(IndexError):
        looked_up(np.zeros((2, 3)), np.array([row]))


def test_rows_of_prepared_bins_have_the_sums_of_their_weights_to_the_last_bit() -> None:
    bins, weights = BinCodes(Layout(SIZES)), np.random.default_rng(1).normal(size=(2, sum(SIZES) + 1))
    usual = np.array([1, 0, 3])
    sums, others = sums_and_others(rows_of_bins().astype(np.float32), bins.layout.starts, usual, weights)
    assert np.array_equal(sums, added(weights, bins.codes(rows_of_bins())))
    assert np.array_equal(others, (rows_of_bins() != usual).sum(axis=1))


@pytest.mark.parametrize("row", [[0, 0, 4], [0, 0]])
def test_a_prepared_bin_without_a_weight_is_refused(row: list[int]) -> None:
    starts, nothing = np.array([0, 3, 5]), np.zeros(3, dtype=np.int64)
    with pytest.raises(IndexError):
        sums_and_others(np.array([row], dtype=np.float32), starts, nothing, np.zeros((1, sum(SIZES) + 1)))


def test_rows_of_a_weighted_block_hold_the_codes_that_are_kept_and_the_value() -> None:
    bins, starts, usual = np.array([[2, 1, 0], [1, 0, 0]], dtype=np.float32), np.array([0, 3, 5]), np.array([2, 0, 0])
    found = codes_of_others(bins, starts, usual, np.array([0.5, -2.0]), 4)
    assert found.tolist() == [[4, -1, -1, -1, 0.5], [1, -1, -1, -1, -2.0]]
    with pytest.raises(IndexError):
        codes_of_others(bins, starts, usual, np.array([0.5, -2.0]), 2)


def test_codes_that_occur_are_counted_by_column() -> None:
    codes = np.array([[0, 7], [2, 7], [2, 1]], dtype=np.int32)
    assert count_distinct(codes, codes.max(axis=0)) == 4
