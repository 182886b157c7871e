"""Rows as people expect: as many as declared, as many as asked for, or many; the same in Python and on the command line."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import schemas
import sfumato as sf
from sfumato.cli import app
from sfumato.errors import ModelError
from sfumato.extending import NoiseSource
from sfumato.mechanisms import ClustMix, DPKip, DPMix, Kip, ThreeAImage
from sfumato.model import rows_counted
from sfumato.outlook.row_counts import planned_rows

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)
SCHEMA = sf.Schema(
    columns=(sf.Column(name="age", kind="integer", bounds=(0, 100)), sf.Column(name="ill", kind="boolean")),
    target="ill",
    rows=500,
)


def people(n_rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.integers(0, 100, n_rows), "ill": rng.random(n_rows) < 0.3})


def fitted(mechanism="auto", *, schema: sf.Schema = SCHEMA, n_rows: int = 480, budget=BUDGET) -> sf.Fitted:
    # Noise alone passes for rows once in 30,000 releases, and a test is to be sure.
    source = NoiseSource(research_seed=3)
    return sf.fit(mechanism, sf.Sensitive.read(people(n_rows), schema), budget, seed=3, source=source)


@pytest.mark.parametrize("mechanism", ["auto", "independent-histograms", "clustmix"])
def test_as_many_as_declared_whatever_the_mechanism(mechanism) -> None:
    made = ClustMix(sigma_max=1.0) if mechanism == "clustmix" else mechanism
    assert len(fitted(made).sample()) == 500


def test_without_a_declaration_as_many_as_the_noisy_count_says() -> None:
    made = fitted(schema=replace(SCHEMA, rows=None), n_rows=5_000)
    assert len(made.sample()) == made.model.default_rows == round(made.model.noisy_rows)
    assert abs(made.model.default_rows - 5_000) < 500


def test_any_number_and_many() -> None:
    made = fitted()
    assert len(made.sample(7)) == len(made.sample(np.int64(7))) == 7
    assert len(made.sample("many")) == 4_000
    histograms = fitted("independent-histograms")
    assert len(histograms.sample("many")) == 500  # it recommends nothing else
    for asked in ("few", 1.5):
        with pytest.raises(ModelError, match="must be a whole number, or 'many'"):
            made.sample(asked)
    with pytest.raises(ModelError, match="Ask for at least 1"):
        made.sample(0)


def test_sample_gives_the_rows_that_release_writes(tmp_path: Path) -> None:
    made = fitted()
    written = sf.release(made, to=tmp_path / "release")
    assert written.certificate.rows == 500
    pd.testing.assert_frame_equal(written.synthetic().table, made.sample().table)
    assert not made.sample(seed=9).table.equals(made.sample().table)


@pytest.mark.parametrize("epsilon", [1e-4, 0.01])
@pytest.mark.parametrize("mechanism", ["auto", "independent-histograms"])
def test_no_million_rows_at_a_tiny_epsilon(mechanism, epsilon: float) -> None:
    made = fitted(mechanism, schema=replace(SCHEMA, rows=None), budget=sf.Budget(epsilon=epsilon, delta=1e-6))
    assert 1 <= len(made.sample()) <= 1_000
    assert len(made.sample("many")) <= 8_000
    assert len(fitted(mechanism, budget=sf.Budget(epsilon=epsilon, delta=1e-6)).sample()) == 500  # that is public


@given(noisy=st.floats(-1e12, 1e12), stddev=st.floats(1e-3, 1e12))
def test_what_noise_could_have_made_is_not_taken_at_its_word(noisy: float, stddev: float) -> None:
    rows = rows_counted(noisy, stddev=stddev)
    assert rows >= 1
    if noisy <= 4 * stddev:
        assert rows <= 1_000
    elif noisy >= 1:
        assert rows == round(noisy)


@pytest.mark.parametrize("n_rows", [1, 500, 30_000, 300_000, 10**7])
def test_the_plan_says_how_many(n_rows: int) -> None:
    planned = sf.plan("auto", replace(SCHEMA, rows=n_rows), sf.Budget(epsilon=1.0, delta=1e-9))
    many = max(n_rows, min(8 * n_rows, 300_000))
    assert planned.to_json()["rows"] == {"default": n_rows, "many": many, "held": None}
    said = " ".join(str(planned).split())
    assert f"As many as declared: {n_rows:,}." in said
    assert f"--rows many makes {many:,}, as many as are recommended for training" in said


def test_the_plan_without_a_declaration_and_of_fixed_rows() -> None:
    unknown = sf.plan("auto", replace(SCHEMA, rows=None), BUDGET)
    assert unknown.to_json()["rows"] == {"default": None, "many": None, "held": None}
    assert "As many as there seem to be, by a noisy count" in " ".join(str(unknown).split())
    mixed = sf.plan(DPMix(mixtures=30, degree=20), SCHEMA, BUDGET)
    assert mixed.rows.to_json() == {"default": 30, "many": None, "held": 30}
    assert "A fixed set of rows, at most 30: more would cost more budget." in str(mixed)
    assert planned_rows(ClustMix(), SCHEMA).held is None
    assert planned_rows(ClustMix(releases="means"), SCHEMA).held == 2 * 64
    assert planned_rows(Kip(), SCHEMA).held == planned_rows(DPKip(), SCHEMA).held == 20
    assert planned_rows(ThreeAImage(), schemas.IMAGES).many.rows == 300_000


def test_pictures_are_more_than_declared_and_the_plan_says_so() -> None:
    planned = sf.plan("auto", replace(schemas.IMAGES, rows=300), BUDGET)
    assert planned.to_json()["rows"] == {"default": 4_800, "many": 300_000, "held": None}
    assert "4,800, more than the 300 declared: a student" in " ".join(str(planned).split())
    assert planned_rows(ThreeAImage(), replace(schemas.IMAGES, rows=10**6)).default == 10**6
    no_target = replace(schemas.IMAGES, columns=schemas.IMAGES.columns[:1], target=None, rows=300)
    assert planned_rows(ThreeAImage(), no_target).default == 300


def test_a_mechanism_of_fixed_rows_releases_them_all() -> None:
    made = fitted(DPMix(mixtures=30, degree=20))
    assert len(made.sample()) == len(made.sample("many")) == 30
    with pytest.raises(ModelError, match="cannot make more"):
        made.sample(31)


def test_the_commands_take_a_number_and_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA.to_toml())
    people(480).to_csv("people.csv", index=False)

    def run(*arguments: str):
        return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "4000"})

    release = ["release", "people.csv", "--schema", "schema.toml", "--epsilon", "1", "--json"]
    for options, rows in ([], 500), (["--rows", "many"], 4_000), (["-n", "9"], 9):
        done = run(*release, "--out", f"release-{rows}", *options)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["rows"] == rows
    for options, rows in ([], 500), (["--rows", "many"], 4_000), (["-n", "12"], 12):
        done = run("sample", "release-9", "--out", f"more-{rows}.parquet", "--json", *options)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["rows"] == len(pd.read_parquet(f"more-{rows}.parquet")) == rows
    for wrong in ("few", "1.5", "0"):
        done = run(*release, "--out", "refused", "--rows", wrong)
        assert done.exit_code != 0
        assert "whole number, or many" in done.output or "Ask for at least 1" in done.output
        assert not Path("refused").exists()
