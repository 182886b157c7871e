"""Compiled loops say what a dense matrix would."""

import numpy as np
import pytest

from sfumato.mechanisms.common.compiled import codes_and_values, drawn_within, products_at, scale_at, weights_at
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


def test_rows_of_a_weighted_block_hold_the_codes_that_are_kept_and_the_value() -> None:
    codes, left_out = np.array([[0, 4, 9], [1, 5, 9]]), np.array([2, 4, -1])
    found = codes_and_values(codes, left_out, np.array([0.5, -2.0]), 4)
    assert found.tolist() == [[0, 9, -1, -1, 0.5], [1, 5, 9, -1, -2.0]]
