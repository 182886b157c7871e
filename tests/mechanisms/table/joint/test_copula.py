"""Correlations within each class, from second moments of normal scores."""

import numpy as np
import pytest
from small_tables import JOINT

from sfumato import PrivacyUnit
from sfumato.mechanisms.table.joint.copula import _shrunk, correlations, scores_of
from sfumato.mechanisms.table.joint.ordering import Line

N_BINS = 16
ROW, PERSON = PrivacyUnit(), PrivacyUnit(person="who", max_rows=4)


def planted(correlation: float, *, k: int, n_rows: int = 40_000, seed: int = 0):
    """Rows of bins of equal mass behind which lies a Gaussian."""
    from scipy.special import ndtr

    matrix = np.full((k, k), correlation) + (1 - correlation) * np.eye(k)
    rng = np.random.default_rng(seed)
    gauss = rng.standard_normal((n_rows, k)) @ np.linalg.cholesky(matrix).T
    return np.minimum((ndtr(gauss) * N_BINS).astype(np.int64), N_BINS - 1)


def measured(bins_by_class, *, stddev=0.0, by_class=True, seed=1, kept=1.0, unit=ROW):
    """What `correlations` finds in rows of one or more classes, of which a part is kept."""
    per_class = np.array([float(len(bins)) for bins in bins_by_class])
    rates, k = per_class / per_class.sum(), bins_by_class[0].shape[1]
    joints = [np.outer(rates, np.full(N_BINS, 1 / N_BINS)) for _ in range(k)]
    scores = scores_of(joints, [Line(np.arange(N_BINS))] * k, rates, JOINT)
    moments = []
    for c, bins in enumerate(bins_by_class):
        z = scores(bins, np.full(len(bins), c))
        assert np.linalg.norm(z, axis=1).max() <= 1 + 1e-12
        moments.append(z.T @ z)
    moments = np.stack(moments) if by_class else np.sum(moments, axis=0)[None]
    moments = kept * moments + stddev * np.random.default_rng(seed).standard_normal(moments.shape)
    return correlations(moments, scores, per_class, JOINT, stddev=max(stddev, 1e-9), by_class=by_class, unit=unit)


def off_diagonal(matrix):
    return matrix[np.triu_indices(len(matrix), 1)]


@pytest.mark.parametrize("k", [2, 8])
@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.8])
def test_planted_correlations_are_found_though_long_rows_are_shortened(correlation: float, k: int) -> None:
    found = off_diagonal(measured([planted(correlation, k=k)])[0])
    assert found == pytest.approx(np.full(len(found), correlation), abs=0.03)


def test_persons_who_count_less_leave_correlations_as_they_are() -> None:
    rows = [planted(0.6, k=8)]
    expected = measured(rows)
    assert measured(rows, kept=0.7, unit=PERSON) == pytest.approx(expected, abs=0.03)
    assert measured(rows, unit=PERSON) == pytest.approx(expected, abs=0.03)
    assert off_diagonal(measured(rows, kept=0.7)[0]).mean() < 0.5  # where the unit is a row, all are there


def test_every_class_has_its_own() -> None:
    one, two = measured([planted(0.7, k=3), planted(0.0, k=3, seed=5)])
    assert off_diagonal(one) == pytest.approx(np.full(3, 0.7), abs=0.08)
    assert off_diagonal(two) == pytest.approx(np.zeros(3), abs=0.08)


def test_noise_does_not_set_a_rare_class_apart() -> None:
    """Both classes have the same correlation. What is shrunk of it for both, the larger class may not regain alone."""
    rows = planted(0.15, k=8, n_rows=11_000)
    common, rare = measured([rows[:10_000], rows[10_000:]], stddev=200.0)
    assert np.abs(off_diagonal(common) - off_diagonal(rare)).max() < 0.03


def test_without_a_sum_for_each_class_all_have_the_same() -> None:
    one, two = measured([planted(0.5, k=3), planted(0.5, k=3, seed=5)], by_class=False)
    assert np.array_equal(one, two)
    assert off_diagonal(one) == pytest.approx(np.full(3, 0.5), abs=0.06)


def test_noise_alone_gives_none() -> None:
    found = measured([planted(0.0, k=10, n_rows=1_000)], stddev=300.0)[0]
    assert np.abs(off_diagonal(found)).max() < 0.5
    assert np.sqrt((off_diagonal(found) ** 2).mean()) < 0.15


@pytest.mark.parametrize("stddev", [0.0, 50.0, 1e5])
def test_whatever_the_noise_it_is_a_correlation_matrix(stddev: float) -> None:
    for matrix in measured([planted(0.95, k=6, n_rows=2_000), planted(0.0, k=6, n_rows=50)], stddev=stddev):
        assert np.diag(matrix) == pytest.approx(np.ones(6))
        assert np.linalg.eigvalsh(matrix).min() > 0
        assert np.array_equal(matrix, matrix.T) or np.allclose(matrix, matrix.T)


def test_entries_full_of_noise_do_not_speak_for_the_others() -> None:
    """A few products of columns that hardly vary are all noise; the variance of correlations is read off the others."""
    rng = np.random.default_rng(8)
    noise = np.where(np.arange(60) < 10, 5.0, 0.1)
    values = noise * rng.standard_normal(60)
    assert np.abs(_shrunk(values, noise, JOINT)[10:]).max() < 0.1


@pytest.mark.parametrize(("known", "within"), [(0.9, 0.03), (0.5, 0.05), (0.2, 0.16)])
def test_missing_values_hide_no_correlation(known: float, within: float) -> None:
    """But where a twenty-fifth of the rows has both values, what shortening does to them is seen on few drawn rows."""
    rng, n = np.random.default_rng(0), 200_000
    bins = planted(0.6, k=3, n_rows=n)
    bins = np.where(rng.random(bins.shape) < known, bins, N_BINS)
    joint = np.append(np.full(N_BINS, known / N_BINS), 1 - known)[None]
    scores = scores_of([joint] * 3, [Line(np.arange(N_BINS + 1), has_missing=True)] * 3, np.ones(1), JOINT)
    assert (scores.tables[0][:, -1] == 0).all()
    z = scores(bins, np.zeros(n, dtype=np.int64))
    assert np.linalg.norm(z, axis=1).max() <= 1 + 1e-12
    found = correlations((z.T @ z)[None], scores, np.array([float(n)]), JOINT, stddev=1.0, by_class=False, unit=ROW)[0]
    assert found[np.triu_indices(3, 1)] == pytest.approx(np.full(3, 0.6), abs=within)
