"""The commands train and predict: what they answer, and that each bad input ends in a sentence with nothing left behind."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import sfumato as sf
from command_line import SCHEMA, answer_of, patients, run
from sfumato.cli.refusals import INTERRUPTED, NOT_VERIFIED, REFUSED
from sfumato.folder.tensors import WEIGHTS
from sfumato.mechanism import learner_for


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA)
    patients().to_csv("patients.csv", index=False)
    patients(30).drop(columns="ill").to_csv("new.csv", index=False)


def train_it(*more, learner="logistic", out="model"):
    return run(
        "train", "patients.csv", "--schema", "schema.toml", "--learner", learner, "--epsilon", 1, "--out", out, *more
    )


def test_from_rows_to_predictions() -> None:
    planned = answer_of(run("plan", "schema.toml", "--learner", "logistic", "--epsilon", 1, "--json"))
    assert planned["mechanism"] == "logistic"
    assert planned["expectation"] is None
    assert planned["steps"][-1]["step"] == "progress"
    answer = answer_of(train_it("--json", "--seed", 5, "--engine", "local:1"))
    assert answer["status"] == "certified"
    assert answer["seed"] == 5
    assert answer["rows"] is None
    assert WEIGHTS in answer["files"]
    assert answer["spent_epsilon"] == pytest.approx(1.0, rel=1e-3)
    checked = answer_of(run("verify", "model", "--json"))
    assert checked["ok"]
    assert checked["rebuilt"]
    assert answer_of(run("predict", "model", "new.csv", "--out", "said.csv", "--json"))["rows"] == 30
    assert list(pd.read_csv("said.csv").columns) == ["ill", "ill=false", "ill=true"]
    assert run("predict", "model", "patients.csv", "--out", "said.parquet").exit_code == 0
    assert len(pd.read_parquet("said.parquet")) == 400


def test_words_for_people() -> None:
    shown = train_it().stdout
    assert shown.startswith("trained logistic, written to model")
    assert "note: Of the training rows the model gets" in shown
    assert (
        "None: the release is a trained model"
        in run("plan", "schema.toml", "--learner", "logistic", "--epsilon", 1).stdout
    )
    assert "verified model" in run("verify", "model").stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("train", "--learner", "3a-table"), "releases rows and trains no model"),
        (("train", "--learner", "forest"), "there is no mechanism 'forest'"),
        (("train", "--learner", "cnn"), "cnn is for images"),
        (("train", "--learner", "logistic", "--set", "depth=3"), "logistic has no settings"),
        (("train", "--learner", "logistic", "--engine", "flink"), "there is no engine 'flink'"),
        (("release", "--method", "logistic"), "Use sfumato train --learner logistic"),
        (("plan", "--learner", "logistic", "--method", "dpmix"), "Give one of them"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, sentence: str) -> None:
    command, *options = arguments
    place = ["schema.toml"] if command == "plan" else ["patients.csv", "--schema", "schema.toml", "--out", "model"]
    result = run(command, *place, "--epsilon", 1, *options)
    assert result.exit_code == REFUSED
    assert sentence in " ".join(result.stderr.split())
    assert not Path("model").exists()


@pytest.mark.parametrize(
    ("line", "other", "sentence"),
    [
        ('target = "ill"', "", "logistic needs a target to predict"),
        ('target = "ill"', 'target = "age"', "logistic tells classes apart"),
    ],
)
def test_a_target_that_is_no_class(line: str, other: str, sentence: str) -> None:
    Path("schema.toml").write_text(SCHEMA.replace(line, other))
    result = train_it()
    assert result.exit_code == REFUSED
    assert sentence in " ".join(result.stderr.split())
    assert not Path("model").exists()


def test_a_training_that_is_interrupted_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(Path().iterdir())

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.mechanisms.learners.logistic.learn_binned_rule", stop)
    result = train_it()
    assert result.exit_code == INTERRUPTED
    assert "nothing was written" in result.stderr
    assert set(Path().iterdir()) == before


def test_predict_says_what_is_wrong() -> None:
    assert train_it().exit_code == 0
    wrong = {
        ("model", "new.csv", "--out", "said.txt"): "suffix that is not known",
        ("model", "nowhere.csv", "--out", "said.csv"): "does not exist",
        ("model", "schema.toml", "--out", "said.csv"): "suffix that is not known",
    }
    for arguments, sentence in wrong.items():
        result = run("predict", *arguments)
        assert result.exit_code == REFUSED
        assert sentence in " ".join(result.stderr.split())
    assert run("predict", "new.csv", "new.csv", "--out", "said.csv").exit_code == NOT_VERIFIED
    result = run("sample", "model", "--out", "rows.csv")
    assert result.exit_code == REFUSED
    assert "Use sfumato predict" in result.stderr
    content = Path("model", WEIGHTS).read_bytes()
    Path("model", WEIGHTS).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert run("predict", "model", "new.csv", "--out", "said.csv").exit_code == NOT_VERIFIED
    assert not Path("said.csv").exists()


def test_as_json_a_refusal_is_an_object() -> None:
    result = train_it("--json", learner="scattering")
    assert result.exit_code == REFUSED
    assert "for images" in json.loads(result.stdout)["error"]


def test_the_default_learner_follows_the_schema():
    table = sf.Schema(columns=(sf.Column(name="ill", kind="boolean"),), target="ill")
    picture = sf.Column(name="scan", kind="image", shape=(8, 8))
    assert learner_for("auto", table).name == "logistic"
    assert learner_for("auto", replace(table, columns=(picture, *table.columns))).name == "scattering"
