"""The shapes of columns beyond mean and variance, read off noisy sums over groups of columns."""

from dataclasses import replace

import numpy as np
import pytest
from test_moments_contract import TWO

import sfumato as sf
from sfumato.mechanisms.moments.margins import Margins, fit_margins, lay_yardstick, number_groups
from sfumato.mechanisms.moments.points import number_values
from sfumato.mechanisms.moments.settings import MomentsSettings
from sfumato.public.plan.doors import Measured

SETTINGS = MomentsSettings()
D, N = 32, 20_000
COLUMNS = tuple(sf.Column(name=f"x{j}", kind="numeric", bounds=(0, 1)) for j in range(D))
SCHEMA = sf.Schema(columns=COLUMNS, target=None)


def normal(seed: int, n: int = N) -> np.ndarray:
    """The generator: half of the columns in the middle of the box, the others near a bound, some of them the upper one."""
    box = np.clip(0.5 + 0.1 * np.random.default_rng(seed).standard_normal((n, D)), 0, 1)
    box[:, D // 2 :] -= 0.35
    box[:, -4:] = 1 - box[:, -4:]
    return np.clip(box, 0.0, 1.0)


def skewed(seed: int, n: int = N) -> np.ndarray:
    """The private rows: the same in the middle, and near the bounds columns of another shape."""
    box = normal(seed, n)
    box[:, D // 2 :] = np.random.default_rng(seed).gamma(2.0, 0.075, size=(n, D // 2))
    box[:, -4:] = 1 - box[:, -4:]
    return np.clip(box, 0.0, 1.0)


def found(private: np.ndarray, noise: float = 0.0, schema: sf.Schema = SCHEMA) -> Margins:
    yardstick = lay_yardstick(normal(0), schema, SETTINGS)
    sums = yardstick.of(private).sum(axis=0)
    sums += noise * np.random.default_rng(5).standard_normal(sums.shape)
    return fit_margins(yardstick, Measured(sums, noise), len(private))


def distance(a: np.ndarray, b: np.ndarray, columns: slice) -> float:
    """The mean total variation distance over columns, in 25 cells."""
    cells = [[np.histogram(column, 25, (0, 1))[0] / len(column) for column in box.T[columns]] for box in (a, b)]
    return float(0.5 * np.abs(np.subtract(*cells)).sum(axis=1).mean())


NEAR_A_BOUND, MIDDLE = slice(D // 2, D), slice(0, D // 2)


def test_columns_take_the_shape_that_private_rows_have() -> None:
    private, drawn = skewed(1), normal(2)
    given = found(private, noise=20.0).of(drawn)
    before, after = distance(drawn, private, NEAR_A_BOUND), distance(given, private, NEAR_A_BOUND)
    assert before > 0.15
    assert after < 0.3 * before
    assert distance(given, private, MIDDLE) < 0.03


def test_columns_that_the_generator_has_right_are_left_alone() -> None:
    """Rows whose numbers are all large or all small reach the cut-off: the generator's own rows do too, so that it shows nowhere."""
    drawn = normal(2)
    drawn[:, MIDDLE] += 0.1 * np.random.default_rng(3).standard_normal((N, 1))
    yardstick = lay_yardstick(drawn, SCHEMA, SETTINGS)
    assert np.linalg.norm(yardstick.parts.departures(drawn), axis=1).max() > yardstick.most
    again = drawn[: N // 2]
    margins = fit_margins(yardstick, Measured(yardstick.of(again).sum(axis=0), 1.0), len(again))
    assert np.abs(margins.of(drawn) - drawn).max() < 0.03


def test_noise_alone_moves_hardly_anything() -> None:
    private, drawn = normal(1, 2_000), normal(2)
    assert distance(found(private, noise=400.0).of(drawn), drawn, slice(None)) < 0.08
    assert distance(found(private, noise=40.0).of(drawn), drawn, slice(None)) < 0.02


def test_orders_are_kept_and_what_lies_beyond_all_quantiles_stays() -> None:
    margins = found(skewed(1))
    box = np.linspace(0, 1, 501)[:, None] * np.ones(D)
    moved = margins.of(box)
    assert (np.diff(moved, axis=0) >= -1e-12).all()
    assert moved.min() >= 0
    assert moved.max() <= 1
    beyond = box < margins.quantiles[:, 0]
    assert np.array_equal(moved[beyond], box[beyond])


def test_no_row_says_more_than_one() -> None:
    yardstick = lay_yardstick(normal(0), SCHEMA, SETTINGS)
    odd = np.concatenate(
        [np.zeros((1, D)), np.ones((1, D)), np.full((1, D), 0.5), np.full((1, D), np.nan), skewed(1, 100)]
    )
    said = yardstick.of(odd)
    assert np.isfinite(said).all()
    assert np.linalg.norm(said, axis=1).max() <= 1 + 1e-12
    assert not said[3].any()  # what is missing departs from nothing
    assert np.array_equal(said[50:60], yardstick.of(odd[50:60]))  # each row alone


def test_whole_numbers_stand_for_all_that_is_rounded_to_them() -> None:
    """Of a generator that is right, whole numbers say nothing either, although they leave most parts without a row."""
    whole = replace(SCHEMA, columns=tuple(replace(c, kind="integer", bounds=(0, 6)) for c in COLUMNS))
    rounded = np.round(normal(1) * 6) / 6
    drawn = normal(2)
    assert distance(found(rounded, schema=whole).of(drawn), drawn, slice(None)) < 0.01
    assert distance(found(rounded).of(drawn), drawn, slice(None)) > 0.05


@pytest.mark.parametrize(("numbers", "groups"), [(0, 0), (1, 1), (14, 1), (31, 2), (120, 8), (2_000, 8)])
def test_groups_have_columns_enough(numbers: int, groups: int) -> None:
    assert number_groups(numbers, SETTINGS) == groups


def test_numbers_of_rows_lie_in_the_box_and_missing_ones_nowhere() -> None:
    schema = replace(TWO, columns=(replace(TWO.columns[0], missing=True), *TWO.columns[1:]))
    batch = {c.name: np.array([-1_000.0, 0.0]) for c in schema.features} | {"x0": np.array([np.nan, 500.0])}
    box = number_values(batch, schema)
    assert np.isnan(box[0, 0])
    assert box[1, 0] == 0.75
    assert box[:, 1:].tolist() == [[0.0] * 7, [0.5] * 7]


@pytest.mark.parametrize("n_rows", [1, 500])
def test_a_generator_whose_rows_are_all_alike_is_no_yardstick_that_divides_by_nothing(n_rows: int) -> None:
    alike = np.full((n_rows, D), 0.25)
    yardstick = lay_yardstick(alike, SCHEMA, SETTINGS)
    said = yardstick.of(skewed(1, 200))
    assert np.isfinite(said).all()
    assert np.linalg.norm(said, axis=1).max() <= 1 + 1e-12
    moved = fit_margins(yardstick, Measured(said.sum(axis=0), 10.0), 200.0).of(alike)
    assert np.array_equal(moved, alike)


def test_times_are_as_coarse_as_they_are_released() -> None:
    """Half an hour has 30 minutes: a whole minute stands for all that are rounded to it."""
    columns = [sf.Column(name=f"t{j}", kind="time", bounds=("10:00", "10:30"), seconds=j == 1) for j in range(2)]
    schema = sf.Schema(columns=columns, target=None)
    yardstick = lay_yardstick(np.random.default_rng(0).random((1_000, 2)), schema, SETTINGS)
    assert yardstick.parts.rounding == pytest.approx([30 / 1_800, 0.5 / 1_800])
