"""Trees as arrays say what scikit-learn's own say, to the last bit."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from sfumato.mechanisms.common.boosted_trees import BoostedTrees


def made_up(n_rows: int = 3_000) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of bins, and one column of any numbers."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 12, size=(n_rows, 4)).astype(np.float64)
    rows[:, -1] = rng.normal(size=n_rows)
    return rows, rows[:, 0] * rows[:, 1] - 9 * rows[:, 2] + 5 * rows[:, 3]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_classes_are_the_same(n_classes: int) -> None:
    rows, number = made_up()
    labels = np.searchsorted(np.quantile(number, np.arange(1, n_classes) / n_classes), number)
    model = HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=8, early_stopping=False).fit(rows, labels)
    wanted = model.decision_function(rows).reshape(len(rows), -1)
    assert np.array_equal(BoostedTrees.of(model).scores(rows), wanted)
    assert np.ptp(wanted) > 1


def test_numbers_are_the_same() -> None:
    rows, number = made_up()
    model = HistGradientBoostingRegressor(max_iter=20, early_stopping=False).fit(rows, number)
    assert np.array_equal(BoostedTrees.of(model).scores(rows)[:, 0], model.predict(rows))


def test_a_tree_of_one_leaf_has_one_value() -> None:
    rows, number = made_up(30)
    model = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=30, early_stopping=False).fit(rows, number)
    assert np.array_equal(BoostedTrees.of(model).scores(rows)[:, 0], model.predict(rows))
