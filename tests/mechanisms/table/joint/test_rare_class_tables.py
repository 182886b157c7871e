"""Tables of a class of few rows: far out is found, nothing is made of noise, and what is counted exactly is kept."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri
from small_tables import JOINT

from sfumato import Column
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.binning import Binning, PointMasses
from sfumato.mechanisms.table.joint.class_tables import ClassTable, joint_tables
from sfumato.mechanisms.table.joint.rare_class_tables import no_clearer, rare_ratios

N_BINS, ROWS, OTHERS = 32, 300.0, 49_700.0
MARGIN = np.full(N_BINS, 1 / N_BINS)
SCORES = ndtri((np.arange(N_BINS) + 0.5) / N_BINS)


def binning() -> Binning:
    cells = Cells(Column(name="x", kind="integer", bounds=(0, N_BINS - 1)))
    return Binning(cells, N_BINS, np.arange(N_BINS), np.ones(N_BINS), PointMasses())


def of_class(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    odds = np.exp(logs)
    return np.asarray(odds / odds.sum())


def found(shares: NDArray[np.float64], *, stddev: float, seed: int = 0) -> list[NDArray[np.float64]]:
    """The class's shares of bins, column by column, from its noisy counts."""
    rng, tables = np.random.default_rng(seed), []
    for share in shares:
        first = np.stack([OTHERS * MARGIN, ROWS * share]) + 1e4 * rng.standard_normal((2, N_BINS))
        table = ClassTable(first - first.mean(axis=1, keepdims=True), np.full(2, 1e4))
        again = ROWS * share + stddev * rng.standard_normal(N_BINS)
        tables.append(
            table.counted_again(1, ROWS * MARGIN, again, stddev, np.zeros(1), 1e9, np.zeros(N_BINS, dtype=int))
        )
    n = len(shares)
    joints = joint_tables(tables, [binning()] * n, [MARGIN] * n, np.array([OTHERS, ROWS]), JOINT)
    return [joint[1] / joint[1].sum() for joint in joints]


def divergence(true: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float((true * np.log(true / other)).sum())


@pytest.mark.slow
@pytest.mark.parametrize("logs", [2 * SCORES, 2 * np.abs(SCORES)], ids=["one end", "both ends"])
def test_a_class_that_lies_far_out_is_found_there(logs: NDArray[np.float64]) -> None:
    """Among columns that say nothing. Departures that are Gaussian themselves leave such a class more than twice as far from the truth."""
    shares = [of_class(logs), of_class(logs), *[MARGIN] * 8]
    missed = [divergence(shares[0], found(shares, stddev=15.0, seed=seed)[0]) for seed in range(10)]
    assert np.mean(missed) < 0.25 * divergence(shares[0], MARGIN)


def test_columns_that_say_nothing_stay_nearly_as_they_are() -> None:
    shares = [of_class(2 * SCORES), *[MARGIN] * 9]
    made_up = [divergence(MARGIN, one) for seed in range(5) for one in found(shares, stddev=15.0, seed=seed)[1:]]
    assert np.mean(made_up) < 0.05


def test_without_noise_every_bin_is_found() -> None:
    share = of_class(np.random.default_rng(3).normal(size=N_BINS))
    assert np.abs(found([share] * 3, stddev=0.01)[0] - share).sum() / 2 < 0.02


def test_counts_of_nothing_at_all_are_survived() -> None:
    zeros = np.zeros(N_BINS)
    for rows in (1e-6, 1.0):
        got = rare_ratios(binning(), MARGIN, JOINT, rows=rows, counts=zeros, precision=np.eye(N_BINS))
        assert all(np.isfinite(part).all() for part in (got.log_likelihood, got.mean))
    empty = np.r_[np.zeros(N_BINS - 1), 1.0]  # all rows in one bin
    got = rare_ratios(binning(), empty, JOINT, rows=5.0, counts=zeros, precision=np.eye(N_BINS))
    assert np.isfinite(got.mean).all()


def test_a_class_that_every_column_tells_is_told_less_well_by_each() -> None:
    """Far beyond what real rows show in all columns at once; with fewer columns nothing is taken away."""
    share = of_class(1.5 * SCORES)
    few, many = (no_clearer([share] * n, [MARGIN] * n, JOINT) for n in (3, 40))
    assert all(np.array_equal(one, share) for one in few)
    apart = sum(float((one - MARGIN) @ np.log(one / MARGIN)) for one in many)
    assert 15 < apart < 25
    assert many[0].sum() == pytest.approx(1.0)
    assert (np.diff(many[0]) > 0).all()
