"""Every example runs, from a folder of its own, and leaves what it says."""

import os
import re
import resource
import runpy
import subprocess
from pathlib import Path

import pytest

import sfumato as sf
from command_line import SCHEMA, patients

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_runs(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = peak_megabytes()
    runpy.run_path(str(script), run_name="__main__")
    assert peak_megabytes() - before < 1_000  # 500 pictures of 8 x 8 once took gigabytes


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_the_index_names_every_example() -> None:
    index = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    there = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".sh")}
    assert set(re.findall(r"\((\w+\.\w+)\)", index)) == there
    assert len(there) == 6


def test_the_notebook_is_one() -> None:
    text = (EXAMPLES / "first_release.py").read_text(encoding="utf-8")
    assert "format_name: percent" in text
    cells = re.split(r"^# %%", text, flags=re.MULTILINE)[1:]
    assert len(cells) > 8
    for cell in cells:
        if cell.startswith(" [markdown]"):
            assert all(line.startswith("#") for line in cell.splitlines()[1:] if line), cell


def nightly(folder: Path, sfumato: str, *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the job with a command `sfumato` that does what the line says."""
    (folder / "bin").mkdir()
    command = folder / "bin" / "sfumato"
    command.write_text(f"#!/bin/sh\n{sfumato}\n")
    command.chmod(0o755)
    (folder / "outgoing").mkdir()
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    return subprocess.run(
        [str(EXAMPLES / "nightly.sh"), "patients.csv", "schema.toml", "outgoing", *more],
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_nightly_job_hands_over_what_verifies(tmp_path: Path, sfumato_command: Path) -> None:
    patients().to_csv(tmp_path / "patients.csv", index=False)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    command = f'exec {sfumato_command} "$@"'
    done = nightly(tmp_path, command, "--method", "independent-histograms", EPSILON="1")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "outgoing").iterdir()
    assert sf.load_release(folder).certificate.epsilon == 1.0


@pytest.mark.parametrize(
    ("sfumato", "code", "said"),
    [
        ("echo 'sfumato: no such file' >&2; exit 1", 1, "refused"),
        ("exit 70", 70, "stopped with code 70"),
        (
            'case $1 in release) mkdir "$8"; echo {} ;; *) echo "x  a file was changed"; exit 3 ;; esac',
            3,
            "does not bear out",
        ),
    ],
)
def test_the_nightly_job_hands_over_nothing_else(tmp_path: Path, sfumato: str, code: int, said: str) -> None:
    done = nightly(tmp_path, sfumato)
    assert done.returncode == code
    assert said in done.stderr
    assert not list((tmp_path / "outgoing").iterdir())
