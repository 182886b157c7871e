"""Studies of published experiments: their arithmetic against the known values, their pages, and a tiny run of each."""

import json
import math
import re
import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import app
from sfumato.lab.benchmark import datasets
from sfumato.lab.benchmark.datasets import Benchmark, BenchmarkError, make_benchmark
from sfumato.lab.benchmark.learners import table_4_1_network
from sfumato.lab.studies.autoencoder import autoencoder_study, listing
from sfumato.lab.studies.autoencoder.networks import linked_share, on_device, started, trained_classifiers
from sfumato.lab.studies.common.digits import Digits, fewer_rows
from sfumato.lab.studies.common.drawing import draw_curves, draw_sheet
from sfumato.lab.studies.common.study import Figures, Found, Line, Study, Task, carry_out, write_page
from sfumato.lab.studies.local_iic import claims as local_claims
from sfumato.lab.studies.local_iic import local_study
from sfumato.lab.studies.local_iic.attempts import noisy_labels
from sfumato.lab.studies.local_iic.story import what_noise_did
from sfumato.lab.studies.opacus_report import claims as opacus_claims
from sfumato.lab.studies.opacus_report import opacus_study
from sfumato.lab.studies.opacus_report.incremental import SCHEDULES, PhasedCnn
from sfumato.lab.studies.opacus_report.shuffled_sgd import Run, Trainer
from sfumato.lab.studies.shelf import STUDIES
from sfumato.lab.studies.thesis import thesis_study, training
from sfumato.lab.studies.thesis.claims import Classwise, main_epsilons
from sfumato.lab.studies.thesis.generators import noised_class_means, random_mixtures
from sfumato.lab.studies.thesis.story import agreement, published_points, unfitted
from sfumato.lab.studies.thesis.training import Stopping, Training
from sfumato.lab.studies.threea import threea_study
from sfumato.lab.studies.threea.threea_study import as_table
from sfumato.learn.iic import Training as IicTraining
from sfumato.mechanisms.learners.cnn import Cnn
from sfumato.public.accounting import epsilon_of_mu

PAGES = Path(__file__).resolve().parents[2] / "docs" / "studies"


# --- arithmetic -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_main_run_of_the_thesis_keeps_more_than_it_claims() -> None:
    found = main_epsilons()
    assert found["claimed"] == pytest.approx(15.00, abs=0.005)
    assert found["honest"] == pytest.approx(8.50, abs=0.005)


@pytest.mark.parametrize(
    ("setting", "honest"),
    [
        (Classwise(noise_stddev=0.2), 804.6),
        (Classwise(), 80.0),
        (Classwise(noise_stddev=3.0), 4.8),
        (Classwise(degree=32), 1012),
        (Classwise(degree=64), 276),
        (Classwise(degree=256), 25.1),
        (Classwise(degree=512), 8.3),
        (Classwise(copies=250), 19.5),
        (Classwise(copies=3000), 183),
    ],
)
def test_curves_of_the_thesis_keep_far_less(setting: Classwise, honest: float) -> None:
    assert setting.honest() == pytest.approx(honest, rel=0.01)
    assert setting.claimed() > math.log(6000)


def test_other_published_axes() -> None:
    assert Classwise().claimed() == pytest.approx(10.97, abs=0.005)
    assert Classwise(noise_stddev=3.0).claimed() == pytest.approx(8.82, abs=0.005)
    assert Classwise().honest(delta=1 / 60_000) == pytest.approx(88.1, abs=0.05)


@pytest.mark.parametrize(
    ("claimed", "one", "root_two", "needed"),
    [
        (150, 548, 1019, 0.106),
        (2_000, 7.6e4, 1.50e5, 0.0241),
        (3_000, 1.7e5, 3.36e5, 0.0194),
        (5_000, 4.7e5, 9.29e5, 0.0148),
        (200_000, 7.4e8, 1.48e9, 0.00225),
    ],
)
def test_local_noise_by_the_textbook_formula(claimed: int, one: float, root_two: float, needed: float) -> None:
    assert local_claims.honest_epsilon(claimed, diameter=1.0) == pytest.approx(one, rel=0.02)
    assert local_claims.honest_epsilon(claimed) == pytest.approx(root_two, rel=0.005)
    assert local_claims.needed_noise(claimed) == pytest.approx(needed, rel=0.005)


def test_epsilon_of_shuffled_batches_lies_between_its_bounds() -> None:
    appendix = opacus_claims.APPENDIX
    claimed = [round(opacus_claims.claimed_epsilon(appendix.after(e)), 2) for e in (1, 9)]
    assert claimed == [opacus_claims.PUBLISHED[0], opacus_claims.PUBLISHED[-1]]
    least = [opacus_claims.lower_bound(appendix.after(e)) for e in (1, 3, 9)]
    assert least[0] == pytest.approx(2.93, abs=0.005)
    assert least == sorted(least)
    assert all(low < opacus_claims.upper_bound(appendix.after(e)) for low, e in zip(least, (1, 3, 9), strict=True))
    # One batch is no shuffling: there the bound is the exact epsilon of a Gaussian.
    for relation, mu in (("left_out", 1.0), ("replaced", 2.0)):
        alone = opacus_claims.lower_bound(appendix.after(1), relation, steps=1)
        assert alone == pytest.approx(epsilon_of_mu(mu, delta=opacus_claims.DELTA), abs=0.001)


@pytest.mark.parametrize("setting", [opacus_claims.APPENDIX, opacus_claims.BODY])
def test_a_row_that_is_replaced_is_hidden_less_than_one_left_out(setting: opacus_claims.Setting) -> None:
    for bound in (opacus_claims.lower_bound, opacus_claims.upper_bound):
        assert bound(setting, "replaced") > bound(setting, "left_out")
    assert (
        opacus_claims.with_coins(setting) < opacus_claims.claimed_epsilon(setting) < opacus_claims.lower_bound(setting)
    )


def test_networks_of_the_report_have_the_gradients_of_each_example_clipped() -> None:
    torch = pytest.importorskip("torch")
    rows = digits(40, seed=0)
    trainer = Trainer(rows, [Run(None), Run(1.0, seed=1)], batch=20)
    each, lost = trainer.gradients(trainer.x[:20].expand(2, 20, 1, 28, 28), trainer.y[:20].expand(2, 20))
    nn = torch.nn
    alone = nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, padding=3), nn.ReLU(), nn.MaxPool2d(2, 1), nn.Conv2d(16, 32, 4, 2), nn.ReLU(),
        nn.MaxPool2d(2, 1), nn.Flatten(), nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10),
    )  # fmt: skip
    nn.utils.vector_to_parameters(trainer.weights[1], alone.parameters())
    loss = nn.functional.cross_entropy(alone(trainer.x[7:8]), trainer.y[7:8])
    wanted = nn.utils.parameters_to_vector(torch.autograd.grad(loss, list(alone.parameters())))
    torch.testing.assert_close(each[1, 7], wanted, rtol=1e-4, atol=1e-6)
    assert float(lost[1, 7]) == pytest.approx(loss.item(), abs=1e-5)
    # The plain network adds up gradients as they are, the private one none that is longer than 1.
    plain, clipped = trainer.clipped_sums(50 * each)
    torch.testing.assert_close(plain, 50 * each[0].sum(dim=0))
    lengths = (50 * each[1]).norm(dim=1)
    assert float(lengths.min()) > 1
    torch.testing.assert_close(clipped, (50 * each[1] / lengths[:, None]).sum(dim=0))
    before = trainer.weights.clone()
    trainer.epoch()
    assert not trainer.weights.requires_grad
    assert not torch.equal(before, trainer.weights)


def test_a_budget_in_phases_is_one_budget() -> None:
    image = sf.Column(name="image", kind="image", shape=(16, 16), bounds=(0, 255))
    label = sf.Column(name="label", kind="categorical", categories=("0", "1"))
    schema = sf.Schema(columns=(image, label), target="label", rows=2000)
    falling = PhasedCnn(noise=SCHEDULES["falling"], batch=100, epochs=1.0)
    planned = sf.plan(falling, schema, sf.Budget(epsilon=1.0, delta=1e-5)).plan
    assert planned is not None
    noise = [planned.noise_stddev(f"gradients {at}", "gradient") for at in range(1, 6)]
    assert [n / noise[2] for n in noise] == pytest.approx(SCHEDULES["falling"])
    assert sum(step.uses for step in planned.steps if step.name.startswith("gradients")) == 20
    alike = sf.plan(PhasedCnn(batch=100, epochs=1.0), schema, sf.Budget(epsilon=1.0, delta=1e-5)).plan
    plain = sf.plan(Cnn(batch=100, epochs=1.0), schema, sf.Budget(epsilon=1.0, delta=1e-5)).plan
    assert alike is not None
    assert plain is not None
    assert alike.noise_stddev("gradients 3", "gradient") == pytest.approx(
        plain.noise_stddev("gradients", "gradient"), rel=5e-3
    )


def test_noisy_labels_and_their_epsilon() -> None:
    rng, labels = np.random.default_rng(0), np.arange(4000) % 10
    assert (noisy_labels(labels, n_classes=10, noise_stddev=local_claims.used_noise(150), rng=rng) == labels).all()
    drowned = noisy_labels(labels, n_classes=10, noise_stddev=local_claims.used_noise(0.1), rng=rng)
    assert np.mean(drowned == labels) == pytest.approx(0.1, abs=0.03)
    # A picture and a label, each sqrt(2) from another, are 2 apart.
    mu = 2 / local_claims.used_noise(10)
    assert local_claims.honest_epsilon_with_label(10) == pytest.approx(epsilon_of_mu(mu, delta=local_claims.DELTA))
    assert local_claims.honest_epsilon_with_label(10) > local_claims.honest_epsilon(10) > 10


def test_only_what_the_spread_of_runs_supports_is_said() -> None:
    def page(raw: Sequence[float], noisy: Sequence[float]) -> str:
        runs = {"raw": raw, **{f"claimed {e}": noisy for e in local_claims.CLAIMED}}
        figures = {
            f"{key}, seed {s}": {"error": e, "quick": False} for key, es in runs.items() for s, e in enumerate(es)
        }
        return what_noise_did(Found(figures))

    assert "None of the five can be told from raw pictures" in page([0.05, 0.25], [0.10, 0.30])
    assert "more than runs differ, at 150, 2,000, 3,000, 5,000 and 200,000" in page([0.05, 0.06], [0.20, 0.21])
    assert "Nothing was learned at 150" in page([0.05, 0.06], [0.88, 0.89])
    assert page([0.05], []) == ""


# --- what the published generators do -------------------------------------------------------------------------------


def digits(n_rows: int, *, seed: int) -> Digits:
    """Ten classes, told apart by where a bright square lies."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % 10
    images = 0.1 * rng.random((n_rows, 28, 28))
    for at, label in enumerate(labels):
        top, left = 5 + 10 * (label // 5), 1 + 5 * (label % 5)
        images[at, top : top + 8, left : left + 5] += 0.8
    return Digits(images.astype(np.float32), labels)


def test_averaging_the_copies_gives_the_mean_away() -> None:
    rows, rng = digits(400, seed=0), np.random.default_rng(1)
    images, _ = noised_class_means(rows, copies=400, degree=20, noise_stddev=0.05, n_classes=10, rng=rng)
    bright = images.reshape(10, 400, 28, 28)[0, :, 6:12, 2:5]
    assert bright.std(axis=0).mean() == pytest.approx(0.05, rel=0.05)
    # Averaged, what is left of the noise is a twentieth: the subset was the same in every copy.
    fresh, _ = random_mixtures(rows, mixtures=400, degree=20, noise_stddev=0.0, n_classes=10, rng=rng)
    assert fresh.reshape(400, -1).std(axis=0).max() > 0.02  # of the other generator, subsets are drawn anew
    again, _ = noised_class_means(rows, copies=400, degree=20, noise_stddev=0.0, n_classes=10, rng=rng)
    assert np.ptp(again.reshape(10, 400, -1), axis=1).max() == 0


def test_rows_that_are_functions_of_a_row_are_linked() -> None:
    rng = np.random.default_rng(0)
    raw = rng.random((200, 30)).astype(np.float32)
    released = raw @ rng.normal(size=(30, 30)).astype(np.float32)
    assert linked_share(raw, released, released) == 1.0
    assert linked_share(raw, released, rng.permutation(released)) < 0.1


def test_the_report_s_networks_start_and_learn_as_in_keras() -> None:
    torch = pytest.importorskip("torch")
    begun = started((784, 64, 784), ("relu", "sigmoid"), runs=2)
    (first, bias), _ = begun.layers(begun.weights)
    limit = math.sqrt(6 / (784 + 64))
    assert float(first.abs().max()) == pytest.approx(limit, rel=0.01)
    assert float(first.std()) == pytest.approx(limit / math.sqrt(3), rel=0.02)
    assert float(bias.abs().max()) == 0
    assert not torch.equal(first[0], first[1])
    # Five dense layers without activations are one linear rule, for each run its own.
    rows = digits(400, seed=0)
    data = (on_device(rows.rows), on_device(rows.labels))
    found = trained_classifiers(data, data, n_classes=10, runs=2, epochs=3, batch=32)
    x = data[0][:5].expand(2, -1, -1)
    with torch.no_grad():
        middle = (found.best(x[:, :1]) + found.best(x[:, 1:2])) / 2
        torch.testing.assert_close(found.best((x[:, :1] + x[:, 1:2]) / 2), middle, rtol=1e-3, atol=1e-3)
    assert min(found.best.accuracies(*data)) > 0.9
    # What is kept is the epoch of the least loss on the test rows, of each run: here an early one, as labels are wrong.
    wrong = (data[0], (data[1] + 1) % 10)
    found = trained_classifiers(data, wrong, n_classes=10, runs=2, epochs=3, batch=32)
    assert found.losses.argmin(axis=0).tolist() == [0, 0]
    for networks, losses in ((found.best, found.losses[0]), (found.last, found.losses[-1])):
        loss = [float(torch.nn.functional.cross_entropy(mine, wrong[1])) for mine in networks.applied(wrong[0])]
        assert loss == pytest.approx(list(losses), rel=1e-4)


def test_noise_is_set_in_the_layers_that_the_program_sets() -> None:
    pytest.importorskip("torch")
    plain = started((784, 512, 256, 128, 64, 10), [None] * 5, runs=2)
    noisy = plain.with_noise(0.05, layers=3, seed=0)
    moved = [
        float((after - before).std())
        for mine, other in zip(plain.layers(plain.weights), noisy.layers(noisy.weights), strict=True)
        for before, after in zip(mine, other, strict=True)
    ]
    assert moved[:6] == pytest.approx([0.05] * 6, rel=0.15)
    assert moved[6:] == [0] * 4


def test_networks_side_by_side_say_what_each_says_alone() -> None:
    torch = pytest.importorskip("torch")
    weights = training.started(torch, n_networks=3, shape=(1, 28, 28), n_classes=10, seed=0)
    images = torch.from_numpy(np.random.default_rng(0).random((3, 4, 1, 28, 28), dtype=np.float32))
    together = training.scores(torch, weights, images)
    for at in range(3):
        alone = table_4_1_network(torch, shape=(1, 28, 28), n_classes=10)
        with torch.no_grad():
            for mine, all_of_them in zip(alone.parameters(), weights, strict=True):
                mine.copy_(all_of_them[at])
            torch.testing.assert_close(together[at], alone(images[at]), rtol=1e-4, atol=1e-5)
    assert not torch.allclose(together[0], together[1])


def test_a_network_that_waited_in_vain_goes_back_to_its_best_weights() -> None:
    torch = pytest.importorskip("torch")
    weights = [torch.tensor([0.0, 0.0])]
    stopping = Stopping(torch, weights, patience=2)
    for epoch, accuracy in enumerate([(0.5, 0.1), (0.4, 0.2), (0.5, 0.3), (0.9, 0.2)]):
        weights[0][:] = float(epoch)
        stopping.note(torch.tensor(accuracy))
    # The first stopped after its third epoch, for which .5 was no better than .5; what came later is not seen.
    assert stopping.kept[0].tolist() == [0.0, 2.0]
    assert stopping.epochs == [3, 4]
    assert not stopping.all_stopped
    stopping.note(torch.tensor([0.0, 0.0]))
    assert stopping.all_stopped


def test_every_point_of_the_curves_is_run_with_fitted_epochs_and_with_nothing_fitted() -> None:
    study = thesis_study.ThesisStudy()
    keys = {task.key for task in study.tasks(quick=False)}
    points = published_points()
    assert len(points) == 29 + 5 + 12
    assert {*points, *map(unfitted, points)} <= keys
    # Epochs alone are fitted: all else of a curve is the main run's.
    full = study.full
    for fitted in (full.train_noise, full.train_other):
        assert replace(fitted, epochs=full.train.epochs, patience=None) == full.train
        assert fitted.epochs < full.train_unfitted.epochs


def test_agreement_is_counted_for_each_way_of_running() -> None:
    run = {"noise 1": 0.50, unfitted("noise 1"): 0.60}
    found = Found({key: {"accuracy": accuracy, "quick": False} for key, accuracy in run.items()})
    assert "1 lies within" in agreement(found, {"noise 1": 0.52})
    assert "0 lie within" in agreement(found, {"noise 1": 0.52}, run_as=unfitted)


# --- carrying out ---------------------------------------------------------------------------------------------------


@dataclass
class Counting:
    """A study that counts how often it is run."""

    runs: list[str] = field(default_factory=list)
    name: str = "counting"
    title: str = "Counting"

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        def run(key: str) -> Figures:
            self.runs.append(key)
            return {"accuracy": 0.5 if quick else 0.75}

        return [Task(key=key, run=lambda folder, key=key: run(key)) for key in (("a",) if quick else ("a", "b"))]

    def lines(self, found: Found) -> Sequence[Line]:
        return [Line(what=k, published="-", here=found.percent(k), honest="-", sound="-") for k in ("a", "b")]

    def story(self, found: Found, folder: Path) -> str:
        return "## Story"


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    study = Counting()
    found = carry_out(study, folder=tmp_path, quick=True)
    assert study.runs == ["a"]
    assert found.missing == ["b"]
    page = (tmp_path / "counting.md").read_text(encoding="utf-8")
    assert "| a | - | 50.0 % (quick) |" in page
    assert "| b | - | to be run |" in page
    carry_out(study, folder=tmp_path, quick=False, only=["b"])
    assert study.runs == ["a", "b"]
    carry_out(study, folder=tmp_path, quick=False)  # a quick figure is replaced by a full one
    assert study.runs == ["a", "b", "a"]
    carry_out(study, folder=tmp_path, quick=True)  # and a full one never by a quick one
    carry_out(study, folder=tmp_path, quick=False)
    assert study.runs == ["a", "b", "a"]
    page = (tmp_path / "counting.md").read_text(encoding="utf-8")
    assert "75.0 % |" in page
    assert "(quick)" not in page


def test_several_seeds_are_one_figure_and_quick_ones_give_way_to_full_ones() -> None:
    def run(accuracy: float, *, quick: bool) -> Figures:
        return {"accuracy": accuracy, "losses": [2 * accuracy, accuracy], "quick": quick}

    found = Found(
        {"a, seed 0": run(0.5, quick=False), "a, seed 1": run(0.7, quick=False), "a, seed 2": run(0.1, quick=True)}
    )
    assert found.each("a", "accuracy") == [0.5, 0.7]
    assert found.percent("a") == "60.0 ± 14.1 %"
    (epochs, mean, far) = found.curves({"A": "a", "B": "b"}, "losses")["A"]
    assert list(epochs) == [1, 2]
    np.testing.assert_allclose([mean, far], [[1.2, 0.6], [0.2 * math.sqrt(2), 0.1 * math.sqrt(2)]])
    quick = Found({"a, seed 0": run(0.5, quick=True)})
    assert quick.percent("a") == "50.0 % (quick)"
    assert quick.at_full_size.percent("a") == "to be run"


class Told(Counting):
    """A study with an opening, a picture that is there, and one that is not."""

    def story(self, found: Found, folder: Path) -> str:
        (folder / "there.png").touch()
        pictures = [f"![{name}]({name}.png)\n\n*Under {name}.*" for name in ("there", "absent")]
        return "\n\n".join(["For a stranger.", "## Story", *pictures, "The end."])


def test_a_page_opens_for_a_stranger_and_a_caption_goes_with_its_picture(tmp_path: Path) -> None:
    carry_out(Told(), folder=tmp_path, quick=True)
    page = (tmp_path / "counting.md").read_text(encoding="utf-8")
    assert page.index("For a stranger.") < page.index("|") < page.index("## Story")
    assert "![there](there.png)\n\n*Under there.*\n" in page
    assert "*absent: to be run.*\n\nThe end." in page
    assert "Under absent" not in page


def test_epochs_on_an_axis_are_whole_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    ticks: list[float] = []
    written = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *a, **k: (ticks.extend(self.axes[0].get_xticks()), written(self, *a, **k))
    )
    draw_curves(tmp_path / "few.png", {"a": ([1, 2], [0.5, 0.6], [0.1, 0.1])}, x="epoch", y="accuracy")
    assert ticks
    assert all(tick == int(tick) for tick in ticks)


def test_a_row_of_pictures_is_tall_enough_to_be_seen(tmp_path: Path) -> None:
    from PIL import Image

    draw_sheet(tmp_path / "sheet.png", {"one": np.random.default_rng(0).random((10, 28, 28))})
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.width >= 650  # ten pictures of 65 pixels
        assert sheet.height >= 65


def test_what_cannot_be_run_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="has no point 'c'"):
        carry_out(Counting(), folder=tmp_path, quick=True, only=["c"])
    (tmp_path / "counting.json").write_text("[]")
    with pytest.raises(BenchmarkError, match="Remove it, or choose another folder"):
        carry_out(Counting(), folder=tmp_path, quick=True)
    refused = CliRunner().invoke(app, ["study", "nothing", "--out", str(tmp_path)])
    assert refused.exit_code == 1


# --- a tiny run of each ---------------------------------------------------------------------------------------------

_SHORT = Training(epochs=1, learning_rate=1e-3)
TINY: dict[str, Study] = {
    "dpmix-thesis": thesis_study.ThesisStudy(
        dataset="tiny-digits",
        quick=thesis_study.Sizes(
            attacks=0,
            learners=0,
            steep_runs=1,
            fewer=100,
            train=_SHORT,
            train_noise=Training(epochs=2, learning_rate=1e-3, patience=1),
            train_unfitted=_SHORT,
            noise=(0.2,),
            degrees=(),
            mixtures=(),
            others=False,
            test_rows=50,
        ),
    ),
    "opacus": opacus_study.OpacusStudy(
        dataset="tiny-digits",
        quick=opacus_study.Sizes(
            most_epochs=1,
            noises=(4.0,),
            level_epochs=1,
            seeds=2,
            other_seeds=1,
            drawn_images=100,
            drawn_epochs=1,
            learner=Cnn(batch=50, epochs=0.4),
            scheduled=Cnn(batch=50, epochs=0.4),
            schedules=("falling",),
            schedule_seeds=1,
        ),
    ),
    "autoencoder": autoencoder_study.AutoencoderStudy(
        dataset="tiny-digits",
        quick=autoencoder_study.Sizes(
            program=listing.Program(epochs=2, classifier_epochs=2, runs=2, draws=2),
            clusterings=1,
            seeds=1,
            others=1,
            n_steps=2,
        ),
    ),
    "threea": threea_study.ThreeAStudy(
        digits_dataset="tiny-digits",
        quick=threea_study.Sizes(
            rounds=2,
            seeds=1,
            published=("adult, as published", "alpha"),
            datasets=("adult",),
            methods=("independent-histograms",),
            toy_rows=400,
            toy_epsilons=(1.0,),
        ),
    ),
    "local-iic": local_study.LocalStudy(
        dataset="tiny-digits",
        quick=local_study.Sizes(
            images=100,
            training=IicTraining(epochs=1, batch=50, channels=4),
            raw=2,
            raw_longer=0,
            claimed={3_000: 1},
            told={10: 1},
            local={150: 1},
            central={},
        ),
    ),
}


@pytest.fixture
def tiny_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SFUMATO_CACHE", str(tmp_path / "cache"))
    image = sf.Column(name="image", kind="image", shape=(28, 28), bounds=(0, 255))
    label = sf.Column(name="label", kind="categorical", categories=tuple("0123456789"))
    parts = {
        part: {"image": np.round(255 * rows.images).astype(np.uint8), "label": rows.labels.astype(str)}
        for part, rows in (("train", digits(300, seed=0)), ("test", digits(100, seed=1)))
    }
    pictures = make_benchmark(
        "tiny-digits", schema=sf.Schema(columns=(image, label), target="label", rows=300), **parts
    )
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.random(1200), "y": rng.random(1200)})
    frame["kind"] = np.where(frame.x + frame.y > 1, "b", "a")
    numbers = tuple(sf.Column(name=name, kind="numeric", bounds=(0, 1)) for name in ("x", "y"))
    kind = sf.Column(name="kind", kind="categorical", categories=("a", "b"))
    table = make_benchmark(
        "adult",
        train=frame[:1000],
        test=frame[1000:].reset_index(drop=True),
        schema=sf.Schema(columns=(*numbers, kind), target="kind", rows=1000),
    )
    monkeypatch.setitem(datasets._LOADERS, "tiny-digits", lambda: pictures)
    monkeypatch.setitem(datasets._LOADERS, "adult", lambda: table)


@pytest.mark.slow
@pytest.mark.usefixtures("_releases_here")
@pytest.mark.parametrize("name", TINY)
def test_every_study_runs_and_leaves_a_page(name: str, tiny_data: None, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    study = TINY[name]
    found = carry_out(study, folder=tmp_path, quick=True)
    assert set(found.figures) == {task.key for task in study.tasks(quick=True)}
    page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    (headings, *_) = (line for line in page.splitlines() if line.startswith("|"))
    for heading in ("published", "as published, run here", "honest epsilon", "made sound at the published epsilon"):
        assert heading in headings
    for _, picture in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG"), picture
    assert "nan" not in page
    assert "to be run.*" not in page  # every picture was drawn
    told = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert all(figures["quick"] for figures in told["points"].values())
    assert told["missing"]


# --- datasets that are larger than one over the protocol's delta -----------------------------------------------------

LARGE = 110_000


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Benchmark:
    """As Census and Credit: no number of rows is declared, since 1e-5 would be above one over it."""
    monkeypatch.setenv("SFUMATO_CACHE", str(tmp_path / "cache"))
    frame = pd.DataFrame({"x": np.random.default_rng(0).random(LARGE)})
    frame["kind"] = np.where(frame.x > 0.5, "b", "a")
    kind = sf.Column(name="kind", kind="categorical", categories=("a", "b"))
    schema = sf.Schema(columns=(sf.Column(name="x", kind="numeric", bounds=(0, 1)), kind), target="kind")
    made = make_benchmark("adult", train=frame, test=frame[:500], schema=schema)
    monkeypatch.setitem(datasets._LOADERS, "adult", lambda: made)
    return made


@pytest.mark.slow
@pytest.mark.usefixtures("_releases_here")
def test_a_large_dataset_is_run_with_a_delta_below_one_over_its_rows(large: Benchmark, tmp_path: Path) -> None:
    sizes = threea_study.Sizes(datasets=("adult",), methods=("independent-histograms",))
    study = threea_study.ThreeAStudy(full=sizes)
    found = carry_out(study, folder=tmp_path, quick=False, only=["adult, independent-histograms, seed 0"])
    figures = found.figures["adult, independent-histograms, seed 0"]
    assert figures["delta"] == pytest.approx(1 / (10 * LARGE))
    assert figures["real_rows"] == LARGE
    assert figures["value"] > 0.9


def test_delta_is_that_of_the_protocol_where_it_is_below_one_over_the_rows(large: Benchmark) -> None:
    benchmark, delta = threea_study.with_delta(fewer_rows(large, train=None))
    assert benchmark.schema.rows == LARGE
    assert delta == pytest.approx(1 / (10 * LARGE))
    few, usual = threea_study.with_delta(fewer_rows(large, train=6_000))
    assert (few.schema.rows, usual) == (6_000, 1e-5)


def test_pictures_are_a_table_of_pixels_for_a_method_that_makes_tables(large: Benchmark) -> None:
    images = np.arange(6 * 4, dtype=np.uint8).reshape(6, 2, 2) * 10
    rows = {"image": images, "label": np.array([0, 1, 2, 0, 1, 2], dtype=np.uint8)}
    columns = (
        sf.Column(name="image", kind="image", bounds=(0, 255), shape=(2, 2)),
        sf.Column(name="label", kind="categorical", categories=("0", "1", "2")),
    )
    pictures = make_benchmark("mnist", train=rows, test=rows, schema=sf.Schema(columns=columns, target="label", rows=6))
    table = as_table(pictures)
    assert (table.metric, table.schema.images, table.schema.rows) == ("accuracy", (), 6)
    assert np.array_equal(table.train.drop(columns="label"), images.reshape(6, 4))
    assert list(table.train["label"]) == [0, 1, 2, 0, 1, 2]
    assert as_table(large) is large


# --- the pages of the repository ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_pages_are_what_their_figures_say(name: str, tmp_path: Path) -> None:
    kept = json.loads((PAGES / f"{name}.json").read_text(encoding="utf-8"))["points"]
    for picture in PAGES.glob("*.png"):
        shutil.copy(picture, tmp_path)
    write_page(STUDIES[name], kept, tmp_path)
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert (tmp_path / f"{name}.md").read_text(encoding="utf-8") == page, (
        f"write it again: sfumato study {name} --minutes 0"
    )
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page):
        assert (PAGES / picture).stat().st_size < 150_000, picture


@pytest.mark.parametrize("name", ["opacus", "local-iic"])
def test_a_page_answers_before_its_table_and_every_picture_has_a_caption(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert page.index("Did it keep its promise?") < page.index("What it takes:") < page.index("\n|")
    pictures = re.findall(r"!\[[^\]]*\]\([^)]+\)\n\n(.)", page)
    assert len(pictures) >= 4
    assert set(pictures) == {"*"}


@pytest.mark.parametrize(("folder", "name"), [("opacus_report", "opacus"), ("local_iic", "local-iic")])
def test_what_the_coverage_of_a_document_refers_to_is_there(folder: str, name: str) -> None:
    source = Path(opacus_study.__file__).parents[1] / folder / "coverage.toml"
    items = tomllib.loads(source.read_text(encoding="utf-8"))["item"]
    points = json.loads((PAGES / f"{name}.json").read_text(encoding="utf-8"))["points"]
    referred = [
        (item[cell], item) for item in items for cell in ("here", "honest", "sound") if isinstance(item[cell], dict)
    ]
    assert len(referred) > len(items) / 2
    for reference, item in referred:
        matching = [figures for key, figures in points.items() if fnmatch(key, reference["points"])]
        assert matching, item["name"]
        for figures in matching:
            value = figures
            for part in reference["key"].split("."):
                value = value[part]
            assert format(value, reference["format"]), item["name"]
