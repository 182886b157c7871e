"""Kernel mechanisms: the tangent kernel, its features, and points learned with and without noisy gradients."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import schemas
import twins
from sfumato import Budget, Column, Schema, Sensitive, fit
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, ModelError, PlanError, SchemaError
from sfumato.extending import register
from sfumato.learn import ntk
from sfumato.learn.tangents import tangent_features
from sfumato.mechanisms import DPKip, Kip
from sfumato.mechanisms.common.prepared import VECTOR
from sfumato.mechanisms.kernels.inducing import Space
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource

torch = pytest.importorskip("torch", reason="torch is not installed: tests of kernels are skipped")

BUDGET = Budget(epsilon=1.0, delta=1e-6)
#: Every step is costly and points are not: many of these, since noise is looked at until there are thousands of values.
SMALL_DP = DPKip(points=20, n_steps=2, batch=60, coefficients=12)
SMALL = Kip(points=2, n_features=16, n_steps=5, coefficients=12)


class TestKernel:
    @pytest.mark.slow
    def test_it_is_that_of_a_wide_network(self) -> None:
        """Inner products of a random network's gradients come near the closed form."""
        torch.manual_seed(0)
        width, size = 1500, 5
        layers = [torch.randn(width, size), torch.randn(width, width), torch.randn(1, width)]
        a, b = ntk.unit_rows(torch.randn(2, size))

        def output(weights, x):
            for weight in weights[:-1]:
                x = torch.relu(weight @ x) * math.sqrt(2 / width)
            return (weights[-1] @ x)[0]

        left, right = (torch.func.grad(output)(layers, x) for x in (a, b))
        inner = sum(float((u * v).sum()) for u, v in zip(left, right, strict=True)) / 3
        assert inner == pytest.approx(float(ntk.kernel((a @ b)[None], layers=2)[0]), abs=0.05)

    def test_slopes_are_those_of_the_values(self) -> None:
        cosines = torch.linspace(-0.99, 0.99, 41, dtype=torch.float64, requires_grad=True)
        values, slopes = ntk.kernel(cosines, layers=3)
        (by_autograd,) = torch.autograd.grad(values.sum(), cosines)
        assert torch.allclose(slopes, by_autograd)
        (by_line,) = torch.autograd.grad(ntk.kernel_of(cosines, layers=3).sum(), cosines)
        assert torch.allclose(slopes, by_line)

    def test_predictions_and_their_gradients_are_those_of_the_formula(self) -> None:
        generator = torch.Generator().manual_seed(0)
        points, example, labels = (
            torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in ((6, 4), (4,), (6, 2))
        )

        def formula(at):
            at = ntk.unit_rows(at)
            matrix = ntk.kernel(at @ at.T, layers=2)[0] + 0.1 * torch.eye(6)
            to_points = ntk.kernel(at @ ntk.unit_rows(example), layers=2)[0]
            return (to_points @ torch.linalg.solve(matrix, labels)).square().sum()

        def ours(at):
            return ntk.prediction(example, at, labels, layers=2, ridge=0.1).square().sum()

        assert torch.allclose(formula(points), ours(points))
        assert torch.allclose(torch.func.grad(formula)(points), torch.func.grad(ours)(points), atol=1e-9)

    def test_features_approach_the_kernel_and_have_length_1(self) -> None:
        vectors = np.random.default_rng(0).normal(size=(6, 5))
        phi = tangent_features(vectors, n_features=40_000)
        assert np.allclose(np.linalg.norm(phi, axis=1), 1)
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        exact = ntk.kernel(torch.from_numpy(unit @ unit.T), layers=1)[0].numpy()
        off = ~np.eye(6, dtype=bool)
        assert np.abs((phi @ phi.T - exact)[off]).max() < 0.03
        again = tangent_features(torch.from_numpy(vectors), n_features=40_000, xp=torch).numpy()
        assert np.allclose(phi, again, atol=1e-6)


@pytest.mark.parametrize("schema", [schemas.IMAGES, schemas.TABLE], ids=["images", "table"])
def test_vectors_come_back_into_the_box(schema: Schema) -> None:
    from sfumato.public.plan.probe import random_batch
    from sfumato.public.schema.encoding import Encoder

    space, batch = Space(schema, 36), random_batch(schema, n_rows=9, seed=0)
    vectors = space.vectors(batch)
    assert (np.linalg.norm(vectors, axis=1) <= space.radius * (1 + 1e-6)).all()
    assert np.allclose(space.features(vectors), Encoder(schema.features)(batch), atol=2.0**-12)
    assert np.allclose(space.inside(vectors), vectors, atol=1e-5)
    assert np.abs(space.inside(1000 * vectors)).max() <= space.radius


KEPT = [
    pytest.param(SMALL_DP, schemas.IMAGES, id="dp-kip-images"),
    pytest.param(SMALL_DP, schemas.REPLACE, id="dp-kip-replace"),
    pytest.param(SMALL, schemas.IMAGES, id="kip-images"),
    pytest.param(SMALL, schemas.REPLACE, id="kip-replace"),
]


@pytest.mark.slow
@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize(("mechanism", "schema"), KEPT)
def test_they_keep_the_contract(mechanism, schema: Schema) -> None:
    check_mechanism(mechanism, schema)


@register
@dataclass(frozen=True, kw_only=True)
class ScalesByTheBatch(DPKip):
    """Rows are brought to the largest length of their batch before the loss sees them."""

    name: ClassVar[str] = "scales-by-the-batch"

    def measure(self, view, schema):
        view.prepare("scaled", lambda batch: batch["image"] / np.abs(batch["image"]).max())
        return super().measure(view, schema)


@register
@dataclass(frozen=True, kw_only=True)
class CentresByTheBatch(Kip):
    """The mean of a batch instead of a noisy one."""

    name: ClassVar[str] = "centres-by-the-batch"

    def measure(self, view, schema):
        class Centred:
            prepare, noise_stddev = view.prepare, view.noise_stddev

            def noisy_sum(self, step, per_record):
                def centred(batch):
                    return per_record({**batch, VECTOR: batch[VECTOR] - batch[VECTOR].mean(axis=0)})

                return view.noisy_sum(step, centred)

        return super().measure(Centred(), schema)


BROKEN = [
    (ScalesByTheBatch(points=2, n_steps=2, batch=60, coefficients=12), Primitives, "steps are public and settled"),
    (
        CentresByTheBatch(points=2, n_features=16, n_steps=2, coefficients=12),
        Primitives,
        "steps are public and settled",
    ),
    (replace(SMALL_DP, clip=1e-3), twins.LouderGradients, "neighbouring data differ by at most the bound"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "primitives", "clause"), BROKEN)
def test_broken_twins_are_caught(mechanism, primitives, clause: str) -> None:
    (check,) = [check for check in CHECKS if check.name == clause]
    with pytest.raises(ContractError):
        check.run(Setting(mechanism, schemas.IMAGES, Budget(epsilon=1.0, delta=1e-6), 300, primitives))


# Two-sided utility: rows of three classes that differ in which third of the picture is bright.

PICTURES = Schema(
    columns=(
        Column(name="image", kind="image", shape=(6, 6), bounds=(0, 1)),
        Column(name="label", kind="categorical", categories=("a", "b", "c")),
    ),
    target="label",
    rows=6000,
)


def pictures(n_rows: int, seed: int):
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=n_rows)
    image = rng.uniform(0, 0.7, size=(n_rows, 6, 6)).astype(np.float32)
    image += 0.25 * (np.arange(6)[:, None] // 2 == label[:, None, None])
    return {"image": np.clip(image, 0, 1).astype(np.float32), "label": np.array(["a", "b", "c"])[label]}, label


def accuracy(mechanism, *, epsilon: float) -> float:
    train, _ = pictures(6000, 0)
    test, label = pictures(500, 1)
    budget = Budget(epsilon=epsilon, delta=1e-5)
    fitted = fit(mechanism, Sensitive.read(train, PICTURES), budget, seed=0, source=NoiseSource(research_seed=1))
    points = fitted.model.rows
    assert len(points) == 3 * mechanism.points
    space = Space(PICTURES, mechanism.coefficients)
    middle = fitted.measurements["middle"].mean
    at = space.vectors({"image": points.images, "label": points.labels}) - middle
    scores = ntk.ridge_scores(
        space.vectors({"image": test["image"]}) - middle, at, np.eye(3)[points.labels] - 1 / 3, layers=1, ridge=0.1
    )
    return float((scores.argmax(axis=1) == label).mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        DPKip(points=3, n_steps=20, batch=256, coefficients=20),
        Kip(points=3, n_features=64, n_steps=60, coefficients=20),
    ],
    ids=["dp-kip", "kip"],
)
def test_points_teach_what_the_rows_know_and_less_under_more_noise(mechanism) -> None:
    assert accuracy(mechanism, epsilon=4.0) > 0.85
    assert accuracy(mechanism, epsilon=0.002) < 0.7  # a third is chance


@pytest.mark.slow
def test_gradients_improve_on_where_they_start() -> None:
    """At next to no noise the loss of the points falls, so the door's gradients point the right way."""
    train, label = pictures(6000, 0)
    loss = []
    for n_steps in (1, 40):
        mechanism = DPKip(
            points=2, n_steps=n_steps, batch=512, coefficients=20, learning_rate=0.02 if n_steps > 1 else 1e-9
        )
        fitted = fit(
            mechanism,
            Sensitive.read(train, PICTURES),
            Budget(epsilon=200.0, delta=1e-5),
            source=NoiseSource(research_seed=1),
        )
        vectors = Space(PICTURES, 20).vectors(train)
        said = mechanism.scores(fitted.measurements, PICTURES, vectors)
        loss.append(float(((np.eye(3)[label] - 1 / 3 - said) ** 2).mean()))
    assert loss[1] < 0.9 * loss[0]


def test_the_search_follows_the_statistic_as_far_as_alpha_says() -> None:
    train, _ = pictures(6000, 0)
    mechanism = Kip(points=2, n_features=64, n_steps=60, coefficients=20)
    fitted = fit(
        mechanism,
        Sensitive.read(train, PICTURES),
        Budget(epsilon=10.0, delta=1e-5),
        source=NoiseSource(research_seed=1),
    )
    space, measured = Space(PICTURES, 20), fitted.measurements
    moment, target = mechanism.statistic(measured)
    assert (np.linalg.eigvalsh(moment) > 0).all()

    def misfit(points) -> float:
        phi, labels = tangent_features(points, n_features=64), np.repeat(np.eye(3) - 1 / 3, 2, axis=0)
        rule = phi.T @ np.linalg.solve(phi @ phi.T + mechanism.ridge * np.eye(6), labels)
        return float((rule * (moment @ rule)).sum() - 2 * (rule * target).sum())

    free, held, fixed = (replace(mechanism, alpha=a).find_points(measured, space) for a in (1.0, 0.5, 0.0))
    apart = [float(((points - measured["anchors"]) ** 2).sum()) for points in (free, held, fixed)]
    assert apart[0] > apart[1] > apart[2]
    assert misfit(free) < misfit(held) < misfit(fixed)
    assert np.array_equal(free, replace(mechanism, alpha=1.0).find_points(measured, space))


def test_settings_and_schemas_that_do_not_work_are_refused() -> None:
    for broken, match in (
        (DPKip(points=0), "points = 0 must be above 0"),
        (DPKip(ridge=-1.0), "ridge"),
        (DPKip(learning_rate=1e300), "learning_rate = 1e.300 is too large"),
        (Kip(alpha=2.0), "alpha"),
        (Kip(n_features=7), "even"),
    ):
        with pytest.raises(PlanError, match=match):
            broken.steps(schemas.IMAGES, BUDGET)
    with pytest.raises(PlanError, match="public number of rows"):
        DPKip().steps(replace(schemas.IMAGES, rows=None), BUDGET)
    for mechanism in (DPKip(), Kip()):
        with pytest.raises(SchemaError):
            mechanism.steps(schemas.NO_TARGET, BUDGET)


def test_a_search_that_diverges_is_said_and_nothing_is_released() -> None:
    train, _ = pictures(300, 0)
    with pytest.raises(ModelError, match="diverged"):
        fit(replace(SMALL, learning_rate=1e308), Sensitive.read(train, PICTURES), BUDGET)


def test_a_release_holds_its_points_and_no_more() -> None:
    train, _ = pictures(300, 0)
    fitted = fit(SMALL, Sensitive.read(train, PICTURES), Budget(epsilon=1.0, delta=1e-5))
    assert fitted.model.default_rows == 6
    with pytest.raises(ModelError):
        fitted.model.sample(7, seed=0)
