"""Numbers of a wide table stay within their bounds without leaving their means."""

import numpy as np
import pytest
from scipy.special import ndtr

import sfumato as sf
from sfumato.mechanisms.moments.betas import fit_betas
from sfumato.mechanisms.moments.gaussian import Gaussian
from sfumato.mechanisms.moments.generator import Generator
from sfumato.mechanisms.moments.lengths import Lengths, LengthScale
from sfumato.mechanisms.moments.model import MomentsModel
from sfumato.mechanisms.moments.points import Frame
from sfumato.mechanisms.moments.population import Population
from sfumato.mechanisms.moments.settings import MomentsSettings


@pytest.mark.parametrize(("mean", "stddev"), [(0.5, 0.2), (0.1, 0.08), (0.95, 0.05), (0.2, 0.25), (0.5, 1e-4)])
def test_they_have_the_mean_and_the_deviation_that_are_asked_for(mean: float, stddev: float) -> None:
    normal = np.random.default_rng(0).standard_normal((100_000, 1))
    drawn = fit_betas(np.array([mean]), np.array([stddev**2]), MomentsSettings()).of(normal)
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    assert drawn.mean() == pytest.approx(mean, abs=0.02 * stddev)
    assert drawn.std() == pytest.approx(stddev, rel=0.02)


@pytest.mark.parametrize(("mean", "variance"), [(0.0, 0.01), (1.0, 0.01), (0.3, 5.0), (0.0, 0.0), (1e-9, 1e-4)])
def test_moments_that_cannot_be_give_numbers_that_vary_all_the_same(mean: float, variance: float) -> None:
    drawn = fit_betas(np.array([mean]), np.array([variance]), MomentsSettings()).of(np.linspace(-6, 6, 101)[:, None])
    assert np.isfinite(drawn).all()
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    assert (np.diff(drawn[:, 0]) >= 0).all()
    assert drawn[75] > drawn[25]


SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="low", kind="numeric", bounds=(0, 10), missing=True),
        sf.Column(name="code", kind="categorical", categories=("a", "b")),
        sf.Column(name="high", kind="numeric", bounds=(-1, 1)),
        sf.Column(name="y", kind="categorical", categories=("p", "q", "r")),
    ),
    target="y",
)
UNIT, DEVIATION, FACTOR = 2.0, 0.06, 0.03
STDDEV = UNIT * np.hypot(DEVIATION, FACTOR)


def population() -> Population:
    """Vectors as long as the Gaussian's own are."""
    gaussian, scale = Gaussian(np.full((5, 1), FACTOR), np.full(5, DEVIATION), None), LengthScale(1e-3, 10.0, 4_000)
    norms = np.linalg.norm(gaussian.draw(400_000, np.random.default_rng(0)), axis=1)
    shares = np.bincount(scale.cells_of(norms), minlength=scale.cells) / len(norms)
    return Population(gaussian, None, Lengths(scale, shares[None], np.zeros(scale.cells)), 1.0)


def model(means: np.ndarray) -> MomentsModel:
    """Entries of a row: low, whether it is missing, two codes, high. Numbers are a deviation or so away from a bound."""
    generator = Generator(
        numbers=np.array([0, 4]),
        frame=Frame(np.array([0.15, 0.1, 0.6, 0.3, 0.9]), UNIT),
        population=population(),
        rates=np.array([0.5, 0.25, 0.25]),
        means=means,
        settings=MomentsSettings(),
    )
    return MomentsModel(
        schema=SCHEMA,
        generator=generator,
        margins=None,
        weights=None,
        discriminant=None,
        alpha=0.0,
        noisy_rows=1_000.0,
        noisy_rows_stddev=1.0,
    )


def test_released_numbers_keep_their_means_and_deviations_near_a_bound() -> None:
    table = model(np.zeros((3, 5))).sample(20_000, seed=0).table
    low, high = table["low"].dropna() / 10, (table["high"] + 1) / 2
    # A Gaussian cut at the bounds would have .159 and .882.
    assert low.mean() == pytest.approx(0.15, abs=0.004)
    assert high.mean() == pytest.approx(0.9, abs=0.004)
    assert low.std() == pytest.approx(STDDEV, rel=0.1)
    assert high.std() == pytest.approx(STDDEV, rel=0.05)
    assert ((high > 0) & (high < 1)).mean() > 0.99  # nothing is piled up on the bound


def test_classes_keep_their_order_and_all_rows_their_mean() -> None:
    means = np.zeros((3, 5))
    means[:, 4] = [-0.03, 0.0, 0.06]
    table = model(means).sample(20_000, seed=0).table
    high = (table["high"] + 1) / 2
    of_class = high.groupby(table["y"].astype(str)).mean()
    assert of_class["p"] < of_class["q"] < of_class["r"]
    assert high.mean() == pytest.approx(0.9, abs=0.004)


def test_codes_and_missing_values_are_left_as_they_were() -> None:
    table = model(np.zeros((3, 5))).sample(20_000, seed=0).table
    assert table["code"].eq("a").mean() == pytest.approx(ndtr(0.3 / (UNIT * DEVIATION * np.sqrt(2))), abs=0.006)
    assert table["low"].isna().mean() == pytest.approx(ndtr(-0.4 / STDDEV), abs=0.001)
