"""The spinner on a terminal: it speaks while private rows are read, and nothing else does."""

import contextlib
import os
import pty
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import sfumato as sf
from command_line import SCHEMA, patients, release_it
from sfumato.cli.console import Agenda, progress
from sfumato.mechanism import mechanism_for, registered, registered_names
from sfumato.outlook.method_list import KINDS
from sfumato.outlook.stage_words import WORDS
from sfumato.outlook.stages import fit_stages

SPOKEN = """
import os, sys, time
from sfumato.cli.console import progress
from sfumato.private.intake.quiet import silence

with progress(title="release", stages={"before": 1, "counting the cells": 1, "after": 1}) as step:
    step("before")
    kept = sys.stderr  # as a library may keep it
    time.sleep(0.3)
    with silence():
        step("counting the cells")
        os.write(2, b"a library speaks of a row")
        print("a map speaks of a row", file=sys.stderr)
        print("a library speaks of a row", file=kept, flush=True)
        time.sleep(0.5)
    step("after")
    time.sleep(0.3)
"""


def on_a_terminal(python: str, script: str) -> str:
    """Run a script whose stderr is a terminal, and give back all that was written there."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [python, "-c", script],
        stderr=theirs,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    ) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end was closed
                break
            if not part:
                break
            written += part
    os.close(ours)
    assert process.returncode == 0, written.decode()
    return written.decode()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals here")
def test_the_step_is_shown_while_the_doors_are_silent(quick_python: str) -> None:
    written = on_a_terminal(quick_python, SPOKEN)
    for at, step in enumerate(("before", "counting the cells", "after"), 1):
        assert f"release: {at} of 3, {step} ..." in written, written
    assert "speaks of a row" not in written


def test_every_use_of_a_stage_has_its_number() -> None:
    agenda = Agenda({"pairs": 1, "teacher": 8})
    told = [agenda.begin(stage) for stage in ("pairs", *["teacher"] * 8)]
    assert told[0] == "1 of 2, counting pairs of columns"
    assert told[1:] == [f"2 of 2, correcting the labels, {n} of 8" for n in range(1, 9)]


def test_a_log_has_one_line_for_each_stage_and_none_if_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (False, True):
        with progress(title="release", stages={"pairs": 1, "teacher": 8}, quiet=quiet) as step:
            for stage in ("pairs", *["teacher"] * 8, "a step that nobody planned"):
                step(stage)
    assert capsys.readouterr().err.splitlines() == [
        "release: 1 of 2, counting pairs of columns",
        "release: 2 of 2, correcting the labels",
        "release: a step that nobody planned",
    ]


def test_the_time_that_is_left_goes_by_the_pace_of_each_stage() -> None:
    times = iter([0.0, 1.0, 3.0, 13.0, 23.0])
    agenda = Agenda({"columns": 2, "teacher": 3}, clock=lambda: next(times))
    assert "left" not in agenda.begin("columns")
    assert "left" not in agenda.begin("columns")  # one second says nothing
    assert agenda.begin("teacher").endswith("about 4 s left")  # three more at the mean of 1 and 2 seconds
    assert agenda.begin("teacher").endswith("about 20 s left")  # two more at 10
    assert agenda.begin("teacher").endswith("about 10 s left")


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_of_every_mechanism_has_words(kind: str) -> None:
    schema, budget = replace(KINDS[kind], rows=50_000), sf.Budget(epsilon=8.0, delta=1e-6)
    stages: set[str] = set()
    package = [name for name in registered_names() if registered(name).__module__.startswith("sfumato.")]
    for name in package:  # other tests register mechanisms of their own
        with contextlib.suppress(sf.SfumatoError):  # it does not take such data
            stages |= fit_stages(mechanism_for(name, schema), schema, budget).keys()
    assert len(stages) > 5
    assert stages <= WORDS.keys()


def test_what_is_to_be_discovered_comes_first() -> None:
    columns = (
        sf.Column(name="x", kind="numeric", discover=True),
        sf.Column(name="t", kind="categorical", discover=True),
    )
    mechanism, budget = (
        mechanism_for("independent-histograms", schema := sf.Schema(columns=columns)),
        sf.Budget(1.0, 1e-6),
    )
    found = fit_stages(mechanism, schema, budget)
    assert list(found) == ["discovered rows", "discovered bounds", "categories", "histograms", "build"]
    assert found.keys() <= WORDS.keys()


def test_a_release_tells_the_stages_that_were_foreseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    patients().to_csv("patients.csv", index=False)
    Path("schema.toml").write_text(SCHEMA)
    result = release_it("--method", "independent-histograms")
    lines = [line for line in result.stderr.splitlines() if line.startswith("release:")]
    assert lines == [
        "release: calibrating the noise",
        "release: 1 of 3, counting columns within classes",
        "release: 2 of 3, building the model",
        "release: 3 of 3, writing the folder",
    ]
    quiet = release_it("--method", "independent-histograms", "--force", "--quiet", epsilon=1e-3)
    assert "release:" not in quiet.stderr
    assert "warning: " in quiet.stderr  # warnings are not progress


@pytest.mark.slow
def test_without_a_terminal_nothing_changes(quick_python: str) -> None:
    done = subprocess.run([quick_python, "-c", SPOKEN], capture_output=True, text=True, check=True)
    assert "release: 1 of 3, before\n" in done.stderr
    assert "release: 3 of 3, after\n" in done.stderr
    assert "speaks of a row" not in done.stderr
