"""Every format in, with a target and without, and out again by the very line that the report and the command print."""

import contextlib
import html
import json
import re
import struct
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import app

N_ROWS, N_OUT, SIDES = 240, 120, (9, 7)
CLASSES = ("cat", "dog", "hen")
LITTLE_PRACTICE = ("--set", "practice=300", "--set", "teacher_width=32")

COLUMNS = """
[columns.age]
type = "integer"
bounds = [0, 100]
missing = true
[columns.weight]
type = "numeric"
bounds = [30, 200]
[columns.town]
type = "categorical"
categories = ["rome", "milan", "turin"]
missing = true
[columns.seen]
type = "datetime"
bounds = [2023-01-01, 2024-01-01]
[columns.ill]
type = "boolean"
"""
#: Columns of the tensor without a target: age, weight, three towns, ill.
N_NUMBERS = 6


def run(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "100"})
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def patients():
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, N_ROWS)
    return pd.DataFrame(
        {
            "age": pd.array(np.where(rng.random(N_ROWS) < 0.2, None, age), dtype="Int64"),
            "weight": rng.normal(75, 12, N_ROWS),
            "town": rng.choice(["rome", "milan", None], N_ROWS),
            "seen": pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 300, N_ROWS), unit="D"),
            "ill": rng.random(N_ROWS) < age / 100,
        }
    )


def pictures(colour=False):
    rng = np.random.default_rng(1)
    labels = rng.integers(len(CLASSES), size=N_ROWS)
    images = rng.integers(0, 90, size=(N_ROWS, *SIDES, *((3,) if colour else ())), dtype=np.uint8)
    images[labels == 1, :4] += 150
    images[labels == 2, :, :3] += 150
    return images, labels


def table_schema(target):
    line = f'target = "{target}"\n' if target else ""
    return f"[dataset]\n{line}rows = {N_ROWS}\n{COLUMNS}"


def table_file(kind, folder):
    if kind == "csv":
        patients().to_csv(folder / "data.csv", index=False)
    else:
        patients().to_parquet(folder / "data.parquet", index=False)
    return folder / f"data.{kind}"


def write_idx(path, array):
    path.write_bytes(bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes())


def image_file(kind, folder, *, labelled, colour):
    images, labels = pictures(colour)
    if kind == "npz":
        arrays = {"x": images, "y": np.array(CLASSES)[labels]} if labelled else {"x": images}
        np.savez(folder / "data.npz", **arrays)
        return folder / "data.npz"
    if kind == "idx":
        write_idx(folder / "train-images-idx3-ubyte", images)
        if labelled:
            write_idx(folder / "train-labels-idx1-ubyte", labels.astype(np.uint8))
        return folder / "train-images-idx3-ubyte"
    for at, (image, label) in enumerate(zip(images, labels, strict=True)):
        inside = folder / "pictures" / CLASSES[label] if labelled else folder / "pictures"
        inside.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(inside / f"{at}.png")
    return folder / "pictures"


def complete(draft, *, kind, colour):
    """What a person would do to the draft of a schema."""
    names = map(str, range(len(CLASSES))) if kind == "idx" else CLASSES
    text = re.sub(r"discover = true .*", f"categories = {list(names)}", draft)
    shape = [*SIDES, 3] if colour else [*SIDES]
    return re.sub(r"shape = .*", f"shape = {shape}", text).replace("# rows = 10000", f"rows = {N_ROWS}")


def lines_of_report(release):
    """The lines that load the rows, as the page shows them."""
    page = (release / "report.html").read_text()
    section = re.search(r'aria-labelledby="receiver">(.*?)</section>', page, re.S)[1]
    tools = re.findall(r'<p class="soft">(\w+)</p>\s*<pre><code>(.*?)</code></pre>', section, re.S)
    return {tool: html.unescape(line) for tool, line in tools}


def lines_of_command(result):
    return json.loads(result.stdout)["load"]


def loaded(release, result, tool):
    """What the line leaves behind, run as the report says (in the folder) and as the command says (from here)."""
    if tool == "torch":
        pytest.importorskip("torch")
    found = []
    for folder, line in ((release, lines_of_report(release)[tool]), (release.parent, lines_of_command(result)[tool])):
        assert "\n" not in line
        scope = {}
        with contextlib.chdir(folder):
            exec(line, scope)
        found.append(scope)
    return found


def released(data, schema_text, *options):
    """Run the command from the folder of the data, and verify what it wrote."""
    folder = data.parent
    (folder / "schema.toml").write_text(schema_text)
    with contextlib.chdir(folder):
        result = run(
            "release", data.name, "--schema", "schema.toml", "--epsilon", 2, "--out", "release", "--json", *options
        )
    assert sf.verify(folder / "release", rebuild=True).ok
    return folder / "release", result


def check_table(release, result, tool, *, target):
    for scope in loaded(release, result, tool):
        if tool == "pandas":
            assert scope["rows"].shape == (N_OUT, 5)
            assert set(scope["rows"]["town"].dropna()) <= {"rome", "milan", "turin"}
            assert str(scope["rows"]["age"].dtype) == "Int64"
            assert scope["rows"]["weight"].between(30, 200).all()
            continue
        import torch

        n_in_target = {"ill": 1, "town": 3, "weight": 1, "seen": 0, None: 0}[target]
        assert scope["x"].shape == (N_OUT, N_NUMBERS - n_in_target)
        assert scope["x"].dtype == torch.float32
        if target in ("ill", "town"):
            least, most = (0, 1) if target == "ill" else (-1, 2)  # -1: missing
            assert scope["y"].dtype == torch.int64
            assert least <= scope["y"].min() <= scope["y"].max() <= most
        elif target is not None:
            assert scope["y"].dtype == torch.float32
            assert scope["y"].shape == (N_OUT,)
        else:
            assert "y" not in scope


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """Make each release of the matrix once, whatever loads it."""
    made = {}

    def make(key, recipe):
        if key not in made:
            made[key] = recipe(tmp_path_factory.mktemp("formats"))
        return made[key]

    return make


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["pandas", "torch"])
@pytest.mark.parametrize("target", ["ill", "town", "weight", "seen", None])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables(once, kind, target, tool):
    def recipe(folder):
        return released(table_file(kind, folder), table_schema(target), "--rows", N_OUT)

    release, result = once((kind, target), recipe)
    check_table(release, result, tool, target=target)


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["pandas", "torch"])
@pytest.mark.parametrize("target", ["ill", None])
def test_a_frame(once, target, tool):
    def recipe(folder):
        (folder / "schema.toml").write_text(table_schema(target))
        schema = sf.Schema.load(folder / "schema.toml")
        fitted = sf.fit("auto", sf.Sensitive.read(patients(), schema), sf.Budget(epsilon=2.0, delta=1e-6))
        return sf.release(fitted, to=folder / "release", rows=N_OUT)

    release = once(("frame", target), recipe)
    assert sf.verify(release.path, rebuild=True).ok
    assert release.n_rows == N_OUT
    if tool == "torch":
        pytest.importorskip("torch")
    scope = {}
    exec(release.load_lines()[tool], scope)
    assert len(scope["rows" if tool == "pandas" else "x"]) == N_OUT
    with contextlib.chdir(release.path):
        exec(lines_of_report(release.path)[tool], scope)


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["pandas", "torch"])
@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("kind", ["npz", "idx", "folder", "colour-npz", "colour-folder"])
def test_images(once, kind, labelled, tool):
    kind, colour = kind.removeprefix("colour-"), kind.startswith("colour")

    def recipe(folder):
        data = image_file(kind, folder, labelled=labelled, colour=colour)
        schema = complete(run("schema", data).stdout, kind=kind, colour=colour)
        return released(data, schema, "--rows", N_OUT, *LITTLE_PRACTICE)

    release, result = once((kind, colour, labelled), recipe)
    for scope in loaded(release, result, tool):
        if tool == "torch":
            import torch

            assert scope["x"].shape == (N_OUT, 3 if colour else 1, *SIDES)
            assert scope["x"].dtype == torch.float32
            assert 0 <= scope["x"].min() < scope["x"].max() <= 1
            assert ("y" in scope) == labelled
            assert not labelled or (scope["y"].dtype == torch.int64 and scope["y"].min() >= 0 and scope["y"].max() < 3)
            continue
        assert scope["table"].shape == (N_OUT, 7 * 9 * (3 if colour else 1) + labelled)
        names = set("012") if kind == "idx" else set(CLASSES)
        assert not labelled or set(scope["table"]["label"]) <= names


@pytest.mark.parametrize("target", ["ill", None])
def test_mixed_labels_are_no_features(tmp_path, target):
    """A mixture's share of each class, left among the features, would give its label away."""
    pytest.importorskip("torch")
    data = table_file("csv", tmp_path)
    options = ("--method", "dpmix", "--set", "mixtures=50", "--set", "degree=16")
    release, result = released(data, table_schema(target), *options)
    for scope in loaded(release, result, "torch"):
        # age and its sign of being missing, weight, four towns, the date, and ill where it is no target
        assert scope["x"].shape == (50, 8 if target else 10)
        assert ("y" in scope) == (target is not None)


def test_mixed_images_load(tmp_path):
    pytest.importorskip("torch")
    data = image_file("idx", tmp_path, labelled=True, colour=False)
    text = complete(run("schema", data).stdout, kind="idx", colour=False)
    options = ("--method", "dpmix", "--set", "mixtures=50", "--set", "degree=16")
    release, result = released(data, text, *options)
    for scope in loaded(release, result, "torch"):
        assert scope["x"].shape == (50, 1, *SIDES)
        assert scope["y"].shape == (50,)


@pytest.mark.slow
def test_the_lines_need_nothing_of_this_package(tmp_path):
    """A receiver has pandas and Python: the line runs in a fresh process that could not import sfumato."""
    release, _ = released(table_file("csv", tmp_path), table_schema("ill"), "--rows", N_OUT)
    line = lines_of_report(release)["pandas"]
    code = f"import sys; sys.modules['sfumato'] = None; {line}; print(rows.shape)"
    done = subprocess.run([sys.executable, "-c", code], cwd=release, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str((N_OUT, 5))


def test_names_with_quotes_load(tmp_path):
    """Names of columns, and of the folder, reach the line as Python reads them."""
    pytest.importorskip("torch")
    name = 'how "ill"\\?'
    frame = patients().rename(columns={"ill": name})
    schema = sf.Schema(
        columns=(sf.Column(name="age", kind="integer", bounds=(0, 100)), sf.Column(name=name, kind="boolean")),
        target=name,
        rows=N_ROWS,
    )
    fitted = sf.fit("auto", sf.Sensitive.read(frame, schema), sf.Budget(epsilon=2.0, delta=1e-6))
    release = sf.release(fitted, to=tmp_path / 'a "release"', rows=N_OUT)
    scope = {}
    exec(release.load_lines()["torch"], scope)
    assert scope["x"].shape == (N_OUT, 1)
