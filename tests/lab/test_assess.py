"""Assessments: figures that are right, pages that are whole and marked, attacks that work where there is something to find."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from command_line import answer_of, run
from html_tags import self_contained
from sfumato.errors import ReleaseError
from sfumato.lab.assess.assessing import NOT_FOR_RELEASE, all_attacks, assess
from sfumato.lab.assess.learning import learners_for
from sfumato.lab.assess.pictures import frechet
from sfumato.lab.assess.writing import HTML, JSON, MARKDOWN, check_place, html, markdown, write
from sfumato.lab.attacks.inference import attribute_inference
from sfumato.lab.attacks.membership import density_ratio
from sfumato.lab.attacks.sheets import from_frames

EVIL = "<script>alert(1)</script>"
SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="age", kind="integer", bounds=(18, 90)),
        sf.Column(name="dose", kind="numeric", bounds=(0, 50), missing=True),
        sf.Column(name="ward", kind="categorical", categories=("a", "b", EVIL)),
        sf.Column(name="ill", kind="boolean"),
    ),
    target="ill",
    rows=600,
)


def people(n_rows, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 91, n_rows)
    return pd.DataFrame(
        {
            "age": age,
            "dose": np.where(rng.random(n_rows) < 0.1, np.nan, rng.gamma(3, 3, n_rows)),
            "ward": rng.choice(["a", "b", EVIL], n_rows),
            "ill": rng.random(n_rows) < 1 / (1 + np.exp(-(age - 55) / 6)),
        }
    )


PRIVATE, TEST = people(600, 1), people(400, 2)


def released(schema, data, folder, *, method="independent-histograms", epsilon=10.0):
    fitted = sf.fit(method, sf.Sensitive.read(data, schema), sf.Budget(epsilon=epsilon, delta=1e-6))
    return sf.release(fitted, to=folder).path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return released(SCHEMA, PRIVATE, tmp_path_factory.mktemp("assess") / "release")


@pytest.fixture(scope="module")
def found(folder):
    return assess(folder, private=PRIVATE, test=TEST, learners=["logistic"], shadows=2)


def test_the_figures_of_a_table(found):
    real, synthetic = found["utility"]["learned"]
    assert (real["trained_on"], synthetic["trained_on"]) == ("real", "synthetic")
    assert real["score"]["low"] < real["score"]["value"] < real["score"]["high"]
    assert real["score"]["value"] > 0.85
    assert np.array(synthetic["confusion"]).sum() == len(TEST)
    assert sum(each["rows"] for each in synthetic["calibration"]) == len(TEST)
    assert found["utility"]["importances"][0]["name"] == "age"
    assert found["table"]["one_way"] < 0.15
    assert 0 < found["table"]["one_way_fresh"] < 0.1
    assert found["table"]["numbers"] == ["age", "dose"]
    assert {attack["name"] for attack in all_attacks(found)} == {
        "density ratio, neighbours",
        "density ratio, trees",
        "likelihood ratio, 2 shadows",
        "attribute ill",
    }
    assert all(attack["least_epsilon"] < found["epsilon"] for attack in all_attacks(found))


@pytest.mark.slow
def test_the_three_files_say_the_same_and_are_marked(found, tmp_path):
    write(found, to=tmp_path / "out")
    page, text = ((tmp_path / "out" / name).read_text("utf-8") for name in (HTML, MARKDOWN))
    plain = json.loads((tmp_path / "out" / JSON).read_text("utf-8"))
    names = self_contained(page)
    assert len(page) < 3_000_000
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"|http-equiv', "", page)
    assert names.count("svg") == 4 + 1 + 1 + 4  # columns, calibration, importances, attacks
    assert EVIL not in page
    score = f"{plain['utility']['learned'][1]['score']['value']:.3f}"
    for where in (page, text):
        assert where.count(NOT_FOR_RELEASE) == 2  # at its head and at its foot
        assert score in where
    first_screen = re.sub(r"\s+", " ", page[page.index("<h1>") : page.index("</header>")])
    assert "What is promised" in first_screen
    assert "had any one row been left out" in first_screen
    assert plain["warning"] == NOT_FOR_RELEASE


def test_it_is_never_put_into_a_release(folder, tmp_path):
    for place in (folder, folder / "inner"):
        with pytest.raises(ReleaseError, match="release folder"):
            check_place(place, release=folder, force=True)
    (tmp_path / "mine").mkdir()
    with pytest.raises(ReleaseError, match="no assessment"):
        check_place(tmp_path / "mine", release=folder, force=True)
    check_place(tmp_path / "new", release=folder, force=False)


@pytest.mark.slow
def test_on_the_command_line(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PRIVATE.to_csv("private.csv", index=False)
    TEST.to_csv("test.csv", index=False)
    rows = ("assess", folder, "--private", "private.csv", "--test", "test.csv", "--learner", "logistic")
    done = run(*rows, "--out", "out", "--json")
    assert done.exit_code == 0, done.stderr
    assert answer_of(done)["out"] == "out"
    assert "NOT PRIVATE" in done.stderr
    refused = run(*rows, "--out", folder / "page")
    assert refused.exit_code == 1
    assert "choose another place" in refused.stderr


@pytest.mark.slow
def test_numbers_as_targets_and_no_target(tmp_path):
    by_number = replace(SCHEMA, target="dose")
    assert learners_for(by_number) == ("lightgbm", "linear", "forest")
    path = released(by_number, PRIVATE, tmp_path / "number", method="auto")
    found = assess(path, private=PRIVATE, test=TEST, learners=["linear"])
    assert found["utility"]["metric"] == "R2"
    assert all(-1 < each["score"]["value"] < 0.2 for each in found["utility"]["learned"])  # a dose that nothing tells
    self_contained(html(found))
    without = replace(SCHEMA, target=None)
    found = assess(released(without, PRIVATE, tmp_path / "none"), private=PRIVATE, test=TEST)
    worth = {pair["name"]: pair for pair in found["utility"]["columns"]}
    assert worth["ill"]["real"] > 0.6 > worth["ill"]["synthetic"]  # independent columns tell nothing of each other
    self_contained(html(found))
    assert "- ill: " in markdown(found)


@pytest.mark.slow
def test_a_column_of_many_categories_is_drawn_with_the_rest_as_one(tmp_path):
    towns = tuple(f"town {at}" for at in range(40))
    schema = replace(SCHEMA, columns=(*SCHEMA.columns, sf.Column(name="town", kind="categorical", categories=towns)))
    private, test = (
        rows.assign(town=np.random.default_rng(len(rows)).choice(towns, len(rows))) for rows in (PRIVATE, TEST)
    )
    found = assess(released(schema, private, tmp_path / "towns"), private=private, test=test, learners=["logistic"])
    (town,) = [shape for shape in found["table"]["shapes"] if shape["name"] == "town"]
    assert all(len(heights) == len(town["labels"]) for heights in town["heights"].values())
    assert re.fullmatch(r"\d+ more", town["labels"][-1])
    assert sum(town["heights"]["real"]) == pytest.approx(1)
    assert town["labels"][-1] in html(found)


def test_attacks_work_on_copies_and_not_on_fresh_rows():
    real, other, fresh = (people(n, seed).drop(columns="ward") for n, seed in ((800, 1), (800, 2), (800, 3)))
    near, _ = density_ratio(from_frames(real, real, other))
    assert near.auc.low > 0.9
    assert near.least_epsilon > 0.3
    blind, _ = density_ratio(from_frames(real, fresh, other))
    assert blind.auc.low < 0.55
    assert blind.least_epsilon == 0
    noisy = real.assign(secret=np.random.default_rng(0).choice(["x", "y"], 800))
    held = other.assign(secret=np.random.default_rng(1).choice(["x", "y"], 800))
    guessed = attribute_inference(from_frames(noisy, noisy, held), column="secret")
    assert guessed.of_members.low > guessed.of_others.high


@pytest.mark.slow
def test_pictures(tmp_path):
    rng = np.random.default_rng(0)

    def pictures(n_rows):
        label = rng.integers(2, size=n_rows)
        bright = np.linspace(0, 1, 12)[None, None, :] * np.where(label, 1, -1)[:, None, None]
        return {"image": np.clip(127 + 100 * bright + rng.normal(0, 20, (n_rows, 12, 12)), 0, 255), "label": label}

    schema = sf.Schema(
        columns=(
            sf.Column(name="image", kind="image", shape=(12, 12)),
            sf.Column(name="label", kind="categorical", categories=("0", "1")),
        ),
        target="label",
        rows=300,
    )
    private, test = pictures(300), pictures(200)
    path = released(schema, private, tmp_path / "release", method="dpmix")
    found = assess(path, private=private, test=test, learners=["logistic"])
    assert found["pictures"]["frechet"] > found["pictures"]["frechet_fresh"]
    assert found["utility"]["learned"][0]["score"]["value"] > 0.95
    assert {attack["name"] for attack in all_attacks(found)} == {"density ratio, neighbours", "model inversion"}
    page = html(found)
    assert self_contained(page).count("img") == 6
    assert "nearest private picture" in page


def test_the_frechet_distance_is_that_of_gaussians():
    x = np.random.default_rng(0).normal(size=(4_000, 2)).astype(np.float32)
    assert frechet(x, 3 * x) == pytest.approx(2 * (3 - 1) ** 2, rel=0.1)


def test_a_column_that_shares_no_value_is_not_guessed():
    apart = PRIVATE.assign(age=PRIVATE["age"] + 1_000)
    assert attribute_inference(from_frames(PRIVATE, apart, TEST), column="age") is None
