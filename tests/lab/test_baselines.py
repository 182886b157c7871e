"""ads-gan: it learns, it keeps its distance, and nothing that it makes can be taken for a private release."""

import dataclasses
import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import command_line
import sfumato as sf
from command_line import answer_of, patients, run
from sfumato import mechanism
from sfumato.errors import ModelError, PlanError, SchemaError, SourceError, VerificationError
from sfumato.extending import register
from sfumato.folder.releasing import CERTIFICATE, REPORT
from sfumato.lab.baselines import AdsGan, Baseline, baseline_for, release_non_private
from sfumato.lab.baselines.ads_gan import ConditionedModel, entropy_weights, identified
from sfumato.lab.baselines.writing import KNOWN
from sfumato.lab.benchmark import BenchmarkError, datasets
from sfumato.lab.benchmark import run as run_protocol
from sfumato.lab.benchmark.datasets import make_benchmark
from sfumato.mechanisms import IndependentHistograms
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.public.certificate.non_private import BASELINES, NOT_PRIVATE

torch = pytest.importorskip("torch", reason="torch is not installed: tests of generators are skipped")

RED = "\x1b[1;31m"
QUICK = AdsGan(n_steps=3, critic_steps=1, batch=32, critic_hidden=8, draws=2, hidden=8)
SETTINGS = [text for key, value in dataclasses.asdict(QUICK).items() for text in ("--set", f"{key}={value}")]
SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="age", kind="integer", bounds=(18, 90)),
        sf.Column(name="ward", kind="categorical", categories=("north", "south", "west"), missing=True),
        sf.Column(name="cost", kind="numeric", bounds=(0, 10), missing=True),
        sf.Column(name="ill", kind="boolean"),
    ),
    target="ill",
)


def people(n_rows: int = 1500) -> pd.DataFrame:
    """The ill are older and lie in the south."""
    rng = np.random.default_rng(0)
    ill = rng.random(n_rows) < 0.4
    cost = np.where(rng.random(n_rows) < 0.2, np.nan, np.clip(rng.normal(3 + 3 * ill), 0, 10))
    ward = np.where(rng.random(n_rows) < 0.1 + 0.7 * ill, "south", np.where(rng.random(n_rows) < 0.8, "north", "west"))
    age = np.clip(rng.normal(40 + 25 * ill, 8), 18, 90).round()
    return pd.DataFrame({"age": age, "ward": ward, "cost": cost, "ill": ill})


# ------------------------------------------------------------------------------------------------------- what it learns


def distance(baseline: AdsGan) -> float:
    """How many real rows are made into rows of another ward."""
    fitted = baseline.fit(people(), SCHEMA, seed=1)
    model = fitted.model
    assert isinstance(model, ConditionedModel)
    chosen = np.random.default_rng(5).permutation(len(model.labels))  # as `sample` draws them
    made = model.sample(len(model.labels), seed=5).table
    return float(np.mean(people()["ward"].to_numpy()[chosen] != made["ward"].astype(str)))


@pytest.mark.slow
def test_it_learns_columns_and_what_hangs_together_and_keeps_its_distance() -> None:
    small = AdsGan(
        n_steps=150, critic_steps=2, batch=64, critic_hidden=32, draws=4, hidden=32,
        learning_rate=0.003, generator_rate=0.003,
    )  # fmt: skip
    real, made = people(), small.fit(people(), SCHEMA, seed=1).sample(3000).table
    assert list(made.columns) == list(real.columns)
    assert made["ill"].mean() == pytest.approx(real["ill"].mean(), abs=0.001)
    for column in ("age", "cost"):
        for ill in (False, True):
            found, wanted = (frame.loc[frame["ill"] == ill, column].mean() for frame in (made, real))
            spread = real[column].std()
            assert abs(found - wanted) < 0.5 * spread, (column, ill, found, wanted)
    south = [(frame.loc[frame["ill"], "ward"] == "south").mean() for frame in (made, real)]
    assert abs(south[0] - south[1]) < 0.2
    assert made["cost"].isna().mean() == pytest.approx(0.2, abs=0.12)
    # Paid for distance it keeps away from the row that it is handed; unpaid it does not.
    near, far = (distance(dataclasses.replace(small, n_steps=80, identifiability=worth)) for worth in (0.0, 3.0))
    assert far > near + 0.1, (near, far)


def test_the_same_seed_gives_the_same_rows() -> None:
    one, same, other = (QUICK.fit(people(200), SCHEMA, seed=seed).sample(50).table for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, same)
    assert not one.equals(other)


def test_rows_of_persons_are_rows_to_it() -> None:
    """What it makes belongs to nobody, and is compared with real rows at the end."""
    schema = dataclasses.replace(SCHEMA, unit=sf.PrivacyUnit(person="who", max_rows=2))
    rows = people(200).assign(who=np.arange(200) // 2)
    assert len(QUICK.fit(rows, schema, seed=1).sample(50).table) == 50


def test_what_few_share_counts_for_more() -> None:
    rare = sf.Schema(columns=(sf.Column(name="rare", kind="boolean"), sf.Column(name="even", kind="boolean")))
    batch = {"rare": (np.arange(100) == 0).astype(np.int64), "even": np.arange(100) % 2}
    weights = entropy_weights(MixedRows(rare), batch)
    assert weights.tolist() == sorted(weights, reverse=True)
    assert weights[0] == pytest.approx(10.0)  # by the least entropy of all
    assert weights[3] == pytest.approx(1 / np.log(2))


def test_copies_are_identified_and_strangers_are_not() -> None:
    real = np.random.default_rng(0).normal(size=(500, 3))
    assert identified(real, real + 1e-9, seed=0) == 1.0
    assert identified(real, real + 100.0, seed=0) == 0.0


# ------------------------------------------------------------------------------------------- what it is not taken for


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    patients().to_csv("patients.csv", index=False)
    (tmp_path / "schema.toml").write_text(command_line.SCHEMA)
    return tmp_path


def ask(*more, **environment):
    arguments = ("release", "patients.csv", "--schema", "schema.toml", "--out", "out", "--method", "ads-gan", *SETTINGS)
    return run(*arguments, *more, **environment)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ((), "say --non-private"),
        (("--epsilon", 1), "say --non-private"),
        (("--non-private", "--epsilon", 1), "has no epsilon"),
        (("--non-private", "--delta", 1e-6), "has no epsilon"),
        (("--non-private", "--sign", "me.key"), "no claim to sign"),
        (("--non-private", "--set", "batch=0"), "batch = 0 must be above 0"),
        (("--non-private", "--set", "identifiability=-1"), "must be 0 or more"),
        (("--non-private", "--method", "mst"), "mst is private"),
    ],
)
def test_whoever_did_not_mean_it_is_refused(place, more, sentence) -> None:
    result = ask(*more)
    assert result.exit_code == 1
    assert sentence in result.stderr
    assert not (place / "out").exists()


def test_private_methods_still_need_an_epsilon(place) -> None:
    for command in (("release", "patients.csv", "--schema", "schema.toml", "--out", "out"), ("plan", "schema.toml")):
        result = run(*command)
        assert result.exit_code == 2
        assert "--epsilon" in result.stderr
    assert not (place / "out").exists()


def test_the_folder_says_on_every_page_that_it_is_not_private_and_verify_refuses_it(place) -> None:
    result = ask("--non-private", "--seed", 3, FORCE_COLOR="1")
    assert result.exit_code == 0, result.output
    assert f"{RED}NOT PRIVATE" in result.stdout
    paper = json.loads((place / "out" / CERTIFICATE).read_text())
    assert paper["status"] == "non_private"
    assert not {"epsilon", "delta", "claim", "event"} & set(paper)
    page = (place / "out" / REPORT).read_text()
    assert page.count("NOT PRIVATE") == 3  # its title, its first line, its last
    assert NOT_PRIVATE in page
    assert "differentially private" not in page
    verified = run("verify", "out", FORCE_COLOR="1")
    assert verified.exit_code == 3
    assert "claims nothing" in " ".join(verified.stderr.split())
    assert RED in verified.stderr
    assert "claims nothing" in answer_of(run("verify", "out", "--json"))["error"]
    for refused in (
        ("sample", "out", "-n", 5, "--out", "more.csv"),
        ("predict", "out", "patients.csv", "--out", "p.csv"),
    ):
        assert run(*refused).exit_code == 3
    with pytest.raises(VerificationError, match="claims nothing"):
        sf.load_release("out")


def test_as_json_it_has_no_epsilon_and_a_warning(place) -> None:
    answer = answer_of(ask("--non-private", "--seed", 3, "--rows", 70, "--json"))
    assert (answer["status"], answer["epsilon"], answer["claim"], answer["rows"]) == ("non_private", None, None, 70)
    assert answer["warnings"] == [NOT_PRIVATE]
    assert len(pd.read_parquet("out/synthetic.parquet")) == 70


def test_a_better_status_in_its_paper_changes_nothing(place) -> None:
    release_non_private(QUICK.fit(patients(), sf.Schema.load("schema.toml")), to="out")
    file = place / "out" / CERTIFICATE
    honest = json.loads(file.read_text())
    for forged in ({"status": "certified"}, {"status": "certified", "epsilon": 1.0, "claim": {"epsilon": 1.0}}):
        file.write_text(json.dumps({**honest, **forged}))
        with pytest.raises(VerificationError, match="claims nothing"):
            sf.verify("out")
    file.write_text(json.dumps({**honest, "format": "sfumato-certificate/3"}))
    with pytest.raises(VerificationError, match=r"lacks|should not have"):
        sf.verify("out")


@dataclass(frozen=True, kw_only=True)
class Pretender(IndependentHistograms):
    """The broken twin: a mechanism under the name of a baseline, whose claims would be verified."""

    name: ClassVar[str] = "ads-gan"


def test_no_claim_is_verified_under_its_name(place, monkeypatch) -> None:
    with pytest.raises(PlanError, match="a baseline that is not private, and no mechanism"):
        register(Pretender)
    with pytest.raises(PlanError, match="a baseline that is not private, and no mechanism"):
        sf.method("ads-gan", SCHEMA)
    # Without the list of baselines the pretender would pass: it is the list that refuses it.
    monkeypatch.setattr(mechanism, "_REGISTRY", dict(mechanism._REGISTRY))
    schema, budget = sf.Schema.load("schema.toml"), sf.Budget(epsilon=1.0, delta=1e-6)
    with monkeypatch.context() as undone:
        undone.setattr(mechanism, "BASELINES", ())
        register(Pretender)
        sf.release(sf.fit("ads-gan", sf.Sensitive.read(patients(), schema), budget), to="forged")
        assert sf.verify("forged", rebuild=False).ok
    found = sf.verify("forged", rebuild=False)
    assert not found.ok
    assert any("a baseline that is not private" in sentence for sentence in found.problems)


def test_baselines_are_listed_apart_from_mechanisms() -> None:
    assert tuple(KNOWN) == BASELINES
    assert not set(BASELINES) & set(mechanism.registered_names())
    assert all(isinstance(baseline_for(name), Baseline) for name in BASELINES)
    assert not isinstance(IndependentHistograms(), Baseline)
    result = run("methods", FORCE_COLOR="1", COLUMNS="160")
    assert f"{RED}Baselines, not private" in result.stdout
    listed = answer_of(run("methods", "--json"))
    (found,) = listed["baselines"]
    assert (found["name"], found["status"]) == ("ads-gan", "non_private")
    assert all(kind.startswith("tables") for kind in found["takes"])
    assert len(found["takes"]) == 3
    assert "ads-gan" not in {one["name"] for one in listed["methods"]}


def test_a_plan_says_that_there_is_none(place) -> None:
    result = run("plan", "schema.toml", "--method", "ads-gan", FORCE_COLOR="1")
    assert result.exit_code == 0, result.output
    assert f"{RED}NOT PRIVATE" in result.stdout
    answer = answer_of(run("plan", "schema.toml", "--method", "ads-gan", "--json"))
    assert (answer["status"], answer["epsilon"], answer["steps"]) == ("non_private", None, [])
    assert "has no epsilon" in run("plan", "schema.toml", "--method", "ads-gan", "--epsilon", 1).stderr


# -------------------------------------------------------------------------------------------------------- the benchmark


@pytest.mark.slow
@pytest.mark.usefixtures("_releases_here")
def test_the_benchmark_runs_it_without_an_epsilon(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SFUMATO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(
        datasets._LOADERS, "ill", lambda: make_benchmark("ill", train=people(300), test=people(200), schema=SCHEMA)
    )
    options = ("--method", "ads-gan", "--non-private", "--learner", "logistic", "--seeds", 1, *SETTINGS)
    record = answer_of(run("bench", "ill", *options, "--json"))
    assert (record["method"], record["epsilon"], record["delta"], record["unit"]) == ("ads-gan", None, None, None)
    assert record["synthetic_rows_n"] == 300
    assert record["settings"] == dataclasses.asdict(QUICK)
    assert "say --non-private" in run("bench", "ill", "--method", "ads-gan").stderr
    for method, epsilon in ((QUICK, 1.0), ("auto", None)):
        with pytest.raises(BenchmarkError, match="a baseline has none"):
            next(run_protocol("ill", epsilon=epsilon, method=method))


# ------------------------------------------------------------------------------------------------------------ bad input


def test_what_it_cannot_learn_from_is_refused() -> None:
    image = sf.Column(name="image", kind="image", shape=(4, 4))
    with pytest.raises(SchemaError, match="makes tables"):
        QUICK.fit({"image": np.zeros((5, 4, 4))}, sf.Schema(columns=(image,)))
    open_age = sf.Schema(columns=(sf.Column(name="age", kind="integer", discover=True),))
    with pytest.raises(SchemaError, match="left for a private discovery"):
        QUICK.fit(people(20), open_age)
    with pytest.raises(SourceError, match="no rows"):
        QUICK.fit(people(20).iloc[:0], SCHEMA)


def test_a_training_that_diverges_makes_nothing() -> None:
    with pytest.raises(ModelError, match="diverged"):
        dataclasses.replace(QUICK, learning_rate=1e30, generator_rate=1e30).fit(people(100), SCHEMA)


def test_torch_is_asked_for_by_its_extra(monkeypatch) -> None:
    monkeypatch.setattr("sfumato.public.machine.torch_extra.importlib.util.find_spec", lambda name: None)
    with pytest.raises(PlanError, match=r"ads-gan needs torch.*sfumato\[deep\]"):
        QUICK.fit(people(20), SCHEMA)
