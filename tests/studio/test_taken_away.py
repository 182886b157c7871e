"""What is taken away can be run: the command, the script and the notebook make the release again, each in a folder of its own."""

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import app
from sfumato.folder.releasing import load_release
from sfumato.studio.taking_away import arguments, command, notebook, script

SCHEMA = """
[dataset]
rows = 300
target = "ward"
[columns.age]
type = "integer"
bounds = [0, 110]
[columns.ward]
type = "categorical"
categories = ["north", "south"]
"""


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    rng = np.random.default_rng(0)
    rows = {"age": rng.integers(0, 90, 300), "ward": rng.choice(["north", "south"], 300)}
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    book = sf.Ledger.create(f"sqlite:///{tmp_path}/ledger.db")
    book.add("patients", epsilon=9, delta=1e-5, unit=sf.PrivacyUnit())
    return {"schema": "schema.toml", "out": "made-again", "ledger": f"sqlite:///{tmp_path}/ledger.db"}


CHOSEN = {"epsilon": 1.0, "delta": 1e-6, "method": "independent-histograms", "rows": "50", "dataset": "patients"}
SOURCE = {"place": "rows.csv", "table": "", "sql": ""}


@pytest.mark.parametrize("kind", ["command", "script", "notebook"])
@pytest.mark.parametrize("score", [False, True])
def test_it_runs_and_its_release_is_verified(where: dict[str, str], kind: str, score: bool) -> None:
    chosen = {**CHOSEN, "score": score}
    if kind == "command":
        line = shlex.split(command(arguments(SOURCE, chosen, **where)))
        assert line[0] == "sfumato"
        told = CliRunner().invoke(app, line[1:])
        assert told.exit_code == 0, told.output
    elif kind == "script":
        exec(compile(script(SOURCE, chosen, **where), "release.py", "exec"), {})  # it is ours, and is what is tested
    else:
        cells = json.loads(notebook(SOURCE, chosen, **where))["cells"]
        names: dict[str, object] = {}
        for cell in cells:
            exec(compile(cell["source"], "cell", "exec"), names)
    found = load_release("made-again")
    assert found.n_rows == 50
    assert (found.certificate.score is not None) == score
    assert found.certificate.mechanism.name == "independent-histograms"
    assert sf.verify("made-again").ok
    assert sf.Ledger(where["ledger"]).show()["patients"]["releases"] == 1
