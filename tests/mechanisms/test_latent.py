"""dp-syn and p3gm: directions, mixtures of codes and decoders, the contract, twins of them, and what they keep."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import schemas
import twins
from helpers import set_constant
from sfumato import Budget, Column, Schema, Sensitive, fit
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, ModelError, PlanError, SchemaError
from sfumato.extending import NoiseSource, register
from sfumato.mechanisms import P3GM, DPSyn
from sfumato.mechanisms.common.prepared import PLACE, VECTOR
from sfumato.mechanisms.latent.autoencoder import DRAW, Autoencoders
from sfumato.mechanisms.latent.decoder import NetworkDecoder, linear_decoder
from sfumato.mechanisms.latent.groundwork import Groundwork, Length
from sfumato.mechanisms.latent.groups import GROUP
from sfumato.mechanisms.latent.mixture import LatentMixture, _of_moments
from sfumato.mechanisms.latent.network import Network, Training
from sfumato.mechanisms.latent.principal import Principal, leading
from sfumato.mechanisms.latent.rows import rows_of
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.plan.doors import Measured
from sfumato.public.plan.probe import random_batch

BUDGET = Budget(epsilon=1.0, delta=1e-6)
SIZES = {"latent": 3, "components": 2, "rounds": 2, "coefficients": 12}
TRAINED = {**SIZES, "n_steps": 2, "batch": 60}
SMALL, PHASED = DPSyn(**SIZES), P3GM(**TRAINED, hidden=4)
LEARNED, DRAWN = DPSyn(**TRAINED, encoder="network"), DPSyn(**TRAINED, encoder="variational")
CLUSTERED = DPSyn(**SIZES, groups="clusters")


# The parts.


def test_directions_are_those_of_most_variance() -> None:
    rng = np.random.default_rng(0)
    frame, _ = np.linalg.qr(rng.normal(size=(20, 20)))
    moments = (frame * np.r_[9.0, 7.0, 5.0, np.full(17, 0.2)]) @ frame.T
    noise = rng.normal(size=(20, 20))
    found = leading(moments + 0.05 * (noise + noise.T), latent=3)
    assert np.allclose(found.T @ found, np.eye(3))
    inside = np.linalg.norm(frame[:, :3].T @ found, axis=0)
    assert inside.min() > 0.99
    assert np.linalg.norm(frame[:, 3:].T @ found) < 0.15


@pytest.mark.parametrize("schema", [schemas.TABLE, schemas.NO_TARGET, schemas.IMAGES], ids=["table", "none", "images"])
def test_rows_decode_to_what_they_were(schema: Schema) -> None:
    rows, batch = rows_of(schema, coefficients=36), random_batch(schema, n_rows=40, seed=0)
    vectors, labels = rows.vectors(batch), rows.mixed.labels(batch)
    assert vectors.shape == (40, rows.width)
    assert np.linalg.norm(vectors, axis=1).max() <= rows.longest + 1e-9
    sure = vectors if schema.images else np.maximum(vectors, 1e-12)
    again = rows.synthetic(rows.expected(rows.scores_of(sure)), labels, np.random.default_rng(0))
    if schema.images:
        wanted = np.asarray(batch["image"], dtype=np.float64)
        assert np.allclose(again.images, wanted, atol=0.5)
        return
    wanted = schema.decode(batch)
    for column in schema.columns:
        found, was = again.table[column.name], wanted[column.name]
        assert found.isna().equals(was.isna())
        if column.is_coded:
            assert found.astype(str).equals(was.astype(str))
        elif column.kind != "datetime":
            assert (found - was).abs().max() < 0.25 * (column.high - column.low)  # bins are wide far from 0


def test_moments_without_noise_give_the_mixture() -> None:
    rng = np.random.default_rng(1)
    codes = np.stack([rng.normal(size=(4000, 2)) @ np.diag([2.0, 0.5]) + at for at in ([3.0, 0.0], [-1.0, 1.0])])
    scale = np.array([0.4, 0.1, 0.1])
    ones = np.concatenate([np.ones((2, 4000, 1)), codes], axis=2) * scale
    moments = np.einsum("gni,gnj->gij", ones, ones)
    found = _of_moments(Measured(moments.ravel(), 1e-9), scale, shape=(1, 2, 2))
    assert np.allclose(found.counts, 4000)
    assert np.allclose(found.means[0], codes.mean(axis=1), atol=1e-6)
    for component in (0, 1):
        spread = found.loadings[0, component] @ found.loadings[0, component].T
        assert np.allclose(spread, np.cov(codes[component].T, bias=True), atol=1e-4)
    drawn = found.draw(np.zeros(40_000, dtype=np.int64), rng)
    assert np.allclose(drawn.mean(axis=0), codes.mean(axis=(0, 1)), atol=0.05)
    assert np.allclose(np.cov(drawn.T), np.cov(codes.reshape(-1, 2).T), atol=0.15)


@pytest.mark.slow
def test_the_likeliest_decoder_has_the_measured_moments_but_for_its_ridge(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(schemas.TABLE, coefficients=1)
    rng = np.random.default_rng(2)
    mixture = LatentMixture(np.ones((2, 1)), np.zeros((2, 1, 2)), np.tile(np.eye(2), (2, 1, 1, 1)))
    means = rows.expected(rng.normal(size=(2, rows.width)))
    truth = rng.normal(size=(rows.width, 2))
    labels, codes = np.repeat([0, 1], 5_000), rng.normal(size=(10_000, 2))
    odds = rows.expected(np.log(means)[labels] + codes @ truth.T)
    means, cross = np.stack([odds[labels == at].mean(axis=0) for at in (0, 1)]), odds.T @ codes / len(codes)
    ground = Groundwork(Measured(np.array([50.0, 50.0]), 1.0), means, Length(1.0, 1.0), np.eye(2))
    monkeypatch.setattr("sfumato.mechanisms.latent.decoder._RIDGE", 1e-3)
    monkeypatch.setattr("sfumato.mechanisms.latent.decoder._DRAWS", 1000)
    decoder = linear_decoder(
        rows,
        ground,
        Principal(np.zeros((rows.width, 2)), Measured(np.zeros((rows.width,) * 2), 1.0), cross),
        mixture,
        seed=0,
    )
    said = rows.expected(decoder(codes, labels))
    assert np.allclose(said[labels == 1].mean(axis=0), means[1], atol=0.02)
    assert np.allclose(said.T @ codes / len(codes), cross, atol=0.03)
    assert np.abs(cross).max() > 0.1


def test_a_network_decodes_alike_in_training_and_in_the_release() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: tests of networks are skipped")
    rows = rows_of(schemas.TABLE, coefficients=1)
    batch = random_batch(schemas.TABLE, n_rows=5, seed=0)
    vectors, labels = rows.vectors(batch), rows.mixed.labels(batch)
    ground = Groundwork(
        Measured(np.array([5.0, 5.0]), 1.0), np.stack([vectors.mean(axis=0)] * 2), Length(1.0, 1.0), np.eye(2)
    )
    network = Network(rows, 3, 4)
    weights = {name: np.random.default_rng(1).normal(size=shape) for name, shape in network.shapes.items()}
    codes = np.random.default_rng(2).normal(size=(5, 3))
    loss = network.loss(ground, unit=2.0)
    tensors = {name: torch.from_numpy(values.astype(np.float32)) for name, values in weights.items()}
    decoder = network.decoder(ground, weights, unit=2.0)
    assert isinstance(decoder, NetworkDecoder)
    odds = rows.expected(decoder(codes, labels))
    for at in range(5):
        example = {VECTOR: torch.tensor(vectors[at], dtype=torch.float32), GROUP: torch.tensor([float(labels[at])])}
        example[PLACE] = torch.tensor(codes[at], dtype=torch.float32)
        assert float(loss(tensors, example)) == pytest.approx(-np.log(odds[at][vectors[at] == 1]).sum(), rel=1e-3)


def test_rows_have_one_autoencoder_each_and_its_gradient_alone() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: tests of networks are skipped")
    rows = rows_of(schemas.IMAGES, coefficients=12)
    n_groups, rng = rows.mixed.n_classes, np.random.default_rng(0)
    counts, means = Measured(np.full(n_groups, 5.0), 1.0), rng.normal(size=(n_groups, rows.width))
    ground = Groundwork(counts, means, Length(1.0, 0.6), np.eye(n_groups))
    coders = Autoencoders(rows, 3, variational=True)
    weights = {name: 0.3 * rng.normal(size=shape) for name, shape in coders.shapes.items()}
    tensors = {name: torch.tensor(values, dtype=torch.float32, requires_grad=True) for name, values in weights.items()}
    vector, draw = rng.normal(size=rows.width), rng.normal(size=3)
    example = {VECTOR: vector, GROUP: [1.0], DRAW: draw}
    example = {name: torch.tensor(values, dtype=torch.float32) for name, values in example.items()}
    loss = coders.loss(ground)(tensors, example)
    loss.backward()
    for values in tensors.values():
        assert float(values.grad[1].abs().max()) > 0
        assert float(values.grad[[at for at in range(n_groups) if at != 1]].abs().max()) == 0
    # By hand: z = mu + sigma e, half the squared distance, and the divergence in units of the variance of an entry.
    about = vector - means[1]
    mu = about @ weights["encoder"][1]
    log_square = 4 * np.tanh((about @ weights["spread"][1] + weights["spread at rest"][1, 0]) / 4)
    code = mu + np.exp(log_square / 2) * draw
    left = about - code @ weights["decoder"][1]
    divergence = 0.5 * (mu**2 + np.exp(log_square) - 1 - log_square).sum()
    assert float(loss.detach()) == pytest.approx(0.5 * (left**2).sum() + 0.6 / rows.width * divergence, rel=1e-5)
    # What is measured of the code, and of what it leaves, is the same.
    batch = {VECTOR: vector[None], GROUP: np.array([[1.0]]), DRAW: draw[None], PLACE: code[None]}
    assert np.allclose(coders.codes(ground, weights)(batch), code, atol=1e-4)
    assert np.allclose(coders.left_over(ground, weights, PLACE)(batch), left, atol=1e-4)
    assert np.allclose(coders.decoder(ground, weights)(code[None], np.array([1])), vector - left, atol=1e-4)


def test_a_row_s_draw_is_its_own_wherever_it_stands() -> None:
    rows = rows_of(schemas.IMAGES, coefficients=12)
    kept: dict[str, Any] = {}

    class Keeps:
        def prepare(self, name, per_record):
            kept[name] = per_record

    Autoencoders(rows, 3, variational=True).prepare(Keeps())
    vectors = np.random.default_rng(0).normal(size=(500, rows.width))
    draws, order = kept[DRAW]({VECTOR: vectors}), np.random.default_rng(1).permutation(500)
    assert np.array_equal(kept[DRAW]({VECTOR: vectors[order]}), draws[order])
    assert np.array_equal(kept[DRAW]({VECTOR: vectors[7:8]}), draws[7:8])
    assert abs(draws.mean()) < 0.15
    assert 0.8 < draws.std() < 1.2
    assert len(np.unique(draws[:, 0])) > 150


# The contract.

FEW = (*schemas.TABLE.columns[1:3], schemas.TABLE.columns[5])
KEPT = [
    pytest.param(SMALL, replace(schemas.REPLACE, columns=FEW), id="dp-syn"),
    pytest.param(SMALL, schemas.IMAGES, id="dp-syn-images"),
    pytest.param(CLUSTERED, replace(schemas.TABLE, columns=FEW), id="dp-syn-clusters"),
    pytest.param(LEARNED, replace(schemas.PERSONS, columns=FEW), id="dp-syn-network"),
    pytest.param(LEARNED, schemas.IMAGES, id="dp-syn-network-images"),
    pytest.param(DRAWN, replace(schemas.REPLACE, columns=FEW), id="dp-syn-variational"),
    pytest.param(DRAWN, schemas.IMAGES, id="dp-syn-variational-images"),
    pytest.param(PHASED, replace(schemas.TABLE, columns=FEW), id="p3gm"),
]


@pytest.mark.slow
@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize(("mechanism", "schema"), KEPT)
def test_they_keep_the_contract(mechanism: Any, schema: Schema, monkeypatch: pytest.MonkeyPatch) -> None:
    if mechanism not in (SMALL, CLUSTERED):
        pytest.importorskip("torch")
    # Few codes are enough for a decoder that is built a dozen times.
    set_constant(monkeypatch, "sfumato.mechanisms.latent.decoder._DRAWS", 100)
    check_mechanism(mechanism, schema)


@register
@dataclass(frozen=True, kw_only=True)
class DirectionsOfTheBatch(DPSyn):
    """Rows are centred by the mean of their batch before their products are taken."""

    name: ClassVar[str] = "directions-of-the-batch"

    def measure(self, view, schema):
        class Centred(twins.Through):
            def noisy_sum(self, step, per_record):
                def centred(batch):
                    products = per_record(batch)["products"]
                    return {"products": products - products.mean(axis=0)}

                return self.view.noisy_sum(step, centred if step == "directions" else per_record)

        return super().measure(Centred(view), schema)


@register
@dataclass(frozen=True, kw_only=True)
class KeepsCodes(DPSyn):
    """A component stands at the code of a row: what encoding the rows and decoding them again would release."""

    name: ClassVar[str] = "keeps-codes"

    def measure(self, view, schema):
        seen = []

        class Spy(twins.Through):
            def prepare(self, name, per_record):
                def spying(batch):
                    seen.append(per_record(batch)[0])
                    return per_record(batch)

                self.view.prepare(name, spying if name == PLACE else per_record)

        measured = super().measure(Spy(view), schema)
        mixture = measured["mixture"]
        return {**measured, "mixture": replace(mixture, means=mixture.means + seen[-1])}


@register
@dataclass(frozen=True, kw_only=True)
class GroupsOfTheBatch(DPSyn):
    """A row's cluster follows from its rank among the rows beside it: a function of all of them, as by k-means on raw rows."""

    name: ClassVar[str] = "groups-of-the-batch"

    def measure(self, view, schema):
        class Ranked(twins.Through):
            def prepare(self, name, per_record):
                def ranked(batch):
                    along = batch[VECTOR] @ np.arange(batch[VECTOR].shape[1])
                    return (along.argsort().argsort() % 2)[:, None].astype(np.float64)

                self.view.prepare(name, ranked if name == GROUP else per_record)

        return super().measure(Ranked(view), schema)


@register
@dataclass(frozen=True, kw_only=True)
class DrawsByPlace(DPSyn):
    """The draw of a variational code follows the row's place in the batch, and not the row."""

    name: ClassVar[str] = "draws-by-place"

    def measure(self, view, schema):
        class Placed(twins.Through):
            def prepare(self, name, per_record):
                self.view.prepare(name, (lambda batch: per_record(batch)[::-1].copy()) if name == DRAW else per_record)

        return super().measure(Placed(view), schema)


BROKEN = [
    (GroupsOfTheBatch(**SIZES, groups="clusters"), Primitives, "steps are public and settled"),
    (DrawsByPlace(**TRAINED, encoder="variational"), Primitives, "steps are public and settled"),
    (replace(DRAWN, clip=1e-3), twins.LouderGradients, "neighbouring data differ by at most the bound"),
    (DirectionsOfTheBatch(**SIZES), Primitives, "steps are public and settled"),
    (KeepsCodes(**SIZES), Primitives, "what comes out follows from the doors' answers"),
    (SMALL, twins.NoClipOfProducts, "neighbouring data differ by at most the bound"),
    (replace(PHASED, clip=1e-3), twins.LouderGradients, "neighbouring data differ by at most the bound"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "primitives", "clause"), BROKEN)
def test_broken_twins_are_caught(mechanism: Any, primitives: Any, clause: str) -> None:
    if isinstance(mechanism, P3GM) or mechanism.encoder != "pca":
        pytest.importorskip("torch")
    (check,) = [check for check in CHECKS if check.name == clause]
    with pytest.raises(ContractError):
        check.run(Setting(mechanism, schemas.TABLE, BUDGET, 300, primitives))


# What they keep.

PEOPLE = Schema(
    columns=(
        Column(name="pressure", kind="numeric", bounds=(60, 200)),
        Column(name="pulse", kind="numeric", bounds=(40, 160)),
        Column(name="ward", kind="categorical", categories=("north", "south")),
        Column(name="ill", kind="boolean"),
    ),
    target="ill",
    rows=6000,
)


def people() -> pd.DataFrame:
    """The ill have a higher pressure; within either class the pulse follows the ward."""
    rng = np.random.default_rng(0)
    ill, south = rng.random(6000) < 0.4, rng.random(6000) < 0.5
    pressure = np.where(ill, 160, 100) + 5 * rng.normal(size=6000)
    pulse = np.where(south, 110, 70) + 5 * rng.normal(size=6000)
    return pd.DataFrame({"pressure": pressure, "pulse": pulse, "ward": np.where(south, "south", "north"), "ill": ill})


def kept(mechanism: Any, *, epsilon: float) -> tuple[float, float]:
    """How far the classes differ in pressure, and the wards in pulse, as parts of what they do among the rows."""
    data, budget = Sensitive.read(people(), PEOPLE), Budget(epsilon=epsilon, delta=1e-5)
    table = fit(mechanism, data, budget, source=NoiseSource(research_seed=1)).model.sample(4000, seed=1).table
    ill, south = table["ill"].astype(bool), table["ward"] == "south"
    between = table["pressure"][ill].mean() - table["pressure"][~ill].mean()
    within = table["pulse"][south].mean() - table["pulse"][~south].mean()
    return float(between / 60), float(within / 40)


TRAINED_LONGER = {"latent": 3, "components": 2, "n_steps": 80, "batch": 600, "learning_rate": 0.1}
USEFUL = [
    pytest.param(DPSyn(latent=4), id="dp-syn"),
    pytest.param(DPSyn(**TRAINED_LONGER, encoder="network"), id="dp-syn-network"),
    pytest.param(DPSyn(**TRAINED_LONGER, encoder="variational"), id="dp-syn-variational"),
    pytest.param(P3GM(**TRAINED_LONGER, hidden=4), id="p3gm"),
]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", USEFUL)
def test_codes_carry_what_hangs_together_and_less_under_more_noise(mechanism: Any) -> None:
    if mechanism is not USEFUL[0].values[0]:
        pytest.importorskip("torch")
    between, within = kept(mechanism, epsilon=8.0)
    assert 0.9 < between < 1.1
    assert 0.6 < within < 1.1
    between, within = kept(mechanism, epsilon=0.01)
    assert between < 0.7
    assert within < 0.4


def test_training_that_diverges_is_said_and_nothing_is_released() -> None:
    pytest.importorskip("torch")

    class Loud:
        def noisy_gradients(self, step, loss, weights):
            return {name: Measured(np.full(tuple(values.shape), np.inf), 1.0) for name, values in weights.items()}

    with pytest.raises(ModelError, match="diverged"):
        Training(2, 60, 1.0, 0.1).run(Loud(), None, {"outer": np.zeros((2, 2))}, schema=PEOPLE)


def test_what_does_not_work_is_refused() -> None:
    with pytest.raises(PlanError, match="must be above 0"):
        replace(SMALL, latent=0).steps(schemas.TABLE, BUDGET)
    with pytest.raises(PlanError, match=r"learning_rate = 1e.300 is too large"):
        replace(SMALL, encoder="network", learning_rate=1e300).steps(schemas.TABLE, BUDGET)
    with pytest.raises(PlanError, match="must be one of pca, network, variational"):
        replace(SMALL, encoder="convolutions").steps(schemas.TABLE, BUDGET)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="public number of rows"):
        PHASED.steps(replace(schemas.TABLE, rows=None), BUDGET)
    many = Column(name="place", kind="categorical", categories=tuple(f"p{i}" for i in range(4000)))
    with pytest.raises(SchemaError, match="bins in all"):
        SMALL.steps(replace(schemas.TABLE, columns=(*schemas.TABLE.columns, many)), BUDGET)
    assert P3GM(batch=10**6).steps(PEOPLE, BUDGET)[-1].sampling.rate == 1.0


# Pictures that vary off their codes.


def pictures() -> dict[str, Any]:
    """Two classes whose faint difference drowns in variation that a short code does not hold."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, size=6000)
    images = 0.05 + 0.12 * rng.normal(size=(6000, 8, 8))
    images[:, :, :4] += 0.25 * rng.normal(size=(6000, 1, 1))
    images[:, 4:] += 0.03 * (2 * label - 1)[:, None, None]
    return {"image": np.round(255 * images.clip(0, 1)).astype(np.uint8), "label": label.astype(str)}


def test_pictures_vary_off_their_codes_and_keep_their_means(monkeypatch: pytest.MonkeyPatch) -> None:
    image = Column(name="image", kind="image", shape=(8, 8), bounds=(0, 255))
    label = Column(name="label", kind="categorical", categories=("0", "1"))
    schema = Schema(columns=(image, label), target="label", rows=6000)
    data, budget = Sensitive.read(pictures(), schema), Budget(epsilon=8.0, delta=1e-5)
    mechanism = DPSyn(latent=1, components=1, coefficients=64)
    model = fit(mechanism, data, budget, source=NoiseSource(research_seed=1)).model

    def contrast(images: Any, labels: Any) -> float:
        """How far the classes differ where codes hold nothing, in deviations."""
        lower = images.reshape(len(images), 8, 8)[:, 4:, 4:].mean(axis=(1, 2)).astype(np.float64)
        own = [lower[labels == at] for at in (0, 1)]
        return float(abs(own[1].mean() - own[0].mean()) / np.sqrt((own[0].var() + own[1].var()) / 2))

    def pixels(drawn: Any) -> Any:
        return drawn.images.reshape(-1, 64) / 255

    def off(drawn: Any) -> float:
        """How far the mean of a class lies from the real one, at most."""
        return max(
            abs(pixels(drawn)[drawn.labels == at].mean() - real["image"][real["label"] == str(at)].mean() / 255)
            for at in (0, 1)
        )

    real, made = pictures(), model.sample(6000, seed=0)
    thin = replace(model, rest=None).sample(6000, seed=0)
    wanted = contrast(real["image"], real["label"].astype(int))
    assert contrast(made.images, made.labels) == pytest.approx(wanted, rel=0.3)
    assert contrast(thin.images, thin.labels) > 2 * wanted  # without the rest the difference looks certain
    assert off(made) < 0.005
    monkeypatch.setattr("sfumato.mechanisms.latent.model._ROUNDS", 0)
    moved = fit(mechanism, data, budget, source=NoiseSource(research_seed=1)).model.sample(6000, seed=0)
    assert off(moved) > 0.01
