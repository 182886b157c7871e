"""release --private-page: a page for the custodian, stamped, outside of the release, and refused before a row is read."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import app
from sfumato.lab.assess import beside
from sfumato.lab.assess.beside import compare
from sfumato.lab.assess.beside_pictures import pictures_beside
from sfumato.present.beside import STAMP

SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="age", kind="integer", bounds=(0, 100)),
        sf.Column(name="town", kind="categorical", categories=("rome", "oslo")),
        sf.Column(name="cost", kind="numeric", bounds=(0, 1000), missing=True),
        sf.Column(name="ill", kind="boolean"),
    ),
    target="ill",
    rows=1_500,
)


def people(n_rows: int, *, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, n_rows)
    cost = np.where(rng.random(n_rows) < 0.1, np.nan, 5.0 * age + rng.normal(200, 20, n_rows))
    ill = rng.random(n_rows) < 1 / (1 + np.exp(-(age - 50) / 8))
    return pd.DataFrame({"age": age, "town": rng.choice(["rome", "oslo"], n_rows), "cost": cost, "ill": ill})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA.to_toml())
    people(1_500).to_csv("people.csv", index=False)
    people(300, seed=1).to_csv("others.csv", index=False)
    return tmp_path


def release(*options: str):
    arguments = ["release", "people.csv", "--schema", "schema.toml", "--epsilon", "1", "--out", "release"]
    arguments += ["--method", "independent-histograms", *options]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "4000"})


def test_the_page_is_stamped_and_shows_both(place: Path) -> None:
    done = release("--private-page", "mine.html", "--private-test", "others.csv", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["private_page"] == "mine.html"
    assert f"warning: mine.html: {STAMP}" in done.stderr
    page = (place / "mine.html").read_text()
    assert page.count(STAMP) == 2
    assert "Do not choose by it." in page
    for name in ("age", "town", "cost", "ill"):
        assert f"<strong>{name}</strong>" in page
    assert 'class="real"' in page
    assert "Both were tested on 300 other real rows." in page
    assert stat.S_IMODE((place / "mine.html").stat().st_mode) == 0o600
    # The release itself knows nothing of it.
    assert sf.verify("release").ok
    assert not any("private" in file.name or "mine" in file.name for file in (place / "release").iterdir())
    assert "private_page" not in (place / "release" / "certificate.json").read_text()


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        (["--private-page", "release/mine.html"], "lies in the release folder"),
        (["--private-page", "release"], "lies in the release folder"),
        (["--private-page", "link/mine.html"], "lies in the release folder"),
        (["--private-page", "people.csv"], "exists already"),
        (["--private-test", "others.csv"], "--private-page FILE"),
        (["--private-page", "mine.html", "--private-test", "nowhere.csv"], "there is no file nowhere.csv"),
    ],
)
def test_what_would_be_published_or_cannot_be_made_is_refused_first(place: Path, options, refusal) -> None:
    (place / "link").symlink_to(place / "release")
    done = release(*options)
    assert done.exit_code == 1
    assert refusal in done.stderr
    assert not (place / "release").exists()
    assert not (place / "mine.html").exists()


def test_real_pictures_stand_beside_synthetic_ones(place: Path) -> None:
    rng = np.random.default_rng(0)
    digits = rng.integers(0, 2, 200)
    np.savez("pictures.npz", image=rng.integers(0, 80, (200, 8, 8)) + 100 * digits[:, None, None], label=digits)
    (place / "schema.toml").write_text(
        '[dataset]\ntarget = "label"\nrows = 200\n[columns.image]\ntype = "image"\nshape = [8, 8]\n'
        '[columns.label]\ntype = "categorical"\ncategories = ["0", "1"]\n'
    )
    asked = ["release", "pictures.npz", "--schema", "schema.toml", "--epsilon", "5", "--out", "release"]
    asked += ["--method", "dpmix", "--set", "mixtures=60", "--set", "degree=20", "--private-page", "mine.html"]
    done = CliRunner().invoke(app, asked, env={"COLUMNS": "4000"})
    assert done.exit_code == 0, done.output
    page = (place / "mine.html").read_text()
    assert STAMP in page
    assert page.count('alt="Real pictures') == page.count('alt="Synthetic pictures') == 2
    assert (place / "mine.html").stat().st_mode & 0o777 == 0o600
    refused = CliRunner().invoke(app, [*asked, "--force", "--private-test", "pictures.npz"])
    assert "has none" in refused.stderr


def test_pictures_stand_class_by_class() -> None:
    schema = sf.Schema.parse(
        '[dataset]\ntarget = "label"\n[columns.image]\ntype = "image"\nshape = [8, 8]\n'
        '[columns.label]\ntype = "categorical"\ncategories = ["no", "yes"]\n'
    )
    labels = np.arange(60) % 2
    pictures = np.ones((60, 8, 8)) * 200 * labels[:, None, None]
    made = sf.Synthetic(images=pictures[:10], labels=labels[:10], classes=("no", "yes"))
    data = {"image": pictures, "label": np.array(["no", "yes"])[labels]}
    found = pictures_beside(data, made, schema)
    assert [name for name, _, _ in found["strips"]] == ["no", "yes"]
    assert found["rows"] == {"real": 60, "synthetic": 10}
    (_, no, _), (_, yes, _) = found["strips"]
    assert no != yes  # one is black, the other white


def test_a_good_copy_teaches_and_a_shuffled_one_does_not() -> None:
    private, others = people(1_500), people(600, seed=1)
    copy = SCHEMA.decode(
        {c.name: values for c, values in zip(SCHEMA.columns, _encoded(people(1_500, seed=2)), strict=True)}
    )
    good = compare(private, copy, SCHEMA, test=others)["lesson"]
    assert good is not None
    assert good["scores"]["real"] - 0.02 < good["scores"]["synthetic"]
    shuffled = copy.assign(ill=np.random.default_rng(0).permutation(copy["ill"]))
    bad = compare(private, shuffled, SCHEMA, test=others)["lesson"]
    assert bad is not None
    assert bad["scores"]["synthetic"] < 0.6 < 0.85 < bad["scores"]["real"]


def _encoded(rows: pd.DataFrame):
    yield rows["age"].to_numpy(np.float64)
    yield (rows["town"] == "oslo").to_numpy(np.int64)
    yield rows["cost"].to_numpy(np.float64)
    yield rows["ill"].to_numpy(np.int64)


def test_a_number_is_predicted_and_no_target_is_said() -> None:
    private = people(1_500)
    numeric = replace(SCHEMA, target="cost")
    copy = numeric.decode({c.name: v for c, v in zip(SCHEMA.columns, _encoded(people(1_500, seed=2)), strict=True)})
    lesson = compare(private, copy, numeric)["lesson"]
    assert lesson is not None
    assert lesson["measure"] == "R²"
    assert lesson["scores"]["real"] > 0.9
    assert lesson["scores"]["synthetic"] > 0.9
    without = compare(private, copy, replace(SCHEMA, target=None))
    assert without["lesson"] is None
    assert "names no target" in without["why_no_lesson"]


def test_rows_of_a_person_are_held_back_together() -> None:
    persons = replace(SCHEMA, unit=sf.PrivacyUnit(person="who", max_rows=3))
    private = people(900).assign(who=[f"p{at // 3}" for at in range(900)])
    held_back = beside._held_back(private, persons, n_rows=900)
    assert 0.2 < held_back.mean() < 0.4
    assert (held_back.reshape(300, 3).sum(axis=1) % 3 == 0).all()
