"""The command line: what each command answers, and that each bad input ends in a sentence with nothing left behind."""

import ast
import errno
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command

from command_line import SCHEMA, answer_of, patients, release_it, run
from sfumato.cli import app
from sfumato.cli.listing import every_command
from sfumato.cli.refusals import refusing
from sfumato.errors import SourceError
from sfumato.lab.benchmark.datasets import CATALOGUE, find
from sfumato.private.intake.drafts import draft_schema
from sfumato.public.schema.schema import Schema

SECRET = "Zanzibar-7431"
SECRET_NUMBER = 271828182
#: Seconds that nothing takes, however busy the machine is.
PATIENCE = 600

IMAGES = """
[dataset]
target = "label"
rows = {rows}
[columns.image]
type = "image"
shape = [{side}, {side}]
bounds = [0, 255]
[columns.label]
type = "categorical"
categories = ["0", "1"]
"""


def refused(result, *, code=1):
    """The sentence of a refusal."""
    assert result.exit_code == code, (result.exit_code, result.output, result.exception)
    assert "Traceback" not in result.output
    sentence = result.stderr.strip().splitlines()[-1]
    assert sentence.startswith("sfumato: "), result.stderr
    return sentence.removeprefix("sfumato: ")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with patients.csv and schema.toml, to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFUMATO_DATA", raising=False)
    patients().to_csv("patients.csv", index=False)
    Path("schema.toml").write_text(SCHEMA)
    return tmp_path


@pytest.fixture(scope="session")
def released(tmp_path_factory):
    """A release folder, made once; copy it before changing it."""
    folder = tmp_path_factory.mktemp("released")
    patients().to_csv(folder / "patients.csv", index=False)
    (folder / "schema.toml").write_text(SCHEMA)
    result = run(
        "release",
        folder / "patients.csv",
        "--method",
        "independent-histograms",
        "--schema",
        folder / "schema.toml",
        "--epsilon",
        2,
        "--out",
        folder / "release",
    )
    assert result.exit_code == 0, result.output
    return folder / "release"


@pytest.mark.parametrize(
    "command",
    [
        "demo",
        "schema",
        "check",
        "plan",
        "release",
        "sample",
        "verify",
        "assess",
        "doctor",
        "audit",
        "account dpmix",
        "data list",
    ],
)
def test_help_holds_an_example(command):
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"Example: {'SFUMATO_DATA=~/datasets ' if command == 'data list' else ''}sfumato {command}" in result.stdout
    assert "--json" in result.stdout


def test_schema_drafts_names_and_types_only(place):
    plain = run("schema", "patients.csv")
    assert plain.exit_code == 0
    assert plain.stdout == draft_schema(Path("patients.csv"))
    assert answer_of(run("schema", "patients.csv", "--json"))["schema_toml"] == plain.stdout


def test_plan_shows_every_access(place):
    Path("patients.csv").unlink()  # no data is read
    histograms = ("--method", "independent-histograms")
    result = run("plan", "schema.toml", "--epsilon", 1, *histograms)
    assert result.exit_code == 0
    assert re.search(r"histograms +counts +Everyone +1 +136 ", result.stdout)
    assert "(1, 1e-06)-differentially private" in result.stdout
    assert max(map(len, run("plan", "schema.toml", "--epsilon", 1, COLUMNS="80").stdout.splitlines())) <= 80
    answer = answer_of(run("plan", "schema.toml", "--epsilon", 1, *histograms, "--set", "bins=8", "--json"))
    assert answer["steps"][0]["numbers"] == 2 * (8 + 9 + 3)
    assert answer["discovery"] is None
    assert answer["advice"]  # 400 rows at epsilon 1: the noise is worth a word


def test_plan_says_what_will_be_discovered(place):
    draft = run("schema", "patients.csv").stdout
    Path("schema.toml").write_text(draft)
    result = run("plan", "schema.toml", "--epsilon", 1)
    assert result.exit_code == 0, result.output
    assert "town" in result.stdout
    assert "10% of the precision and 10% of delta" in result.stdout
    answer = answer_of(run("plan", "schema.toml", "--epsilon", 1, "--json"))
    assert answer["discovery"]["budget_share"] == 0.1
    assert 50 < answer["discovery"]["rows_of_a_category"] < 200
    assert {"name": "town", "what": "categories"} in answer["discovery"]["columns"]
    Path("schema.toml").write_text(draft.replace("# rows = 10000 ", "rows = 400 "))
    assert "cannot follow a discovery" in refused(run("plan", "schema.toml", "--epsilon", 1, "--method", "dpmix"))


@pytest.mark.slow
def test_release_sample_verify(place):
    answer = answer_of(release_it("--json", "--rows", 77, "--seed", 5))
    assert (answer["rows"], answer["seed"], answer["status"], answer["epsilon"]) == (77, 5, "certified", 1.0)
    assert sorted(f.name for f in Path("out").iterdir()) == answer["files"]
    assert len(pd.read_parquet("out/synthetic.parquet")) == 77
    for suffix, read in ((".csv", pd.read_csv), (".parquet", pd.read_parquet)):
        drawn = answer_of(run("sample", "out", "-n", 30, "--out", f"more{suffix}", "--seed", 1, "--json"))
        assert drawn == {"out": f"more{suffix}", "rows": 30, "seed": 1}
        assert list(read(f"more{suffix}").columns) == ["age", "weight", "town", "ill"]
    assert "exists already" in refused(run("sample", "out", "-n", 3, "--out", "more.csv"))
    assert run("sample", "out", "-n", 3, "--out", "more.csv", "--force").exit_code == 0
    assert len(pd.read_csv("more.csv")) == 3
    assert ".parquet or .csv" in refused(run("sample", "out", "-n", 3, "--out", "more.npz"))
    assert "suffix" in refused(run("sample", "out", "-n", 3, "--out", "more.xls"))
    assert "at least 1" in refused(run("sample", "out", "-n", 0, "--out", "none.csv"))
    checked = answer_of(run("verify", "out", "--rebuild", "--json"))
    assert checked["ok"]
    assert checked["replayed_epsilon"] == pytest.approx(1.0, rel=2e-3)
    plain = run("verify", "out", "--rebuild")
    assert plain.stdout.count("✓") == len(checked["checked"])
    assert plain.stdout.count("–") == len(checked["declared"])
    assert checked["problems"] == []
    assert checked["signature"] == "absent"
    assert "not built again here" in run("verify", "out", "--no-rebuild").stdout
    assert "verified out" in plain.stdout


def test_sample_under_a_condition(place):
    answer_of(release_it("--json", "--rows", 77, "--seed", 5))
    drawn = answer_of(
        run("sample", "out", "-n", 30, "--where", "age >= 50 and ill", "--out", "old.csv", "--seed", 1, "--json")
    )
    assert (drawn["rows"], "real ones by noisy counts" in drawn["behind"]) == (30, True)
    assert (pd.read_csv("old.csv")["age"] >= 50).all()
    pd.DataFrame({"age": [30, 40], "weight": [None, 70]}).to_csv("begun.csv", index=False)
    assert run("sample", "out", "--given", "begun.csv", "--out", "done.csv").exit_code == 0
    assert pd.read_csv("done.csv")["age"].tolist() == [30, 40]
    assert run("sample", "out", "-n", 20, "--balance", "ill", "--out", "even.csv").exit_code == 0
    assert set(pd.read_csv("even.csv")["ill"].value_counts()) == {10}
    mistake = run("sample", "out", "--where", "aage > 3", "--out", "none.csv")
    assert (mistake.exit_code, mistake.stderr.rstrip().endswith("aage > 3\n    ^^^^")) == (1, True)
    assert "no row can be so" in refused(run("sample", "out", "--where", "age > 1000", "--out", "none.csv"))
    assert "there is no file" in refused(run("sample", "out", "--given", "none.csv", "--out", "x.csv"))
    assert not Path("none.csv").exists()


@pytest.fixture
def pictures(place):
    """An npz of small pictures of two classes, and its schema."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 300)
    np.savez(
        "pictures.npz", image=(rng.random((300, 6, 6)) * 100 + 100 * label[:, None, None]).astype(np.uint8), label=label
    )
    Path("schema.toml").write_text(IMAGES.format(rows=300, side=6))
    return place


@pytest.mark.slow
def test_pictures_and_settings(pictures):
    mixing = ("--method", "dpmix", "--set", "mixtures=40", "--set", "degree=20")
    made = answer_of(release_it(*mixing, "--json", data="pictures.npz"))
    assert made["mechanism"]["name"] == "dpmix"
    assert (made["mechanism"]["parameters"]["mixtures"], made["rows"]) == (40, 40)
    assert answer_of(run("verify", "out", "--rebuild", "--json"))["ok"]
    assert run("sample", "out", "-n", 5, "--out", "some.npz").exit_code == 0
    with np.load("some.npz") as archive:
        assert archive["images"].shape == (5, 6, 6)
    assert "Use .npz" in refused(run("sample", "out", "-n", 5, "--out", "some.csv"))
    assert "holds 40" in refused(run("sample", "out", "-n", 50, "--out", "more.npz"))


@pytest.mark.slow
def test_account_of_random_mixing():
    published = "account dpmix --records 60000 --degree 256 --mixtures 10000 --noise-stddev 0.0711 --features 784"
    result = run(*published.split(), "--classes", 10, "--delta", 1.6667e-5, "--json")
    entries = answer_of(result)["results"]
    found = {(e["accountant"], e["sampling"], e["relation"], "note" in e): e["epsilon"] for e in entries}
    assert found["published", "without_replacement", "replace_one", True] == pytest.approx(15.00, abs=0.01)
    assert found["pld", "without_replacement", "replace_one", False] == pytest.approx(8.50, abs=0.06)
    assert found["rdp", "without_replacement", "replace_one", False] == pytest.approx(11.4, abs=0.1)
    assert found["pld", "poisson", "add_or_remove", False] == pytest.approx(6.73, abs=0.06)


def test_account_of_class_wise_mixing():
    setting = "account dpmix --records 6000 --degree 128 --mixtures 1200 --noise-stddev 0.7 --features 784 --classwise"
    renoised, _ = answer_of(run(*setting.split(), "--delta", 1.6667e-4, "--json"))["results"]
    assert (renoised["sampling"], renoised["relation"]) == ("one_subset_renoised", "replace_one")
    assert renoised["epsilon"] == pytest.approx(80, abs=1)
    _, fresh = answer_of(run(*setting.split(), "--delta", 1.6667e-5, "--json"))["results"]
    assert fresh["sampling"] == "without_replacement"
    assert fresh["epsilon"] == pytest.approx(0.95, abs=0.03)
    assert "80." in run(*setting.split(), "--delta", 1.6667e-4).stdout


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"degree": 101}, "degree = 101 is more than records = 100"),
        ({"mixtures": 0}, "mixtures = 0 must be at least 1"),
        ({"noise-stddev": 0}, "must be a finite number above 0"),
        ({"noise-stddev": "nan"}, "must be a finite number above 0"),
        ({"delta": 0}, "delta = 0.0 must lie strictly between 0 and 1"),
        ({"delta": 1.5}, "delta = 1.5 must lie strictly between 0 and 1"),
        ({"features": 0}, "features = 0"),
        ({"classes": -1}, "classes = -1"),
    ],
)
def test_account_refuses(changed, said):
    options = {"records": 100, "degree": 10, "mixtures": 5, "noise-stddev": 1, "features": 4, "delta": 1e-5} | changed
    result = run("account", "dpmix", "--json", *(f"--{key}={value}" for key, value in options.items()))
    assert said in refused(result)
    assert answer_of(result)["kind"] == "AccountingError"


def test_data_list(place):
    bare = answer_of(run("data", "list", "--json"))
    assert bare["folder"] is None
    assert [d["name"] for d in bare["datasets"]] == [d.name for d in CATALOGUE]
    assert "Set SFUMATO_DATA" in run("data", "list").stdout
    Path("creditcard.parquet").touch()
    found = answer_of(run("data", "list", "--json", SFUMATO_DATA=str(place)))["datasets"]
    assert [d["name"] for d in found if d["found"]] == ["credit"]


def test_datasets_are_found_by_name(place, monkeypatch):
    with pytest.raises(SourceError, match="Set SFUMATO_DATA to the folder"):
        find("adult")
    monkeypatch.setenv("SFUMATO_DATA", str(place))
    Path("adult_train.parquet").touch()
    with pytest.raises(SourceError, match=r"adult_test.parquet does not exist"):
        find("adult")
    Path("adult_test.parquet").touch()
    assert [path.name for path in find("adult")] == ["adult_train.parquet", "adult_test.parquet"]


# ------------------------------------------------------------------------------------------------- what they refuse


def left_behind(place):
    return {file.name for file in place.iterdir()} - {"patients.csv", "schema.toml", "pictures.npz"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "does not exist"),
        ("", "empty (0 bytes)"),
        ("age,weight,ill\n1,2,true\n", "no column for 'town'"),
        ("age,weight,town\n1,2,rome\n", "no column for the target 'ill'"),
        ("41,80.5,rome,true\n42,70.5,rome,false\n", "is the header missing?"),
    ],
)
def test_release_refuses_files_that_are_not_the_data(place, content, said):
    Path("patients.csv").unlink()
    if content is not None:
        Path("patients.csv").write_text(content)
    result = release_it("--json")
    assert said in refused(result)
    assert answer_of(result) == {"error": refused(result), "kind": "SourceError"}
    assert "80.5" not in result.output
    assert not left_behind(place)


def test_a_target_that_is_not_in_the_schema(place):
    Path("schema.toml").write_text(SCHEMA.replace('"ill"', '"sick"', 1))
    assert "target 'sick' is not a column" in refused(release_it())
    assert "no schema file" in refused(run("plan", "absent.toml", "--epsilon", 1))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--epsilon", 0], "epsilon = 0.0 must be"),
        (["--epsilon", -1], "epsilon = -1.0 must be"),
        (["--epsilon", "nan"], "epsilon = nan must be"),
        (["--epsilon", 1, "--delta", 0], "delta = 0.0 must lie"),
        (["--epsilon", 1, "--delta", 1], "delta = 1.0 must lie"),
        (["--epsilon", 1, "--delta", 0.01], "too large for about 400 declared rows"),
        (["--epsilon", 1, "--method", "magic"], "no mechanism 'magic'"),
        (["--epsilon", 1, "--method", "dpmix", "--set", "degree=500"], "may not exceed the number of rows"),
        (["--epsilon", 1, "--method", "dpmix", "--set", "mixtures=0"], "mixtures = 0"),
        (["--epsilon", 1, "--method", "dpmix", "--set", "mixtures=many"], "'many' must be a whole number"),
        (["--epsilon", 1, "--method", "dpmix", "--set", "sampling=all"], "must be one of poisson"),
        (["--epsilon", 1, "--method", "dpmix", "--set", "classwise=maybe"], "must be true or false"),
        (["--epsilon", 1, "--method", "independent-histograms", "--set", "colour=red"], "known: bins"),
        (["--epsilon", 1, "--set", "bins"], "Write KEY=VALUE"),
    ],
)
def test_plan_and_release_refuse_alike(place, options, said):
    assert said in refused(run("plan", "schema.toml", *options))
    Path("patients.csv").unlink()  # refused before the data is looked for
    assert said in refused(run("release", "patients.csv", "--schema", "schema.toml", "--out", "out", *options))
    assert not left_behind(place)


def test_every_command_refuses_and_stops_alike():
    """Those of groups, too: a refusal is a sentence, and a stop is no trace."""
    found = dict(every_command("sfumato", get_command(app)))
    assert {"sfumato release", "sfumato keys new", "sfumato account dpmix", "sfumato data list"} <= set(found)
    for name, command in found.items():
        layers = [command.callback]
        while hasattr(layers[-1], "__wrapped__"):
            layers.append(layers[-1].__wrapped__)
        assert refusing(print).__code__ in [layer.__code__ for layer in layers], name


def test_words_come_back_as_they_went_in(place):
    """Code that is written on the release runs on the private file, whatever the format."""
    rows = pd.read_csv("patients.csv")
    rows.assign(ill=np.where(rows["ill"], "Yes", "No")).to_csv("patients.csv", index=False)
    Path("schema.toml").write_text(SCHEMA.replace('"boolean"', '"boolean"\ntrue = ["Yes"]\nfalse = ["No"]'))
    assert release_it("--method", "independent-histograms").exit_code == 0
    assert run("verify", "out").exit_code == 0
    assert run("sample", "out", "-n", 50, "--out", "more.csv").exit_code == 0
    for table in (pd.read_parquet("out/synthetic.parquet"), pd.read_csv("more.csv")):
        assert set(table["ill"].dropna()) == {"Yes", "No"}


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_the_first_words_import_nothing_that_takes_seconds(word):
    """Whoever asks what there is does not wait for accountants, learners and compilers."""
    slow = ("numpy", "pandas", "pyarrow", "scipy", "dp_accounting", "numba", "sklearn", "torch", "lightgbm")
    asking = f"import sys; sys.argv = ['sfumato', {word!r}]; from sfumato.cli import main\ntry: main()\nexcept SystemExit: pass"
    listing = f"{asking}\nprint('imported:', [name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    assert "imported: []" in done.stdout


def test_the_list_of_commands_has_their_own_help():
    """It is read from the source, so that nothing is imported."""
    group = get_command(app)
    for name, listed in group.listed.items():
        if not listed.group:
            assert listed.help_of(name) == inspect.cleandoc(group.load(name).callback.__doc__)


def test_a_command_that_runs_is_found_without_reading_sources(place, monkeypatch):
    """Nothing is parsed for it: once a parse here ended in a SystemError, probably since a traceback was parsed beside it."""
    monkeypatch.setattr(ast, "parse", None)
    assert run("plan", "schema.toml", "--epsilon", "1").exit_code == 0


def test_usage_is_exit_code_two(place):
    assert run("release", "patients.csv").exit_code == 2
    assert run("plan", "schema.toml", "--epsilon", "much").exit_code == 2


def test_the_output_folder_is_checked_before_the_data(place):
    Path("out").mkdir()
    Path("patients.csv").unlink()
    assert "exists already" in refused(release_it())
    assert "no release folder, so it is not replaced" in refused(release_it("--force"))
    assert "no folder" in refused(run("release", "x.csv", "--schema", "schema.toml", "--epsilon", 1, "--out", "a/b"))
    assert "at least 1" in refused(
        run("release", "x.csv", "--schema", "schema.toml", "--epsilon", 1, "--out", "o", "--rows", 0)
    )


def test_force_replaces_a_release(place, released):
    shutil.copytree(released, "out")
    before = Path("out/certificate.json").read_text()
    assert release_it("--force").exit_code == 0
    assert Path("out/certificate.json").read_text() != before
    assert left_behind(place) == {"out"}


NASTY = f"""age,weight,town,ill
41,80,rome,true
nan,inf,milan,false
-inf,NaN,{SECRET},true
{SECRET_NUMBER},seventy,paris,false
1e400,,,
" 37 ",0x10,"rome ",maybe
"""


@pytest.mark.slow
def test_nasty_values_survive_and_stay_inside(place):
    Path("patients.csv").write_text(NASTY)
    outputs = [
        release_it(),
        release_it("--force", "--json"),
        run("schema", "patients.csv"),
        run("verify", "out", "--rebuild"),
    ]
    outputs += [run("plan", "schema.toml", "--epsilon", 1), run("sample", "out", "-n", 50, "--out", "more.csv")]
    for result in outputs:
        assert result.exit_code == 0, result.output
        assert SECRET not in result.output
        assert str(SECRET_NUMBER) not in result.output
    rows = pd.read_parquet("out/synthetic.parquet")
    assert rows["age"].between(0, 100).all()
    assert set(rows["town"].dropna()) <= {"rome", "milan"}
    for file in (*Path("out").iterdir(), Path("more.csv")):
        assert SECRET.encode() not in file.read_bytes()


def test_a_secret_stays_inside_when_columns_are_discovered(place):
    frame = pd.concat([patients(3000), patients(1).assign(town=SECRET, age=SECRET_NUMBER)])
    frame.to_csv("patients.csv", index=False)
    open_ended = SCHEMA.replace('categories = ["rome", "milan"]', "discover = true").replace(
        "bounds = [0, 100]", "discover = true"
    )
    Path("schema.toml").write_text(open_ended)
    result = release_it(epsilon=5)
    assert result.exit_code == 0, result.output
    assert SECRET not in result.output
    found = Schema.load("out/schema.toml")
    assert set(found["town"].categories) == {"rome", "milan"}
    assert found["age"].high < 1000


@pytest.mark.slow
@pytest.mark.parametrize("n_ill", [0, 1])
def test_a_class_with_hardly_any_rows(place, n_ill):
    patients(50).assign(ill=np.arange(50) < n_ill).to_csv("patients.csv", index=False)
    assert release_it("--rows", 20).exit_code == 0
    patients(50).iloc[:0].to_csv("patients.csv", index=False)  # and a file with a header and no rows at all
    assert release_it("--rows", 20, "--force").exit_code == 0


@pytest.mark.slow
def test_one_row_more_changes_no_message_and_no_shape(place):
    seen = []
    for n_rows in (200, 201):
        patients(201).iloc[:n_rows].to_csv("patients.csv", index=False)
        plain = release_it("--rows", 60, "--seed", 1, "--force", COLUMNS="4000")
        as_json = release_it("--rows", 60, "--seed", 1, "--force", "--json", COLUMNS="4000")
        with np.load("out/answers.npz") as archive:
            shapes = {name: archive[name].shape for name in archive.files}
        table = pd.read_parquet("out/synthetic.parquet")
        kinds = {name: str(kind) for name, kind in table.dtypes.items()}
        files = sorted(file.name for file in Path("out").iterdir())
        # Warnings follow from noisy numbers, so they differ between any two runs: they are part of the release.
        said = [without_warnings(text) for text in (plain.stdout, plain.stderr, as_json.stderr)]
        told = {key: value for key, value in json.loads(as_json.stdout).items() if key != "warnings"}
        seen.append((said, told, shapes, table.shape, kinds, files))
    assert seen[0] == seen[1]


def without_warnings(text):
    """All lines of a wide console but the warnings and what follows from them."""
    return [line for line in text.splitlines() if not line.startswith(("warning: ", "private, but "))]


# --------------------------------------------------------------------------------------------- a folder that was changed


def _edit(change):
    def tamper(folder):
        path = folder / "certificate.json"
        body = json.loads(path.read_text())
        change(body)
        path.write_text(json.dumps(body, indent=2, ensure_ascii=False) + "\n")

    return tamper


def _flip_a_byte(name):
    def tamper(folder):
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (folder / name).write_bytes(bytes(content))

    return tamper


TAMPERINGS = {
    "rows": (_flip_a_byte("synthetic.parquet"), "synthetic.parquet differs"),
    "answers": (_flip_a_byte("answers.npz"), "answers.npz differs"),
    "report": (lambda folder: (folder / "report.html").unlink(), "report.html is listed"),
    "extra": (lambda folder: (folder / "notes.txt").write_text("x"), "notes.txt is in the folder and not listed"),
    "schema": (
        lambda folder: (folder / "schema.toml").write_text(SCHEMA.replace("[30, 200]", "[30, 210]")),
        "schema.toml",
    ),
    "claim": (_edit(lambda body: body["claim"].update(epsilon=0.5)), "not the claim in numbers"),
    "noise": (_edit(lambda body: body["steps"][0].update(noise_multiplier=50.0)), "noise multiplier of step"),
    "event": (_edit(lambda body: body["event"].update(noise_multiplier=50.0)), "events"),
    "status": (_edit(lambda body: body.update(status="research")), "marked 'research'"),
    "truncated": (lambda folder: (folder / "certificate.json").write_text("{"), "not JSON"),
    "other": (lambda folder: (folder / "certificate.json").write_text("{}"), "not of the format"),
    "part": (_edit(lambda body: body.pop("steps")), "lacks 'steps'"),
    "absent": (lambda folder: (folder / "certificate.json").unlink(), "no claim to check"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_changed_folder_is_named(released, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    tamper, said = TAMPERINGS[name]
    shutil.copytree(released, "changed")
    tamper(Path("changed"))
    result = run("verify", "changed", COLUMNS="200")
    assert result.exit_code == 3
    assert said in result.output
    assert "Traceback" not in result.output
    answer = answer_of(run("verify", "changed", "--json"))
    assert "error" in answer or (not answer["ok"] and any(said in problem for problem in answer["problems"]))
    assert run("sample", "changed", "-n", 5, "--out", "rows.csv").exit_code == 3
    assert [file.name for file in tmp_path.iterdir()] == ["changed"]


# ------------------------------------------------------------------------------------- full disks, Ctrl-C, the unforeseen


@pytest.fixture
def run_program(place, quick_python):
    """Run a program in a process of its own."""

    def run_it(program, **environment):
        return subprocess.run(
            [quick_python, "-c", program],
            cwd=place,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env={**os.environ, **environment},
            check=False,
        )

    return run_it


#: Files may grow to so many bytes.
FULL_DISK = """
import resource, sys
from sfumato.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
sys.argv = "sfumato {words}".split()
main()
"""


@pytest.mark.slow
def test_a_full_disk_leaves_nothing(place, run_program):
    words = "release patients.csv --schema schema.toml --epsilon 1 --out out"
    done = run_program(FULL_DISK.format(limit=2000, words=words))
    assert done.returncode == 1, done.stderr
    assert "the disk is full: out was not written. Free some space" in done.stderr
    assert "Traceback" not in done.stderr
    assert not left_behind(place)


@pytest.mark.slow
def test_a_demo_on_a_full_disk_leaves_nothing(place, run_program):
    done = run_program(FULL_DISK.format(limit=50_000, words="demo"))
    assert done.returncode == 1, done.stderr
    assert "the disk is full: demo-release was not written" in done.stderr
    assert not left_behind(place)


def test_a_disk_that_fills_up_while_sampling(place, released, monkeypatch):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run("sample", released, "-n", 5, "--out", "more.csv", "--json")
    assert "the disk is full: more.csv was not written" in refused(result)
    assert answer_of(result)["kind"] == "ReleaseError"
    assert not left_behind(place)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_in_the_middle_of_a_release(place, number, code):
    rng = np.random.default_rng(0)
    np.savez("pictures.npz", image=rng.integers(0, 255, (6000, 28, 28), dtype=np.uint8), label=rng.integers(0, 2, 6000))
    Path("schema.toml").write_text(IMAGES.format(rows=6000, side=28))
    settings = ("--method", "dpmix", "--set", "mixtures=20000", "--set", "degree=1500")
    words = (
        "release",
        "pictures.npz",
        "--schema",
        "schema.toml",
        "--epsilon",
        "1",
        "--out",
        "out",
        *settings,
        "--json",
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "sfumato.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A run in the background would hand on a Ctrl-C that is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    heard = ""
    while "mixing rows" not in heard:
        line = process.stderr.readline()
        assert line, heard
        heard += line
    time.sleep(0.3)
    process.send_signal(number)
    answered, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, said
    assert said.strip().splitlines()[-1] == "sfumato: stopped; nothing was written."
    assert answered == ""
    assert not left_behind(place)


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True], ids=["while code is made", "while it runs"])
@pytest.mark.parametrize(("number", "stopped"), [(signal.SIGINT, "KeyboardInterrupt"), (signal.SIGTERM, "Terminated")])
def test_a_stop_in_machine_code_is_neither_lost_nor_a_crash(run_program, number, stopped, compiled):
    """numba calls Python to hand over arrays, and that is where a request is heard: an exception there would be its end."""
    program = f"""
import signal, threading, time
import numba
import numpy as np
from sfumato.cli.refusals import stop_cleanly

@numba.njit(nogil=True)
def two_arrays(times):
    x = np.uint64(88172645463325252)
    for _ in range(times):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
    return np.full(2, x), np.full(2, x)

signal.signal(signal.SIGINT, signal.default_int_handler)
stop_cleanly()
if {compiled}:
    two_arrays(1)
threading.Timer(0.1, signal.pthread_kill, [threading.main_thread().ident, {int(number)}]).start()
try:
    one, two = two_arrays(400_000_000)
    time.sleep({PATIENCE})
except KeyboardInterrupt as stop:
    print(type(stop).__name__)
"""
    done = run_program(program)
    assert (done.returncode, done.stdout.strip()) == (0, stopped), done.stderr


def test_a_stop_is_not_taken_for_a_number(run_program):
    """mpmath takes whatever is raised while it takes a float apart for a float that is none."""
    program = """
import math, os, signal
import mpmath
from sfumato.cli.refusals import stop_cleanly

def frexp(x, once=[1]):
    if once:
        once.pop()
        os.kill(os.getpid(), signal.SIGTERM)
    return math.frexp(x)

class Math:
    frexp = staticmethod(frexp)

stop_cleanly()
mpmath.libmp.libmpf.math = Math
try:
    while True:
        assert mpmath.mpf(0.5) == 0.5
except KeyboardInterrupt as stop:
    print(type(stop).__name__)
"""
    done = run_program(program)
    assert (done.returncode, done.stdout.strip()) == (0, "Terminated"), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_while_the_folder_is_written_leaves_nothing(place, run_program, number):
    """The process signals itself when files are already in the hidden folder beside the target."""
    program = f"""
import os, sys, sfumato
from pathlib import Path
def fsync(handle):
    assert [name for name in os.listdir() if name.startswith(".out.")], os.listdir()
    os.kill(os.getpid(), {int(number)})
os.fsync = fsync
from sfumato.cli import main
sys.argv = "sfumato release patients.csv --method independent-histograms --schema schema.toml --epsilon 1 --out out".split()
main()
"""
    done = run_program(program)
    assert done.returncode == 143, done.stderr
    assert done.stderr.strip().splitlines()[-1] == "sfumato: stopped; nothing was written."
    assert not left_behind(place)


def test_ctrl_c_while_the_folder_is_written(place, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    # By its name in sys.modules: the package has a function of the same name.
    monkeypatch.setattr(sys.modules["sfumato.folder.releasing"], "public_report", interrupted)
    assert "nothing was written" in refused(release_it(), code=130)
    assert not left_behind(place)


@pytest.mark.slow
@pytest.mark.parametrize("debug", ["0", "1"])
def test_unforeseen_exceptions_keep_their_message(place, run_program, debug):
    program = f"""
import sys, warnings
import sfumato.cli.commands.release_command as command
def broken(*arguments, **options):
    warnings.warn("{SECRET}")
    raise ValueError("{SECRET}")
command.fit = broken
from sfumato.cli import main
sys.argv = "sfumato release patients.csv --schema schema.toml --epsilon 1 --out out".split()
main()
"""
    done = run_program(program, SFUMATO_DEBUG=debug)
    if debug == "1":
        assert f"ValueError: {SECRET}" in done.stderr
        return
    assert done.returncode == 70
    assert SECRET not in done.stdout + done.stderr
    assert re.search(r"unexpected ValueError at sfumato/cli/commands/release_command.py:\d+\. .*withheld", done.stderr)
    assert not left_behind(place)


@pytest.mark.parametrize(("typed", "meant"), [("realease", "release"), ("plann", "plan"), ("verfy", "verify")])
def test_a_misspelt_command_is_answered_with_the_nearest(typed, meant):
    refused = run(typed, "x")
    assert refused.exit_code == 2
    assert f"Did you mean '{meant}'?" in refused.stderr
