"""Attacks on the server, each with what must become of it. docs/research/studio-attacks.md lists them by these names."""

import asyncio
import logging
import os
import re
import stat
import time
from pathlib import Path

import pytest
from starlette.routing import Mount
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from visitors import HOST, ORIGIN, SCHEMA, Custodian

from sfumato.present.pages import _environment
from sfumato.studio.bodies import FORM_BYTES, BoundedBodies
from sfumato.studio.guard import FOREIGN_POLICY, POLICY
from sfumato.studio.rendering import refusal
from sfumato.studio.server.app import make_app
from sfumato.studio.sessions import SESSION_SECONDS, Gate

SECRET = "Grace-Hopper-1906"


def render_script_hash() -> str:
    """The digest that reports themselves allow."""
    return f"'{_environment().globals['columns_script_hash']}'"


def routes(client: TestClient) -> list[tuple[str, str]]:
    """Every method and path of the application, with the numbers of nobody in the path."""
    found, application = [], client.app._app._app
    waiting = list(application.router.routes)
    while waiting:
        route = waiting.pop()
        if isinstance(route, Mount):
            continue
        inner = getattr(route, "original_router", None)
        if inner is not None:
            waiting += inner.routes
            continue
        path = route.path.format(project_id="0" * 16, job_id="0" * 16, at=0, kind="release.py")
        found += [(method, path) for method in route.methods - {"HEAD"}]
    return found


def test_every_page_but_the_entrance_needs_a_session(client: TestClient) -> None:
    listed = routes(client)
    assert len(listed) > 30
    for method, path in listed:
        if path != "/enter":
            assert client.request(method, path, headers=ORIGIN).status_code == 403, path


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:8472", "localhost.evil.example:8471", ""])
def test_a_name_that_was_pointed_here_is_refused(custodian: Custodian, host: str) -> None:
    answer = custodian.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert custodian.csrf not in answer.text


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", f"https://{HOST}", "http://127.0.0.1:1", "file://"]
)
def test_a_form_of_another_page_changes_nothing(custodian: Custodian, origin: str | None) -> None:
    headers = {} if origin is None else {"origin": origin}
    fields = {"csrf": custodian.csrf, "name": "theirs"}
    assert custodian.client.post("/projects", data=fields, headers=headers).status_code == 403
    assert not custodian.studio.projects.all()


def test_no_form_is_carried_out_without_its_secret(custodian: Custodian) -> None:
    posts = [path for method, path in routes(custodian.client) if method == "POST"]
    project = custodian.project()
    assert len(posts) > 15
    for path in posts:
        real = path.replace("0" * 16, project.id, 1)
        for wrong in ({}, {"csrf": "guess"}, {"csrf": ""}):
            answer = custodian.client.post(real, data=wrong, headers=ORIGIN)
            assert answer.status_code in (403, 404), path
    assert custodian.studio.projects.get(project.id) == project
    assert not custodian.studio.jobs.all()


def test_a_page_elsewhere_cannot_fetch_or_embed_ours(custodian: Custodian) -> None:
    for site in ("cross-site", "same-site"):
        for mode in ("cors", "no-cors", "navigate"):
            headers = {"sec-fetch-site": site, "sec-fetch-mode": mode}
            assert custodian.get("/", headers=headers).status_code == 403
    answer = custodian.get("/")
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_a_token_works_once_and_guesses_never(custodian: Custodian, client: TestClient) -> None:
    token = custodian.studio.gate.token
    assert len(token) >= 43  # 256 bits
    other = TestClient(client.app, base_url=client.base_url)
    for guess in (token, token[:-1], token.swapcase(), "", "ü" * 43):
        answer = other.get("/enter", params={"token": guess})
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
    assert custodian.get("/enter", params={"token": token}).status_code == 200  # who is in already is led on


def test_the_cookie_is_for_this_server_alone(studio, client: TestClient) -> None:
    answer = client.get("/enter", params={"token": studio.gate.token}, follow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert studio.gate.token not in cookie
    assert studio.gate.token not in answer.text


def test_a_cookie_of_yesterday_is_none(studio) -> None:
    now = 0.0
    gate = Gate(clock=lambda: now)
    cookie = gate.enter(gate.token)
    assert gate.session(cookie) is not None
    assert gate.session(cookie + "x") is None
    now = SESSION_SECONDS + 1
    assert gate.session(cookie) is None


def test_a_cookie_of_another_studio_is_a_sentence(client: TestClient) -> None:
    for value in (b"x" * 43, b'"', b"a=b; c", b"\xfc", b""):
        answer = client.get("/", headers={b"cookie": b"sfumato_studio=" + value})
        assert answer.status_code == 403
        assert "sfumato studio" in answer.text


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'};alert(1)//",
    "{{ 7 * 7 }}",
    "</textarea><svg onload=alert(1)>",
    "a\u202eb\u2066c\x00d\x1b[31m",
    "javascript:alert(1)",
    "x" * 10_000,
]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_of_strangers_are_text_and_nothing_else(custodian: Custodian, name: str) -> None:
    entry = {"type": "categorical", "categories": [name, "other"]}
    column = {"name": name, "entry": entry, "kept": True, "why": name, "note": name}
    project = custodian.project({**SCHEMA, "columns": [column]}, place=name)
    project.name = name
    custodian.studio.projects.save(project)
    custodian.post(f"/p/{project.id}/plan", epsilon="1", dataset=name)
    for path in (
        "/",
        *(f"/p/{project.id}/{step}" for step in ("data", "schema", "schema/column/0", "check", "plan", "release")),
    ):
        answer = custodian.get(path)
        assert answer.status_code == 200, path
        for raw in ("<script>alert", "<img src=x", "<svg onload"):
            assert raw not in answer.text, path
        # What a field holds goes back as it came, and turns nothing outside of the field.
        seen = re.sub(r'value="[^"]*"|<textarea.*?</textarea>', "", answer.text, flags=re.S)
        for raw in ("\u202e", "\u2066", "\x00", "\x1b"):
            assert raw not in seen, path
        assert ">49<" not in answer.text
        assert len(answer.text) < 100_000


def test_no_page_has_a_script_or_a_style_of_its_own(custodian: Custodian) -> None:
    project = custodian.project()
    for path in (
        "/",
        "/ledger",
        "/receive",
        "/methods",
        *(f"/p/{project.id}/{s}" for s in ("data", "schema", "check", "plan", "release")),
    ):
        answer = custodian.get(path)
        assert answer.headers["content-security-policy"] == POLICY, path
        text = answer.text.lower()
        assert "<style" not in text
        assert " style=" not in text
        assert " onclick" not in text
        assert "//" not in text.replace("postgresql://", "").replace("sqlite:///", "").replace(
            "http://www.w3.org", ""
        ), path
        assert text.count("<script") == text.count(f'<script src="{custodian.studio.gate.base.lower()}/static/')
    assert "unsafe" not in POLICY


OUTSIDE = [
    "../secret.csv",
    "/etc/passwd",
    "~/.ssh/id_rsa",
    "link.csv",
    "folder-link/secret.csv",
    "a/../../secret.csv",
    "\0",
    "x" * 5000,
]


@pytest.mark.parametrize("path", OUTSIDE, ids=range(len(OUTSIDE)))
def test_nothing_outside_of_the_allowed_folders_is_reached(custodian: Custodian, path: str, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text(f"{SECRET},b\n1,2\n")
    (tmp_path / "data" / "link.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "data" / "folder-link").symlink_to(tmp_path)
    project = custodian.project()
    posts = [(f"/p/{project.id}/data", "place"), (f"/p/{project.id}/browse", "folder"), ("/receive/path", "place")]
    posts += [(f"/p/{project.id}/schema/import", "place")]
    project.chosen = {"epsilon": 1.0}
    custodian.studio.projects.save(project)
    posts += [(f"/p/{project.id}/release", field) for field in ("folder", "sign", "passphrase_file")]
    for address, field in posts:
        answer = custodian.post(address, **{field: path, "version": str(project.version), "name": "out"})
        assert answer.status_code == 422, address
        assert SECRET not in answer.text
    assert "secret.csv" not in custodian.post(f"/p/{project.id}/browse", folder="").text
    assert not custodian.studio.jobs.all()


@pytest.mark.parametrize("name", ["../out", "a/b", "/tmp/out", "..", ".hidden", "", "x" * 300, "a\nb", "-rf"])
def test_a_release_goes_where_it_may(custodian: Custodian, name: str) -> None:
    project = custodian.project()
    project.chosen = {"epsilon": 1.0}
    custodian.studio.projects.save(project)
    assert custodian.post(f"/p/{project.id}/release", name=name).status_code == 422
    assert not custodian.studio.jobs.all()


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/p/../../x/data", "/p/%00/data"]
)
def test_addresses_lead_to_pages_alone(custodian: Custodian, path: str) -> None:
    # A path that leaves the one of this studio is somebody else's: who asks for it has no session there.
    assert custodian.get(path).status_code == (403 if path.startswith("/p/..") else 404)


def test_a_large_body_is_refused(custodian: Custodian) -> None:
    answer = custodian.post("/projects", name="x" * (FORM_BYTES + 1))
    assert answer.status_code == 413

    def endless():
        for _ in range(FORM_BYTES // 65536 + 2):
            yield b"x" * 65536

    headers = {**ORIGIN, "content-type": "application/x-www-form-urlencoded"}
    assert custodian.client.post("/projects", content=endless(), headers=headers).status_code == 413
    lied = {**headers, "content-length": "-1"}
    assert custodian.client.post("/projects", content=b"", headers=lied).status_code == 413
    assert not custodian.studio.projects.all()
    assert custodian.get("/").status_code == 200


def test_a_slow_body_is_cut_off() -> None:
    sent: list[dict] = []

    async def application(scope, receive, send) -> None:
        while (await receive()).get("more_body"):
            pass

    async def drip() -> dict:
        await asyncio.sleep(0 if not drip.calls else 3600)
        drip.calls += 1
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def keep(message) -> None:
        sent.append(message)

    drip.calls = 0
    scope = {"type": "http", "method": "POST", "path": "/projects", "headers": [], "state": {"session": None}}
    before = time.monotonic()
    asyncio.run(BoundedBodies(application, refuse=refusal, piece_seconds=0.1)(scope, drip, keep))
    assert sent[0]["status"] == 408
    assert time.monotonic() - before < 5


def test_many_fields_and_files_are_refused(custodian: Custodian) -> None:
    fields = {f"f{at}": "x" for at in range(3000)}
    assert custodian.post("/projects", **fields).status_code == 403
    files = [("zip", (f"{at}.zip", b"")) for at in range(60)]
    assert custodian.post("/receive/upload", files=files).status_code == 403


def test_a_broken_multipart_body_is_a_sentence(custodian: Custodian) -> None:
    for kind in ("multipart/form-data", "multipart/form-data; boundary=x", "application/json"):
        answer = custodian.client.post(
            "/receive/upload", content=b"--y\r\nnonsense", headers={**ORIGIN, "content-type": kind}
        )
        assert answer.status_code == 403


def test_custodians_pages_are_kept_nowhere(custodian: Custodian) -> None:
    project = custodian.project()
    for path in (
        "/",
        "/nowhere",
        *(f"/p/{project.id}/{step}" for step in ("data", "schema", "schema.toml", "check", "plan")),
    ):
        assert custodian.get(path).headers["cache-control"] == "no-store", path
    assert "no-store" not in custodian.get("/static/studio.css").headers["cache-control"]


def test_what_is_unforeseen_says_nothing(custodian: Custodian, monkeypatch, caplog, capfd) -> None:
    def broken(*_: object) -> None:
        raise ValueError(SECRET)

    monkeypatch.setattr(type(custodian.studio.projects), "all", broken)
    with caplog.at_level(logging.DEBUG):
        answer = custodian.get("/")
    assert answer.status_code == 500
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-security-policy"] == POLICY
    out, err = capfd.readouterr()
    for text in (answer.text, caplog.text, out, err):
        assert SECRET not in text


def test_a_report_of_a_stranger_is_in_a_cage(custodian: Custodian, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "theirs"
    folder.mkdir()
    (folder / "report.html").write_text("<script>alert(1)</script>")
    job = type("Job", (), {"facts": {"path": str(folder)}, "kind": "receive", "id": "0" * 16})()
    custodian.studio.jobs.get = lambda _: job  # type: ignore[method-assign]
    answer = custodian.get(f"/receive/{'0' * 16}/report")
    policy = answer.headers["content-security-policy"]
    assert policy == FOREIGN_POLICY
    assert policy.startswith("sandbox allow-scripts; default-src 'none'; script-src 'sha256-")
    assert "allow-same-origin" not in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert policy.split("script-src ")[1].split(";")[0] in render_script_hash()
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to("/etc/passwd")
    assert custodian.get(f"/receive/{'0' * 16}/report").status_code == 404


def test_files_of_the_studio_are_its_owners(custodian: Custodian) -> None:
    project = custodian.project()
    folder = custodian.studio.projects.folder(project)
    for path in (folder, *folder.iterdir()):
        assert not path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO), path


def test_a_link_back_leads_nowhere_else(custodian: Custodian) -> None:
    for back in (
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "/x\r\nset-cookie: a=b",
    ):
        answer = custodian.client.post(
            "/language",
            data={"csrf": custodian.csrf, "language": "en", "back": back},
            headers=ORIGIN,
            follow_redirects=False,
        )
        assert answer.headers["location"] == f"{custodian.studio.gate.base}/"


def test_no_password_of_a_database_is_kept(custodian: Custodian) -> None:
    project = custodian.project()
    answer = custodian.post(f"/p/{project.id}/data", place=f"postgresql://me:{SECRET}@localhost/x", table="t")
    assert answer.status_code == 422
    kept = [
        path for path in custodian.studio.state.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()
    ]
    assert not kept


@pytest.mark.parametrize(
    "place", ["http://169.254.169.254/latest", "file:///etc/passwd", "s3://bucket/x.csv", "gopher://x"]
)
def test_the_server_asks_no_other_server(custodian: Custodian, place: str) -> None:
    assert custodian.post(f"/p/{custodian.project().id}/data", place=place).status_code == 422


def test_a_websocket_is_closed(custodian: Custodian) -> None:
    with pytest.raises(WebSocketDisconnect) as closed, custodian.client.websocket_connect("/"):
        pass
    assert closed.value.code == 1008


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_do_nothing(custodian: Custodian, method: str) -> None:
    assert custodian.client.request(method, "/projects", headers=ORIGIN).status_code in (404, 405)
    assert custodian.client.request(method, "/projects").status_code == 403


def test_there_is_no_page_that_describes_the_interface(custodian: Custodian) -> None:
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert custodian.get(path).status_code == 404


def test_what_a_job_is_asked_stands_in_no_command_line(custodian: Custodian) -> None:
    job = custodian.studio.jobs.start("verify", ["verify", f"/nowhere/{SECRET}"])
    found = Path(f"/proc/{job.pid}/cmdline")
    if not found.exists():
        pytest.skip("this machine has no /proc")
    assert SECRET.encode() not in found.read_bytes()
    custodian.studio.jobs.cancel(job)
    custodian.studio.jobs.cancel(job)


def test_links_in_a_temporary_folder_are_not_followed_to_write(custodian: Custodian, tmp_path: Path) -> None:
    """A file that is written beside its place has a name that nobody can guess, and is never a link."""
    project = custodian.project()
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    target = custodian.studio.projects.folder(project) / "project.json"
    target.unlink()
    os.symlink(victim, target)
    custodian.studio.projects.save(project)
    assert victim.read_text() == "untouched"
    assert not target.is_symlink()


def test_the_guard_is_what_refuses(custodian: Custodian) -> None:
    """The broken twin: without the guard the same request of another page would be answered."""
    application = make_app(custodian.studio, hosts=[HOST])._app  # type: ignore[attr-defined]
    with pytest.raises(AttributeError), TestClient(application, base_url="http://evil.example") as bare:
        bare.post("/projects", data={"csrf": custodian.csrf})  # it gets as far as the form, which asks for a session
