"""The demo: a population worth releasing, and the whole story on it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import app
from sfumato.errors import SchemaError
from sfumato.lab.assess.beside import train_and_score
from sfumato.lab.demo import story
from sfumato.lab.demo.population import demo_schema, holdout_population, make_population, patient_population


def few_people(monkeypatch):
    """The same story in a fraction of the time, where its numbers do not matter."""
    schema = replace(demo_schema(), rows=2_000)
    monkeypatch.setattr(story, "patient_population", lambda: make_population(2_000, seed=7))
    monkeypatch.setattr(story, "demo_schema", lambda: schema)


def run(*arguments):
    return CliRunner().invoke(app, ["demo", *map(str, arguments)], env={"COLUMNS": "80"})


def test_the_population_is_worth_releasing():
    people, others, schema = patient_population(), holdout_population(), demo_schema()
    assert (len(people), len(others)) == (30_000, 10_000)
    pd.testing.assert_frame_equal(people, patient_population())
    assert not people.head(1000).equals(others.head(1000))
    assert {column.kind for column in schema.columns} == {
        "integer",
        "numeric",
        "categorical",
        "ordinal",
        "boolean",
        "datetime",
    }
    assert list(people.columns) == [column.name for column in schema.columns]
    assert 0.25 < people["diabetes"].mean() < 0.35
    assert 0.05 < people["systolic_pressure"].isna().mean() < 0.3
    for column in schema.columns:
        if column.is_coded and column.kind != "boolean":
            assert set(people[column.name]) == set(column.categories)
    # Columns depend on each other, beyond the target: a mechanism that knows this can do better.
    assert people["age"].corr(people["systolic_pressure"]) > 0.4
    assert people.groupby("education")["income"].median().loc[["primary", "master"]].diff().iloc[-1] > 10


def test_a_learner_beats_a_coin_and_the_obvious_column():
    people, others, schema = make_population(10_000, seed=7), holdout_population(), demo_schema()
    score = train_and_score(people, others, schema)
    assert 0.84 < score.auc < 0.91
    age_alone = sf.Schema(columns=(schema["age"], schema["diabetes"]), target="diabetes")
    assert score.auc > train_and_score(people, others, age_alone).auc + 0.05
    shuffled = people.assign(diabetes=np.random.default_rng(0).permutation(people["diabetes"]))
    assert abs(train_and_score(shuffled, others, schema).auc - 0.5) < 0.06


def test_scoring_survives_a_class_that_was_never_seen():
    people, schema = make_population(500, seed=7), demo_schema()
    assert train_and_score(people.assign(diabetes=False), people, schema).auc == 0.5
    with pytest.raises(SchemaError, match="one class among the test rows"):
        train_and_score(people, people.assign(diabetes=True), schema)


@pytest.mark.slow
def test_the_demo_tells_the_whole_story(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("--json")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n") == 1
    answer = json.loads(result.stdout)
    assert answer["verified"]
    assert (answer["epsilon"], answer["delta"]) == (1.0, 1e-6)
    assert answer["replayed_epsilon"] == pytest.approx(1.0, rel=2e-3)
    assert 0.80 < answer["auc"]["synthetic"] < answer["auc"]["real"] + 0.01
    assert 0.85 < answer["auc"]["real"] < 0.9
    assert {file.name for file in tmp_path.iterdir()} == {"demo-release", "demo-report.html"}
    assert sf.verify("demo-release", rebuild=True).ok
    page = Path("demo-report.html").read_text()
    assert page.count("contains non-private statistics of the demo population") == 2
    assert page.count("<svg") == 8  # ROC curves, five histograms and two triangles of correlations
    assert page.count('<details class="column"') == 10
    assert "http://" not in page.replace("http://www.w3.org/", "")

    assert "exists already" in run().stderr
    assert run().exit_code == 1
    few_people(monkeypatch)
    again = run("--force")
    assert again.exit_code == 0, again.output
    assert max(map(len, again.stdout.splitlines())) <= 80
    assert "synthetic people (epsilon 1)" in again.stdout
    assert {file.name for file in tmp_path.iterdir()} == {"demo-release", "demo-report.html"}


@pytest.mark.slow
def test_a_demo_that_is_stopped_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    few_people(monkeypatch)
    monkeypatch.setattr(story, "compare", interrupted)
    result = run("--out", tmp_path / "demo-release")
    assert result.exit_code == 130
    assert "stopped; nothing was written" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_page_is_checked_before_the_work(tmp_path):
    (tmp_path / "demo-report.html").write_text("mine")
    result = run("--out", tmp_path / "demo-release")
    assert result.exit_code == 1
    assert "demo-report.html exists already" in result.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "demo-report.html"]
