"""The studio's libraries are an extra: without them its tests are skipped, and say so."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the studio's libraries are not installed: pip install 'sfumato[studio]'")
pytest.importorskip("httpx", reason="httpx, which tests the studio, is not installed: pip install 'sfumato[dev]'")

from starlette.testclient import TestClient
from visitors import HOST, Custodian, SameProcess

from sfumato.studio.context import Studio
from sfumato.studio.folders import Folders
from sfumato.studio.jobs import Jobs
from sfumato.studio.projects import Projects
from sfumato.studio.received import Received
from sfumato.studio.server.app import make_app
from sfumato.studio.sessions import Gate


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    root = tmp_path / "data"
    root.mkdir()
    state = tmp_path / "state"
    parts = Projects(state / "projects"), Jobs(state / "jobs"), Received(state / "received")
    return Studio(Gate(), Folders([root]), state, *parts, SameProcess(), f"sqlite:///{root}/ledger.db")


@pytest.fixture
def client(studio: Studio) -> Iterator[TestClient]:
    app = make_app(studio, hosts=[HOST])
    with TestClient(app, base_url=f"http://{HOST}{studio.gate.base}", raise_server_exceptions=False) as made:
        yield made


@pytest.fixture
def custodian(studio: Studio, client: TestClient) -> Custodian:
    return Custodian(studio, client)
