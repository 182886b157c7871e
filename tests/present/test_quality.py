"""Nothing useless looks green: warnings reach the certificate, the report, the console and JSON."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import app
from sfumato.mechanisms import IndependentHistograms
from sfumato.outlook.forecast import LITTLE_USE

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)
SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="age", kind="integer", bounds=(0, 100)),
        sf.Column(name="ill", kind="boolean"),
    ),
    target="ill",
    rows=20_000,
)


def people(n_rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.integers(0, 100, n_rows), "ill": rng.random(n_rows) < 0.3})


def released(place: Path, n_rows: int, *, mechanism="independent-histograms", schema=SCHEMA) -> tuple[sf.Release, str]:
    fitted = sf.fit(mechanism, sf.Sensitive.read(people(n_rows), schema), BUDGET)
    made = sf.release(fitted, to=place / "release", rows=100)
    return made, (made.path / "report.html").read_text()


def test_a_useless_release_is_private_and_not_green(tmp_path: Path) -> None:
    made, page = released(tmp_path, 0)
    assert made.certificate.status == "certified"
    assert made.certificate.warnings[0].startswith(LITTLE_USE)
    assert sf.load_release(made.path).certificate.warnings == made.certificate.warnings
    assert (
        'class="badge doubtful" href="#good">certified as private, but of little use: see How good is it?</a>' in page
    )
    assert 'class="badge certified"' not in page
    assert "the schema declares rows = 20,000" in page.split('id="good"')[1].split("</section>")[0]


def test_a_good_release_is_green_and_tells_its_noise(tmp_path: Path) -> None:
    made, page = released(tmp_path, 20_000)
    assert made.certificate.warnings == ()
    assert 'class="badge certified">certified</span>' in page
    part = page.split('id="good"')[1].split("</section>")[0]
    assert "Expect a learner to keep" in part
    assert '<th scope="row">age</th><td class="wrap">a count ±' in part
    assert 'class="warnings"' not in part


def test_what_was_left_out_is_on_the_page_and_verify_makes_it_again(tmp_path: Path) -> None:
    small = replace(SCHEMA, rows=300)
    made, page = released(tmp_path, 300, mechanism="auto", schema=small)
    good, how = page.split('id="good"')[1], page.split('id="plan"')[1]
    left_out = sf.plan("auto", small, BUDGET).outline.left_out
    assert left_out
    for entry in left_out:
        assert f"<li>{entry.sentence}</li>" in good.split("</section>")[0]
    assert "Columns are counted in cells" in how.split("</section>")[0]
    assert sf.verify(made.path).ok
    edited = page.replace(f"<li>{left_out[0].sentence}</li>", "")
    (made.path / "report.html").write_text(edited)
    assert not sf.verify(made.path).ok


def test_a_page_without_a_declared_size_expects_nothing(tmp_path: Path) -> None:
    _, page = released(tmp_path, 20_000, schema=replace(SCHEMA, rows=None))
    assert "is not declared, so there is no expectation" in page


@dataclass(frozen=True, kw_only=True)
class Unregistered(IndependentHistograms):
    name: ClassVar[str] = "unregistered"


def test_a_mechanism_that_is_not_installed_is_told_of_in_rows(tmp_path: Path) -> None:
    _, page = released(tmp_path, 20_000, mechanism=Unregistered())
    assert '<th scope="row">every column</th><td class="wrap">a count ±' in page


@pytest.mark.parametrize("as_json", [False, True])
def test_the_console_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA.to_toml())
    people(0).to_csv("people.csv", index=False)
    arguments = ["release", "people.csv", "--schema", "schema.toml", "--epsilon", "1", "--out", "release"]
    arguments += ["--method", "independent-histograms", *(["--json"] if as_json else [])]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "4000"})
    assert result.exit_code == 0, result.output
    assert f"warning: {LITTLE_USE}: the noisy number of rows is" in result.stderr
    if as_json:
        assert json.loads(result.stdout)["warnings"][0].startswith(LITTLE_USE)
    else:
        assert "private, but of little use: see How good is it? (release/report.html)" in result.stdout
