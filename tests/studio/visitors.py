"""A studio without a server, a browser or a second process: requests go straight to the application."""

import re
from collections.abc import Callable
from typing import Any

from starlette.testclient import TestClient

from sfumato.studio.context import Studio
from sfumato.studio.projects import Project
from sfumato.studio.worker import Refused, Worker, _answer

HOST = "127.0.0.1:8471"
ORIGIN = {"origin": f"http://{HOST}"}


class SameProcess(Worker):
    """Answers here and now."""

    async def ask(self, function: Callable[..., Any], *given: Any) -> Any:
        kind, told, fields = _answer(function, given)
        if kind == "refused":
            raise Refused(told, fields)
        return told


class Custodian:
    """A browser that was let in."""

    def __init__(self, studio: Studio, client: TestClient) -> None:
        self.studio, self.client = studio, client
        assert client.get("/enter", params={"token": studio.gate.token}).status_code == 200
        self.csrf = re.search(r'name="csrf" value="([^"]+)"', client.get("/").text)[1]

    def get(self, path: str, **given: Any) -> Any:
        return self.client.get(path, **given)

    def post(self, path: str, *, files: Any = None, headers: Any = None, **fields: Any) -> Any:
        return self.client.post(
            path, data={"csrf": self.csrf, **fields}, files=files, headers={**ORIGIN, **(headers or {})}
        )

    def project(self, schema: dict[str, Any] | None = None, **source: Any) -> Project:
        """A project with a schema, made below the pages."""
        made = self.studio.projects.new("a test")
        place = {"kind": "file", "place": str(self.studio.folders.roots[0] / "rows.csv"), **source}
        self.studio.projects.change(made, schema or SCHEMA, seen=None, source=place)
        return made


SCHEMA = {
    "columns": [
        {"name": "age", "entry": {"type": "integer", "bounds": [0, 110]}, "kept": True, "why": "", "note": ""},
        {
            "name": "ward",
            "entry": {"type": "categorical", "categories": ["north", "south"]},
            "kept": True,
            "why": "",
            "note": "",
        },
        {"name": "id", "entry": {"type": "categorical"}, "kept": False, "why": "an identifier", "note": ""},
    ],
    "dataset": {"rows": 1000},
    "privacy": {},
    "rules": [],
}
