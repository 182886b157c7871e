"""local-reports and dp-pro: what a report holds, what is made of it, how much is left of it, and twins that must fail."""

import os
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import schemas
import sfumato as sf
import twins
from helpers import set_constant
from sfumato.check import check_mechanism
from sfumato.check.clauses.doors import responses_have_their_odds
from sfumato.check.instruments.rows import made_up, read
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, PlanError
from sfumato.extending import NoiseSource
from sfumato.lab.benchmark.datasets import load
from sfumato.mechanisms import DPPro, LocalReports
from sfumato.mechanisms.local.calibration import calibrated
from sfumato.mechanisms.local.directions import N_DIRECTIONS, Directions, NearDirections, best_cap, lifted, truth
from sfumato.mechanisms.local.space import Space, decoded
from sfumato.private.kernel import responses
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.plan.grid import RESPONSE_PARTS, truth_in_parts
from sfumato.public.plan.probe import random_batch
from sfumato.public.schema.encoding import Encoder

REPLACE = sf.PrivacyUnit(relation="replace_one")
IMAGES = replace(schemas.IMAGES, unit=REPLACE)
PRIVUNIT = LocalReports(randomiser="privunit")
ALL = [LocalReports(), DPPro(), PRIVUNIT]


# The space.


@pytest.mark.parametrize("schema", [schemas.REPLACE, IMAGES], ids=["table", "images"])
def test_no_row_is_longer_than_the_space_says_and_some_are_as_long(schema) -> None:
    space = Space(schema.features, None)
    corners = {
        c.name: np.array([0, c.size - 1])
        if c.is_coded
        else np.stack([np.full(c.shape, c.low), np.full(c.shape, c.high)])
        for c in schema.features
    }
    if not schema.images:
        corners["pressure"] = np.array([60.0, 200.0])
    lengths = np.linalg.norm(space(random_batch(schema, n_rows=500, seed=1)), axis=1)
    assert lengths.max() <= space.length + 1e-9
    assert np.linalg.norm(space(corners), axis=1) == pytest.approx(np.full(2, space.length), rel=1e-9)


@pytest.mark.parametrize("mechanism", [LocalReports(coefficients=36), DPPro(dimensions=99)])
def test_a_projection_that_keeps_everything_is_undone(mechanism) -> None:
    schema = IMAGES if isinstance(mechanism, LocalReports) else schemas.REPLACE
    space = mechanism.space(schema, mechanism.width(schema, sf.Budget(1.0, 1e-6)))
    batch = random_batch(schema, n_rows=50, seed=1)
    assert space.back(space(batch)) == pytest.approx(Encoder(schema.features)(batch), abs=1e-4)


# What is made of reports.


def made(n_rows, *, stddev, seed=1):
    """Rows along one axis, with a label that moves it, and their reports."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, size=n_rows)
    rows = np.outer(labels + rng.normal(size=n_rows), [1.0, 0.5, 0.0])
    return rows, labels, rows + stddev * rng.normal(size=rows.shape)


def test_calibrated_reports_are_nearer_to_their_rows() -> None:
    rows, labels, reports = made(5_000, stddev=2.0)
    guess, _ = calibrated(reports, labels, stddev=2.0)
    assert ((guess - rows) ** 2).mean() < 0.25 * ((reports - rows) ** 2).mean()


def test_a_slope_on_calibrated_reports_is_that_of_the_rows_and_on_reports_too_flat() -> None:
    rows, labels, reports = made(20_000, stddev=2.0)
    guess, _ = calibrated(reports, labels, stddev=2.0)

    def gap(of):
        return of[labels == 1, 0].mean() - of[labels == 0, 0].mean()

    def slope(of):
        return np.polyfit(of[:, 0], labels, 1)[0]

    lacking = calibrated(reports, labels, stddev=2.0)[1]
    drawn = guess + np.sqrt(lacking) * np.random.default_rng(2).normal(size=guess.shape)
    assert gap(guess) == pytest.approx(gap(rows), abs=0.1)
    assert slope(drawn) == pytest.approx(slope(rows), rel=0.2)
    assert slope(reports) < 0.5 * slope(rows)


def test_reports_that_are_noise_alone_say_nothing_of_a_row() -> None:
    noise = np.random.default_rng(3).normal(size=(4_000, 5))
    guess, lacking = calibrated(noise, None, stddev=1.0)
    assert guess.std(axis=0).max() < 0.1
    assert lacking.max() < 0.2


def test_categories_are_drawn_by_what_each_has_and_numbers_stay_inside() -> None:
    colour = sf.Column(name="c", kind="categorical", categories=("a", "b", "d"))
    age = sf.Column(name="age", kind="integer", bounds=(0, 100), missing=True)
    encoded = np.tile([0.5, 0.7, -0.2, 9.0, 0.25], (20_000, 1))
    found = decoded(encoded, (colour, age), lacking=np.zeros(5), seed=1)
    shares = np.bincount(found["c"].astype(int), minlength=3) / 20_000
    assert shares == pytest.approx([0.5 / 1.2, 0.7 / 1.2, 0.0], abs=0.02)
    assert np.isnan(found["age"]).mean() == pytest.approx(0.25, abs=0.02)
    assert np.nanmax(found["age"]) == 100


# How much is left.


def correlation(mechanism, epsilon):
    rng = np.random.default_rng(5)
    age = rng.integers(18, 91, size=3_000)
    raw = made_up(schemas.REPLACE, n_rows=3_000, seed=1) | {"age": age, "ill": np.where(age > 54, "yes", "no")}
    schema = replace(schemas.REPLACE, rows=3_000)
    fitted = sf.fit(mechanism, read(raw, schema), sf.Budget(epsilon, 1e-5), source=NoiseSource(research_seed=2), seed=1)
    table = fitted.model.sample(3_000, seed=0).table
    return np.corrcoef(table["age"].astype(float), table["ill"] == "yes")[0, 1]


@pytest.mark.parametrize("mechanism", ALL, ids=lambda m: f"{m.name} {m.randomiser}")
def test_a_rule_is_seen_at_a_large_epsilon_and_lost_at_a_small_one(mechanism) -> None:
    assert correlation(mechanism, 500.0) > 0.5
    assert abs(correlation(mechanism, 0.5)) < 0.2


def test_pictures_come_back_in_their_bounds_and_type() -> None:
    data = read(made_up(IMAGES, n_rows=300, seed=1), IMAGES)
    sample = sf.fit(LocalReports(), data, sf.Budget(1.0, 1e-5), seed=1).model.sample(300, seed=0)
    assert sample.images.shape == (300, 6, 6)
    assert 0 <= sample.images.min() <= sample.images.max() <= IMAGES.images[0].high
    assert set(np.unique(sample.labels)) == {0, 1, 2}


def pictures(images, labels, *, epsilon):
    """Reports of pictures in the unit box: images, and labels."""
    rows, *shape = images.shape
    classes = tuple(str(c) for c in range(labels.max() + 1))
    schema = sf.Schema(
        columns=(
            sf.Column(name="image", kind="image", shape=tuple(shape), bounds=(0, 1)),
            sf.Column(name="label", kind="categorical", categories=classes),
        ),
        target="label",
        rows=rows,
        unit=REPLACE,
    )
    raw = {"image": images.astype(np.float32), "label": np.array(classes)[labels]}
    source = NoiseSource(research_seed=3)
    fitted = sf.fit(LocalReports(), read(raw, schema), sf.Budget(epsilon, 1e-6), source=source, seed=1)
    sample = fitted.model.sample(rows, seed=0)
    return sample.images, sample.labels


def test_next_to_no_noise_leaves_pictures_as_they_were() -> None:
    patterns, labels = np.random.default_rng(1).integers(2, size=(4, 20, 20)), np.arange(400) % 4
    images, told = pictures(patterns[labels], labels, epsilon=200_000.0)
    for label, pattern in enumerate(patterns):
        assert np.abs(images[told == label].mean(axis=0) - pattern).max() < 0.1


def test_pictures_get_back_the_spread_that_they_lack() -> None:
    rng = np.random.default_rng(2)
    images, _ = pictures(0.5 + 0.1 * rng.normal(size=(3_000, 12, 12)), rng.integers(2, size=3_000), epsilon=1_000.0)
    assert images.std(axis=0).mean() == pytest.approx(0.1, rel=0.2)


@pytest.mark.slow
@pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="set SFUMATO_DATA to a folder with the real datasets")
def test_a_larger_epsilon_serves_a_learner_no_less() -> None:
    train = load("mnist").train
    images, labels = train["image"] / 255, train["label"].astype(np.int64)
    found = []
    for epsilon in (150.0, 5_000.0, 200_000.0):
        shown, told = pictures(images[:3_000], labels[:3_000], epsilon=epsilon)
        learner = LogisticRegression(max_iter=100).fit(shown.reshape(3_000, -1), told)
        found.append(learner.score(images[3_000:6_000].reshape(3_000, -1), labels[3_000:6_000]))
    assert found[0] < found[1] + 0.015 < found[2] + 0.03
    assert found[-1] > 0.87


# Directions.


def test_rows_are_lifted_to_the_sphere_and_clipped() -> None:
    rows = np.random.default_rng(1).normal(size=(50, 4))
    found = lifted(rows, length=2.0)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(50), abs=1e-5)
    short = np.linalg.norm(rows, axis=1) < 2
    assert 0 < short.sum() < 50
    assert 2 * found[short, :-1] == pytest.approx(rows[short])


def test_reports_by_directions_are_the_rows_on_average_and_as_noisy_as_they_say() -> None:
    near = NearDirections(Directions(4), 2.0, 4.0)
    row = np.array([0.9, -1.2, 0.6])
    own = near.codes(np.tile(row, (20_000, 1)))
    assert own.shape == (20_000, near.n_near)
    parts = truth_in_parts(near.block("row", share=1.0), noise_multiplier=0.5)  # epsilon 4
    given = responses.randomised(own, categories=N_DIRECTIONS, parts=parts, source=NoiseSource(research_seed=1))
    found = near.reports(given[:, 0])
    assert found.values.mean(axis=0) == pytest.approx(row, abs=0.2)
    assert found.values.std(axis=0) == pytest.approx(np.full(3, found.stddev), rel=0.3)


def test_the_truth_of_a_report_is_what_the_door_draws() -> None:
    for epsilon in (0.1, 1.0, 6.0):
        near = NearDirections(Directions(4), 1.0, epsilon)
        parts = truth_in_parts(near.block("row", share=1.0), noise_multiplier=2 / epsilon)
        assert parts / RESPONSE_PARTS == pytest.approx(truth(near.n_near, epsilon=epsilon), rel=1e-6)


def test_the_cap_narrows_as_epsilon_grows() -> None:
    caps = [best_cap(epsilon=epsilon) for epsilon in (0.1, 1.0, 3.0, 6.0, 12.0)]
    assert caps == sorted(caps, reverse=True)
    assert (caps[0], caps[-1]) == (N_DIRECTIONS // 2, 1)


@pytest.mark.slow
def test_reports_by_directions_keep_the_contract(monkeypatch) -> None:
    set_constant(monkeypatch, "sfumato.mechanisms.local.directions.N_DIRECTIONS", 64)
    check_mechanism(PRIVUNIT, schemas.REPLACE)


def test_directions_that_are_told_too_often_are_noticed() -> None:
    def told_by(primitives):
        responses_have_their_odds(Setting(PRIVUNIT, schemas.REPLACE, sf.Budget(1.0, 1e-6), 300, primitives))

    told_by(Primitives)
    for twin in (twins.TwiceTheTruth, TheNearest):
        with pytest.raises(ContractError, match="odds that were accounted"):
            told_by(twin)


class TheNearest(Primitives):
    """Of the codes of a row always the first, which is then told as often as all of them should be together."""

    def respond(self, private_codes, *, step, block, categories, parts):
        return super().respond(private_codes[:, :1], step=step, block=block, categories=categories, parts=parts)


def test_a_release_by_directions_verifies(tmp_path) -> None:
    data = read(made_up(schemas.REPLACE, n_rows=300, seed=1), schemas.REPLACE)
    fitted = sf.fit(PRIVUNIT, data, sf.Budget(4.0, 1e-5), seed=1)
    sf.release(fitted, to=tmp_path / "release")
    found = sf.verify(tmp_path / "release", rebuild=True)
    assert found.ok, found.problems
    assert found.replayed_epsilon == pytest.approx(4.0, rel=1e-6)


# What is refused.


@pytest.mark.parametrize(
    ("mechanism", "schema", "message"),
    [
        (LocalReports(), schemas.TABLE, "replace_one"),
        (LocalReports(), replace(schemas.REPLACE, rows=None), "declared, exactly"),
        (LocalReports(label_share=1.0), schemas.REPLACE, "label_share"),
        (LocalReports(l2_clip=0.0), schemas.REPLACE, "l2_clip"),
        (DPPro(dimensions=0), schemas.REPLACE, "dimensions"),
        (LocalReports(randomiser="laplace"), schemas.REPLACE, "gaussian or privunit"),
        (PRIVUNIT, schemas.TABLE, "replace_one"),
    ],
)
def test_what_cannot_be_reported_is_refused(mechanism, schema, message) -> None:
    with pytest.raises(PlanError, match=message):
        sf.plan(mechanism, schema, sf.Budget(1.0, 1e-5))


# Twins.


@dataclass(frozen=True, kw_only=True)
class CentresByTheBatch(LocalReports):
    """Rows about the mean of their batch, so that one moves all others."""

    name: ClassVar[str] = "centres-by-the-batch"

    def measure(self, view, schema):
        class Centring(twins.Through):
            def noisy_reports(self, step, per_record):
                def centred(batch):
                    found = dict(per_record(batch))
                    found["row"] = found["row"] - found["row"].mean(axis=0)
                    return found

                return self.view.noisy_reports(step, centred)

        return super().measure(Centring(view), schema)


@dataclass(frozen=True, kw_only=True)
class LabelsOfTheRows(LocalReports):
    """The rows' own labels, seen by the map, take the place of the reported ones."""

    name: ClassVar[str] = "labels-of-the-rows"

    def measure(self, view, schema):
        seen = []

        class Spying(twins.Through):
            def noisy_reports(self, step, per_record):
                def spying(batch):
                    seen.append(np.array(batch[schema.target]))
                    return per_record(batch)

                return self.view.noisy_reports(step, spying)

        found = super().measure(Spying(view), schema)
        return {**found, "labels": np.resize(seen[-1], len(found["labels"]))}


@pytest.mark.parametrize("twin", [CentresByTheBatch(), LabelsOfTheRows()], ids=lambda twin: twin.name)
def test_twins_are_rejected(twin) -> None:
    with pytest.raises(ContractError):
        check_mechanism(twin, schemas.REPLACE)


def test_a_table_holds_every_column_within_its_schema() -> None:
    data = read(made_up(schemas.REPLACE, n_rows=300, seed=1), schemas.REPLACE)
    table = sf.fit(DPPro(), data, sf.Budget(1.0, 1e-5), seed=1).model.sample(300, seed=0).table
    assert list(table.columns) == [c.name for c in schemas.REPLACE.columns]
    assert table["age"].between(18, 90).all()
    assert isinstance(table, pd.DataFrame)
