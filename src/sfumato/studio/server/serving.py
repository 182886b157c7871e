"""The server itself: bound to this machine, opened by a one-time address, silent about what it serves."""

import contextlib
import ipaddress
import os
import secrets
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import uvicorn

from sfumato.errors import SfumatoError
from sfumato.studio.context import Studio
from sfumato.studio.server.app import make_app
from sfumato.studio.server.patience import ImpatientProtocol

#: Connections at once: a browser has six.
MOST_CONNECTIONS = 100
_OPENING = """<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}"><title>sfumato studio</title>
<p><a href="{address}">sfumato studio</a></p>
"""


def state_folder() -> Path:
    """Where projects are kept: $XDG_STATE_HOME, or the usual place for it."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "sfumato" / "studio"


def bound(host: str, port: int) -> socket.socket:
    """The socket; refused with a sentence where somebody else has the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(64)
    except (OSError, OverflowError):
        made.close()
        raise SfumatoError(
            f"{host}:{port} cannot be used: another studio runs there, perhaps. Open that one, or choose another port: "
            "sfumato studio --port 0"
        ) from None
    return made


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(studio: Studio, *, host: str, port: int, browser: bool, say: Callable[[str], None]) -> None:
    """Serve until somebody ends it. `say` is told the address, which holds the token: for the terminal, and for no log."""
    listening = bound(host, port)
    name = f"[{host}]" if ":" in host else host
    place = f"{name}:{listening.getsockname()[1]}"
    hosts = {place, *((f"localhost:{listening.getsockname()[1]}",) if is_loopback(host) else ())}
    app = make_app(studio, hosts=hosts, cookie=f"sfumato_studio_{listening.getsockname()[1]}")
    address = f"http://{place}{studio.gate.base}/enter?token={quote(studio.gate.token)}"
    say(address)
    opening = _open(studio.state, address) if browser else None
    settings = uvicorn.Config(
        app,
        http=ImpatientProtocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="critical",  # an unforeseen message may quote a private value
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=2,
        server_header=False,
        date_header=True,
        proxy_headers=False,
    )
    try:
        with contextlib.suppress(KeyboardInterrupt):  # this is how a studio ends
            uvicorn.Server(settings).run(sockets=[listening])
    finally:
        if opening is not None:
            opening.unlink(missing_ok=True)


def _open(folder: Path, address: str) -> Path:
    """Open the address by way of a file that only its owner can read: other users see the command lines of browsers."""
    path = folder / f"open-{secrets.token_hex(4)}.html"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(_OPENING.format(address=address))
    webbrowser.open(path.as_uri())
    return path
