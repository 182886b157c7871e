"""DP-MERF: waves and their means, shrunk embeddings, the generator that follows them, the contract and its twins."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import schemas
import twins
from sfumato import Budget, Column, Schema, Sensitive, fit
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, ModelError, PlanError, SchemaError
from sfumato.extending import NoiseSource, register
from sfumato.mechanisms import DPMerf
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.generators.merf.mechanism import _distance, contribution, mean_embedding
from sfumato.mechanisms.generators.merf.waves import ExpectedWaves, draw_waves
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.plan.doors import Measured
from sfumato.public.plan.probe import random_batch
from sfumato.public.schema.encoding import one_hot

torch = pytest.importorskip("torch", reason="torch is not installed: tests of generators are skipped")

BUDGET = Budget(epsilon=1.0, delta=1e-6)
SMALL = DPMerf(waves=20, latent=4, hidden=8, n_steps=3, batch=48)
NUMBER = replace(schemas.TABLE, target="pressure")


class TestRows:
    @pytest.mark.parametrize("schema", [schemas.TABLE, schemas.NO_TARGET, NUMBER], ids=["class", "none", "number"])
    def test_numbers_codes_and_classes_give_the_rows_back(self, schema: Schema) -> None:
        rows, batch = MixedRows(schema), random_batch(schema, n_rows=50, seed=0)
        numbers, codes = rows.numbers(batch), rows.codes(batch)
        assert ((numbers >= 0) & (numbers <= 1)).all()
        assert (codes < rows.code_sizes).all()
        table = rows.synthetic(numbers, codes, rows.labels(batch)).table
        pd.testing.assert_frame_equal(table, schema.decode(batch))

    def test_pictures_come_back(self) -> None:
        rows, batch = MixedRows(schemas.IMAGES), random_batch(schemas.IMAGES, n_rows=9, seed=0)
        again = rows.synthetic(rows.numbers(batch), rows.codes(batch), rows.labels(batch))
        assert np.abs(again.images - batch["image"]).max() <= 0.5
        assert np.array_equal(again.labels, batch["label"])

    def test_nothing_besides_the_class_is_refused(self) -> None:
        with pytest.raises(SchemaError, match="besides the target"):
            MixedRows(Schema(columns=(Column(name="y", kind="boolean"),), target="y"))


class TestWaves:
    def test_products_are_a_mean_of_gaussian_kernels(self) -> None:
        rows, batch = MixedRows(schemas.IMAGES), random_batch(schemas.IMAGES, n_rows=6, seed=0)
        features = draw_waves(rows, 40_000).of_rows(rows, batch)
        assert np.allclose(np.linalg.norm(features, axis=1), 1)
        pixels = batch["image"].reshape(6, -1) / 255
        square = ((pixels[:, None] - pixels[None]) ** 2).sum(axis=2)
        kernels = [np.exp(-square / (2 * width**2 * 36 / 6)) for width in (0.25, 0.5, 1.0)]
        assert np.abs(features @ features.T - np.mean(kernels, axis=0)).max() < 0.03

    def test_rows_with_another_code_differ_in_the_waves_that_look_at_it(self) -> None:
        rows, batch = MixedRows(schemas.TABLE), random_batch(schemas.TABLE, n_rows=1, seed=0)
        waves = draw_waves(rows, 20_000)
        other = {**batch, "smoker": 1 - batch["smoker"]}
        product = float((waves.of_rows(rows, batch) * waves.of_rows(rows, other)).sum())
        assert product == pytest.approx(1 - waves.looks[1].mean(), abs=0.03)
        assert 0.05 < waves.looks[1].mean() < 0.95
        assert waves.looks.sum(axis=0).max() == 2

    @pytest.mark.parametrize("schema", [schemas.TABLE, schemas.IMAGES], ids=["table", "images"])
    def test_means_over_certain_rows_are_those_of_the_rows(self, schema: Schema) -> None:
        rows, batch = MixedRows(schema), random_batch(schema, n_rows=7, seed=0)
        waves = draw_waves(rows, 60)
        numbers, codes = rows.numbers(batch), rows.codes(batch)
        hot = [one_hot(code, size=size) for code, size in zip(codes.T, rows.code_sizes, strict=True)]
        hot = torch.from_numpy(np.concatenate([np.zeros((7, 0)), *hot], axis=1))
        expected = ExpectedWaves(torch, waves)
        for spreads in (None, torch.zeros(numbers.shape, dtype=torch.float64)):
            given = expected(torch.from_numpy(numbers), spreads, hot).numpy()
            assert np.allclose(given, waves.of_rows(rows, batch), atol=1e-3 / math.sqrt(60))

    def test_means_over_drawn_rows_are_those_of_many_draws(self) -> None:
        columns = (
            Column(name="x", kind="numeric", bounds=(0, 1)),
            Column(name="y", kind="numeric", bounds=(0, 1)),
            Column(name="colour", kind="categorical", categories=("red", "green", "blue")),
            Column(name="old", kind="boolean"),
        )
        rows, n_draws, rng = MixedRows(Schema(columns=columns)), 40_000, np.random.default_rng(0)
        middle, spread, chances = np.array([0.4, 0.6]), np.array([0.03, 0.02]), ([0.2, 0.5, 0.3], [0.9, 0.1])
        batch = dict(zip("xy", (middle + spread * rng.normal(size=(n_draws, 2))).T, strict=True))
        batch |= {"colour": rng.choice(3, size=n_draws, p=chances[0]), "old": rng.choice(2, size=n_draws, p=chances[1])}
        waves = draw_waves(rows, 60)
        given = [torch.from_numpy(values[None]) for values in (middle, spread, np.concatenate(chances))]
        expected = ExpectedWaves(torch, waves)(*given).numpy()[0]
        assert np.abs(waves.of_rows(rows, batch).mean(axis=0) - expected).max() < 5 / math.sqrt(60 * n_draws)
        assert {0, 1, 2} == set(waves.looks.sum(axis=0))


class TestEmbedding:
    def noisy(self, counts: list[float], sums: np.ndarray) -> dict[str, Measured]:
        return {"counts": Measured(np.array(counts), 10.0), "waves": Measured(sums.ravel(), 5.0)}

    def test_a_large_class_keeps_its_own_mean_and_an_empty_one_has_that_of_all(self) -> None:
        rng = np.random.default_rng(0)
        means = rng.normal(size=(3, 2000)) / math.sqrt(2000)
        sums = means * np.array([[9000.0], [9000.0], [0.0]]) + 5 * rng.normal(size=(3, 2000))
        for count in (-25.0, 0.0, 12.0):  # divided by such a count, the mean would be 9 or longer
            found = mean_embedding(self.noisy([9000.0, 9000.0, count], sums))[0]
            assert np.isfinite(found).all()
            assert np.linalg.norm(found[:2] - means[:2], axis=1).max() < 0.05
            assert np.linalg.norm(found[2] - means[:2].mean(axis=0)) < 0.4

    def test_all_noise_stays_small(self) -> None:
        sums = 5 * np.random.default_rng(0).normal(size=(2, 40))
        found = mean_embedding(self.noisy([-3.0, 4.0], sums))[0]
        assert np.linalg.norm(found, axis=1).max() < 1.5

    def test_the_spread_of_generated_rows_is_no_error(self) -> None:
        rng = np.random.default_rng(0)
        features = torch.from_numpy(rng.normal(size=(20_000, 30)))
        target = torch.zeros(100, 30, dtype=torch.float64)
        assert abs(float(_distance(features, target, 100))) < 0.02
        assert float(_distance(features + 1, target, 100)) == pytest.approx(30, abs=0.5)


KEPT = [
    pytest.param(SMALL, replace(schemas.PERSONS, target="pressure"), id="persons-number"),
    pytest.param(SMALL, replace(schemas.IMAGES, unit=schemas.REPLACE.unit), id="images-replace"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "schema"), KEPT)
def test_it_keeps_the_contract(mechanism: DPMerf, schema: Schema) -> None:
    check_mechanism(mechanism, schema)


class Changed(twins.Through):
    """Doors whose maps are shown other rows than those that stand there."""

    def __init__(self, view, change) -> None:
        super().__init__(view)
        self.change = change

    def noisy_sum(self, step, per_record):
        return self.view.noisy_sum(step, lambda batch: per_record(self.change(batch)))


@register
@dataclass(frozen=True, kw_only=True)
class ScalesByTheRows(DPMerf):
    """Numbers are scaled by the least and the largest of the rows, not by public bounds."""

    name: ClassVar[str] = "merf-scales-by-the-rows"

    def measure(self, view, schema):
        def scaled(batch):
            age = batch["age"]
            return {**batch, "age": 18 + 72 * (age - age.min()) / max(float(np.ptp(age)), 1.0)}

        return super().measure(Changed(view, scaled), schema)


@register
@dataclass(frozen=True, kw_only=True)
class WidthFromRows(DPMerf):
    """The kernel is as wide as the rows lie apart, as is usual where nothing is private."""

    name: ClassVar[str] = "merf-width-from-rows"

    def measure(self, view, schema):
        def widened(batch):
            apart = np.median(np.abs(batch["visit"] - np.median(batch["visit"])))
            return {**batch, "visit": 1.5e9 + 1e8 * (batch["visit"] - 1.5e9) / max(float(apart), 1.0)}

        return super().measure(Changed(view, widened), schema)


@register
@dataclass(frozen=True, kw_only=True)
class ExactRates(DPMerf):
    """Class rates are counted by the map, without noise."""

    name: ClassVar[str] = "merf-exact-rates"

    def measure(self, view, schema):
        counted = np.zeros(2)

        def counting(batch):
            counted[:] += np.bincount(batch["ill"], minlength=2)
            return batch

        measured = super().measure(Changed(view, counting), schema)
        return {**measured, "counts": Measured(counted.copy(), 1.0)}


def kwargs() -> dict[str, int]:
    return {"waves": 20, "latent": 4, "hidden": 8, "n_steps": 3, "batch": 48}


BROKEN = [
    (ScalesByTheRows(**kwargs()), Primitives, "maps act on each row alone"),
    (WidthFromRows(**kwargs()), Primitives, "steps are public and settled"),
    (ExactRates(**kwargs()), Primitives, "what comes out follows from the doors' answers"),
    (SMALL, twins.HalfNoise, "noise has the planned scale"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "primitives", "clause"), BROKEN)
def test_broken_twins_are_caught(mechanism, primitives, clause: str) -> None:
    (check,) = [check for check in CHECKS if check.name == clause]
    with pytest.raises(ContractError):
        check.run(Setting(mechanism, schemas.TABLE, BUDGET, 300, primitives))


# Two-sided utility: a number and a code that both follow the class.

PEOPLE = Schema(
    columns=(
        Column(name="pressure", kind="numeric", bounds=(60, 200), missing=True),
        Column(name="ward", kind="categorical", categories=("north", "south", "east")),
        Column(name="ill", kind="categorical", categories=("no", "yes")),
    ),
    target="ill",
    rows=8000,
)


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ill = rng.random(8000) < 0.3
    ward = np.where(rng.random(8000) < 0.7, np.where(ill, "south", "north"), "east")
    # Within the ill, those in the east have another pressure: two columns hang together inside a class.
    pressure = np.where(ill, np.where(ward == "east", 110, 160), 90) + rng.normal(size=8000) * 5
    pressure[rng.random(8000) < 0.2] = np.nan
    return pd.DataFrame({"pressure": pressure, "ward": ward, "ill": np.where(ill, "yes", "no")})


def gap(epsilon: float) -> float:
    """How far five facts of the release lie from those of the rows, together."""
    mechanism = DPMerf(waves=150, latent=6, hidden=48, n_steps=300, batch=128, learning_rate=0.01)
    data, budget = Sensitive.read(people(), PEOPLE), Budget(epsilon=epsilon, delta=1e-5)
    fitted = fit(mechanism, data, budget, seed=0, source=NoiseSource(research_seed=1))

    def facts(table: pd.DataFrame) -> np.ndarray:
        ill, east = table["ill"] == "yes", table["ward"] == "east"
        middle = [table["pressure"][rows].mean() / 100 for rows in (ill & ~east, ill & east, ~ill)]
        return np.array([ill.mean(), (table["ward"][ill] == "south").mean(), table["pressure"].isna().mean(), *middle])

    synthetic = fitted.model.sample(8000, seed=1).table
    assert synthetic["pressure"].dropna().between(60, 200).all()
    return float(np.abs(facts(people()) - facts(synthetic)).sum())


@pytest.mark.slow
def test_the_generator_follows_the_rows_and_less_under_more_noise() -> None:
    assert gap(4.0) < 0.2
    assert gap(0.005) > 0.4


def test_the_same_seed_trains_the_same_generator_and_another_one_does_not() -> None:
    measured = fit(SMALL, Sensitive.read(people(), PEOPLE), BUDGET).measurements
    one, two, other = (SMALL.build(measured, PEOPLE, seed=seed).sample(50, seed=0).table for seed in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(other)


def test_a_search_that_diverges_is_said() -> None:
    measured = fit(SMALL, Sensitive.read(people(), PEOPLE), BUDGET).measurements
    with pytest.raises(ModelError, match="diverged"):
        replace(SMALL, learning_rate=1e200).build(measured, PEOPLE, seed=0)


def test_more_classes_than_a_step_holds() -> None:
    many = PEOPLE.with_columns({"ill": Column(name="ill", kind="categorical", categories=tuple(map(str, range(40))))})
    rows = people().assign(ill=np.arange(8000) % 40)
    fitted = fit(replace(SMALL, batch=32), Sensitive.read(rows, many), BUDGET)
    assert len(fitted.model.sample(100, seed=0)) == 100


def test_settings_that_do_not_work_and_a_missing_extra_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for broken in (replace(SMALL, waves=0), replace(SMALL, learning_rate=math.nan)):
        with pytest.raises(PlanError, match="must be above 0"):
            broken.steps(schemas.TABLE, BUDGET)
    data, asked = Sensitive.read(people(), PEOPLE), []
    monkeypatch.setattr("sfumato.public.machine.torch_extra.importlib.util.find_spec", lambda name: None)
    with pytest.raises(PlanError, match=r"dp-merf needs torch.*sfumato\[deep\]"):
        fit(SMALL, data, BUDGET, on_step=asked.append)
    assert "embedding" not in asked


def test_a_row_gives_no_more_than_the_blocks_say() -> None:
    rows = MixedRows(schemas.TABLE)
    given = contribution(random_batch(schemas.TABLE, n_rows=100, seed=0), rows, draw_waves(rows, 30))
    label, waves = given["waves"][:, :2], given["waves"][:, 2:]
    assert np.allclose(np.linalg.norm(label, axis=1) * np.linalg.norm(waves, axis=1), 1)
    assert all(len(set(codes)) == len(rows.code_sizes) for codes in given["codes"])
