"""Learners: each keeps the contract, each broken twin is caught, the account is that of the sampling, and they learn."""

from dataclasses import replace
from typing import ClassVar

import dp_accounting as dpa
import numpy as np
import pandas as pd
import pytest
from dp_accounting import pld

import schemas
import sfumato as sf
import twins
from helpers import set_constant
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, ModelError, PlanError, SchemaError
from sfumato.extending import NoiseSource, register
from sfumato.mechanisms import Cnn, Logistic, Scattering
from sfumato.mechanisms.learners.network import Network
from sfumato.mechanisms.learners.progress import looks_of
from sfumato.public.plan.plan import make_plan

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)
PICTURES = sf.Schema(
    columns=(
        sf.Column(name="image", kind="image", shape=(14, 14)),
        sf.Column(name="label", kind="categorical", categories=("a", "b", "c")),
    ),
    target="label",
    rows=40,
)
SCATTERING = Scattering(teacher_steps=2, practice=40, teacher_width=8)
CNN = Cnn(batch=30, epochs=1)


def run_clause(clause: str, learner, schema: sf.Schema, primitives=None, n_rows: int = 40) -> None:
    (check,) = [check for check in CHECKS if check.name == clause]
    check.run(Setting(learner, schema, BUDGET, n_rows, *([] if primitives is None else [primitives])))


@pytest.fixture
def _small_batches(monkeypatch):
    """The same doors with fewer rows at a time, and fewer looks: the contract suite measures some fifty times."""
    set_constant(monkeypatch, "sfumato.private.rows.batches._MOST_ROWS", 16)
    for module in ("cnn", "scattering"):
        set_constant(monkeypatch, f"sfumato.mechanisms.learners.{module}._LOOKS", 1)


@pytest.mark.usefixtures("_small_batches")
class TestContract:
    """That of logistic is with the tests of tables, whose stages it is made of."""

    @pytest.mark.slow
    def test_scattering_keeps_it(self) -> None:
        check_mechanism(SCATTERING, schemas.IMAGES, n_rows=40)

    @pytest.mark.slow
    def test_cnn_keeps_it(self) -> None:
        pytest.importorskip("torch")
        check_mechanism(CNN, PICTURES, n_rows=40)


class KeepsARow(Logistic):
    """Shifts the weights by a row that a map has seen."""

    def measure(self, view, schema):
        seen = []

        def keeps(batch):
            seen.append(float(np.nan_to_num(batch["age"][0])))
            return np.zeros(len(batch["age"]))

        view.prepare(" kept", keeps)
        measured = super().measure(view, schema)
        rule = measured["rule"]
        return {"rule": replace(rule, rule=rule.rule + seen[-1])}


class LooksAgain(Logistic):
    """Takes one look more than it has planned."""

    def measure(self, view, schema):
        measured = super().measure(view, schema)
        view.noisy_sum("progress", lambda batch: {"progress": np.zeros((len(batch["age"]), 3))})
        return measured


@register
class ForgetsTheWeights(Logistic):
    """A file of weights that does not hold all of the model."""

    name: ClassVar[str] = "forgets-the-weights"

    def classifier(self, weights, schema, budget):
        return super().classifier({**weights, "weights": weights["weights"] + 1.0}, schema, budget)


class TestTwins:
    @pytest.mark.slow
    def test_a_row_that_shifts_the_weights(self) -> None:
        with pytest.raises(ContractError):
            run_clause("what comes out follows from the doors' answers", KeepsARow(), schemas.TABLE, n_rows=300)

    def test_a_look_that_was_not_planned(self) -> None:
        with pytest.raises((ContractError, PlanError)):
            run_clause("spending stays within the plan", LooksAgain(), schemas.TABLE, n_rows=300)

    def test_a_file_that_does_not_hold_the_model(self) -> None:
        with pytest.raises(ContractError, match="do not hold all of the model"):
            run_clause(
                "a release loads, samples and verifies without the data", ForgetsTheWeights(), schemas.TABLE, n_rows=300
            )

    @pytest.mark.slow
    @pytest.mark.usefixtures("_small_batches")
    @pytest.mark.parametrize(
        ("primitives", "clause"),
        [
            (twins.HalfNoise, "noise has the planned scale"),
            (twins.LouderGradients, "neighbouring data differ by at most the bound"),
            (twins.TwiceTheRate, "sampling is what was accounted"),
        ],
    )
    def test_broken_doors_under_the_network(self, primitives, clause: str) -> None:
        pytest.importorskip("torch")
        learner = replace(CNN, batch=20, epochs=5) if "sampling" in clause else CNN
        with pytest.raises(ContractError):
            run_clause(clause, learner, PICTURES, primitives)


class TestAccount:
    @pytest.mark.slow
    @pytest.mark.parametrize(("rows", "learner"), [(60_000, Cnn()), (3_000, Cnn(batch=300, epochs=10))])
    def test_the_epsilon_of_the_network_is_that_of_poisson_sampling(self, rows: int, learner: Cnn) -> None:
        """By dp_accounting's own loss distributions, from nothing but the rate, the noise and the numbers of uses."""
        schema, budget = replace(PICTURES, rows=rows), sf.Budget(epsilon=1.0, delta=1e-5)
        plan = make_plan(learner.steps(schema, budget), budget=budget, unit=schema.unit, rows=rows)
        accountant = pld.PLDAccountant(value_discretization_interval=1e-4)
        sampled = dpa.PoissonSampledDpEvent(
            learner.batch / rows, dpa.GaussianDpEvent(plan.noise_multiplier("gradients"))
        )
        accountant.compose(sampled, round(learner.epochs * rows / learner.batch))
        accountant.compose(dpa.GaussianDpEvent(plan.noise_multiplier("progress")), plan.step("progress").uses)
        assert accountant.get_epsilon(1e-5) == pytest.approx(plan.spent.epsilon, rel=2e-3)
        assert 0.998 < plan.spent.epsilon <= 1.0

    def test_looks_cost_little(self) -> None:
        budget = sf.Budget(epsilon=1.0, delta=1e-5)
        schema = replace(PICTURES, rows=60_000)
        steps = Cnn().steps(schema, budget)
        with_looks, without = (
            make_plan(some, budget=budget, unit=schema.unit, rows=60_000).noise_multiplier("gradients")
            for some in (steps, steps[:1])
        )
        assert without < with_looks < 1.02 * without

    def test_shuffled_batches_are_refused_with_the_reason(self) -> None:
        with pytest.raises(PlanError, match="not by a coin of its own"):
            Cnn(sampling="shuffled").steps(PICTURES, BUDGET)


class TestRefusals:
    def test_a_batch_larger_than_the_data(self) -> None:
        with pytest.raises(PlanError, match="larger than the data"):
            Cnn(batch=41).steps(PICTURES, BUDGET)

    def test_rows_that_are_not_declared(self) -> None:
        with pytest.raises(PlanError, match="number of rows"):
            Cnn().steps(replace(PICTURES, rows=None), BUDGET)

    @pytest.mark.parametrize(
        ("learner", "schema"),
        [(Logistic(), schemas.TABLE), (Scattering(), schemas.IMAGES), (CNN, PICTURES)],
    )
    def test_no_target_a_number_and_one_class(self, learner, schema: sf.Schema) -> None:
        with pytest.raises(SchemaError, match="needs a target to predict"):
            learner.steps(replace(schema, target=None), BUDGET)
        alone = replace(schema[schema.target], categories=("all",))
        with pytest.raises(SchemaError, match="one class alone"):
            learner.steps(schema.with_columns({alone.name: alone}), BUDGET)
        if not schema.images:
            with pytest.raises(SchemaError, match="tells classes apart"):
                learner.steps(replace(schema, target="age"), BUDGET)

    def test_each_kind_of_data_has_its_learner(self) -> None:
        for learner in (Scattering(), Cnn()):
            with pytest.raises(SchemaError, match="is for images"):
                learner.steps(schemas.TABLE, BUDGET)
        with pytest.raises(SchemaError, match="at least 14 x 14, and these are 6 x 6"):
            Cnn(batch=20).steps(schemas.IMAGES, BUDGET)

    def test_a_training_that_diverges(self) -> None:
        pytest.importorskip("torch")
        rng = np.random.default_rng(0)
        rows = {"image": rng.integers(0, 256, (40, 14, 14)), "label": rng.choice(["a", "b", "c"], 40)}
        with pytest.raises(ModelError, match="has diverged"):
            sf.train(replace(CNN, learning_rate=1e39), sf.Sensitive.read(rows, PICTURES), BUDGET)

    def test_without_torch_the_extra_is_named(self, monkeypatch) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        rng = np.random.default_rng(0)
        rows = {"image": rng.integers(0, 256, (40, 14, 14)), "label": rng.choice(["a", "b", "c"], 40)}
        with pytest.raises(PlanError, match=r"sfumato\[deep\]"):
            sf.train(CNN, sf.Sensitive.read(rows, PICTURES), BUDGET)

    def test_a_mechanism_of_rows_is_no_learner(self) -> None:
        data = sf.Sensitive.read(pd.DataFrame({"age": [3]}), sf.Schema(columns=(schemas.TABLE["age"],)))
        with pytest.raises(PlanError, match=r"trains no model\. Learners: cnn, .*logistic, scattering\."):
            sf.train("3a-table", data, BUDGET)


def people(n_rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, smokes = rng.integers(18, 91, n_rows), rng.random(n_rows) < 0.3
    odds = (age - 60) / 8 + 2.0 * smokes
    return pd.DataFrame({"age": age, "smokes": smokes, "ill": rng.random(n_rows) < 1 / (1 + np.exp(-odds))})


PEOPLE = sf.Schema(
    columns=(
        sf.Column(name="age", kind="integer", bounds=(18, 90)),
        sf.Column(name="smokes", kind="boolean"),
        sf.Column(name="ill", kind="boolean"),
    ),
    target="ill",
    rows=20_000,
)


class TestTheyLearn:
    @pytest.mark.slow
    def test_logistic_learns_what_there_is_and_no_more(self) -> None:
        source = NoiseSource(research_seed=3)
        model = sf.train("logistic", sf.Sensitive.read(people(20_000, 0), PEOPLE), BUDGET, seed=1, source=source)
        test = people(20_000, 1)
        said = model.predict(test.drop(columns="ill"))
        right = float((said["ill"] == test["ill"]).mean())
        best = float((((test["age"] - 60) / 8 + 2.0 * test["smokes"] > 0) == test["ill"]).mean())
        assert best - 0.01 < right < best + 0.005
        looks = model.classifier.looks
        assert looks == looks_of(model.fitted.plan, model.fitted.answers)
        assert abs(looks[-1].accuracy - best) < 5 * looks[-1].accuracy_stddev + 0.01
        assert np.allclose(said[["ill=false", "ill=true"]].sum(axis=1), 1.0)

    def test_logistic_finds_nothing_where_there_is_nothing(self) -> None:
        rows = people(20_000, 0)
        rows["ill"] = np.random.default_rng(5).random(20_000) < 0.3
        source = NoiseSource(research_seed=4)
        model = sf.train("logistic", sf.Sensitive.read(rows, PEOPLE), BUDGET, seed=1, source=source)
        said = model.predict(people(2_000, 2))["ill=true"]
        assert abs(float(said.mean()) - 0.3) < 0.03
        assert float(said.std()) < 0.06

    @pytest.mark.slow
    def test_the_network_learns_stripes(self) -> None:
        """One class upright, one lying, one grey: at a weak budget, with few steps."""
        pytest.importorskip("torch")
        schema = replace(PICTURES, rows=600)

        def pictures(n_rows: int, seed: int) -> dict[str, np.ndarray]:
            rng = np.random.default_rng(seed)
            label = rng.integers(3, size=n_rows)
            across = np.sin(
                np.arange(14)[None, None, :] + np.zeros((n_rows, 14, 1)) + rng.integers(6, size=(n_rows, 1, 1))
            )
            shapes = np.stack([across, across.transpose(0, 2, 1), np.zeros_like(across)])[label, np.arange(n_rows)]
            images = np.clip(128 + 90 * shapes + rng.normal(0, 20, shapes.shape), 0, 255)
            return {"image": images.astype(np.uint8), "label": np.array(["a", "b", "c"])[label]}

        learner = Cnn(batch=200, epochs=8, learning_rate=0.3)
        data, budget = sf.Sensitive.read(pictures(600, 0), schema), sf.Budget(epsilon=20.0, delta=1e-4)
        model = sf.train(learner, data, budget, seed=0, source=NoiseSource(research_seed=1))
        test = pictures(300, 1)
        right = float((model.predict({"image": test["image"]})["label"] == test["label"]).mean())
        assert right > 0.9
        assert model.classifier.looks[0].accuracy < 0.7 < model.classifier.looks[-1].accuracy

    def test_the_network_is_the_one_of_the_report(self) -> None:
        image = sf.Column(name="image", kind="image", shape=(28, 28))
        assert Network(image, 10).width == 26_010
