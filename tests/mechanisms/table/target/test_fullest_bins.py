"""What is usual in a column need not be said."""

import numpy as np

from sfumato.mechanisms.table.joint.population import Population
from sfumato.mechanisms.table.target.correction import fullest_bins


def population(rows, weights):
    return Population(np.zeros(len(rows), dtype=np.int64), rows, weights, np.zeros(rows.shape))


def test_the_fullest_bins_and_how_many_others_nearly_all_rows_have_at_least() -> None:
    rng = np.random.default_rng(0)
    rows = (rng.random((20_000, 40)) < 0.1).astype(np.int64)  # 4 of 40 columns differ on average
    usual = fullest_bins([np.array([0.9, 0.1])] * 40, population(rows, np.full(20_000, 1 / 20_000)), few=0.03)
    assert (usual.bins == 0).all()
    assert usual.fewest_others == 1
    assert (usual.others(rows).sum(axis=1) >= usual.fewest_others).mean() >= 0.97


def test_rows_count_by_their_weight() -> None:
    rows = np.array([[0, 0], [1, 1]])
    margins = [np.array([0.6, 0.4])] * 2
    assert fullest_bins(margins, population(rows, np.array([0.99, 0.01])), few=0.03).fewest_others == 0
    assert fullest_bins(margins, population(rows, np.array([0.01, 0.99])), few=0.03).fewest_others == 2


def test_one_column_of_one_bin() -> None:
    usual = fullest_bins([np.ones(1)], population(np.zeros((3, 1), dtype=np.int64), np.ones(3)), few=0.03)
    assert usual.fewest_others == 0
    assert usual.weights(np.zeros((3, 1), dtype=np.int64)).tolist() == [1.0] * 3


def test_weights_make_every_row_as_long() -> None:
    rows = np.random.default_rng(1).integers(0, 3, size=(50, 9))
    usual = fullest_bins([np.array([0.2, 0.5, 0.3])] * 9, population(rows, np.ones(50)), few=0.03)
    named = usual.others(rows) * usual.weights(rows)[:, None]
    assert np.allclose(np.linalg.norm(named, axis=1), 1.0)
