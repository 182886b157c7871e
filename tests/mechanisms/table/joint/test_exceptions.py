"""A class that noise hides is like its kin but for exceptions, and never vanishes."""

from functools import partial

import numpy as np
import pytest

from sfumato.mechanisms.common.prepared import BINS
from sfumato.mechanisms.table.joint import maps
from sfumato.mechanisms.table.joint.class_tables import ClassTable
from sfumato.mechanisms.table.joint.exceptions import (
    Exceptions,
    exceptional_bins,
    expected_shares,
    rows_of_scarce,
    scarce_classes,
)
from sfumato.mechanisms.table.settings.joint import JointSettings

SETTINGS = JointSettings()
PER_CLASS = np.array([60_000.0, 140_000.0, 30.0])
SCARCE = np.array([False, False, True])
COLUMNS, STDDEV = 40, 50.0
OF_FIRST, OF_SECOND = np.array([0.7, 0.296, 0.004]), np.array([0.2, 0.798, 0.002])


def tables(*, stddev: float = STDDEV) -> tuple[list[ClassTable], list[np.ndarray], list[np.ndarray]]:
    """Columns in which the scarce class is like the first one, noisy; joint tables; margins."""
    joint = np.stack([PER_CLASS[0] * OF_FIRST, PER_CLASS[1] * OF_SECOND, PER_CLASS[2] * OF_FIRST]) / PER_CLASS.sum()
    rng = np.random.default_rng(0)  # of this table alone, so that no test hangs on those before it
    noisy = [PER_CLASS.sum() * joint + stddev * rng.normal(size=joint.shape) for _ in range(COLUMNS)]
    centred = [ClassTable(t - t.mean(axis=1, keepdims=True), np.full(3, stddev)) for t in noisy]
    return centred, [joint] * COLUMNS, [joint.sum(axis=0)] * COLUMNS


def test_a_scarce_class_is_like_its_kin_but_where_it_was_counted_as_an_exception() -> None:
    counted, joints, margins = tables()
    assert scarce_classes(counted, PER_CLASS, SETTINGS).tolist() == SCARCE.tolist()
    bins = [exceptional_bins(margin, SETTINGS) for margin in margins]
    assert bins[0].tolist() == [False, False, True]
    rows = np.where(np.arange(COLUMNS) < 3, 25.0, 0.5)
    found = Exceptions(2, rows, 5.0, bins)
    expected = expected_shares(joints, counted, margins, PER_CLASS, [found], SETTINGS)
    assert all(table[2].sum() == pytest.approx(1) for table in expected)
    assert all(np.array_equal(table[0], margin) for table, margin in zip(expected, margins, strict=True))
    assert all(table[2, 2] > 0.5 for table in expected[:3])
    assert np.mean([table[2, 2] for table in expected[3:]]) < 0.1
    like = np.mean([table[2, :2] / table[2, :2].sum() for table in expected], axis=0)
    first, second = (part[:2] / part[:2].sum() for part in (OF_FIRST, OF_SECOND))
    assert np.abs(like - first).sum() < 0.5 * np.abs(like - second).sum()


def test_exceptions_that_noise_could_have_made_are_not_believed() -> None:
    counted, joints, margins = tables()
    bins = [exceptional_bins(margin, SETTINGS) for margin in margins]
    noise = Exceptions(2, 20 * np.random.default_rng(1).normal(size=COLUMNS), 20.0, bins)
    expected = expected_shares(joints, counted, margins, PER_CLASS, [noise], SETTINGS)
    assert np.mean([table[2, 2] for table in expected]) < 0.25


def test_no_class_vanishes_and_all_rows_stay_as_many() -> None:
    rows = rows_of_scarce(np.array([1_000.0, 0.0, 400.0]), np.array([False, True, False]), stddev=20.0)
    assert rows.sum() == pytest.approx(1_400)
    assert rows[1] == pytest.approx(20 * np.sqrt(2 / np.pi))
    sure = rows_of_scarce(np.array([1_000.0, 200.0]), np.array([False, True]), stddev=20.0)
    assert sure[1] == pytest.approx(200, abs=0.01)


def test_where_all_classes_are_scarce_none_is() -> None:
    counted, _, _ = tables()
    assert not scarce_classes(counted, np.array([3.0, 4.0, 5.0]), SETTINGS).any()


def test_only_scarce_rows_are_counted_and_each_exception_once() -> None:
    batch = {BINS: np.array([[2, 0, 2], [2, 1, 0], [0, 0, 2]], dtype=np.float32)}  # bins of two columns, and the class
    exceptional = np.array([False, False, True, False, True])
    count = partial(maps.exception_counts, exceptional=exceptional, starts=np.array([0, 3]), scarce=SCARCE)
    rows = count(batch, n_sets=3, width=7, weight=2.0, has_trees=True)
    assert rows["bins"][:, :3].tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 1]]
    assert rows["bins"][0, 3:].tolist() == [2, 0, 0, 0, 0, 0, 2]
    assert rows["bins"][2, 3:].tolist() == [0, 0, 0, 0, 0, 0, 2]
    assert not rows["everywhere"].any()
    assert not rows["trees"].any()
