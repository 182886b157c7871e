"""Jobs: progress with an end, cancel, a killed process, a restarted page, and a worker that dies or takes too long."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.cli.console import Agenda, _in_a_log, notices
from sfumato.errors import SfumatoError
from sfumato.studio import jobs as module
from sfumato.studio.jobs import Job, Jobs, Progress
from sfumato.studio.worker import Refused, Worker

_QUICK = "import json, sys, time; given = json.load(sys.stdin); exec(given[0])"
_SAY = "print('release: 2 of 5, counting pairs', file=sys.stderr, flush=True); "
_ANSWER = "print(json.dumps({'release': 'there'}))"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Jobs:
    """Jobs that run what they are given, in the place of commands that take seconds to import."""
    monkeypatch.setattr(module, "_START", _QUICK)
    return Jobs(tmp_path / "jobs")


def ended(jobs: Jobs, job: Job) -> Progress:
    return awaited(jobs, job, lambda found: found.is_over)


def told(jobs: Jobs, job: Job) -> Progress:
    return awaited(jobs, job, lambda found: found.of > 0)


def awaited(jobs: Jobs, job: Job, wanted: Callable[[Progress], bool]) -> Progress:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if wanted(found := jobs.progress(job)):
            return found
        time.sleep(0.02)
    raise AssertionError(f"the job has not come so far: {jobs.progress(job)}")


def test_a_job_tells_its_stage_and_its_answer(quick: Jobs) -> None:
    job = quick.start("release", [_SAY + "time.sleep(.5); " + _ANSWER], project="p")
    running = told(quick, job)
    assert (running.state, running.at, running.of, running.stage) == ("running", 2, 5, "counting pairs")
    assert ended(quick, job).answer == {"release": "there"}
    assert quick.latest("p", "release") == job


def test_the_stages_are_those_that_the_command_line_tells(capsys: pytest.CaptureFixture[str]) -> None:
    say = _in_a_log(notices(), Agenda({"pairs": 1, "teacher": 3}), "release")
    say("pairs")
    say("a stage that nobody planned")
    first, second = capsys.readouterr().err.splitlines()
    assert module._STAGE.match(first).groups() == ("1", "2", "counting pairs of columns")
    assert module._STAGE.match(second).groups()[:2] == (None, None)


def test_a_cancelled_job_says_so_and_can_be_started_again(quick: Jobs, tmp_path: Path) -> None:
    job = quick.start("release", [_SAY + "time.sleep(60)"], project="p", target=str(tmp_path / "out"))
    told(quick, job)
    quick.cancel(job)
    assert ended(quick, job).state == "cancelled"
    assert ended(quick, quick.start("release", [_ANSWER], project="p")).state == "done"


def test_a_job_that_will_not_end_is_killed(quick: Jobs) -> None:
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + _SAY + "time.sleep(60)"
    job = quick.start("release", [stubborn])
    told(quick, job)
    quick.cancel(job)
    time.sleep(0.2)
    assert not quick.progress(job).is_over
    quick.cancel(job)
    assert ended(quick, job).state == "cancelled"


def test_a_job_that_ends_while_it_is_cancelled_is_cancelled(quick: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process is gone, and the thread that was to say so has not come to it."""
    job = quick.start("release", [_SAY])
    ended(quick, job)
    monkeypatch.setattr(quick, "_is_alive", lambda job: True)
    quick.cancel(job)
    quick.cancel(job)


def test_a_killed_job_leaves_nothing_half_written(quick: Jobs, tmp_path: Path) -> None:
    target = tmp_path / "out"
    hidden, other = tmp_path / f".out.{'a' * 16}", tmp_path / ".out.mine"
    hidden.mkdir()
    (hidden / "half.parquet").write_text("half")
    other.mkdir()
    job = quick.start("release", [_SAY + "time.sleep(60)"], target=str(target))
    told(quick, job)
    os.kill(job.pid, signal.SIGKILL)
    assert ended(quick, job).state == "lost"
    assert not hidden.exists()
    assert other.exists()


def test_a_refusal_comes_in_its_own_words(quick: Jobs) -> None:
    refused = "print(json.dumps({'error': 'column x has no bounds.', 'kind': 'SchemaError'})); sys.exit(1)"
    assert ended(quick, quick.start("release", [refused])).sentence == "column x has no bounds."
    unforeseen = "print('sfumato: unexpected KeyError at sfumato/fitting.py:3.', file=sys.stderr); sys.exit(70)"
    found = ended(quick, quick.start("release", [unforeseen]))
    assert (found.state, found.sentence[:21]) == ("refused", "unexpected KeyError a")


def test_a_job_outlives_the_page_and_is_found_again(quick: Jobs, tmp_path: Path) -> None:
    job = quick.start("release", [_SAY + "time.sleep(1.5); " + _ANSWER], project="p")
    told(quick, job)
    again = Jobs(tmp_path / "jobs")  # as after a restart
    found = again.latest("p", "release")
    assert found == job
    assert again.progress(found).state == "running"
    assert ended(again, found).answer == {"release": "there"}
    again.cancel(found)  # too late, and harmless


def test_what_a_check_found_is_written_nowhere(quick: Jobs, tmp_path: Path) -> None:
    job = quick.start("check", ["print(json.dumps({'secret': 'Hopper'}))"])
    assert ended(quick, job).answer == {"secret": "Hopper"}
    assert not [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and b"Hopper" in path.read_bytes().replace(_QUICK.encode(), b"")
    ]
    assert Jobs(tmp_path / "jobs").progress(job).state == "lost"


def test_a_fourth_job_waits(quick: Jobs) -> None:
    running = [quick.start("release", ["time.sleep(60)"]) for _ in range(module.MOST_RUNNING)]
    with pytest.raises(SfumatoError, match="run already"):
        quick.start("release", ["1"])
    for job in running:
        quick.cancel(job)
    for job in running:
        ended(quick, job)


def test_damaged_files_of_jobs_are_no_jobs(quick: Jobs, tmp_path: Path) -> None:
    for content in ("", "{}", "[1]", json.dumps({"id": 3})):
        folder = tmp_path / "jobs" / "0123456789abcdef"
        folder.mkdir(exist_ok=True)
        (folder / "job.json").write_text(content)
        assert quick.all() == []
    assert quick.get("../../etc") is None


def _sleep() -> None:
    time.sleep(60)


def _die() -> None:
    os._exit(1)


def _refuse() -> None:
    raise SfumatoError("a sentence.")


def test_a_worker_that_dies_is_started_anew() -> None:
    async def story() -> list[str]:
        worker, said = Worker(seconds=20), []
        for function in (_die, _refuse):
            with pytest.raises(Refused) as refused:
                await worker.ask(function)
            said.append(str(refused.value))
        worker._seconds = 0.3
        with pytest.raises(Refused) as refused:
            await worker.ask(_sleep)
        said.append(str(refused.value))
        worker.stop()
        return said

    died, sentence, slow = asyncio.run(story())
    assert "has died" in died
    assert sentence == "a sentence."
    assert "was stopped" in slow
