"""A class that noise hides is like one of the others, tilted by what its rows have said; and it never vanishes."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr

from sfumato import Column
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.common.layout import Layout
from sfumato.mechanisms.common.prepared import BINS
from sfumato.mechanisms.table.columns.binning import Binning, PointMasses
from sfumato.mechanisms.table.columns.shortened_persons import Number
from sfumato.mechanisms.table.joint import maps
from sfumato.mechanisms.table.joint.scarce_statistics import Statistics, rare_bins, statistics_of
from sfumato.mechanisms.table.joint.tilting import Tilted, likely_rows, tilted
from sfumato.mechanisms.table.measure_scarce import Scarce, ScarceStage, ScarceSums
from sfumato.mechanisms.table.settings.joint import JointSettings
from sfumato.mechanisms.table.settings.table import TableSettings
from sfumato.public.plan.measured import Measured

SETTINGS = JointSettings()
N_BINS, ROWS, COLUMNS = 16, 30.0, 20
EDGES = np.linspace(-3, 3, N_BINS + 1)
RATES = np.array([0.3, 0.7])
COUNTED = Number(40.0, 25.0)


def number(*, missing: bool = False, size: int = N_BINS) -> Binning:
    cells = Cells(Column(name="x", kind="integer", bounds=(0, max(size - 1, 1)), missing=missing))
    bin_of = np.arange(size + int(missing)) if size > 1 else np.zeros(2, dtype=np.int64)
    return Binning(cells, int(bin_of.max()) + 1, bin_of, np.ones(len(bin_of)), PointMasses())


def categories(size: int) -> Binning:
    cells = Cells(Column(name="c", kind="categorical", categories=tuple(f"k{i}" for i in range(size))))
    return Binning(cells, size, np.arange(size), np.ones(size), PointMasses())


def shares_about(middle: float) -> NDArray[np.float64]:
    """A normal distribution in bins."""
    mass = np.diff(ndtr(EDGES - middle))
    return np.asarray(mass / mass.sum())


def others() -> list[NDArray[np.float64]]:
    """Two classes, each of which lies by so many deviations on one side or the other."""
    signs = np.random.default_rng(0).choice([-1, 1], (COLUMNS, 2))
    return [np.stack([shares_about(0.75 * sign) for sign in of_column]) for of_column in signs]


def found(
    moved: dict[int, float], *, stddev: float, seed: int = 0, counted: Number = COUNTED
) -> tuple[Tilted, list[NDArray[np.float64]]]:
    """A class like the first one, but that some columns have moved by so much; and what it truly is."""
    of_others = others()
    margins = [RATES @ share for share in of_others]
    statistics = statistics_of([number()] * COLUMNS, margins, SETTINGS, longest=1e9)
    true = [share[0] for share in of_others]
    for j, by in moved.items():
        middle = float(of_others[j][0] @ (EDGES[:-1] + EDGES[1:]) / 2)
        true[j] = shares_about(middle + by)
    sums = ROWS * statistics.means([share[None] for share in true])[0]
    sums = sums + stddev * np.random.default_rng(seed).standard_normal(len(sums))
    said = tilted(statistics, Measured(sums, stddev), counted, of_others, SETTINGS)
    return said, true


def distance(one: list[NDArray[np.float64]], other: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.array([np.abs(a - b).sum() / 2 for a, b in zip(one, other, strict=True)])


def test_without_noise_it_is_what_it_is() -> None:
    said, true = found({2: 2.0, 5: -1.5}, stddev=0.1, counted=Number(ROWS, 0.1))
    assert said.rows == pytest.approx(ROWS, rel=0.01)
    assert distance(said.shares, true).max() < 0.1
    assert all(share.sum() == pytest.approx(1) and share.min() >= 0 for share in said.shares)


def test_with_noise_as_large_as_itself_it_is_like_its_kin_and_moves_where_it_has_moved() -> None:
    """Every sum of thirty rows has the noise of thirty. It is like the first class, which has fewer rows than the other."""
    near, far, moved, still = [], [], [], []
    first, second = ([share[c] for share in others()] for c in (0, 1))
    for seed in range(20):
        shares = found({2: 2.5, 5: -2.5}, stddev=30.0, seed=seed)[0].shares
        near.append(np.delete(distance(shares, first), [2, 5]).mean())
        far.append(np.delete(distance(shares, second), [2, 5]).mean())
        moved.append(distance(shares, first)[[2, 5]].mean())
        still.append(distance(found({}, stddev=30.0, seed=seed)[0].shares, first)[[2, 5]].mean())
    assert np.mean(near) < 0.6 * np.mean(far)
    assert np.mean(moved) > 1.5 * np.mean(still)


def test_it_is_like_one_class_in_all_columns_and_never_like_two_by_turns() -> None:
    """Half of its rows are like either class: rows that are the first in one column and the second in the next would be like nobody."""
    of_others = others()
    statistics = statistics_of([number()] * COLUMNS, [RATES @ share for share in of_others], SETTINGS, longest=1e9)
    sums = ROWS * statistics.means(of_others).mean(axis=0)
    for seed in range(10):
        noisy = Measured(sums + 5.0 * np.random.default_rng(seed).standard_normal(len(sums)), 5.0)
        still = replace(SETTINGS, tilt_sizes=(1e-3,))  # nothing is tilted
        shares = tilted(statistics, noisy, COUNTED, of_others, still).shares
        apart = [distance(shares, [share[c] for share in of_others]).max() for c in (0, 1)]
        assert min(apart) < 0.01 < max(apart)


def test_sums_that_noise_alone_has_made_move_nothing_far() -> None:
    apart = [distance(found({}, stddev=30.0, seed=seed)[0].shares, [s[0] for s in others()]) for seed in range(20)]
    assert np.mean(apart) < 0.2


def test_a_category_that_few_rows_have_is_found() -> None:
    margin = np.array([0.6, 0.3, 0.097, 0.003])
    statistics = statistics_of([categories(4)], [margin], SETTINGS, longest=1e9)
    assert statistics.along.tolist() == [False] * 4
    true = np.array([0.2, 0.1, 0.1, 0.6])
    sums = ROWS * statistics.means([true[None]])[0]
    said = tilted(statistics, Measured(sums, 5.0), Number(30.0, 5.0), [margin[None]], SETTINGS)
    assert said.shares[0][3] > 0.4


def test_a_column_says_its_place_what_is_rare_and_what_has_no_place() -> None:
    margin = np.append(np.full(N_BINS, 0.06), 0.04)
    plain = statistics_of([number(missing=True)], [margin], SETTINGS, longest=1.0)
    assert plain.along.tolist() == [True, False]  # and that it is missing
    assert plain.values[0, :-1].tolist() == sorted(plain.values[0, :-1])
    assert plain.values[0, -1] == 0
    assert np.flatnonzero(plain.values[1]).tolist() == [N_BINS]
    assert statistics_of([categories(2)], [np.array([0.999, 0.001])], SETTINGS, longest=1.0).along.tolist() == [True]
    assert len(statistics_of([number(size=1)], [np.ones(1)], SETTINGS, longest=1.0).columns) == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.booleans(), st.booleans())
def test_there_are_never_more_statistics_than_bins(masses: list[float], ordered: bool, missing: bool) -> None:
    """They are said in the entries of the bins."""
    margin = np.array(masses) + 1e-9
    margin /= margin.sum()
    missing &= ordered and len(margin) > 1
    binning = number(size=len(margin) - missing, missing=missing) if ordered else categories(len(margin))
    statistics = statistics_of([binning], [margin], SETTINGS, longest=1.0)
    assert len(statistics.columns) <= len(margin)
    assert np.isfinite(statistics.values).all()


def test_rare_bins_have_few_rows_together() -> None:
    assert rare_bins(np.array([0.7, 0.296, 0.004]), SETTINGS).tolist() == [False, False, True]
    assert rare_bins(np.array([0.5, 0.492, 0.004, 0.004]), SETTINGS).tolist() == [False, False, True, False]


def test_a_class_of_which_nothing_was_seen_still_has_rows() -> None:
    assert likely_rows(Number(0.0, 20.0)) == pytest.approx(20 * np.sqrt(2 / np.pi))
    assert likely_rows(Number(200.0, 20.0)) == pytest.approx(200, abs=0.01)
    statistics = statistics_of([number()] * COLUMNS, [RATES @ share for share in others()], SETTINGS, longest=1.0)
    silent = Measured(np.zeros(len(statistics.columns)), 30.0)
    said = tilted(statistics, silent, Number(-50.0, 25.0), others(), SETTINGS)
    assert 0 < said.rows < 30
    assert all(np.isfinite(share).all() for share in said.shares)


def test_where_no_column_says_anything_it_is_like_the_others() -> None:
    statistics = statistics_of([number(size=1)], [np.ones(1)], SETTINGS, longest=1.0)
    said = tilted(statistics, Measured(np.zeros(0), 30.0), Number(20.0, 25.0), [np.ones((2, 1))], SETTINGS)
    assert said.rows == pytest.approx(likely_rows(Number(20.0, 25.0)), rel=0.5)
    assert said.shares[0].tolist() == [1.0]


BATCH = {BINS: np.array([[2, 0, 2], [2, 1, 0], [0, 0, 2]], dtype=np.float32)}  # bins of two columns, and the class
SCARCE = np.array([False, False, True])
TOLD = Statistics(np.array([0, 1]), np.array([[-1.0, 0.0, 3.0], [4.0, 1.0, 0.0]]), np.array([True, True]), 2.5)


def test_only_rows_of_scarce_classes_say_sums_and_none_is_longer_than_another() -> None:
    rows = maps.scarce_sums(BATCH, TOLD, SCARCE, n_sets=3, width=6, weight=2.0, has_trees=True)
    assert rows["bins"][:, :3].tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 1]]
    assert rows["bins"][0, 3:] == pytest.approx(
        [3.0, 4.0, 0, 0, 0, 2]
    )  # half of (3, 4), which is twice too long, times two
    assert not rows["bins"][1].any()
    assert np.linalg.norm(rows["bins"][2, 3:5]) == pytest.approx(5)
    assert not rows["everywhere"].any()
    assert not rows["trees"].any()


def test_in_class_tables_rows_of_other_classes_are_counted_as_ever() -> None:
    layout, norm = Layout((3, 2)), 1.5
    counted = maps.centred_bins(BATCH, layout, 6, norm)["classes"]
    said = maps.centred_bins(BATCH, layout, 6, norm, SCARCE, TOLD)["classes"]
    assert np.array_equal(said[1], counted[1])
    assert said[0, 1:3] * norm == pytest.approx([1.5, 2.0])
    assert not said[[0, 2], 3:7].any()
    assert np.array_equal(said[:, [0, 7, 8]], counted[:, [0, 7, 8]])  # one, one row, the class


def test_the_largest_class_keeps_half_of_its_rows_however_many_others_are_scarce() -> None:
    """Noise of 30 for each of twenty classes that nobody is in: as many rows as are likely would be more than all there are."""
    per_class = np.append([300.0], np.full(20, 1e-3))
    scarce = Scarce(np.arange(21) > 0, statistics_of([number(size=1)], [np.ones(1)], SETTINGS, longest=1.0))
    answer = ScarceSums(Measured(np.zeros((21, 0)), 30.0), Measured(np.append([300.0], np.zeros(20)), 30.0))
    stage = ScarceStage(SimpleNamespace(settings=TableSettings()), None)
    rows, joints = stage.tilted(scarce, answer, [per_class[:, None] / per_class.sum()], per_class)
    assert rows.sum() == pytest.approx(per_class.sum())
    assert rows[0] == pytest.approx(150)
    assert rows[1:].min() > 0
    assert joints[0].sum() == pytest.approx(1)
