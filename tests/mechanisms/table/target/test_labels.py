"""ClassLabels by scores: the rates that the classes should have, everywhere along the scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.mechanisms.table.settings.sampling import SamplingSettings
from sfumato.mechanisms.table.target.labels import draw_labels, without_unlikely


def draw(
    scores: np.ndarray, rates: np.ndarray, rng: np.random.Generator, alike: np.ndarray | None = None
) -> np.ndarray:
    """ClassLabels of rows of which no two are the same, and which are alike in nothing if nothing is said."""
    alike = np.zeros((len(scores), 0), dtype=np.int32) if alike is None else alike
    return draw_labels(scores, rates, rng, alike=alike, same=np.arange(len(scores)))


@pytest.mark.parametrize("n_classes", [2, 5])
def test_labels_come_at_the_wanted_rates(n_classes: int) -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(4_000, n_classes))
    rates = np.arange(1.0, n_classes + 1) / np.arange(1.0, n_classes + 1).sum()
    labels = draw(scores, rates, rng)
    assert np.bincount(labels, minlength=n_classes) / 4_000 == pytest.approx(rates, abs=0.003 * n_classes)


def test_a_stretch_of_like_scores_has_as_many_labels_as_it_should() -> None:
    """Drawn one by one, a stretch of 100 rows at one half would be off by 5 on average."""
    rng = np.random.default_rng(4)
    scores = np.sort(rng.normal(size=2_000))[:, None]
    p = 1 / (1 + np.exp(-scores[:, 0]))
    labels = draw(scores, np.array([1 - p.mean(), p.mean()]), rng)
    off = [abs(labels[at : at + 100].sum() - p[at : at + 100].sum()) for at in range(0, 2_000, 100)]
    assert max(off) <= 1.01


@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_category_has_as_many_labels_as_it_should(n_classes: int) -> None:
    """Of three columns of 300 categories each, of 70 rows: drawn one by one, the worst category would be off by over 9."""
    rng = np.random.default_rng(6)
    n_rows = 21_000
    scores = rng.normal(size=(n_rows, n_classes))
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    alike = rng.integers(0, 300, size=(n_rows, 3)).astype(np.int32)
    labels = draw(scores, p.mean(axis=0), rng, alike)
    one_by_one = (p.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1)

    def worst(drawn: np.ndarray) -> float:
        surplus = np.eye(n_classes)[drawn] - p
        return max(abs(np.bincount(alike[:, j], weights=surplus[:, 1])).max() for j in range(3))

    assert worst(one_by_one) > 9
    assert worst(labels) < 4


def test_two_columns_together_have_as_many_labels_as_they_should() -> None:
    rng = np.random.default_rng(7)
    scores, alike = rng.normal(size=(20_000, 1)), rng.integers(0, 10, size=(20_000, 4)).astype(np.int32)
    p = 1 / (1 + np.exp(-scores[:, 0]))

    def off(settings: SamplingSettings) -> float:
        rates, rows = np.array([1 - p.mean(), p.mean()]), np.arange(20_000)
        labels = draw_labels(scores, rates, np.random.default_rng(0), alike=alike, same=rows, settings=settings)
        return float(np.abs(np.bincount(10 * alike[:, 1] + alike[:, 3], weights=labels - p)).mean())

    assert off(SamplingSettings()) < 0.6 * off(SamplingSettings(balances_pairs=False))


@pytest.mark.slow
def test_every_row_keeps_its_own_chance() -> None:
    scores, rates = np.array([[0.0, 1.0, -1.0], [2.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.full(3, 1 / 3)
    drawn = [draw(scores, rates, np.random.default_rng(seed)) for seed in range(3_000)]
    shares = np.stack([(np.array(drawn) == c).mean(axis=0) for c in range(3)], axis=1)
    assert shares.sum(axis=0) == pytest.approx(np.ones(3), abs=0.03)
    assert (shares.argmax(axis=1) == [1, 0, 2]).all()
    assert (shares > 0.03).all()


@pytest.mark.parametrize("n_scores", [1, 3])
def test_another_processors_sign_of_a_direction_changes_no_label(
    n_scores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, rates = (
        np.random.default_rng(5).normal(size=(500, n_scores)),
        np.full(max(n_scores, 2), 1 / max(n_scores, 2)),
    )
    found, eigh = draw(scores, rates, np.random.default_rng(0)), np.linalg.eigh

    def opposite(matrix):
        values, vectors = eigh(matrix)
        return values, -vectors

    monkeypatch.setattr(np.linalg, "eigh", opposite)
    assert (draw(scores, rates, np.random.default_rng(0)) == found).all()


def test_what_is_missing_goes_to_rows_that_could_have_it() -> None:
    """A rare class, likely in few rows: where it is short of labels in a category, no unlikely row gets one for that."""
    rng = np.random.default_rng(7)
    likely = rng.random(20_000) < 0.05
    p = np.where(likely, 0.5, 1e-6)
    alike = rng.integers(0, 10, size=(20_000, 20)).astype(np.int32)  # 200 codes, 500 labels
    labels = draw(np.log(p / (1 - p))[:, None], np.array([1 - p.mean(), p.mean()]), rng, alike)
    assert labels[~likely].sum() <= 1
    assert labels[likely].sum() == pytest.approx(p[likely].sum(), abs=10)


def test_a_class_with_fewer_labels_than_categories_is_dealt_out_among_parts_of_them() -> None:
    """120 labels, ten columns of 40 categories: in a quarter of a column one by one they would be off by 5, evenly by score too."""
    rng = np.random.default_rng(9)
    p = np.full(24_000, 0.005)
    alike = rng.integers(0, 40, size=(24_000, 10)).astype(np.int32)
    labels = draw(np.log(p / (1 - p))[:, None], np.array([0.995, 0.005]), rng, alike)

    def off(drawn: np.ndarray) -> float:
        surplus = [np.bincount(alike[:, j] // 10, weights=drawn - p) for j in range(10)]
        return float(np.sqrt(np.mean(np.square(surplus))))

    one_by_one = rng.random(24_000) < p
    assert off(one_by_one) > 4
    assert off(labels) < 2.5


def test_fewer_labels_than_two_for_each_column_are_spread_along_the_scores_alone() -> None:
    rng = np.random.default_rng(8)
    p = np.full(20_000, 0.005)
    scores, rates = np.log(p / (1 - p))[:, None], np.array([0.995, 0.005])
    alike = rng.integers(0, 4, size=(20_000, 51)).astype(np.int32)
    assert (draw(scores, rates, np.random.default_rng(0), alike) == draw(scores, rates, np.random.default_rng(0))).all()


@given(arrays(np.float64, (40, 4), elements=st.floats(-30, 30)))
def test_a_class_gives_up_hardly_any_rows_that_are_unlike_it(scores: np.ndarray) -> None:
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    likely, least = without_unlikely(p, SamplingSettings()), SamplingSettings().least_chance
    assert likely.sum(axis=1) == pytest.approx(1)
    given_up = np.where(likely == 0, p, 0)
    assert np.all(given_up <= least * p.mean(axis=0))
    assert np.all(given_up.sum(axis=0) <= least * p.sum(axis=0))
    assert np.all((likely == 0) | (likely >= p * (1 - 1e-12)))


def test_of_many_rows_none_has_a_label_that_nothing_speaks_for() -> None:
    """A chance of one in four thousand comes true five times among 19,400 rows."""
    scores = np.where(np.arange(20_000) < 600, 0.0, -9.0)[:, None]
    rates = np.array([0.98, 0.02])
    sure = draw(scores, rates, np.random.default_rng(8))
    assert sure[600:].sum() == 0
    every = draw_labels(
        scores,
        rates,
        np.random.default_rng(8),
        alike=np.zeros((20_000, 0), dtype=np.int32),
        same=np.arange(20_000),
        settings=SamplingSettings(least_chance=0.0),
    )
    assert every[600:].sum() > 1
