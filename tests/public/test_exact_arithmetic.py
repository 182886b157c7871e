"""Exact products: the same bits at every place, in every batch, and near the true product."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.public.machine.exact_arithmetic import (
    GRID,
    exact_products,
    grid_products,
    on_grid,
    rounded_matrix,
    squared_distances,
)

WIDTHS = st.integers(1, 300)
SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed: int, *shape: int) -> np.ndarray:
    """Entries of very different size, zeros among them."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) * 10.0 ** rng.integers(-6, 7, size=shape) * (rng.random(shape) < 0.9)


def same(one: np.ndarray, two: np.ndarray) -> bool:
    return bool((one.view(np.int64) == two.view(np.int64)).all())


@settings(max_examples=60, deadline=None)
@given(n_rows=st.integers(1, 5000), depth=WIDTHS, width=WIDTHS, seed=SEEDS)
def test_a_row_has_the_same_bits_wherever_it_stands(n_rows: int, depth: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, matrix = drawn(seed, n_rows, depth), drawn(seed + 1, depth, width)
    together = exact_products(rows, matrix)
    order = rng.permutation(n_rows)
    assert same(exact_products(rows[order], matrix), together[order])
    few = rng.choice(n_rows, size=min(n_rows, int(rng.integers(1, 70))))
    assert same(exact_products(rows[few], matrix), together[few])
    assert same(exact_products(rows[few[:1]], matrix), together[few[:1]])
    padded = np.concatenate([drawn(seed + 2, int(rng.integers(1, 600)), depth), rows])
    assert same(exact_products(padded, matrix)[-n_rows:], together)


@settings(max_examples=60, deadline=None)
@given(n_rows=st.integers(1, 3000), depth=WIDTHS, width=WIDTHS, seed=SEEDS)
def test_rows_on_the_grid_have_the_same_bits_too(n_rows: int, depth: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, matrix = (
        on_grid(rng.normal(size=(n_rows, depth)).astype(np.float32)),
        rounded_matrix(drawn(seed, depth, width)),
    )
    together = grid_products(rows, matrix)
    order = rng.permutation(n_rows)
    assert same(grid_products(rows[order], matrix), together[order])
    assert same(grid_products(rows[order[:1]], matrix), together[order[:1]])
    assert (rows.astype(np.float64) @ matrix == together).all()


@settings(max_examples=40, deadline=None)
@given(depth=st.integers(1, 40), width=st.integers(1, 5), seed=SEEDS)
def test_products_on_the_grid_are_those_of_whole_numbers(depth: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, matrix = on_grid(rng.normal(size=(3, depth))), rounded_matrix(drawn(seed, depth, width))
    step = np.array([min((abs(v) for v in _powers(column)), default=1.0) for column in matrix.T])
    whole_rows = [[int(v) for v in row * GRID] for row in rows]
    whole_columns = [[int(v) for v in column / s] for column, s in zip(matrix.T, step, strict=True)]
    for i, row in enumerate(whole_rows):
        for j, column in enumerate(whole_columns):
            assert sum(abs(a * b) for a, b in zip(row, column, strict=True)) <= 2**53
            exact = sum(a * b for a, b in zip(row, column, strict=True))
            assert grid_products(rows, matrix)[i, j] == exact * step[j] / GRID


def _powers(column: np.ndarray) -> list[float]:
    """The power of two that each entry is an odd multiple of."""
    out = []
    for value in column[column != 0]:
        numerator, denominator = float(value).as_integer_ratio()
        out.append(float(numerator & -numerator) / denominator)
    return out


@settings(max_examples=60, deadline=None)
@given(n_rows=st.integers(1, 50), depth=WIDTHS, width=st.integers(1, 30), seed=SEEDS)
def test_the_error_is_as_small_as_promised(n_rows: int, depth: int, width: int, seed: int) -> None:
    rows, matrix = drawn(seed, n_rows, depth), drawn(seed + 1, depth, width)
    off = np.abs(exact_products(rows, matrix) - rows @ matrix)
    bound = depth * 2.0**-21 * np.abs(rows).max(axis=1)[:, None] * np.abs(matrix).max(axis=0)
    assert (off <= bound + 1e-300).all()


@given(rows=arrays(np.float64, (4, 3), elements=st.floats(width=64)), seed=SEEDS)
def test_no_number_is_too_large_or_too_strange(rows: np.ndarray, seed: int) -> None:
    with np.errstate(all="ignore"):
        products = exact_products(rows, drawn(seed, 3, 2))
    ordinary = (np.abs(rows) < 2.0**899).all(axis=1)
    assert np.isfinite(products[ordinary]).all()
    assert np.isnan(products[~np.isfinite(rows).all(axis=1)]).all()


def test_the_plain_product_does_depend_on_the_place() -> None:
    """What all this is for: if it ever ceases to be so, this file can go."""
    rng = np.random.default_rng(0)
    rows, matrix = rng.normal(size=(4096, 784)), rng.normal(size=(784, 16))
    together = rows @ matrix
    alone = np.concatenate([rows[i : i + 1] @ matrix for i in range(200)])
    if same(together[:200], alone):
        pytest.skip("this library adds up in one order")
    assert same(
        exact_products(rows, matrix)[:200], np.concatenate([exact_products(r[None], matrix) for r in rows[:200]])
    )


def test_columns_that_are_infinite_or_next_to_nothing() -> None:
    matrix = np.array([[np.inf, 1e-300, 0.0, 1.0], [1.0, 1e-300, 0.0, 2.0]])
    rounded = rounded_matrix(matrix)
    assert np.isnan(rounded[:, 0]).all()
    assert rounded[:, 1:].tolist() == [[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]


def test_distances_find_the_nearest_centre() -> None:
    rng = np.random.default_rng(1)
    rows, centres = rng.normal(size=(500, 20)), rng.normal(size=(7, 20))
    full = ((rows[:, None] - centres) ** 2).sum(axis=2)
    assert squared_distances(rows, centres) == pytest.approx(full - (rows**2).sum(axis=1)[:, None], abs=1e-4)
    assert (squared_distances(rows, centres).argmin(axis=1) == full.argmin(axis=1)).all()
