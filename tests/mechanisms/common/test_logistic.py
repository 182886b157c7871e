"""Errors of rows: never longer than the bound, and 0 on average where p is right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.mechanisms.common.logistic import error_bound, error_slopes, errors, probabilities


@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.floats(0.0, 30.0))
def test_no_error_is_longer_than_the_bound(n_sets: int, seed: int, spread: float) -> None:
    if n_sets == 2:
        n_sets = 1  # two classes have one set of scores
    p = probabilities(np.random.default_rng(seed).normal(scale=spread, size=(20, n_sets)))
    n_classes = max(n_sets, 2)
    lengths = np.stack([np.linalg.norm(errors(p, np.full(20, y)), axis=1) for y in range(n_classes)])
    assert lengths.max() <= error_bound(n_sets) * (1 + 1e-12)
    assert np.allclose(lengths.max(axis=0), error_bound(n_sets))  # some class makes each row use all of it


@pytest.mark.parametrize("n_classes", [2, 3, 7, 8, 20])
def test_chances_are_the_same_bits_however_rows_are_added_up(n_classes: int) -> None:
    scores = np.random.default_rng(1).normal(scale=3, size=(500, n_classes))
    weight = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert np.array_equal(probabilities(scores), weight / weight.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("n_sets", [1, 3, 7])
def test_errors_are_nothing_on_average_where_the_rule_is_right(n_sets: int) -> None:
    p = probabilities(np.random.default_rng(0).normal(size=(5, n_sets)))
    every = np.concatenate([1 - p, p], axis=1) if n_sets == 1 else p
    mean = sum(every[:, [y]] * errors(p, np.full(5, y)) for y in range(every.shape[1]))
    assert np.abs(mean).max() < 1e-12


@pytest.mark.parametrize("n_sets", [1, 4])
def test_slopes_are_those_of_the_expected_error(n_sets: int) -> None:
    scores, step = np.random.default_rng(1).normal(size=(6, n_sets)), 1e-6
    p = probabilities(scores)
    every = np.concatenate([1 - p, p], axis=1) if n_sets == 1 else p
    for c in range(n_sets):
        moved = probabilities(scores + step * np.eye(n_sets)[c])
        after = sum(every[:, [y]] * errors(moved, np.full(6, y)) for y in range(every.shape[1]))
        assert np.allclose(after[:, c] / step, error_slopes(p)[:, c], atol=1e-4)
