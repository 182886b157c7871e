"""What every request must pass before a page sees it: the right host, the right origin, and a session.

A page elsewhere on the web can make a browser ask this server, and can point a name of its own at 127.0.0.1. So the name
that was asked for and the page that asks are both looked at, before anything is read.
"""

import base64
import hashlib
from collections.abc import Awaitable, Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.studio.sessions import Gate


def _report_script() -> str:
    """The digest of the script that reports hold."""
    script = files("sfumato.present").joinpath("templates", "columns.js").read_bytes()
    return base64.b64encode(hashlib.sha256(script).digest()).decode()


#: Nothing but this server, no inline script or style, in no frame of others.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; "
    "frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
#: A page that somebody else may have written: no form, no request, an origin of its own.
#: One script may run in it: that of our own reports, which finds columns by name, known by its digest.
FOREIGN_POLICY = (
    f"sandbox allow-scripts; default-src 'none'; script-src 'sha256-{_report_script()}'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)
_ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with no-referrer a browser hides the origin of our own forms too
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_SAFE = ("GET", "HEAD")
#: Headers of an answer that name a page of ours.
_LEADING_ON = ("location", "hx-redirect")
_ELSEWHERE = ("cross-site", "same-site")

Refusal = Callable[[Scope, int, str], Awaitable[Response]]


class Guard:
    """Around all pages."""

    def __init__(self, app: ASGIApp, *, gate: Gate, hosts: Iterable[str], cookie: str, refuse: Refusal) -> None:
        self._app, self._gate, self._cookie, self._refuse = app, gate, cookie, refuse
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with a sentence."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no sockets of the web here
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        scope = _below(scope, self._gate.base)
        base = scope["state"]["base"]
        scope["state"]["session"] = self._gate.session(cookie_of(headers, self._cookie) if base else None)
        problem = self._problem(scope, headers)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                for name in _LEADING_ON:
                    if answered.get(name, "").startswith("/"):
                        answered[name] = f"{base}{answered[name]}"
                _protect(answered, is_static=scope["path"].startswith("/static/"))
            await send(message)

        app = self._app if problem is None else await self._refuse(scope, *problem)
        await app(scope, receive, guarded)

    def _problem(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        host = headers.get("host", "").lower()
        if host not in self._hosts or len(headers.getlist("host")) != 1:
            return 421, "host"
        if scope["method"] not in _SAFE and headers.get("origin") != f"http://{host}":
            return 403, "origin"
        navigates = headers.get("sec-fetch-mode") == "navigate" and scope["path"] == "/enter"
        if headers.get("sec-fetch-site") in _ELSEWHERE and not navigates:
            return 403, "origin"
        path = scope["path"]
        is_open = path.startswith("/static/") or (path == "/enter" and scope["state"]["base"])
        if scope["state"]["session"] is None and not is_open:
            return 403, "session"
        return None


def _below(scope: Scope, base: str) -> Scope:
    """The request as the pages see it, which do not know below which path they lie. Elsewhere `base` is empty, and told to nobody."""
    path: str = scope["path"]
    inside = path == base or path.startswith(f"{base}/")
    state = {**scope.get("state", {}), "base": base if inside else ""}
    return {**scope, "state": state, "path": (path.removeprefix(base) or "/") if inside else path}


def cookie_of(headers: Headers, name: str) -> str | None:
    """The value of a cookie, if there is one that can be read."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return None
    return None if found is None else found.value


def _protect(headers: MutableHeaders, *, is_static: bool) -> None:
    """Headers that every answer has. What a custodian sees is kept nowhere."""
    for name, value in _ALWAYS.items():
        headers[name] = value
    headers.setdefault("content-security-policy", POLICY)
    if headers["content-security-policy"] == POLICY:
        headers["x-frame-options"] = "DENY"
    headers["cache-control"] = "private, max-age=3600" if is_static else "no-store"
