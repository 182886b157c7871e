"""Errors are dealt to rows so that a learner sees less chance in them."""

import numpy as np
import pytest
from small_tables import SAMPLING

from sfumato.mechanisms.table.joint.balanced_sampling import exchanged_errors


def sums_of_squares(errors, column) -> float:
    """How far the means of a column's cells are from zero."""
    return float(sum(errors[column == c].sum() ** 2 / (column == c).sum() for c in np.unique(column)))


def test_cells_of_every_column_have_their_part_of_the_errors() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(4, size=400) for _ in range(10)]
    errors = rng.standard_normal(400)
    after = exchanged_errors(errors, np.zeros(400), columns, np.random.default_rng(1), SAMPLING)
    assert sorted(after) == pytest.approx(sorted(errors))
    for column in columns:
        centred = errors - errors.mean()
        assert sums_of_squares(after - after.mean(), column) < 0.3 * max(sums_of_squares(centred, column), 1.0)


def test_errors_stay_near_what_the_rule_says() -> None:
    """Rows of which the rule says more have larger errors, and keep them."""
    rng = np.random.default_rng(0)
    said = np.linspace(0, 1, 1_000)
    errors = np.where(said > 0.5, 10.0, 0.1) * rng.standard_normal(1_000)
    after = exchanged_errors(errors, said, [rng.integers(4, size=1_000)], rng, SAMPLING)
    assert np.abs(after[said < 0.4]).max() < 1.0
    assert np.abs(after[said > 0.6]).max() > 10.0


@pytest.mark.parametrize("n_rows", [0, 1, 30_000])
def test_one_row_or_very_many_keep_their_errors(n_rows: int) -> None:
    errors = np.random.default_rng(0).standard_normal(n_rows)
    columns = [np.zeros(n_rows, dtype=np.int64)]
    np.testing.assert_array_equal(
        exchanged_errors(errors, np.zeros(n_rows), columns, np.random.default_rng(0), SAMPLING), errors
    )
