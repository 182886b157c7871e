"""Attacks by way of files: pipes where pages are expected, folders without end, files that were changed by hand, clocks that go back."""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from visitors import SCHEMA, Custodian

from sfumato.errors import ReleaseError, SfumatoError
from sfumato.studio import engine
from sfumato.studio.folders import MOST_SHOWN, Folders
from sfumato.studio.jobs import Job, Jobs, Progress
from sfumato.studio.pages import results
from sfumato.studio.pages.results import _zipped
from sfumato.studio.projects import Projects, StaleEdit


def in_time(function, seconds: float = 5.0):
    """What a function gives, unless it waits for ever."""
    found: list = []
    asked = threading.Thread(target=lambda: found.append(function()), daemon=True)
    asked.start()
    asked.join(seconds)
    assert found, "it waits"
    return found[0]


def their_report(custodian: Custodian, folder: Path) -> int:
    """What becomes of the report of a release that lies in a folder."""
    job = type("Job", (), {"facts": {"path": str(folder)}, "kind": "receive", "id": "0" * 16})()
    custodian.studio.jobs.get = lambda _: job  # type: ignore[method-assign]
    return in_time(lambda: custodian.get(f"/receive/{'0' * 16}/report").status_code)


def test_a_pipe_is_no_report_and_blocks_nobody(custodian: Custodian, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = custodian.studio.folders.roots[0] / "theirs"
    folder.mkdir()
    os.mkfifo(folder / "report.html")
    assert their_report(custodian, folder) == 404
    (folder / "report.html").unlink()
    (folder / "report.html").mkdir()
    assert their_report(custodian, folder) == 404
    (folder / "report.html").rmdir()
    (folder / "report.html").write_text("<p>x")
    assert their_report(custodian, folder) == 200
    monkeypatch.setattr(results, "_MOST_OF_A_PAGE", 3)
    assert their_report(custodian, folder) == 404


def test_a_pipe_in_a_release_is_not_waited_for_when_it_is_zipped(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    folder.mkdir()
    (folder / "certificate.json").write_text("{}")
    os.mkfifo(folder / "rows.parquet")

    def zipped() -> str:
        with pytest.raises(ReleaseError, match="pipe") as refused:
            _zipped(folder, tmp_path)
        return str(refused.value)

    assert in_time(zipped)
    (folder / "rows.parquet").unlink()
    (folder / "rows.parquet").symlink_to("/etc/passwd")
    assert in_time(zipped)
    assert not list(tmp_path.glob("*.zip"))


@pytest.mark.parametrize("kind", ["pipe", "socket", "zero"])
def test_what_is_no_file_is_a_sentence(custodian: Custodian, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    root = custodian.studio.folders.roots[0]
    path = root / "rows.csv"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        import socket

        monkeypatch.chdir(root)  # its name may be short only
        socket.socket(socket.AF_UNIX).bind(path.name)
    else:
        path = Path("/dev/zero")
        inside = Folders.inside
        monkeypatch.setattr(Folders, "inside", lambda one, text: path if text == str(path) else inside(one, text))
    project = custodian.studio.projects.new("x")
    answer = in_time(lambda: custodian.post(f"/p/{project.id}/data", place=str(path)))
    assert answer.status_code == 422
    assert "a pipe or a device" in answer.text
    assert 'value="' + str(root / "rows.csv") not in custodian.get(f"/p/{project.id}/data").text


def test_a_folder_of_many_files_is_shown_in_part(tmp_path: Path) -> None:
    for number in range(5_000):
        os.close(os.open(tmp_path / f"{number:05}.csv", os.O_CREAT))
    (tmp_path / "zz").mkdir()
    (tmp_path / "aa.csv").symlink_to("/etc/passwd")
    before = time.process_time()
    listing = Folders([tmp_path]).listing("")
    assert time.process_time() - before < 0.5  # a hundred thousand in seconds, and in a thread of their own
    assert [entry.name for entry in listing.entries[:2]] == ["zz", "00000.csv"]
    assert (len(listing.entries), listing.more) == (MOST_SHOWN, 5_001 - MOST_SHOWN)


BROKEN = {
    "versions": ["x", ["a"], [1.5], [-1], {}],
    "at": [99, -2, "0", None],
    "chosen": [[], "x", {"epsilon": "1"}],
    "source": [3, {"place": 3}],
    "made": ["now", 1e300, None],
    "name": [None, 3],
    "id": ["0" * 16, "../../etc", 7],
    "more": [1],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in BROKEN.items() for value in values])
def test_a_project_that_was_changed_by_hand_is_told_and_breaks_no_page(
    custodian: Custodian, key: str, value: object
) -> None:
    project, other = custodian.project(), custodian.project()
    path = custodian.studio.projects.folder(project) / "project.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    home = custodian.get("/")
    assert home.status_code == 200
    assert "1 project cannot be read any more" in home.text
    assert custodian.get(f"/p/{project.id}/schema").status_code == 404
    assert custodian.get(f"/p/{other.id}/schema").status_code == 200


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"columns": 3}', "[" * 100_000, "\x80"])
def test_a_schema_that_was_changed_by_hand_is_a_sentence(custodian: Custodian, text: str) -> None:
    project = custodian.project()
    folder = custodian.studio.projects.folder(project)
    (folder / f"schema-{project.version:06d}.json").write_bytes(text.encode("latin-1"))
    for step in ("schema", "plan", "schema.toml"):
        answer = custodian.get(f"/p/{project.id}/{step}")
        assert answer.status_code in (200, 400)
        assert "unforeseen" not in answer.text
    assert "was changed by hand" in custodian.get(f"/p/{project.id}/schema").text
    path = custodian.studio.folders.roots[0] / "rows.csv"
    path.write_text("age,ward\n1,north\n")
    assert custodian.post(f"/p/{project.id}/data", place=str(path)).status_code == 200  # and this is the way on


def test_two_studios_over_one_folder_lose_no_change(tmp_path: Path) -> None:
    """Both read, both write: the second one is told, or keeps what the first has done."""
    mine, theirs = Projects(tmp_path), Projects(tmp_path)
    project = mine.new("x")
    mine.change(project, SCHEMA, seen=None)
    again = theirs.get(project.id)
    mine.change(project, {**SCHEMA, "dataset": {"rows": 7}}, seen=1)
    with pytest.raises(StaleEdit):
        theirs.change(again, {**SCHEMA, "dataset": {"rows": 8}}, seen=1)
    theirs.keep(again, epsilon=2.0)
    kept = mine.get(project.id)
    assert (kept.version, kept.chosen) == (2, {"epsilon": 2.0})
    assert mine.schema(kept)["dataset"] == {"rows": 7}
    mine.remove(project)
    with pytest.raises(SfumatoError):
        theirs.keep(again, epsilon=3.0)


def test_two_tabs_at_the_same_moment_lose_no_change(custodian: Custodian) -> None:
    """What is saved while another form waits for its answer stays: the second one is stale."""
    project = custodian.project()
    ask, answers = custodian.studio.worker.ask, []

    async def slow(function, *given):
        if not answers:
            answers.append(None)
            fields = {"version": str(project.version), "rows": "777"}
            answers[0] = await asyncio.to_thread(custodian.post, f"/p/{project.id}/schema/table", **fields)
        return await ask(function, *given)

    custodian.studio.worker.ask = slow  # type: ignore[method-assign]
    fields = {"version": str(project.version), "kept": "yes", "type": "integer", "low": "0", "high": "7"}
    answer = custodian.post(f"/p/{project.id}/schema/column/0", **fields)
    assert answers[0].status_code == 200
    assert answer.status_code == 409
    assert custodian.studio.projects.schema(custodian.studio.projects.get(project.id))["dataset"]["rows"] == 777


def test_a_clock_that_goes_back_does_not_bring_old_jobs_forward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.studio.jobs._START", "import sys; sys.stdin.read(); print('{}')")
    jobs = Jobs(tmp_path)
    now = time.time()
    found = []
    for moment in (now + 7200, now, now - 7200):
        monkeypatch.setattr("sfumato.studio.jobs.time.time", lambda moment=moment: moment)
        found.append(jobs.start("release", [], project="p"))
    assert jobs.latest("p", "release") == found[-1]
    assert [job.id for job in jobs.all()] == [job.id for job in found[::-1]]


@pytest.mark.parametrize(
    ("key", "value"),
    [("pid", -1), ("pid", 0), ("pid", "x"), ("made", "x"), ("facts", [1]), ("kind", 3), ("id", "f" * 16)],
)
def test_a_job_that_was_changed_by_hand_is_none(tmp_path: Path, key: str, value: object) -> None:
    """The process of a job is asked to end: -1 would be all that its owner has."""
    folder = tmp_path / ("0" * 16)
    folder.mkdir()
    whole = vars(Job("0" * 16, "release", "p", 1.0, 2))
    jobs = Jobs(tmp_path)
    (folder / "job.json").write_text(json.dumps(whole))
    assert jobs.get("0" * 16) is not None
    (folder / "job.json").write_text(json.dumps({**whole, key: value}))
    assert jobs.get("0" * 16) is None


def test_two_that_look_at_a_job_take_each_other_for_none(tmp_path: Path) -> None:
    """To look whether a job lives takes its lock for a moment, which is no sign of life to another studio."""
    import fcntl

    folder = tmp_path / ("0" * 16)
    folder.mkdir()
    jobs = Jobs(tmp_path)
    with (folder / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        assert not jobs._is_alive(Job("0" * 16, "release", "p", 1.0, 2))
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert jobs._is_alive(Job("0" * 16, "release", "p", 1.0, 2))


def test_a_full_disk_is_a_sentence_when_a_job_starts_and_when_a_file_arrives(
    custodian: Custodian, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    project = custodian.project()
    with monkeypatch.context() as patched:
        patched.setattr("sfumato.studio.jobs.Path.mkdir", full)
        answer = custodian.post(f"/p/{project.id}/check")
        assert answer.status_code == 409
        assert "No space left on device" in answer.text
    with monkeypatch.context() as patched:
        patched.setattr("starlette.datastructures.UploadFile.write", full)
        answer = custodian.post("/receive/upload", files={"zip": ("x.zip", b"x" * 100)})
        assert answer.status_code == 400
        assert "No space left on device" in answer.text
    with monkeypatch.context() as patched:
        patched.setattr("sfumato.studio.projects.os.replace", full)
        answer = custodian.post("/projects", name="x")
        assert "No space left on device" in answer.text
    assert [one.id for one in custodian.studio.projects.all()] == [project.id]
    assert [path.name for path in (custodian.studio.state / "projects").iterdir()] == [project.id]
    assert not custodian.studio.jobs.all()


def test_a_server_that_is_killed_takes_no_job_with_it(tmp_path: Path) -> None:
    """Not even with the signal that cannot be caught: the job goes on, and the next server finds it and its answer."""
    job = "import json, sys, time; sys.stdin.read(); time.sleep(1); print(json.dumps({'release': 'there'}))"
    server = (
        "import os, signal, sys, time; from pathlib import Path; from sfumato.studio import jobs; "
        f"jobs._START = {job!r}; started = jobs.Jobs(Path(sys.argv[1])).start('release', [], project='p'); time.sleep(0.3); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", server, str(tmp_path)], check=False).returncode == -9
    jobs = Jobs(tmp_path)
    found = jobs.latest("p", "release")
    assert jobs.progress(found).state == "running"
    until = time.monotonic() + 20
    while not jobs.progress(found).is_over and time.monotonic() < until:
        time.sleep(0.05)
    assert jobs.progress(found).answer == {"release": "there"}


def test_a_demo_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of it would be taken for the whole the next time."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("sfumato.folder.disk.os.replace", full)
        with pytest.raises(SfumatoError, match=r"disk|space"):
            engine.demo(str(tmp_path))
    assert not list(tmp_path.iterdir())
    assert len(Path(engine.demo(str(tmp_path))["place"]).read_text().splitlines()) == 30_001


def test_a_strangers_release_is_text_on_its_page(custodian: Custodian, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, claims and problems come from whoever made the folder."""
    evil = '<script>alert(1)</script>"><img src=x onerror=alert(1)>\u202e'
    seen = {"name": evil, "status": evil, "mechanism": evil, "rows": 3, "epsilon": 1.0, "delta": 1e-6, "n_columns": 1}
    seen |= {"columns": [(evil, "categorical", False)], "files": [(evil, 3)], "load": {evil: evil}}

    async def look(*_: object) -> dict:
        return seen

    custodian.studio.worker.ask = look  # type: ignore[method-assign]
    job = Job("0" * 16, "receive", "", 1.0, 2, facts={"received": "1" * 16, "name": evil})
    (custodian.studio.state / "received" / ("1" * 16) / "release").mkdir(parents=True)
    custodian.studio.jobs.get = lambda _: job  # type: ignore[method-assign]
    custodian.studio.jobs.all = lambda: [job]  # type: ignore[method-assign]
    told = [evil]
    for is_ok in (True, False):
        found = {
            "ok": is_ok,
            "rebuilt": False,
            "claim": evil,
            "problems": told,
            "warnings": told,
            "checked": told,
            "declared": told,
        }
        monkeypatch.setattr(custodian.studio.jobs, "progress", lambda _, found=found: Progress("done", answer=found))
        for path in (f"/receive/{job.id}", "/receive"):
            text = custodian.get(path).text
            assert "alert(1)" in text
            for raw in ("<script>alert", "<img src=x", "\u202e"):
                assert raw not in text
