"""DP-GAN: what the discriminator sees, its gradients, the two networks together, the contract and its twins."""

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
from sfumato.errors import ContractError, ModelError, PlanError
from sfumato.extending import NoiseSource, register
from sfumato.learn.dct import cosine_basis
from sfumato.mechanisms import DPGan
from sfumato.mechanisms.common.generator import Outputs
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.generators.gan.beginning import generator_of
from sfumato.mechanisms.generators.gan.discriminator import Discriminator
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.plan.plan import make_plan
from sfumato.public.plan.probe import random_batch
from sfumato.public.schema.encoding import one_hot

torch = pytest.importorskip("torch", reason="torch is not installed: tests of generators are skipped")

BUDGET = Budget(epsilon=1.0, delta=1e-6)
SETTINGS = {
    **{"n_steps": 3, "batch": 60, "generated": 16, "discriminator_hidden": 6},
    **{"coefficients": 12, "latent": 4, "hidden": 8},
}
SMALL = DPGan(**SETTINGS)


@pytest.mark.parametrize("schema", [schemas.TABLE, schemas.IMAGES], ids=["table", "images"])
def test_generated_rows_that_are_private_ones_look_the_same(schema: Schema) -> None:
    rows, batch = MixedRows(schema), random_batch(schema, n_rows=7, seed=0)
    sees = Discriminator(rows, 4, 20)
    numbers = torch.from_numpy(rows.numbers(batch))
    hot = [one_hot(code, size=size) for code, size in zip(rows.codes(batch).T, rows.code_sizes, strict=True)]
    certain = torch.from_numpy(np.concatenate([np.zeros((7, 0)), *hot], axis=1))
    made = sees.vectors_of(Outputs(numbers, torch.zeros_like(numbers), certain), np.random.default_rng(0))
    assert np.allclose(made.numpy(), sees.vectors(batch), atol=1e-5)
    assert made.shape == (7, sees.width)


def test_codes_are_drawn_by_their_probabilities_and_pass_gradients_on() -> None:
    sees = Discriminator(MixedRows(schemas.TABLE), 4, 20)
    logits = torch.zeros(4000, sum(sees.rows.code_sizes), dtype=torch.float64, requires_grad=True)
    chances = torch.full_like(logits, 0.5).detach() * torch.sigmoid(logits)
    numbers = torch.full((4000, 3), 0.5, dtype=torch.float64)
    made = sees.vectors_of(Outputs(numbers, 0 * numbers, chances), np.random.default_rng(0))
    codes = made.detach()[:, 3:]
    assert torch.allclose(codes, codes.round(), atol=1e-9)
    assert np.allclose(codes[:, :4].mean(dim=0), 0.25, atol=0.03)
    made[:, 3].sum().backward()
    assert float(logits.grad.abs().sum()) > 0


def test_gradients_of_generated_rows_are_clipped_one_by_one() -> None:
    sees = Discriminator(MixedRows(schemas.TABLE), 4, 20)
    parameters = sees.start(0)
    vectors, labels = torch.from_numpy(np.random.default_rng(0).normal(size=(9, sees.width))), torch.arange(9) % 2
    each = [sees.gradient_of_made(parameters, vectors[[i]], labels[[i]], clip=0.5) for i in range(9)]
    lengths = [float(torch.cat([values.flatten() for values in one.values()]).norm()) for one in each]
    assert max(lengths) == pytest.approx(0.5)
    together = sees.gradient_of_made(parameters, vectors, labels, clip=0.5)
    for name, values in together.items():
        assert torch.allclose(values, sum(one[name] for one in each) / 9)
    free = sees.gradient_of_made(parameters, vectors, labels, clip=1e9)
    tracked = {name: values.clone().requires_grad_(True) for name, values in parameters.items()}
    torch.nn.functional.softplus(sees.score(tracked, vectors, labels)).mean().backward()
    assert all(torch.allclose(free[name], values.grad) for name, values in tracked.items())


@pytest.mark.slow
@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize("schema", [schemas.TABLE, schemas.IMAGES], ids=["table", "images"])
def test_it_keeps_the_contract(schema: Schema) -> None:
    check_mechanism(SMALL, schema)


def test_pictures_begin_at_the_gaussian_of_their_class_and_the_network_adds_to_it() -> None:
    rows, rng = MixedRows(schemas.IMAGES), np.random.default_rng(0)
    means = 0.5 * np.eye(3, 5) + 3.0 * np.eye(1, 5)  # greys about the middle: nothing is cut
    loadings = 0.05 * rng.normal(size=(3, 5, 5))
    generator = generator_of({"means": means, "loadings": loadings}, rows, latent=9, hidden=8)
    labels, latent = np.array([0, 1, 2, 1]), rng.normal(size=(4, 5))
    basis = cosine_basis(6, 6, 5)
    drawn = [(means[c] + z @ loadings[c]) @ basis.T for c, z in zip(labels, latent, strict=True)]
    parameters = generator.start(0)
    made = generator(parameters, torch.from_numpy(latent), torch.from_numpy(labels)).numbers
    assert np.allclose(made.detach(), drawn, atol=1e-6)
    made.sum().backward()
    assert float(parameters[-2].grad.abs().sum()) > 0
    with torch.no_grad():
        parameters[-1] += 0.1
    assert not np.allclose(
        generator(parameters, torch.from_numpy(latent), torch.from_numpy(labels)).numbers.detach(), drawn
    )


def test_moments_of_pictures_are_planned_beside_the_gradients() -> None:
    more, less = (
        make_plan(
            replace(SMALL, start_share=share).steps(schemas.IMAGES, BUDGET),
            budget=BUDGET,
            unit=schemas.IMAGES.unit,
            rows=300,
        )
        for share in (9.0, 0.1)
    )
    assert more.noise_stddev("products", "products") < less.noise_stddev("products", "products")
    assert more.noise_stddev("gradients", "gradient") > less.noise_stddev("gradients", "gradient")
    assert [step.name for step in SMALL.steps(schemas.TABLE, BUDGET)] == ["classes", "gradients"]


@register
@dataclass(frozen=True, kw_only=True)
class ScalesByTheLargest(DPGan):
    """The discriminator sees vectors in lengths of the longest of their batch."""

    name: ClassVar[str] = "gan-scales-by-the-largest"

    def measure(self, view, schema):
        class Scaled(twins.Through):
            def prepare(self, name, per_record):
                self.view.prepare(name, lambda batch: per_record(batch) / np.abs(per_record(batch)).sum())

        return super().measure(Scaled(view), schema)


@register
@dataclass(frozen=True, kw_only=True)
class StartsAtTheRows(DPGan):
    """The last layer of the generator is moved to the mean of the rows that a map has seen."""

    name: ClassVar[str] = "gan-starts-at-the-rows"

    def measure(self, view, schema):
        seen = []

        class Spy(twins.Through):
            def prepare(self, name, per_record):
                def spying(batch):
                    seen.append(per_record(batch).mean(axis=0))
                    return per_record(batch)

                self.view.prepare(name, spying)

        measured = super().measure(Spy(view), schema)
        *others, bias = measured["generator"]
        return {**measured, "generator": (*others, bias + np.mean(seen))}


BROKEN = [
    (ScalesByTheLargest(**SETTINGS), Primitives, "steps are public and settled"),
    (StartsAtTheRows(**SETTINGS), Primitives, "what comes out follows from the doors' answers"),
    (replace(SMALL, clip=1e-3), twins.LouderGradients, "neighbouring data differ by at most the bound"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "primitives", "clause"), BROKEN)
def test_broken_twins_are_caught(mechanism, primitives, clause: str) -> None:
    (check,) = [check for check in CHECKS if check.name == clause]
    with pytest.raises(ContractError):
        check.run(Setting(mechanism, schemas.TABLE, BUDGET, 300, primitives))


PEOPLE = Schema(
    columns=(
        Column(name="pressure", kind="numeric", bounds=(60, 200)),
        Column(name="ward", kind="categorical", categories=("north", "south")),
        Column(name="ill", kind="boolean"),
    ),
    target="ill",
    rows=4000,
)


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ill = rng.random(4000) < 0.4
    ward = np.where(rng.random(4000) < np.where(ill, 0.9, 0.1), "south", "north")
    return pd.DataFrame({"pressure": np.where(ill, 160, 100) + rng.normal(size=4000) * 5, "ward": ward, "ill": ill})


def test_a_search_that_diverges_is_said_and_nothing_is_released() -> None:
    with pytest.raises(ModelError, match="diverged"):
        fit(replace(SMALL, generator_rate=1e200), Sensitive.read(people(), PEOPLE), BUDGET)


def test_what_does_not_work_is_refused() -> None:
    with pytest.raises(PlanError, match="must be above 0"):
        replace(SMALL, batch=0).steps(schemas.TABLE, BUDGET)
    with pytest.raises(PlanError, match="public number of rows"):
        SMALL.steps(replace(schemas.TABLE, rows=None), BUDGET)
    assert DPGan(batch=10**6).steps(PEOPLE, BUDGET)[1].sampling.rate == 1.0


def apart(epsilon: float) -> float:
    """How far classes differ in the release, where they do by 60 and .8 among the rows: 2 if as there."""
    rates = {"learning_rate": 0.005, "generator_rate": 0.005}
    mechanism = DPGan(n_steps=100, batch=200, generated=64, discriminator_hidden=16, hidden=32, latent=4, **rates)
    data, budget = Sensitive.read(people(), PEOPLE), Budget(epsilon=epsilon, delta=1e-5)
    table = fit(mechanism, data, budget, source=NoiseSource(research_seed=1)).model.sample(3000, seed=1).table
    ill, south = table["ill"].astype(bool), table["ward"] == "south"
    pressure = table["pressure"][ill].mean() - table["pressure"][~ill].mean()
    return float(pressure / 60 + (south[ill].mean() - south[~ill].mean()) / 0.8)


@pytest.mark.slow
def test_the_generator_learns_what_tells_classes_apart_and_less_under_more_noise() -> None:
    assert apart(8.0) > 1.2
    assert apart(0.01) < 0.6
