"""Compiled loops say what a dense matrix would."""

import numpy as np
import pytest

from sfumato.mechanisms.table.compiled import codes_and_values, products_at
from sfumato.mechanisms.table.layout import Layout
from sfumato.mechanisms.table.rule import Bins, added

SIZES = (3, 2, 4)


def rows_of_bins(n_rows: int = 50) -> np.ndarray:
    return np.random.default_rng(0).integers(0, SIZES, size=(n_rows, len(SIZES)))


def test_weights_are_added_as_by_a_matrix() -> None:
    bins, weights = Bins(Layout(SIZES)), np.random.default_rng(1).normal(size=(2, sum(SIZES) + 1))
    dense = bins.one_hot(rows_of_bins()).toarray()
    np.testing.assert_allclose(added(weights, bins.codes(rows_of_bins())), dense @ weights.T)


@pytest.mark.parametrize("code", [-1, sum(SIZES) + 1])
def test_a_code_without_a_weight_is_refused(code: int) -> None:
    with pytest.raises(IndexError):
        added(np.zeros((1, sum(SIZES) + 1)), np.array([[0, code]]))


def test_products_are_those_of_a_matrix() -> None:
    bins, rng = Bins(Layout(SIZES)), np.random.default_rng(2)
    slopes, beyond = rng.random(50), rng.normal(size=50)
    full = np.column_stack([bins.one_hot(rows_of_bins()).toarray(), beyond])
    found = products_at(bins.codes(rows_of_bins()), beyond, slopes, bins.width)
    np.testing.assert_allclose(found, full.T @ (slopes[:, None] * full), atol=1e-12)


def test_rows_of_a_weighted_block_hold_the_codes_that_are_kept_and_the_value() -> None:
    codes, left_out = np.array([[0, 4, 9], [1, 5, 9]]), np.array([2, 4, -1])
    found = codes_and_values(codes, left_out, np.array([0.5, -2.0]), 4)
    assert found.tolist() == [[0, 9, -1, -1, 0.5], [1, 5, 9, -1, -2.0]]
