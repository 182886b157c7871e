"""Two classes that differ in length, or in how entries vary together: what is read off noisy sums of them."""

import numpy as np
import pytest

from sfumato.mechanisms.moments.class_shapes import fit_shapes, within_classes
from sfumato.mechanisms.moments.evidence import Odds, fit_discriminant, fit_evidence
from sfumato.mechanisms.moments.gaussian import fit_gaussian
from sfumato.mechanisms.moments.lengths import LengthScale, fit_lengths
from sfumato.mechanisms.moments.points import directions
from sfumato.mechanisms.moments.settings import MomentsSettings
from sfumato.public.plan.doors import Measured

SETTINGS = MomentsSettings()
SCALE = LengthScale(0.01, 10.0, 64)
D, N = 12, 20_000


def rows(seed: int, *, alike: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two classes; the second varies more in the first half of its entries, unless they are alike."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(2, size=N)
    vectors = rng.normal(size=(N, D))
    if not alike:
        vectors[classes == 1, : D // 2] *= 2.0
    return vectors / 10, classes


def sums(vectors: np.ndarray, classes: np.ndarray, noise: float) -> tuple[Measured, Measured, np.ndarray]:
    rng, u = np.random.default_rng(9), directions(vectors)
    moments = np.stack([u[classes == c].T @ u[classes == c] for c in range(2)])
    moments += noise * rng.normal(size=moments.shape)
    squares = np.stack([(u[classes == c] ** 2).sum(axis=0) for c in range(2)]) + noise * rng.normal(size=(2, D))
    moments = (moments + moments.transpose(0, 2, 1)) / 2
    return Measured(moments, noise), Measured(squares, noise), np.bincount(classes).astype(float)


def shapes_of(vectors: np.ndarray, classes: np.ndarray, noise: float = 5.0):
    moments, squares, counts = sums(vectors, classes, noise)
    overall = (moments.values.sum(axis=0) / N, squares.values.sum(axis=0) / N)
    gaussian = fit_gaussian(*overall, noise=noise * np.sqrt(2) / N, settings=SETTINGS)
    return fit_shapes(gaussian, moments, squares, counts, SETTINGS)


def test_cells_of_lengths_are_even_in_their_logarithm_and_go_back() -> None:
    lengths = np.array([0.0, 0.01, 0.3, 9.9, 10.0, 1e9])
    assert SCALE.cells_of(lengths).tolist() == [0, 0, 31, 63, 63, 63]
    assert SCALE.at(SCALE.places(np.array([0.3]))) == pytest.approx(0.3)


def test_lengths_come_out_as_they_were_counted_and_noise_far_off_does_not() -> None:
    rng = np.random.default_rng(0)
    lengths = [np.exp(rng.normal(np.log(middle), 0.3, size=5_000)) for middle in (0.2, 1.0)]
    exact = np.stack([np.bincount(SCALE.cells_of(of_class), minlength=64) for of_class in lengths])
    fitted = fit_lengths(SCALE, Measured(exact + 20 * rng.normal(size=exact.shape), 20.0))
    for of_class, middle in enumerate((0.2, 1.0)):
        assert fitted.quantiles(of_class, np.array([0.5]))[0] == pytest.approx(middle, rel=0.1)
        assert fitted.quantiles(of_class, np.array([0.999]))[0] < 6 * middle
    assert fitted.odds_at(np.array([1.0]))[0] > 2
    assert fitted.odds_at(np.array([0.2]))[0] < -2


def test_classes_that_vary_otherwise_are_drawn_otherwise() -> None:
    vectors, classes = rows(0, alike=False)
    shapes = shapes_of(vectors, classes)
    drawn = [directions(shapes.draw(c, N, np.random.default_rng(1))) for c in range(2)]
    for c in range(2):
        wanted = (directions(vectors[classes == c]) ** 2).mean(axis=0)
        assert (drawn[c] ** 2).mean(axis=0) == pytest.approx(wanted, abs=0.012)
    odds = shapes.odds_of(vectors)
    assert odds[classes == 1].mean() - odds[classes == 0].mean() > 1


def test_classes_that_are_alike_stay_alike() -> None:
    shapes = shapes_of(*rows(0, alike=True), noise=100.0)
    assert shapes.variances == pytest.approx(np.ones((2, D)), abs=0.35)


def test_no_class_varies_more_than_all_rows_over_its_rate() -> None:
    vectors, classes = rows(0, alike=False)
    shapes = shapes_of(vectors, classes, noise=3_000.0)  # nothing but noise
    rates = np.bincount(classes) / N
    assert (shapes.variances >= 0.999 * SETTINGS.least_class_variance).all()
    assert (shapes.variances * rates[:, None] <= 1.0).all()


@pytest.mark.parametrize("alike", [True, False], ids=["a score alone", "directions"])
def test_what_says_more_has_the_weight(alike: bool) -> None:
    """The linear score tells classes apart that are alike otherwise; it says nothing of those that vary otherwise."""
    vectors, classes = rows(0, alike=alike)
    vectors[:, -1] += 0.2 * classes * alike
    lengths = fit_lengths(SCALE, Measured(np.full((2, 64), N / 128), 5.0))
    odds = Odds(np.eye(D)[-1], lengths, 1.0, shapes_of(*rows(1, alike=False)))
    evidence = fit_evidence(odds, vectors, reach=2.5)
    numbers = np.column_stack([evidence.of(vectors), np.ones(N)]) / np.sqrt(2)
    products = np.stack([numbers[classes == c].T @ numbers[classes == c] for c in range(2)])
    noisy = products + 20 * np.random.default_rng(2).normal(size=products.shape)
    found = fit_discriminant(evidence, Measured(noisy, 20.0), vectors, SETTINGS)
    scores = found.scores(vectors)
    right = np.mean(scores[classes == 1][:, None] > scores[classes == 0][:500])
    assert right > (0.85 if alike else 0.8)
    if alike:
        assert found.slopes[0] > 1
        assert found.slopes[1:].tolist() == [0.0, 0.0]
    else:
        assert abs(found.slopes[0]) < 0.3 * found.slopes[2]


def test_what_the_means_of_the_classes_explain_is_left_out_of_the_rest() -> None:
    rng = np.random.default_rng(0)
    means, within = rng.normal(size=(20, D)), np.diag(np.linspace(0.5, 2.0, D))
    rates = rng.dirichlet(np.full(20, 5.0))
    apart = means - rates @ means
    shapes, part = within_classes(within + (apart.T * rates) @ apart, means, rates, least=0.1)
    assert np.cov(shapes.draw(0, 200_000, rng).T) == pytest.approx(within, abs=0.03)
    assert part == pytest.approx(np.trace(within) / np.trace(within + (apart.T * rates) @ apart))
    nothing_left, least = within_classes((apart.T * rates) @ apart, 2 * means, rates, least=0.1)
    assert least == pytest.approx(0.1, abs=0.01)
    assert np.isfinite(nothing_left.root).all()
