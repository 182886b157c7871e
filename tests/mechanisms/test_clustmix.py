"""ClustMix keeps the contract and learns. As published it is in tests/lab/test_threea.py."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import schemas
import sfumato as sf
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.instruments.setting import Setting
from sfumato.errors import AccountingError, ContractError, PlanError, SchemaError
from sfumato.extending import NoiseSource, register
from sfumato.mechanisms import ClustMix
from sfumato.mechanisms.common.clusters import responsibilities
from sfumato.mechanisms.common.prepared import PLACE
from sfumato.mechanisms.mixing.clustmix.classifier_pull import BIAS, KernelSums, adapted, rule_of
from sfumato.mechanisms.mixing.clustmix.cluster_means import without_noise
from sfumato.mechanisms.mixing.clustmix.cluster_space import ClusterSpace
from sfumato.mechanisms.mixing.clustmix.tilt import CELLS, middles, tilted
from sfumato.public.accounting import delta_of_mu, least_cluster_size, rows_within

BUDGET = sf.Budget(1.0, 1e-6)
SMALL = ClustMix(sigma_max=0.2, most_clusters=4, rounds=2)
IMAGES_ALONE = replace(schemas.IMAGES, target=None, columns=schemas.IMAGES.columns[:1])
BLOBS = sf.Schema(
    columns=(
        sf.Column(name="x", kind="numeric", bounds=(0, 1)),
        sf.Column(name="y", kind="numeric", bounds=(0, 1)),
        sf.Column(name="colour", kind="categorical", categories=("red", "green", "blue")),
        sf.Column(name="always", kind="categorical", categories=("same",)),
        sf.Column(name="kind", kind="categorical", categories=("a", "b")),
    ),
    target="kind",
)


def blobs(n_rows: int, *, seed: int) -> pd.DataFrame:
    """Two classes of two heaps each, at opposite corners: no line tells them apart."""
    rng = np.random.default_rng(seed)
    heap, kind = rng.integers(2, size=n_rows), rng.integers(2, size=n_rows)
    x = np.clip(0.2 + 0.6 * heap + rng.normal(0, 0.05, n_rows), 0, 1)
    y = np.clip(0.2 + 0.6 * (heap ^ kind) + rng.normal(0, 0.05, n_rows), 0, 1)
    colour = np.array(["red", "green", "blue"])[np.where(rng.random(n_rows) < 0.8, kind, 2)]
    return pd.DataFrame({"x": x, "y": y, "colour": colour, "always": "same", "kind": np.array(["a", "b"])[kind]})


# The contract, and twins that break it.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "schema"),
    [
        pytest.param(SMALL, schemas.TABLE, id="table"),
        pytest.param(
            replace(SMALL, approximator="em", releases="means", sigma_max=0.5), schemas.REPLACE, id="em-replace"
        ),
        pytest.param(replace(SMALL, sigma_max=2.0), replace(schemas.PERSONS, target=None), id="persons-no-target"),
        pytest.param(replace(SMALL, sigma_max=1.0, kernel_width=9, coordinates=5), schemas.IMAGES, id="images"),
    ],
)
def test_it_keeps_the_contract(mechanism: ClustMix, schema: sf.Schema) -> None:
    check_mechanism(mechanism, schema, n_rows=120 if schema.unit.relation != "replace_one" else 300)


class Spy:
    """Doors that let a mechanism see what the maps see."""

    def __init__(self, view, seen: list) -> None:
        self.view, self.seen = view, seen

    def __getattr__(self, name: str):
        return getattr(self.view, name)

    def noisy_sum(self, step, per_record):
        def spying(batch):
            self.seen.append({name: np.array(values) for name, values in batch.items()})
            return per_record(batch)

        return self.view.noisy_sum(step, spying)


@dataclass(frozen=True, kw_only=True)
class CentresFromRows(ClustMix):
    """Lloyd's rounds begin at a private row: whoever is last decides where everybody goes."""

    name: ClassVar[str] = "centres-from-rows"

    def _centres(self, view, space, about_classes, *, used):
        seen = []
        super()._centres(Spy(view, seen), space, about_classes, used=used)
        last = np.asarray(seen[-1][PLACE][-1], dtype=np.float64)
        centres = np.zeros((*used.shape, self._k(space)))
        centres[:, 0], centres[:, 1:] = last, -last
        return centres, np.full(used.shape, 1e9)


@dataclass(frozen=True, kw_only=True)
class ExactSizesDecide(ClustMix):
    """Clusters are dropped where an odd number of rows is old, and the number is the exact one."""

    name: ClassVar[str] = "exact-sizes-decide"

    def _centres(self, view, space, about_classes, *, used):
        seen = []
        centres, sizes = super()._centres(Spy(view, seen), space, about_classes, used=used)
        odd = int((seen[-1]["age"] > 50).sum()) % 2
        sizes = np.full(sizes.shape, 1e9)
        sizes[:, 1:] = 1e9 if odd else 0.0
        return centres, sizes


@dataclass(frozen=True, kw_only=True)
class ExactRowsDecide(ClustMix):
    """The number of clusters follows from an exact number of rows, as floor(n / l_min) does."""

    name: ClassVar[str] = "exact-rows-decide"
    seen: ClassVar[list] = []

    def measure(self, view, schema):
        self.seen.clear()
        return super().measure(Spy(view, self.seen), schema)

    def _used(self, counts, least, space):
        rows = int((self.seen[-1]["age"] > 50).sum())
        return np.arange(self._clusters(space)) < np.full((len(counts), 1), 1 + 3 * (rows % 2))


@pytest.mark.slow
@pytest.mark.parametrize("twin", [CentresFromRows, ExactSizesDecide, ExactRowsDecide])
def test_twins_that_take_clusters_from_raw_rows_are_caught(twin) -> None:
    register(twin)
    (check,) = [check for check in CHECKS if check.name == "neighbouring data differ by at most the bound"]
    setting = Setting(twin(sigma_max=1.0, most_clusters=4, rounds=2), replace(schemas.TABLE, rows=None), BUDGET, 300)
    with pytest.raises(ContractError, match="one row moves a sum"):
        check.run(setting)


# What it learns.


def test_it_learns_at_epsilon_1_and_not_at_a_tiny_one() -> None:
    data, test = sf.Sensitive.read(blobs(4000, seed=1), BLOBS), blobs(2000, seed=2)
    truth = (test.kind == "b").to_numpy()
    scores = {}
    for epsilon in (1.0, 0.01):
        rows = sf.fit(ClustMix(), data, sf.Budget(epsilon, 1e-6), seed=0).model.sample(4000, seed=0).table
        points = rows[["x", "y"]].to_numpy()
        nearest = [((points - p) ** 2).sum(axis=1).argsort()[:15] for p in test[["x", "y"]].to_numpy()[:300]]
        votes = np.array([(rows.kind.to_numpy()[near] == "b").mean() > 0.5 for near in nearest])
        scores[epsilon] = (votes == truth[:300]).mean()
    assert scores[1.0] > 0.9
    assert scores[0.01] < 0.8


@pytest.mark.parametrize("approximator", ["lloyd", "em"])
def test_cluster_means_lie_where_the_heaps_are(approximator: str) -> None:
    data = sf.Sensitive.read(blobs(20_000, seed=3), replace(BLOBS, target=None))
    mechanism = ClustMix(approximator=approximator, releases="means", sigma_max=0.02, rounds=6)
    table = sf.fit(mechanism, data, sf.Budget(4.0, 1e-6), seed=0).model.rows.table
    for heap in ((0.2, 0.2), (0.2, 0.8), (0.8, 0.2), (0.8, 0.8)):
        assert np.linalg.norm(table[["x", "y"]].to_numpy() - heap, axis=1).min() < 0.12


def test_alpha_0_is_the_density_and_alpha_1_the_classifier() -> None:
    data = sf.Sensitive.read(blobs(4000, seed=4), BLOBS)
    source = NoiseSource(research_seed=1)
    pure = sf.fit(ClustMix(alpha=0.0), data, BUDGET, source=source, seed=0)
    assert "kernel" not in [step.name for step in pure.plan.steps]
    assert pure.model.mixture.rule is None
    bent = sf.fit(ClustMix(alpha=1.0), data, BUDGET, source=source, seed=0)
    soft = bent.model.mixture.soft_labels(bent.model.mixture.means, np.arange(len(bent.model.mixture.label)))
    assert ((soft > 0.01) & (soft < 0.99)).any()


def test_images_without_target_and_with_colour() -> None:
    images = np.random.default_rng(0).integers(0, 255, (200, 6, 6)).astype(np.uint8)
    model = sf.fit(replace(SMALL, sigma_max=1.0), sf.Sensitive.read({"image": images}, IMAGES_ALONE), BUDGET).model
    rows = model.sample(50, seed=0)
    assert rows.images.shape == (50, 6, 6)
    assert rows.images.dtype == np.uint8
    assert rows.labels is None
    colour = sf.Schema(columns=(sf.Column(name="image", kind="image", shape=(6, 5, 3), bounds=(0, 1)),))
    space = ClusterSpace(colour)
    pixels = np.random.default_rng(1).random((4, 6, 5, 3)).astype(np.float32)
    assert space.box(space.vectors({"image": pixels})).reshape(pixels.shape) == pytest.approx(pixels, abs=1e-5)


def test_a_number_as_target_is_a_column_like_the_others() -> None:
    schema = replace(BLOBS, target="y")
    table = sf.fit(ClustMix(), sf.Sensitive.read(blobs(2000, seed=5), schema), BUDGET).model.sample(100, seed=0).table
    assert list(table.columns) == [c.name for c in schema.columns]


@pytest.mark.parametrize(("rows", "epsilon"), [(100, 0.1), (300, 0.01)])
def test_what_cannot_be_done_is_said_before_a_row_is_read(rows: int, epsilon: float) -> None:
    data = sf.Sensitive.read(blobs(rows, seed=6), replace(BLOBS, rows=rows))
    steps: list[str] = []
    with pytest.raises(PlanError, match=r"asks for clusters of at least \d+ rows.*sigma_max to at least") as refusal:
        sf.fit(ClustMix(), data, sf.Budget(epsilon, 1e-6), on_step=steps.append)
    assert steps == []
    remedy = float(str(refusal.value).split()[-1].rstrip("."))
    enough = ClustMix(sigma_max=1.1 * remedy)
    assert len(sf.fit(enough, data, sf.Budget(epsilon, 1e-6)).model.sample(10, seed=0)) == 10


def test_few_rows_and_a_class_that_nobody_has() -> None:
    frame = blobs(100, seed=7)
    frame["kind"] = "a"
    table = sf.fit(ClustMix(), sf.Sensitive.read(frame, BLOBS), sf.Budget(8.0, 1e-6)).model.sample(200, seed=0).table
    assert (table.kind == "a").mean() > 0.6


@pytest.mark.parametrize(
    "setting",
    [{"alpha": 1.5}, {"sigma_max": 0.0}, {"rounds": 0}, {"approximator": "magic"}, {"most_clusters": 0}],
)
def test_settings_that_make_no_sense_are_refused(setting: dict) -> None:
    with pytest.raises(PlanError):
        sf.plan(replace(SMALL, **setting), schemas.TABLE, BUDGET)


def test_a_schema_with_nothing_to_cluster_is_refused() -> None:
    with pytest.raises(SchemaError, match="besides the target"):
        sf.plan(SMALL, sf.Schema(columns=(BLOBS["kind"],), target="kind"), BUDGET)


# The least size of a cluster.

BUDGETS = {"epsilon": st.floats(0.01, 20), "delta": st.floats(1e-10, 0.01)}


@given(**BUDGETS, sigma_max=st.floats(1e-3, 10), sensitivity=st.floats(0.1, 100), share=st.floats(0.05, 1))
def test_the_least_size_is_on_the_safe_side_and_the_least(epsilon, delta, sigma_max, sensitivity, share) -> None:
    rows = least_cluster_size(epsilon=epsilon, delta=delta, sigma_max=sigma_max, sensitivity=sensitivity, share=share)
    mu = sensitivity / (sigma_max * math.sqrt(share))
    assert delta_of_mu(epsilon, mu=mu / rows) <= delta
    if rows > 1:
        assert delta_of_mu(epsilon, mu=mu / (rows - 1) * (1 + 2e-12)) > delta


@given(noise=st.floats(1e-6, 1e9), sigma_max=st.floats(1e-3, 1e3))
def test_rows_within_never_rounds_down(noise: float, sigma_max: float) -> None:
    rows = rows_within(noise, sigma_max=sigma_max)
    assert noise / rows <= sigma_max
    assert rows == 1 or noise / (rows - 1) > sigma_max * (1 - 1e-12)


def test_the_plan_agrees_with_the_public_formula() -> None:
    mechanism = ClustMix()
    plan = sf.plan(mechanism, BLOBS, BUDGET)
    step = plan.step("means")
    share = step.share / sum(s.share for s in plan.steps) * step.block("sums").share
    by_plan = rows_within(3.0 * plan.noise_stddev("means", "sums"), sigma_max=0.01)
    by_formula = least_cluster_size(epsilon=1.0, delta=1e-6, sigma_max=0.01, sensitivity=3.0, share=share)
    assert 0 <= by_plan - by_formula <= 1 + 1e-5 * by_formula


def test_a_least_size_of_nonsense_is_refused() -> None:
    with pytest.raises(AccountingError, match="sigma_max"):
        least_cluster_size(epsilon=1.0, delta=1e-6, sigma_max=0.0, sensitivity=1.0)


# Parts.


def test_responsibilities_share_one_row_within_its_class() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=50)
    r = responsibilities(rng.normal(size=(50, 3)), label, rng.normal(size=(2, 4, 3)), np.ones((2, 4)), np.ones(2))
    assert r.sum(axis=1) == pytest.approx(1)
    assert (np.linalg.norm(r, axis=1) <= 1 + 1e-12).all()
    assert r.reshape(50, 2, 4)[np.arange(50), 1 - label].sum() == 0


def test_tilting_reaches_the_mean_and_keeps_the_shape_where_it_has_it() -> None:
    shape = np.random.default_rng(0).dirichlet(np.ones(CELLS))
    means = np.array([0.1, float(shape @ middles()), 0.9])
    odds = tilted(shape, means)
    assert odds @ middles() == pytest.approx(means, abs=1e-6)
    assert odds[1] == pytest.approx(shape, abs=1e-6)


def test_the_filter_takes_noise_and_leaves_signal() -> None:
    rng = np.random.default_rng(0)
    signal = np.concatenate([rng.normal(0, 1, (40, 8)), np.zeros((40, 8))], axis=1)
    noisy = signal + 0.5 * rng.normal(size=signal.shape)
    found = without_noise(noisy, np.full(40, 0.5), [slice(0, 8), slice(8, 16)])
    assert ((found - signal) ** 2).mean() < 0.6 * ((noisy - signal) ** 2).mean()
    assert np.abs(found[:, 8:]).mean() < 0.15


def test_adapting_lowers_the_error_on_rows_and_points_can_be_held_back() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(0, 0.3, (500, 4))
    y = np.eye(2)[(x[:, 0] + 0.3 * x[:, 1] > 0).astype(int)]
    inputs = np.column_stack([x, np.full(500, BIAS)])
    known = KernelSums(inputs.T @ inputs, inputs.T @ y, 500.0, 1.0)
    points, labels, sizes = rng.normal(0, 0.2, (6, 4)), np.eye(2)[[0, 1, 0, 1, 0, 1]], np.full(6, 500 / 6)

    def error(moved: np.ndarray) -> float:
        return float(((y - inputs @ rule_of(moved, labels, sizes, ridge=1.0)) ** 2).sum())

    moved = {firmness: adapted(points, labels, sizes, known, firmness=firmness) for firmness in (1.0, 0.5, 0.0)}
    assert (moved[1.0] == points).all()
    assert error(moved[0.0]) < error(moved[0.5]) < error(points)
    assert np.linalg.norm(moved[0.5] - points) < np.linalg.norm(moved[0.0] - points)
