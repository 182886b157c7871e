"""Three columns that decide together, though no two of them do, are found; by chance none is."""

import numpy as np
import pytest

from sfumato.mechanisms.table.joint.triples import sign_products, sign_tables, strongest_triples

N_ROWS, K = 20_000, 7


def products(*, planted: tuple[int, int, int] | None, stddev: float, seed: int = 0):
    """Noisy sums of products of signs; the class is the planted product, but for one row in five."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], size=(N_ROWS, K))
    half = rng.integers(2, size=N_ROWS)
    if planted is not None:
        half = np.where(rng.random(N_ROWS) < 0.8, signs[:, planted].prod(axis=1) > 0, half).astype(np.int64)
    both = sign_products(signs, half)
    n_pairs = K * (K - 1) // 2
    sums = both[:, :n_pairs].T @ both[:, n_pairs:]
    return sums + stddev * rng.standard_normal(sums.shape)


def test_no_row_is_longer_than_one() -> None:
    both = sign_products(np.ones((1, K)), np.ones(1, dtype=np.int64))
    n_pairs = K * (K - 1) // 2
    assert np.linalg.norm(both[:, :n_pairs]) == pytest.approx(1)
    assert np.linalg.norm(both[:, n_pairs:]) == pytest.approx(1)


@pytest.mark.parametrize("planted", [(0, 1, 2), (1, 4, 6)])
def test_a_planted_rule_of_three_is_the_strongest(planted) -> None:
    found = products(planted=planted, stddev=30.0)
    assert strongest_triples(found, np.zeros_like(found), stddev=30.0, total=N_ROWS, most=4, sure=5.0)[0] == planted


@pytest.mark.parametrize("seed", range(8))
def test_noise_and_chance_alone_give_none(seed: int) -> None:
    found = products(planted=None, stddev=30.0, seed=seed)
    assert strongest_triples(found, np.zeros_like(found), stddev=30.0, total=N_ROWS, most=4, sure=5.0) == []


def test_what_the_population_has_already_is_no_news() -> None:
    found = products(planted=(0, 1, 2), stddev=30.0)
    exact = products(planted=(0, 1, 2), stddev=0.0)
    assert strongest_triples(found, exact, stddev=30.0, total=N_ROWS, most=4, sure=5.0) == []


def test_signs_split_a_column_at_its_median_along_its_order() -> None:
    (signs,) = sign_tables([np.array([0.1, 0.4, 0.2, 0.3])], [np.array([3, 0, 2, 1])])
    assert signs.tolist() == [-1.0, 1.0, 1.0, -1.0]
