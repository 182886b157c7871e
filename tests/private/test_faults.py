"""What goes wrong in the middle of a release: a full disk, a driver that is killed. Nothing is left half-written, and no row lies about."""

import os
import resource
import subprocess
import time
from pathlib import Path

import pytest

from command_line import SCHEMA, patients, release_it
from sfumato.cli.refusals import REFUSED

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA)
    patients(20_000).to_parquet("patients.parquet", index=False)


def test_a_disk_that_is_full_ends_the_release_in_a_sentence(monkeypatch) -> None:
    """The system itself refuses: no file of this process may grow beyond 64 KiB."""
    monkeypatch.setattr("sfumato.private.rows.room.MOST_BYTES", 1000)
    before, most = set(os.listdir()), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, most[1]))
    try:
        refused = release_it("--engine", "local:1", data="patients.parquet")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert refused.exit_code == REFUSED
    assert "set TMPDIR to another folder" in " ".join(refused.stderr.split())
    assert set(os.listdir()) == before


KILLED = """
import os, signal
from pathlib import Path
import sfumato as sf
from sfumato.private.engines import local
from sfumato.private.rows import room

room.MOST_BYTES, local._MANY_CELLS, local._PART = 1000, 1000, 1
began, real = [], local._Process.answer

def answer(self):
    if began:
        Path("workers").write_text(str([process.program.pid for process in rows._workers[1:]]))
        os.kill(os.getpid(), signal.SIGKILL)  # with a question on its way to the other
    began.append(self)
    return real(self)

def ask(self, *asked, _real=local.LocalRows._ask):
    global rows
    rows = self
    return _real(self, *asked)

local._Process.answer, local.LocalRows._ask = answer, ask
sf.release(sf.fit("auto", "patients.parquet", 1.0, schema="schema.toml", engine="local:2"), to="out")
"""


def test_a_driver_that_is_killed_leaves_no_folder_no_file_and_no_process(quick_python: str) -> None:
    Path("scratch").mkdir()
    before = set(os.listdir()) | {"workers"}
    subprocess.run(
        [quick_python, "-c", KILLED], env={**os.environ, "TMPDIR": str(Path("scratch").resolve())}, check=False
    )
    assert set(os.listdir()) == before, "it was killed while processes had the rows, and nothing was written"
    assert not list(Path("scratch").iterdir()), "scratch has no name, and is gone with whoever had it open"
    waiting = [int(pid) for pid in Path("workers").read_text().strip("[]").split(", ")]
    for _ in range(100):
        waiting = [pid for pid in waiting if is_running(pid)]
        if not waiting:
            return
        time.sleep(0.1)
    pytest.fail("a process goes on without its driver")


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
