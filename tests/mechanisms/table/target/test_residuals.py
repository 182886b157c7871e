"""Effects on a number from noisy sums of errors: found where they are, none where there is noise alone."""

from dataclasses import replace

import numpy as np
import pytest
from small_tables import TARGET

from sfumato import Column
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.columns.point_masses import PointMasses
from sfumato.mechanisms.table.target.effects import ColumnParts, Effects, PairCells, column_parts
from sfumato.mechanisms.table.target.residuals import ErrorRows, ResidualSums, learn_effects

LEVELS = np.arange(6)
PAIR = PairCells(0, 1, LEVELS, LEVELS)
EFFECTS = Effects((ColumnParts(LEVELS, 6), ColumnParts(LEVELS, 6)), (PAIR,))
ROWS = 20_000


def rows_like(cells, said, errors) -> ErrorRows:
    return ErrorRows(cells, said, errors, total=len(cells))


def noisy_sums(effects: Effects, rows: ErrorRows, *, stddev: float, rng: np.random.Generator) -> ResidualSums:
    """What a door would say of such rows."""
    sums, _ = rows.sums(effects)
    cut = np.clip(rows.errors, -1, 1)
    along = float(cut @ rows.deviations) + stddev * rng.normal()
    noise = stddev * rng.normal(size=len(sums))
    return ResidualSums(sums + noise, np.full(len(sums), stddev), along, stddev, float(cut @ cut))


def lesson(missed, *, stddev: float, effects: Effects = EFFECTS, seed: int = 0):
    """What is learned where rows of two columns err as the generator's do, but for what is `missed`; and on which rows."""
    rng = np.random.default_rng(seed)
    cells, errors = rng.integers(6, size=(ROWS, 2)), skewed(rng)
    like = rows_like(cells, np.zeros(ROWS), errors)
    private = rows_like(cells, np.zeros(ROWS), errors + missed(cells))
    learned = learn_effects(effects, noisy_sums(effects, private, stddev=stddev, rng=rng), like, TARGET, scale=1.0)
    return learned.added(cells, np.zeros(ROWS)), missed(cells)


def skewed(rng: np.random.Generator) -> np.ndarray:
    """Errors of mean 0, of which a third are cut, most of them on one side."""
    return rng.exponential(size=ROWS) - 1


def test_what_one_column_adds_is_found() -> None:
    added, truth = lesson(lambda cells: (cells[:, 0] - 2.5) / 10, stddev=20.0)
    assert np.abs(added - truth).max() < 0.05


def test_what_two_columns_add_together_is_found() -> None:
    added, truth = lesson(lambda cells: np.sign(cells[:, 0] - 2.5) * np.sign(cells[:, 1] - 2.5) / 4, stddev=20.0)
    assert np.corrcoef(added, truth)[0, 1] > 0.98


def test_without_its_pair_it_is_not() -> None:
    alone = Effects(EFFECTS.columns, ())
    added, truth = lesson(
        lambda cells: np.sign(cells[:, 0] - 2.5) * np.sign(cells[:, 1] - 2.5) / 4, stddev=20.0, effects=alone
    )
    assert abs(np.corrcoef(added, truth)[0, 1]) < 0.2


@pytest.mark.parametrize("seed", range(5))
def test_of_noise_alone_next_to_nothing_is_believed(seed: int) -> None:
    """As they stand, the sums would add .2 to .5 to a row; and cut errors of mean 0 have another mean."""
    added, _ = lesson(lambda cells: np.zeros(len(cells)), stddev=100.0, seed=seed)
    assert np.sqrt((added**2).mean()) < 0.06


def test_a_rule_that_says_too_much_is_flattened() -> None:
    rng = np.random.default_rng(0)
    cells, said, errors = rng.integers(6, size=(ROWS, 2)), rng.uniform(-1, 1, ROWS), rng.uniform(-1.2, 1.2, ROWS)
    sums = noisy_sums(EFFECTS, rows_like(cells, said, errors - 0.3 * said), stddev=20.0, rng=rng)
    learned = learn_effects(EFFECTS, sums, rows_like(cells, said, errors), TARGET, scale=1.0)
    assert learned.slope == pytest.approx(-0.3, abs=0.03)


def test_columns_that_private_rows_have_alike_are_not_set_against_each_other() -> None:
    """The generator's copies differ in some rows: what private rows miss otherwise than it does, their contrast would explain."""
    rng = np.random.default_rng(0)
    column, errors, effects = rng.integers(6, size=ROWS), skewed(rng), Effects(EFFECTS.columns, ())
    copy = np.where(rng.random(ROWS) < 0.03, rng.integers(6, size=ROWS), column)
    said = (column - 2.5) / 2.5
    missed = np.sign(said) * np.sqrt(np.abs(said))
    private = rows_like(np.stack([column, column], axis=1), said, 0.5 * errors + missed)
    sums = noisy_sums(effects, private, stddev=20.0, rng=rng)

    def contrast(doubt: float) -> float:
        like = rows_like(np.stack([column, copy], axis=1), said, errors)
        learned = learn_effects(effects, sums, like, replace(TARGET, hessian_doubt=doubt), scale=5.0)
        of_column, of_copy = learned.values.reshape(2, 6)
        return float(np.abs(of_column - of_copy).max())

    assert contrast(0.0) > 0.4
    assert contrast(TARGET.hessian_doubt) < 0.3
    assert contrast(0.25) < 0.15


def test_sums_are_those_of_errors_that_are_cut() -> None:
    rows = ErrorRows(np.array([[0, 0], [0, 1]]), np.zeros(2), np.array([3.0, -0.5]), total=20.0)
    sums, by_chance = rows.sums(EFFECTS)
    assert (sums[0], by_chance[0]) == pytest.approx((10 * (1 - 0.5), 10 * (1 + 0.25)))
    shifts = rows.response(EFFECTS)
    assert shifts[0, 0] == 10  # the other row is cut, whatever is added to it


def test_categories_are_parts_each_up_to_a_limit_and_the_rarest_share_one() -> None:
    column = Column(name="town", kind="categorical", categories=tuple("abcde"))
    binning = Binning(Cells(column), 2, np.array([0, 1, 1, 1, 1]), np.array([9.0, 1.0, 5.0, 2.0, 4.0]), PointMasses())
    (parts,) = column_parts([binning], most=4)
    assert parts.of_cell.tolist() == [0, 3, 1, 3, 2]
    assert parts.ordered == 0
    (every,) = column_parts([binning], most=9)
    assert every.size == 5
