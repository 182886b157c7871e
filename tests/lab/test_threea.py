"""3A as published: its steps do what the paper says, its noise has the epsilons that follow from it, its claim is refuted."""

import itertools
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.lab.benchmark.datasets import BenchmarkError, make_benchmark
from sfumato.lab.studies.common.study import Found
from sfumato.lab.studies.threea.paper import COLUMNS, DIFFERENCES, LINES, TABLE_1
from sfumato.lab.studies.threea.readings import EQUATION_7, READINGS, Claim, Reading
from sfumato.public.accounting import delta_of_mu

torch = pytest.importorskip("torch", reason="the published kernel needs torch")

from sfumato.lab.studies.threea.adapt import Slice, _regression, adapted  # noqa: E402
from sfumato.lab.studies.threea.clustmix_published import (  # noqa: E402
    Setting,
    approximate,
    mixed_again,
    mixtures_of,
    slices_of,
)
from sfumato.lab.studies.threea.clustmix_witness import _pair, centroids, find_witness  # noqa: E402
from sfumato.lab.studies.threea.numbers import length_of_stay, numbers_of  # noqa: E402
from sfumato.lab.studies.threea.published_record import Published, Trial, outcome_of, settings_to_try  # noqa: E402
from sfumato.lab.studies.threea.size_constrained import assigned, clusters_of  # noqa: E402
from sfumato.lab.studies.threea.story import lines_of, story_of  # noqa: E402
from sfumato.learn.ntk import network_kernel  # noqa: E402

MNIST = Claim(epsilon=1.0, delta=1e-5, features=784, classes=10)


def heaps(n_rows: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of two heaps each, at opposite corners of the unit square: no line tells them apart."""
    rng = np.random.default_rng(seed)
    heap, kind = rng.integers(2, size=(2, n_rows))
    rows = np.stack([0.2 + 0.6 * heap, 0.2 + 0.6 * (heap ^ kind)], axis=1) + rng.normal(0, 0.05, (n_rows, 2))
    return np.clip(rows, 0, 1), kind


# --- noise ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reading", "honest"), [("sqrt(CD)/l", 0.28), ("sqrt(D)/l", 1.0), ("1/l", 59.4)])
def test_the_epsilon_of_each_reading_with_fixed_clusters(reading: Reading, honest: float) -> None:
    assert MNIST.honest_epsilon(reading) == pytest.approx(honest, abs=0.05)
    # By the definition: the mean of l rows moves by sqrt(D)/l, under the noise that the reading adds.
    mu = math.sqrt(784) / 118 / MNIST.noise(reading, 118)
    assert delta_of_mu(MNIST.honest_epsilon(reading), mu=mu) == pytest.approx(1e-5, rel=1e-3)


def test_at_a_fifth_the_scalar_reading_means_eight() -> None:
    fifth = replace(MNIST, epsilon=0.2)
    assert fifth.honest_epsilon("1/l") == pytest.approx(8.3, abs=0.01)
    assert fifth.honest_epsilon("sqrt(D)/l") == pytest.approx(0.2, abs=1e-3)


def test_released_means_have_the_noise_of_the_reading() -> None:
    rows, labels = heaps(1_200, seed=0)
    found = mixtures_of(rows, labels, n_classes=2, setting=Setting(least=100, alpha=1.0))
    claim = Claim(epsilon=1.0, delta=1e-4, features=2, classes=2)
    points = found.released(claim, "1/l", seed=0)
    assert points.min() >= 0
    assert points.max() <= 1
    assert np.abs(points - found.means).max() < 5 * claim.noise("1/l", 100)
    ratio = claim.noise(EQUATION_7, 100) / claim.noise("1/l", 100)
    assert ratio == pytest.approx(2.0)


# --- approximate ----------------------------------------------------------------------------------------------------


@given(
    n_rows=st.integers(5, 80),
    clusters=st.integers(1, 6),
    slack=st.integers(0, 9),
    levels=st.integers(1, 8),
    seed=st.integers(0, 999),
)
def test_no_cluster_is_smaller_than_the_least(n_rows: int, clusters: int, slack: int, levels: int, seed: int) -> None:
    clusters = min(clusters, n_rows)
    least = max(n_rows // clusters - slack, 1)
    rows = torch.randint(levels, (n_rows, 2), generator=torch.Generator().manual_seed(seed)).float()  # with many ties
    sizes = torch.bincount(clusters_of(rows, clusters, least=least, seed=seed), minlength=clusters)
    assert sizes.min() >= least
    assert sizes.sum() == n_rows


def test_planted_clusters_are_recovered() -> None:
    truth = np.repeat(np.arange(4), [50, 50, 100, 200])
    rows = np.array([[0, 0], [0, 9], [9, 0], [9, 9]])[truth] + np.random.default_rng(0).normal(size=(400, 2))
    labels = clusters_of(torch.from_numpy(rows), 4, least=50, n_starts=8).numpy()
    assert all(len(np.unique(labels[truth == k])) == 1 for k in range(4))


def test_an_assignment_is_little_worse_than_the_best_one() -> None:
    from scipy.optimize import linear_sum_assignment

    cost = np.random.default_rng(1).random((120, 4))
    found = cost[np.arange(120), assigned(torch.from_numpy(cost), least=30).numpy()].sum()
    exact = np.repeat(cost, 30, axis=1)
    best = exact[linear_sum_assignment(exact)].sum()
    assert best <= found + 1e-9
    assert found < 1.1 * best


def test_slices_hold_every_row_once_and_are_cut_along_one_feature() -> None:
    rows, _ = heaps(500, seed=1)
    parts = slices_of(rows, 5, seed=3)
    assert len(parts) == 5
    assert sorted(np.concatenate(parts).tolist()) == list(range(500))
    assert any(all(rows[a, f].max() <= rows[b, f].min() for a, b in itertools.pairwise(parts)) for f in range(2))


# --- adapt ----------------------------------------------------------------------------------------------------------


def test_the_kernel_is_that_of_a_wide_network() -> None:
    torch.manual_seed(0)
    width, inputs = 4096, torch.randn(2, 5, dtype=torch.float64)
    products = []
    for _ in range(8):
        w1, b1 = torch.randn(width, 5, dtype=torch.float64), torch.randn(width, dtype=torch.float64)
        w2, b2 = torch.randn(1, width, dtype=torch.float64), torch.randn(1, dtype=torch.float64)
        weights = [w.requires_grad_(True) for w in (w1, b1, w2, b2)]

        def network(x: torch.Tensor, weights: list = weights) -> torch.Tensor:
            first = math.sqrt(2 / 5) * weights[0] @ x + 0.1 * weights[1]
            return math.sqrt(2 / width) * weights[2] @ torch.relu(first) + 0.1 * weights[3]

        slopes = [torch.cat([g.ravel() for g in torch.autograd.grad(network(x), weights)]) for x in inputs]
        products.append([float(slopes[0] @ slopes[1]), float(slopes[0] @ slopes[0])])
    kernel = network_kernel(inputs, inputs, layers=1)
    assert np.mean(products, axis=0) == pytest.approx([float(kernel[0, 1]), float(kernel[0, 0])], rel=0.03)


def test_the_kernel_has_a_known_value_and_slopes_by_hand() -> None:
    # Orthogonal vectors of squared length D, no bias: k1 = 1/pi, k0 = 1/2, and the first layer's product is 0.
    x = math.sqrt(2) * torch.eye(2, dtype=torch.float64)
    kernel = network_kernel(x, x, layers=1, bias=0.0)
    assert float(kernel[0, 1]) == pytest.approx(2 / math.pi)
    assert float(kernel[0, 0]) == pytest.approx(4.0, abs=1e-3)
    points = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    rows = torch.randn(2, 4, dtype=torch.float64)
    labels = torch.tensor([[1.0], [-1.0], [1.0]], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda p: _regression(rows, p, labels, 0.1), points, atol=1e-4)


def a_slice(*, seed: int) -> Slice:
    rows, labels = heaps(400, seed=seed)
    return approximate(torch.from_numpy(rows), torch.from_numpy(labels), n_classes=2, least=100)


def misfit(part: Slice, points: torch.Tensor) -> float:
    about, unit = part.rows.mean(dim=0), part.rows.std(dim=0, correction=0)
    signs = [torch.nn.functional.one_hot(c, 2).double() - 0.5 for c in (part.labels, part.classes)]
    said = _regression((part.rows - about) / unit, (points - about) / unit, signs[1], 1e-3)
    return float((signs[0] - said).square().sum(dim=1).mean())


def test_adapt_serves_the_classifier_and_alpha_keeps_the_points() -> None:
    part = a_slice(seed=2)
    free, held, kept = (adapted(part, n_classes=2, alpha=a, ridge=1e-3) for a in (0.0, 0.9, 1.0))
    assert torch.equal(kept, part.points)
    assert misfit(part, free) < 0.9 * misfit(part, part.points)
    assert 0 < (held - part.points).norm() < (free - part.points).norm()


def test_each_slice_is_adapted_alone() -> None:
    """A row of one slice that changes leaves the means of the others as they were, before the noise."""
    rows, labels = heaps(800, seed=4)
    setting = Setting(least=40, slices=4, alpha=0.2)
    parts = slices_of(rows, 4, seed=0)
    points = [sum(int((labels[part] == c).sum()) // 40 for c in range(2)) for part in parts]
    largest = int(np.argmax(points))
    along = np.random.default_rng([0, 1]).integers(2)  # the feature that slices are cut along
    changed = rows.copy()
    changed[parts[largest][0], 1 - along] = 1 - rows[parts[largest][0], 1 - along]
    here, there = (mixtures_of(each, labels, n_classes=2, setting=setting).means for each in (rows, changed))
    of_largest = np.repeat(np.arange(4), points) == largest
    assert (~of_largest).any()
    np.testing.assert_array_equal(here[~of_largest], there[~of_largest])
    assert not np.array_equal(here[of_largest], there[of_largest])


def test_memberships_are_computed_again_about_the_adapted_points() -> None:
    part = a_slice(seed=5)
    means, sizes = mixed_again(part, part.points, least=100)
    assert sizes.min() >= 100
    assert sizes.sum() == 400
    far = part.points.clone()
    far[0] = 1 - far[0]
    assert not torch.allclose(mixed_again(part, far, least=50)[0], means)


# --- the claim ------------------------------------------------------------------------------------------------------


def test_the_witness_refutes_the_published_claim() -> None:
    witness = find_witness(Claim(epsilon=1.0, delta=1e-5, features=2, classes=2), least=118)
    assert witness.epsilon == pytest.approx(190, abs=1)
    assert witness.moved > 50 * witness.claimed_move
    assert witness.counts == (2, 1)
    assert math.isinf(witness.honest_epsilon)


@pytest.mark.parametrize(("least", "features"), [(9, 3), (118, 7), (51, 2)])
def test_there_is_a_witness_for_odd_sizes_and_features(least: int, features: int) -> None:
    witness = find_witness(Claim(epsilon=1.0, delta=1e-5, features=features, classes=2), least=least)
    assert witness.moved > 0.8 * math.sqrt((features - features % 2) / 2)


def test_with_the_clusters_fixed_the_second_reading_is_right() -> None:
    here, there = _pair(50, 2)
    fixed = np.repeat([0, 1], 50)
    moved = [np.stack([rows[fixed == k].mean(axis=0) for k in range(2)]) for rows in (here, there)]
    assert 0 < np.linalg.norm(moved[0] - moved[1]) <= math.sqrt(2) / 50
    assert np.linalg.norm(centroids(here, least=50) - centroids(there, least=50)) > math.sqrt(2) / 50


# --- a line of the table --------------------------------------------------------------------------------------------

SQUARE = sf.Schema(
    columns=(
        *(sf.Column(name=name, kind="numeric", bounds=(0, 1)) for name in ("x", "y")),
        sf.Column(name="kind", kind="categorical", categories=("a", "b")),
    ),
    target="kind",
)


def table(n_rows: int, *, seed: int) -> pd.DataFrame:
    rows, labels = heaps(n_rows, seed=seed)
    return pd.DataFrame({"x": rows[:, 0], "y": rows[:, 1], "kind": np.array(["a", "b"])[labels]})


def test_a_line_is_searched_by_the_private_rows_and_run_with_seeds_under_each_reading() -> None:
    train, test = (
        part.assign(kind=np.where(part.x > 0.5, "b", "a")) for part in (table(2_000, seed=6), table(500, seed=7))
    )
    numbers, judged = numbers_of(make_benchmark("tiny", schema=SQUARE, train=train, test=test)), []

    def run(trials: list[Trial]) -> list:
        judged.append({trial.on_test for trial in trials})
        return [outcome_of(numbers, trial, epsilon=10.0) for trial in trials]

    record = Published(dataset="tiny", epsilon=10.0, seeds=2).record(numbers, rounds=5, seeds=5, run=run)
    assert judged == [{False}, {True}]
    assert record["honest_epsilon"] == "infinite"
    assert record["clustering_epsilon"] > record["claimed_epsilon"] == 10
    assert record["claimed_delta"] == 1 / 2_000
    assert all(len(record["readings"][reading]["values"]) == 2 for reading in READINGS)
    assert record["readings"]["1/l"]["fixed_epsilon"] > 10 > record["readings"][EQUATION_7]["fixed_epsilon"]
    assert max(record["readings"]["1/l"]["values"]) > 0.9


def test_settings_cover_the_free_parameters_and_a_release_of_one_class_is_no_choice() -> None:
    numbers = numbers_of(make_benchmark("tiny", schema=SQUARE, train=table(4_000, seed=8), test=table(50, seed=9)))
    tried = settings_to_try(numbers, rounds=30)
    assert {setting.scaling for setting in tried} == {"min-max", "quantile"}
    assert min(s.alpha for s in tried) < 0.05 < 0.95 < max(s.alpha for s in tried)
    assert min(s.ridge for s in tried) < 1e-5 < 1e-2 < max(s.ridge for s in tried)
    assert {s.least for s in settings_to_try(numbers, rounds=5, least=118)} == {118}
    with pytest.raises(BenchmarkError, match="nothing would be released"):
        Published(dataset="tiny", least=3_000).record(
            numbers, rounds=2, seeds=1, run=lambda trials: [outcome_of(numbers, t, epsilon=1.0) for t in trials]
        )


@pytest.mark.parametrize("scaling", ["min-max", "quantile"])
def test_training_rows_fill_the_box(scaling: str) -> None:
    numbers = numbers_of(make_benchmark("tiny", schema=SQUARE, train=table(300, seed=1), test=table(60, seed=2)))
    box = numbers.box(scaling)  # type: ignore[arg-type]
    assert (box.train.min(), box.train.max()) == (0, 1)
    order = np.argsort(numbers.test[:, 0])
    assert (np.diff(box.test[order, 0]) >= 0).all()


def test_the_length_of_stay_is_in_four_buckets_and_nothing_else_tells_it() -> None:
    schema = sf.Schema(
        columns=(
            sf.Column(name="time_in_hospital", kind="integer", bounds=(1, 14)),
            sf.Column(name="age", kind="integer", bounds=(0, 100)),
            sf.Column(name="readmitted", kind="boolean"),
        ),
        target="readmitted",
        rows=56,
    )
    frame = pd.DataFrame({"time_in_hospital": list(range(1, 15)) * 4, "age": 50, "readmitted": [True, False] * 28})
    stay = length_of_stay(make_benchmark("hospital", schema=schema, train=frame, test=frame))
    assert stay.metric == "auc_ovo"
    assert [column.name for column in stay.schema.features] == ["age"]
    assert stay.train["stay"].value_counts().to_dict() == {
        "under 3 days": 8, "under a week": 16, "under two weeks": 28, "two weeks or more": 4,
    }  # fmt: skip


# --- the page -------------------------------------------------------------------------------------------------------


def test_the_print_is_consistent_with_its_own_last_line() -> None:
    by_column = np.array(list(TABLE_1.values()))
    gaps = (by_column[:, :1] - by_column).mean(axis=0)
    assert gaps == pytest.approx(np.array(DIFFERENCES), abs=0.004)
    assert len(COLUMNS) == by_column.shape[1]


def as_run(value: float, *, quick: bool) -> dict:
    of = {"noise": 0.1, "fixed_epsilon": 2.0, "least": 60, "points": 100, "values": [value, value + 0.002]}
    return {"readings": dict.fromkeys(READINGS, of), "quick": quick}


def test_a_quick_page_draws_no_conclusion(tmp_path: Path) -> None:
    run = {"adult, as published": as_run(0.86, quick=True)}
    found = Found({**run, "adult, auto, seed 0": {"value": 0.9, "real_value": 0.93, "seed": 0, "quick": True}})
    page = story_of(found, tmp_path)
    assert "printed figures" not in page
    assert "ahead of the print" not in page
    assert "average difference to real. Over" not in page
    assert "(quick)" in lines_of(found)[0].here


def test_a_full_page_says_which_reading_the_print_can_come_from(tmp_path: Path) -> None:
    run = {"adult, as published": as_run(0.86, quick=False)}
    found = Found({**run, "adult, auto, seed 0": {"value": 0.9, "real_value": 0.93, "seed": 0, "quick": False}})
    page = re.sub(r"\s+", " ", story_of(found, tmp_path))
    assert "sqrt(CD)/l of 1, sqrt(D)/l of 1, 1/l of 1" in page
    assert "ahead of the print on 1 of 1: adult (.900 to .863)" in page
    assert "| `auto` | .030 |" in page
    assert lines_of(found)[0].here.startswith("sqrt(CD)/l: .861 ± .001")
    assert len(lines_of(found)) == len(LINES)
