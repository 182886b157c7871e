"""Input that a careful person would not have given: each ends in a release that verifies, or in a sentence.

Nothing here may end in a traceback, and nothing in a release that is less private than it says: every folder that is
written is certified and verified, and every refusal leaves nothing behind.
"""

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import app

AGE = '[columns.age]\ntype = "integer"\nbounds = [0, 100]\n'
WEIGHT = '[columns.weight]\ntype = "numeric"\nbounds = [30, 200]\n'
TOWN = '[columns.town]\ntype = "categorical"\ncategories = ["rome", "milan"]\n'
ILL = '[columns.ill]\ntype = "boolean"\n'
ALL = AGE + WEIGHT + TOWN + ILL
THREE = '[columns.ill]\ntype = "categorical"\ncategories = ["false", "true", "perhaps"]\n'
WIDE = "".join(f'[columns.x{i}]\ntype = "numeric"\nbounds = [0, 1]\n' for i in range(130)) + ILL

FEW_MIXTURES = ("--set", "mixtures=30", "--set", "degree=16")
LITTLE_PRACTICE = ("--set", "practice=300", "--set", "teacher_width=32")


def people(n_rows=400):
    rng = np.random.default_rng(n_rows)
    age = rng.integers(0, 100, n_rows)
    town = rng.choice(["rome", "milan"], n_rows)
    ill = rng.random(n_rows) < age / 100
    return pd.DataFrame({"age": age, "weight": rng.normal(75, 12, n_rows), "town": town, "ill": ill})


def many_towns(n_towns):
    return people().assign(town=[f"t{i}" for i in np.random.default_rng(3).integers(0, n_towns, 400)])


def names_of_towns(n_towns):
    return f'[columns.town]\ntype = "categorical"\ncategories = {[f"t{i}" for i in range(n_towns)]}\n'


def wide(n_rows=150):
    frame = pd.DataFrame(np.random.default_rng(4).random((n_rows, 130)), columns=[f"x{i}" for i in range(130)])
    return frame.assign(x3=0.5, ill=np.random.default_rng(5).random(n_rows) < 0.5)


def schema_of(columns, *, target="ill", rows=400):
    return "[dataset]\n" + (f'target = "{target}"\n' if target else "") + f"rows = {rows}\n{columns}"


def pictures(n_rows=200, side=8):
    rng = np.random.default_rng(6)
    return {"image": rng.integers(0, 256, (n_rows, side, side), dtype=np.uint8), "label": rng.integers(0, 2, n_rows)}


def image_schema(*, shape=(8, 8), classes=("0", "1"), labelled=True, rows=200):
    text = f"[dataset]\nrows = {rows}\n" + ('target = "label"\n' if labelled else "")
    text += f'[columns.image]\ntype = "image"\nshape = {list(shape)}\n'
    return text + (f'[columns.label]\ntype = "categorical"\ncategories = {list(classes)}\n' if labelled else "")


def release(folder, data, schema, *options, epsilon=1):
    """Run the command. Returns the synthetic rows of a verified release, or the sentence of a refusal."""
    (folder / "schema.toml").write_text(schema)
    if isinstance(data, pd.DataFrame):
        data.to_csv(folder / "data.csv", index=False)
        data = folder / "data.csv"
    elif isinstance(data, dict):
        np.savez(folder / "data.npz", **data)
        data = folder / "data.npz"
    words = [
        "release",
        data,
        "--schema",
        folder / "schema.toml",
        "--epsilon",
        epsilon,
        "--out",
        folder / "out",
        *options,
    ]
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert "Traceback" not in result.output
    if result.exit_code != 0:
        assert result.exit_code == 1
        assert not (folder / "out").exists()
        return result.stderr.strip().splitlines()[-1]
    found = sf.verify(folder / "out", rebuild=True)
    assert found.ok, found.problems
    assert found.epsilon == epsilon
    return sf.load_release(folder / "out").synthetic()


TABLES = {
    "no target": (people(), schema_of(ALL, target=None), 1),
    "constant columns": (people().assign(age=7, town="rome"), schema_of(ALL), 1),
    "a constant target": (people().assign(ill=False), schema_of(ALL), 1),
    "a class that no row has": (people(), schema_of(AGE + WEIGHT + TOWN + THREE), 1),
    "10,000 categories": (many_towns(10_000), schema_of(AGE + WEIGHT + names_of_towns(10_000) + ILL), 1),
    "10,000 classes": (many_towns(10_000), schema_of(AGE + names_of_towns(10_000), target="town"), 1),
    "2,000 categories": (many_towns(2_000), schema_of(AGE + WEIGHT + names_of_towns(2_000) + ILL), 1),
    "2,000 classes": (many_towns(2_000), schema_of(AGE + names_of_towns(2_000), target="town"), 1),
    "100 rows": (people(100), schema_of(ALL, rows=100), 1),
    "no rows": (people(0), schema_of(ALL, rows=100), 1),
    "epsilon 0.01": (people(), schema_of(ALL), 0.01),
    "100 rows, epsilon 0.01": (people(100), schema_of(ALL, rows=100), 0.01),
    "one column": (people(), schema_of(AGE, target=None), 1),
    "many columns, one of them constant": (wide(), schema_of(WIDE, rows=150), 1),
    "many columns, 100 rows, epsilon 0.01": (wide(100), schema_of(WIDE, rows=100), 0.01),
}


def methods_for(case):
    """Mixtures have a column for each category, so that fewer of them are as unusual there."""
    counted = ["auto", "independent-histograms"]
    return {"10,000": counted, "2,000": ["dpmix"]}.get(case.split()[0], [*counted, "dpmix"])


@pytest.mark.slow
@pytest.mark.parametrize(("case", "method"), [(case, method) for case in TABLES for method in methods_for(case)])
def test_tables(tmp_path, case, method):
    frame, schema, epsilon = TABLES[case]
    options = FEW_MIXTURES if method == "dpmix" else ()
    synthetic = release(tmp_path, frame, schema, "--method", method, *options, epsilon=epsilon)
    assert not isinstance(synthetic, str), synthetic
    assert 1 <= len(synthetic) < 100_000
    if method != "dpmix":  # its rows are encoded mixtures
        declared = sf.Schema.load(tmp_path / "schema.toml")
        assert list(synthetic.table.columns) == [column.name for column in declared.columns]
        assert not synthetic.table.isna().any(axis=None)
        for column in declared.columns:
            values = synthetic.table[column.name]
            assert values.between(column.low, column.high).all() if column.is_number else True


def test_a_constant_column_stays_constant(tmp_path):
    frame, schema, _ = TABLES["constant columns"]
    synthetic = release(tmp_path, frame, schema, epsilon=5)
    assert (synthetic.table["town"] == "rome").mean() > 0.9
    assert (synthetic.table["age"] == 7).mean() > 0.5


def test_a_class_that_no_row_has_stays_rare(tmp_path):
    frame, schema, _ = TABLES["a class that no row has"]
    synthetic = release(tmp_path, frame, schema, epsilon=5)
    assert (synthetic.table["ill"] == "perhaps").mean() < 0.05


def test_a_target_alone(tmp_path):
    synthetic = release(tmp_path, people(), schema_of(ILL))
    assert list(synthetic.table.columns) == ["ill"]
    (tmp_path / "other").mkdir()
    sentence = release(tmp_path / "other", people(), schema_of(ILL), "--method", "independent-histograms")
    assert "needs a column besides the target" in sentence


IMAGES = {
    "no labels": ({"image": pictures()["image"]}, image_schema(labelled=False), 1),
    "all black": ({**pictures(), "image": np.zeros((200, 8, 8), np.uint8)}, image_schema(), 1),
    "a class that no row has": (pictures(), image_schema(classes=("0", "1", "2")), 1),
    "one class": (pictures(), image_schema(classes=("0",)), 1),
    "100 rows": (pictures(100), image_schema(rows=100), 1),
    "no rows": (pictures(0), image_schema(rows=100), 1),
    "epsilon 0.01": (pictures(), image_schema(), 0.01),
    "one pixel": (pictures(side=1), image_schema(shape=(1, 1)), 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "dpmix"])
@pytest.mark.parametrize("case", IMAGES)
def test_images(tmp_path, case, method):
    arrays, schema, epsilon = IMAGES[case]
    options = FEW_MIXTURES if method == "dpmix" else ("--rows", "60", *LITTLE_PRACTICE)
    synthetic = release(tmp_path, arrays, schema, "--method", method, *options, epsilon=epsilon)
    assert not isinstance(synthetic, str), synthetic
    declared = sf.Schema.load(tmp_path / "schema.toml")
    assert synthetic.images.shape == (30 if method == "dpmix" else 60, *declared.images[0].shape)
    assert np.isfinite(synthetic.images).all()
    assert (synthetic.labels is None) == (case == "no labels")
    if synthetic.labels is not None:
        assert set(synthetic.labels) <= set(range(len(declared["label"].categories)))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 3)])
def test_pictures_of_different_sizes_are_brought_to_the_schema_in_silence(tmp_path, shape):
    """With or without the odd ones, the command says the same and writes the same shapes: no word tells of them."""
    rng = np.random.default_rng(8)
    said = []
    for place, odd in ((tmp_path / "even", False), (tmp_path / "odd", True)):
        for at in range(40):
            folder = place / "pictures" / str(at % 2)
            folder.mkdir(parents=True, exist_ok=True)
            size = (3 + at % 9, 5 + at % 7, 3) if odd else (8, 8, 3)
            Image.fromarray(rng.integers(0, 256, size, dtype=np.uint8)).save(folder / f"{at}.png")
        (place / "schema.toml").write_text(image_schema(shape=shape, rows=40))
        words = ["release", place / "pictures", "--schema", place / "schema.toml", "--epsilon", 1, "--rows", 50]
        result = CliRunner().invoke(app, list(map(str, [*words, *LITTLE_PRACTICE, "--out", place / "out"])))
        assert result.exit_code == 0, result.output
        assert sf.verify(place / "out").ok
        assert sf.load_release(place / "out").synthetic().images.shape == (50, *shape)
        said.append(result.output.replace(str(place), "PLACE"))
    assert said[0] == said[1]


def test_structure_that_does_not_fit_is_said(tmp_path):
    (tmp_path / "flat").mkdir()
    Image.new("L", (8, 8)).save(tmp_path / "flat" / "a.png")
    (tmp_path / "nested" / "train" / "0").mkdir(parents=True)
    cases = [
        (pictures(), image_schema(shape=(9, 8)), "declared with shape [9, 8], and the data holds [8, 8]"),
        ({"image": pictures()["image"]}, image_schema(), "no column for the target 'label'"),
        (tmp_path / "flat", image_schema(), "the names of the subfolders"),
        (tmp_path / "nested", image_schema(), "Give the folder whose subfolders are the classes"),
        (tmp_path / "flat", image_schema(shape=(8, 8, 5)), "1 to 4 channels"),
        (people(), image_schema(), "is the header missing?"),
    ]
    for data, schema, words in cases:
        assert words in release(tmp_path, data, schema)
