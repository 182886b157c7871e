"""Without the system library libgomp, LightGBM does not load: everything works but the benchmark, which says why."""

import ast
import importlib
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato.errors import MissingLibraryError
from sfumato.lab.assess.beside import train_and_score
from sfumato.lab.benchmark.learners import check_learner
from sfumato.lab.demo.population import demo_schema, holdout_population, make_population
from sfumato.learn import boosted_trees as module
from sfumato.learn.boosted_trees import boosting, need_lightgbm

COMMANDS = ("demo", "schema", "plan", "release", "sample", "verify", "bench", "account", "data", "study")
#: Put before a program: what the import of lightgbm does on a machine without libgomp.
HIDE = """
    import sys

    class Hider:
        def find_spec(self, name, path=None, target=None):
            if name == "lightgbm" or name.startswith("lightgbm."):
                raise OSError("libgomp.so.1: cannot open shared object file: No such file or directory")

    sys.meta_path.insert(0, Hider())
"""


def without_libgomp(program, folder, python=sys.executable):
    environment = {**os.environ, "COLUMNS": "80", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [python, "-c", textwrap.dedent(HIDE) + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
    )


def run_commands(*commands, folder, python, before=""):
    """One after the other in one process, until one fails."""
    return without_libgomp(
        f"""
        from sfumato.cli import main
        {before}
        for words in {commands!r}:
            sys.argv = ["sfumato", *words.split()]
            try:
                main()
            except SystemExit as end:
                if end.code:
                    raise
        """,
        folder,
        python,
    )


def hide(monkeypatch, error):
    usual = importlib.import_module

    def refuse(name, package=None):
        if name == "lightgbm":
            raise error
        return usual(name, package)

    monkeypatch.setattr(module.importlib, "import_module", refuse)


FEW_PEOPLE = "import sfumato.lab.demo.population as people; people.TRAIN_ROWS = people.TEST_ROWS = 8_000"


@pytest.mark.slow
def test_the_demo_needs_no_libgomp(tmp_path, quick_python):
    result = run_commands("demo --json", folder=tmp_path, python=quick_python, before=FEW_PEOPLE)
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert answer["verified"]
    assert answer["learner"] == "gradient boosting (scikit-learn)"
    assert 0.75 < answer["auc"]["synthetic"] < answer["auc"]["real"] + 0.01
    assert 0.84 < answer["auc"]["real"] < 0.91
    page = (tmp_path / "demo-report.html").read_text()
    assert "One learner (gradient boosting (scikit-learn), default settings)" in page
    assert "LightGBM" not in page


@pytest.mark.slow
def test_a_release_needs_no_libgomp(tmp_path, quick_python):
    (tmp_path / "people.csv").write_text("age,ill\n" + "".join(f"{n % 90},{n % 3 == 0}\n" for n in range(400)))
    (tmp_path / "schema.toml").write_text(
        '[dataset]\ntarget = "ill"\nrows = 400\n[columns.age]\ntype = "integer"\nbounds = [0, 100]\n'
        '[columns.ill]\ntype = "boolean"\n'
    )
    result = run_commands(
        "plan schema.toml --epsilon 1",
        "release people.csv --schema schema.toml --epsilon 1 --out out",
        "verify out --rebuild",
        folder=tmp_path,
        python=quick_python,
    )
    assert result.returncode == 0, result.stderr
    assert "Plan of 3a-table" in result.stdout
    assert "verified out" in result.stdout


@pytest.mark.slow
def test_every_command_helps_without_libgomp(tmp_path):
    program = f"""
        from typer.testing import CliRunner
        from sfumato.cli import app
        for name in {COMMANDS!r}:
            result = CliRunner().invoke(app, [name, "--help"])
            assert result.exit_code == 0 and "Usage" in result.output, name
        assert not any(name.startswith("lightgbm") for name in sys.modules)
    """
    result = without_libgomp(program, tmp_path)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError("libgomp.so.1: cannot open shared object file"), "libgomp1"),
        (ModuleNotFoundError("No module named 'lightgbm'"), "pip install lightgbm"),
    ],
)
def test_the_benchmark_takes_nothing_in_its_place(monkeypatch, error, words):
    hide(monkeypatch, error)
    with pytest.raises(MissingLibraryError, match=words) as caught:
        need_lightgbm()
    assert not isinstance(caught.value, OSError)  # so that nobody takes it for a full disk
    with pytest.raises(MissingLibraryError, match=words):
        check_learner("lightgbm", demo_schema())
    check_learner("forest", demo_schema())


def test_both_learners_learn_alike(monkeypatch):
    people, others, schema = make_population(4_000, seed=7), holdout_population(), demo_schema()
    usual = train_and_score(people, others, schema)
    hide(monkeypatch, OSError("libgomp.so.1"))
    other = train_and_score(people, others, schema)
    assert (usual.learner, other.learner) == ("LightGBM", "gradient boosting (scikit-learn)")
    assert other.auc == pytest.approx(usual.auc, abs=0.01)


def test_a_column_of_many_categories_is_no_reason_to_stop(monkeypatch):
    hide(monkeypatch, OSError("libgomp.so.1"))
    rng = np.random.default_rng(0)
    x = np.stack([rng.integers(0, 800, 500), rng.integers(0, 3, 500), rng.random(500)], axis=1).astype(float)
    y = (x[:, 1] == 1).astype(np.int64)
    trained = boosting([0, 1]).fit(x, y)
    assert (trained.predict(x) == y).mean() > 0.95


@pytest.mark.slow
def test_no_file_imports_lightgbm_at_its_top():
    root = Path(sfumato.__file__).parents[2]
    files = [path for folder in ("src", "tests", "benchmarks") for path in (root / folder).rglob("*.py")]
    assert len(files) > 100
    named = {path: text for path in files if "lightgbm" in (text := path.read_text(encoding="utf-8"))}
    assert len(named) > 5
    for path, text in named.items():
        tops = [node for node in ast.parse(text).body if isinstance(node, ast.stmt)]
        names = [alias.name for node in tops if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in tops if isinstance(node, ast.ImportFrom)]
        assert not any(name.split(".")[0] == "lightgbm" for name in names), path
