"""The way, page by page, without a browser; and what goes wrong on it."""

import ast
import json
import shlex
import socket
import sqlite3
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner
from visitors import SCHEMA, Custodian

from sfumato.cli import app
from sfumato.errors import SfumatoError
from sfumato.studio import projects as project_files
from sfumato.studio.jobs import Job, Progress
from sfumato.studio.pages.planning import EPSILONS, read_chosen
from sfumato.studio.server.serving import bound, is_loopback
from sfumato.studio.taking_away import arguments, command, notebook, script


@pytest.fixture
def rows(custodian: Custodian) -> Path:
    path = custodian.studio.folders.roots[0] / "rows.csv"
    rng = np.random.default_rng(0)
    pd.DataFrame(
        {"age": rng.integers(0, 90, 300), "ward": rng.choice(["north", "south"], 300), "id": range(300)}
    ).to_csv(path, index=False)
    return path


def test_a_file_becomes_a_draft_and_no_row_is_read(custodian: Custodian, rows: Path) -> None:
    project = custodian.studio.projects.new("x")
    listing = custodian.post(f"/p/{project.id}/browse", folder="").text
    assert "rows.csv" in listing
    answer = custodian.post(f"/p/{project.id}/data", place=str(rows))
    assert answer.url.path.endswith("/schema")
    found = custodian.studio.projects.schema(custodian.studio.projects.get(project.id))
    assert [one["name"] for one in found["columns"]] == ["age", "ward", "id"]
    assert "south" not in json.dumps(found)


def test_a_first_line_that_may_be_a_row_is_asked_about(custodian: Custodian) -> None:
    path = custodian.studio.folders.roots[0] / "bare.csv"
    path.write_text("41,north\n52,south\n")
    project = custodian.studio.projects.new("x")
    answer = custodian.post(f"/p/{project.id}/data", place=str(path))
    assert answer.status_code == 422
    assert "go on" in answer.text
    assert "north" not in answer.text
    assert custodian.post(f"/p/{project.id}/data", place=str(path), header="yes").url.path.endswith("/schema")


def test_a_table_of_a_database_becomes_a_draft(custodian: Custodian) -> None:
    path = custodian.studio.folders.roots[0] / "clinic.db"
    with sqlite3.connect(path) as database:
        database.execute("create table visits (age integer, ward text)")
        database.execute("insert into visits values (41, 'secret ward')")
    project = custodian.studio.projects.new("x")
    assert custodian.post(f"/p/{project.id}/data", place=str(path)).status_code == 422  # which rows of it?
    answer = custodian.post(f"/p/{project.id}/data", place=str(path), table="visits")
    assert answer.url.path.endswith("/schema")
    kept = custodian.studio.projects.get(project.id)
    assert [one["name"] for one in custodian.studio.projects.schema(kept)["columns"]] == ["age", "ward"]
    assert kept.source["table"] == "visits"
    assert "secret ward" not in answer.text


@pytest.mark.parametrize("place", ["nowhere.csv", ""])
def test_what_cannot_be_read_is_a_sentence(custodian: Custodian, place: str) -> None:
    project = custodian.studio.projects.new("x")
    answer = custodian.post(f"/p/{project.id}/data", place=place)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text


def test_the_plan_tells_odds_noise_and_what_is_left(custodian: Custodian) -> None:
    project = custodian.project()
    assert custodian.post("/ledger/add", name="patients", epsilon="3", delta="").status_code == 200
    answer = custodian.post(f"/p/{project.id}/plan", epsilon="1", dataset="patients", method="independent-histograms")
    assert answer.status_code == 200
    for words in ("2.718", "73%", "independent-histograms", "This release costs mu", "<bdi>age</bdi>"):
        assert words in answer.text, words
    less = custodian.post(f"/p/{project.id}/plan", epsilon="0,1", method="independent-histograms").text
    assert "1.105" in less
    spent = custodian.post(
        f"/p/{project.id}/plan", epsilon="5", dataset="patients", method="independent-histograms"
    ).text
    assert 'class="fault"' in spent
    assert "patients" in custodian.get("/ledger").text


@pytest.mark.parametrize(
    "fields", [{"epsilon": "0"}, {"epsilon": "much"}, {"epsilon": "1e999"}, {"epsilon": "1", "delta": "2"}]
)
def test_a_budget_that_is_none_is_told_beside_its_field(custodian: Custodian, fields: dict[str, str]) -> None:
    project = custodian.project()
    answer = custodian.post(f"/p/{project.id}/plan", **fields)
    assert answer.status_code == 422
    assert read_chosen(fields)[1]
    assert "epsilon" not in custodian.studio.projects.get(project.id).chosen or "delta" in fields


def test_a_schema_with_faults_is_mended_where_it_is_wrong(custodian: Custodian) -> None:
    project = custodian.project({**SCHEMA, "dataset": {"target": "nowhere"}})
    assert custodian.post(f"/p/{project.id}/plan", epsilon="1").status_code == 422
    assert "nowhere" in custodian.get(f"/p/{project.id}/schema").text


def test_every_stop_of_the_slider_is_a_budget() -> None:
    assert list(EPSILONS) == sorted(EPSILONS)
    assert not any(read_chosen({"epsilon": str(epsilon)})[1] for epsilon in EPSILONS)


def wait(custodian: Custodian, kind: str) -> tuple[Job, Progress]:
    (job,) = [job for job in custodian.studio.jobs.all() if job.kind == kind]
    for _ in range(600):
        if (progress := custodian.studio.jobs.progress(job)).is_over:
            return job, progress
        time.sleep(0.1)
    raise AssertionError("the job did not end")


def test_a_file_that_disappears_is_a_sentence_and_leaves_nothing(custodian: Custodian, rows: Path) -> None:
    project = custodian.project()
    project.chosen = {"epsilon": 1.0, "method": "independent-histograms"}
    custodian.studio.projects.save(project)
    rows.unlink()
    assert custodian.post(f"/p/{project.id}/release", name="out").url.path.endswith("/release")
    job, progress = wait(custodian, "release")
    assert progress.state == "refused"
    assert "rows.csv" in progress.sentence
    assert not Path(job.target).exists()
    page = custodian.get(f"/p/{project.id}/release").text
    assert "Start again" in page
    assert custodian.get(f"/p/{project.id}/result").status_code == 200


def test_a_full_disk_is_a_sentence_and_changes_nothing(custodian: Custodian, monkeypatch: pytest.MonkeyPatch) -> None:
    project = custodian.project()

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(project_files.os, "open", full)
    answer = custodian.post(f"/p/{project.id}/schema/column/0", version=str(project.version), kept="no")
    monkeypatch.undo()
    assert answer.status_code == 400
    assert "No space left on device" in answer.text
    assert custodian.studio.projects.get(project.id).version == project.version
    assert custodian.get(f"/p/{project.id}/schema").status_code == 200


def test_a_second_studio_on_the_same_port_is_a_sentence(tmp_path: Path) -> None:
    with bound("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SfumatoError, match="another studio"):
            bound("127.0.0.1", port)
        told = CliRunner().invoke(
            app, ["studio", str(tmp_path), "--port", str(port), "--no-browser", "--state", str(tmp_path / "s")]
        )
    assert told.exit_code == 1


def test_only_this_machine_is_listened_to_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("example.org")
    monkeypatch.setattr("sfumato.studio.server.serving.serve", lambda *_, **__: None)
    for host, warned in (("127.0.0.1", False), ("0.0.0.0", True)):
        told = CliRunner().invoke(app, ["studio", str(tmp_path), "--host", host, "--state", str(tmp_path / "s")])
        assert told.exit_code == 0, told.output
        assert ("other machines" in " ".join(told.stderr.split())) == warned
    assert CliRunner().invoke(app, ["studio", str(tmp_path / "nowhere")]).exit_code == 1


def test_a_connection_that_sends_nothing_whole_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    import uvicorn

    from sfumato.studio.server.patience import ImpatientProtocol

    monkeypatch.setattr(ImpatientProtocol, "head_seconds", 0.3)

    async def application(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def story(listening: socket.socket) -> tuple[bytes, bytes, float]:
        settings = uvicorn.Config(application, http=ImpatientProtocol, lifespan="off", log_level="critical")
        server = uvicorn.Server(settings)
        running = asyncio.create_task(server.serve(sockets=[listening]))
        before = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", listening.getsockname()[1])
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nx-slow: ")
        slow = await asyncio.wait_for(reader.read(), 10)  # until it is closed
        took = time.monotonic() - before
        reader, writer = await asyncio.open_connection("127.0.0.1", listening.getsockname()[1])
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        whole = await asyncio.wait_for(reader.read(), 10)
        server.should_exit = True
        await running
        return slow, whole, took

    slow, whole, took = asyncio.run(story(bound("127.0.0.1", 0)))
    assert slow == b""
    assert whole.endswith(b"ok")
    assert took < 8


SOURCE = {"kind": "file", "place": "/data/my rows.csv", "table": "", "sql": ""}
CHOSEN = {"epsilon": 1.5, "delta": 1e-7, "method": "auto", "rows": "500", "dataset": "p", "recipient": "o'neil"}


def test_what_is_taken_away_is_the_same_release() -> None:
    where = {"schema": "schema.toml", "out": "/data/out", "ledger": "sqlite:///l.db"}
    line = shlex.split(command(arguments(SOURCE, CHOSEN, **where)))
    assert line[:3] == ["sfumato", "release", "/data/my rows.csv"]
    assert "--recipient=o'neil" in line
    assert "--epsilon=1.5" in line
    ast.parse(script(SOURCE, CHOSEN, **where))
    told = json.loads(notebook(SOURCE, CHOSEN, **where))
    assert told["nbformat"] == 4
    ast.parse("\n".join(cell["source"] for cell in told["cells"]))
    query = {**SOURCE, "place": "clinic.db", "sql": "select * from t"}
    assert "--query=select * from t" in arguments(query, CHOSEN, **where)
    assert "sf.Query('clinic.db', sql='select * from t')" in script(query, CHOSEN, **where)


def test_help_does_not_import_the_studio() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from typer.testing import CliRunner; from sfumato.cli import app; told = CliRunner().invoke(app, ['--help']); "
        "print('studio' in told.output, 'fastapi' in sys.modules, 'babel' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert told == ["True", "False", "False"]


def test_the_server_imports_no_mathematics() -> None:
    import subprocess
    import sys

    code = (
        "import sys, sfumato.cli.commands.studio_command, sfumato.studio.server.serving; "
        "print([name for name in ('numpy', 'pandas', 'scipy', 'pyarrow', 'sqlalchemy') if name in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_a_project_is_removed_with_its_jobs_and_releases_stay(custodian: Custodian) -> None:
    project = custodian.project()
    kept = custodian.studio.folders.roots[0] / "released"
    kept.mkdir()
    custodian.post(f"/p/{project.id}/remove")
    assert custodian.studio.projects.all() == []
    assert kept.exists()
    assert custodian.get(f"/p/{project.id}/schema").status_code == 404
