"""Effects on a number from noisy sums of errors: found where they are, none where there is noise alone."""

import numpy as np
import pytest
from small_tables import TARGET

from sfumato import Column
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.columns.point_masses import PointMasses
from sfumato.mechanisms.table.target.effects import ColumnParts, Effects, PairCells, column_parts
from sfumato.mechanisms.table.target.residuals import ResidualSums, learn_effects

LEVELS = np.arange(6)
PAIR = PairCells(0, 1, LEVELS, LEVELS)
EFFECTS = Effects((ColumnParts(LEVELS, 6), ColumnParts(LEVELS, 6)), (PAIR,))
ROWS = 20_000


def lesson(missed, *, stddev: float, effects: Effects = EFFECTS, seed: int = 0):
    """What is learned from the sums of `missed` over rows of two columns, and on which rows."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(6, size=(ROWS, 2))
    codes, wrong = effects.codes(cells), missed(cells)
    sums = sum(np.bincount(c, weights=wrong, minlength=effects.layout.width) for c in codes.T)
    noisy = ResidualSums(
        sums + stddev * rng.normal(size=len(sums)),
        np.full(len(sums), stddev),
        stddev * rng.normal(),
        along_stddev=stddev,
    )
    learned = learn_effects(effects, noisy, cells, np.zeros(ROWS), TARGET, total=ROWS, scale=1.0)
    return learned.added(cells, np.zeros(ROWS)), wrong


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
    """As they stand, the sums would add .2 to .5 to a row."""
    added, _ = lesson(lambda cells: np.zeros(len(cells)), stddev=100.0, seed=seed)
    assert np.sqrt((added**2).mean()) < 0.05


def test_a_rule_that_says_too_much_is_flattened() -> None:
    rng = np.random.default_rng(0)
    cells, said = rng.integers(6, size=(ROWS, 2)), rng.uniform(-1, 1, ROWS)
    wrong = -0.5 * said
    sums = sum(np.bincount(c, weights=wrong, minlength=EFFECTS.layout.width) for c in EFFECTS.codes(cells).T)
    heard = ResidualSums(sums, np.full(len(sums), 50.0), float(wrong @ said), along_stddev=20.0)
    assert learn_effects(EFFECTS, heard, cells, said, TARGET, total=ROWS, scale=1.0).slope == pytest.approx(
        -0.5, abs=0.02
    )


def test_categories_are_parts_each_up_to_a_limit_and_the_rarest_share_one() -> None:
    column = Column(name="town", kind="categorical", categories=tuple("abcde"))
    binning = Binning(Cells(column), 2, np.array([0, 1, 1, 1, 1]), np.array([9.0, 1.0, 5.0, 2.0, 4.0]), PointMasses())
    (parts,) = column_parts([binning], most=4)
    assert parts.of_cell.tolist() == [0, 3, 1, 3, 2]
    assert parts.ordered == 0
    (every,) = column_parts([binning], most=9)
    assert every.size == 5
