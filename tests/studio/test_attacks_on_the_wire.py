"""Attacks by bytes that no browser would send, on a studio behind a real socket; and the cookie that other servers must not get."""

import asyncio
import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
import uvicorn
from starlette.testclient import TestClient
from visitors import HOST, Custodian

from sfumato.studio.context import Studio
from sfumato.studio.server.app import make_app
from sfumato.studio.server.patience import ImpatientProtocol
from sfumato.studio.server.serving import bound


@contextlib.contextmanager
def served(studio: Studio) -> Iterator[tuple[str, uvicorn.Server]]:
    """The studio on a port of its own, with the settings of the command."""
    listening = bound("127.0.0.1", 0)
    host = f"127.0.0.1:{listening.getsockname()[1]}"
    app = make_app(studio, hosts={host})
    settings = uvicorn.Config(app, http=ImpatientProtocol, ws="none", log_level="critical", timeout_keep_alive=1)
    server = uvicorn.Server(settings)
    running = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    running.start()
    try:
        yield host, server
    finally:
        server.should_exit = True
        running.join()


def answered(host: str, said: bytes) -> bytes:
    """All that comes back until the connection ends."""
    with socket.create_connection(("127.0.0.1", int(host.rsplit(":", 1)[1])), timeout=10) as line:
        line.sendall(said)
        return b"".join(iter(lambda: line.recv(65536), b""))


def entered(host: str, studio: Studio) -> bytes:
    """The cookie of a browser that was let in."""
    path = f"{studio.gate.base}/enter?token={studio.gate.token}".encode()
    said = answered(host, b"GET " + path + b" HTTP/1.1\r\nhost: " + host.encode() + b"\r\nconnection: close\r\n\r\n")
    return re.search(rb"set-cookie: ([^;]+)", said)[1]


def statuses(said: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"HTTP/1.1 (\d{3})", said)]


def test_bytes_that_no_browser_sends(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImpatientProtocol, "head_seconds", 0.5)
    base = studio.gate.base.encode()
    with served(studio) as (host, _):
        cookie = entered(host, studio)
        port = host.rsplit(":", 1)[1].encode()
        let_in = b"cookie: " + cookie + b"\r\nconnection: close\r\n"

        def get(*heads: bytes, version: bytes = b"1.1") -> list[int]:
            head = b"".join(one + b"\r\n" for one in heads)
            return statuses(answered(host, b"GET " + base + b"/ HTTP/" + version + b"\r\n" + head + let_in + b"\r\n"))

        assert get(b"host: " + host.encode()) == [200]
        for name in (b"127.0.0.1.", b"localhost", b"[::1]", b"127.1", b"0.0.0.0", b"2130706433", b"evil.example"):
            assert get(b"host: " + name + b":" + port) == [421], name
        assert get(b"HOST: " + host.upper().encode()) == [200]  # letters of a name are the same, large or small
        assert get(version=b"1.0") == [421]  # an old request names no host
        assert get() == [400]
        assert get(b"host: " + host.encode(), b"host: evil.example") == [400]
        # A request inside of another one: whoever sits between would count bytes otherwise than we do.
        inner = b"POST " + base + b"/projects HTTP/1.1\r\nhost: " + host.encode() + b"\r\n\r\n"
        post = b"POST " + base + b"/projects HTTP/1.1\r\nhost: " + host.encode() + b"\r\n"
        both = post + b"transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n" + inner
        twice = post + b"content-length: 0\r\ncontent-length: %d\r\n\r\n" % len(inner) + inner
        for said in (both, twice, post + b"transfer-encoding: x, chunked\r\n\r\n0\r\n\r\n" + inner):
            assert all(status >= 400 for status in statuses(answered(host, said)))
        for said in (
            b"GET / HTTP/9.9\r\n\r\n",
            b"\x16\x03\x01\x02\x00\r\n\r\n",
            b"\n" * 70_000,
            b"GET " + b"/x" * 50_000,
        ):
            assert all(status >= 400 for status in statuses(answered(host, said)))
        assert get(b"host: " + host.encode(), b"accept-language: de\r\n x: y") in ([200], [400])
    assert not studio.projects.all()


def test_closed_tabs_and_hundreds_of_requests_leave_nothing_behind(studio: Studio) -> None:
    psutil = pytest.importorskip("psutil")
    with served(studio) as (host, server):
        let_in = b"host: " + host.encode() + b"\r\ncookie: " + entered(host, studio) + b"\r\n"
        get = b"GET " + studio.gate.base.encode() + b"/receive HTTP/1.1\r\n" + let_in
        answered(host, get + b"connection: close\r\n\r\n")
        here = psutil.Process()
        before = here.num_fds(), here.num_threads(), here.memory_info().rss
        for _ in range(100):  # a tab that is closed before its answer came
            with socket.create_connection(("127.0.0.1", int(host.rsplit(":", 1)[1]))) as line:
                line.sendall(get + b"\r\n")
        for _ in range(3):
            said = answered(host, (get + b"\r\n") * 99 + get + b"connection: close\r\n\r\n")
            assert statuses(said) == [200] * 100
        assert not server.server_state.connections
        assert here.num_fds() <= before[0] + 2
        assert here.num_threads() <= before[1] + 2
        assert here.memory_info().rss < before[2] + 20e6


def test_the_cookie_goes_to_no_other_port(studio: Studio, client: TestClient) -> None:
    """A browser sends a cookie to all ports of a host, so to another user's server too; but to its own path alone."""
    answer = client.get("/enter", params={"token": studio.gate.token}, follow_redirects=False)
    base = studio.gate.base
    assert f"path={base};" in f"{answer.headers['set-cookie'].lower()};".replace(base.lower(), base)
    assert len(base) >= 22  # 128 bits
    stranger = TestClient(client.app, base_url=f"http://{HOST}", cookies=dict(client.cookies))
    for path in ("/", "/enter", "/projects", "/p", base[:-1] + "/", base + "x/"):
        refused = stranger.get(path, params={"token": studio.gate.token})
        assert refused.status_code == 403, path
        assert base not in refused.text + str(refused.headers), path
        assert "set-cookie" not in refused.headers
    assert stranger.get("/static/studio.css").status_code == 200


def test_another_studio_gives_other_paths_cookies_and_secrets(studio: Studio, custodian: Custodian) -> None:
    other = type(studio.gate)()
    assert len({other.base, studio.gate.base, other.token, studio.gate.token}) == 4
    # Session fixation: a cookie that somebody else has set is never let in, and does not become one by entering.
    cookie = other.enter(other.token)
    assert studio.gate.session(cookie) is None


@pytest.mark.parametrize(
    "accepted", ["x" * 5000, "de\t;q=1,\x80", ",;=q", "../../etc/passwd", "de_DE.utf8@x", "en;q=" + "9" * 400]
)
def test_a_language_is_looked_up_and_never_repeated(custodian: Custodian, accepted: str) -> None:
    answer = custodian.get("/", headers={"accept-language": accepted.encode("latin-1")})
    assert answer.status_code == 200
    assert re.search(r'<html lang="(en|de)">', answer.text)
    assert accepted not in str(answer.headers)


def test_to_look_changes_nothing(custodian: Custodian) -> None:
    """Addresses that are only looked at, by a page that preloads them, say: what can be changed takes a form."""
    project = custodian.project()
    state = custodian.studio.state
    before = {path: path.read_bytes() for path in state.rglob("*") if path.is_file()}
    for step in ("data", "schema", "check", "plan", "release", "result", "schema.toml", "schema/column/0", "remove"):
        custodian.get(f"/p/{project.id}/{step}")
    for path in ("/", "/ledger", "/receive", "/methods", "/language", "/projects", "/ledger/add", "/receive/path"):
        custodian.get(path)
    assert {path: path.read_bytes() for path in state.rglob("*") if path.is_file()} == before
    assert not list(custodian.studio.folders.roots[0].iterdir())


def test_a_person_stays_on_the_page_in_another_language(custodian: Custodian) -> None:
    project = custodian.project()
    for path in ("/receive", f"/p/{project.id}/schema"):
        back = re.search(r'name="back" value="([^"]+)"', custodian.get(path).text)[1]
        assert custodian.post("/language", language="de", back=back).url.path == custodian.studio.gate.base + path
    refused = custodian.post(f"/p/{project.id}/schema/several", version=str(project.version), pattern="")
    assert f'name="back" value="/p/{project.id}/schema"' in refused.text


class Attributes(HTMLParser):
    """What HTMX would act on: attributes of elements."""

    def __init__(self) -> None:
        super().__init__()
        self.found, self.posts = set[str](), set[str | None]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {key for key, _ in attrs}
        self.posts |= {value for key, value in attrs if key == "hx-post"}


HTMX = [
    '" hx-get="/x',
    "x hx-on:load='alert(1)'",
    'data-hx-post="/projects"',
    "<b hx-vals='js:alert(1)'>",
    "/*</style>*/",
]


@pytest.mark.parametrize("name", HTMX)
def test_attributes_of_htmx_in_names_are_text(custodian: Custodian, name: str) -> None:
    column = {
        "name": name,
        "entry": {"type": "categorical", "categories": [name, "b"]},
        "kept": True,
        "why": "",
        "note": name,
    }
    project = custodian.project({"columns": [column], "dataset": {}, "privacy": {}, "rules": []}, place=name)
    project.name = name
    custodian.studio.projects.save(project)
    pages = ("/", *(f"/p/{project.id}/{step}" for step in ("data", "schema", "schema/column/0", "plan", "release")))
    for path in pages:
        text = custodian.get(path).text
        read = Attributes()
        read.feed(text)
        assert "hx-headers" in read.found
        assert not {key for key in read.found if key.startswith(("hx-on", "hx-vals", "data-hx"))}, path
        assert {value for value in read.posts if value} <= set(re.findall(r'hx-post="(/[\w/-]+)"', text))
        assert name not in re.sub(r'value="[^"]*"', "", text)
