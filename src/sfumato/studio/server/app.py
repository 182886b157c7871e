"""The application: pages inside of the guard, and refusals that say nothing private."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from sfumato.errors import SfumatoError
from sfumato.studio.bodies import PIECE_SECONDS, BodyRefused, BoundedBodies
from sfumato.studio.context import BadForm, Studio
from sfumato.studio.guard import Guard
from sfumato.studio.pages import (
    checking,
    data,
    entering,
    ledger,
    methods,
    planning,
    receiving,
    releasing,
    results,
    schema,
)
from sfumato.studio.rendering import page, refusal

_PAGES = (entering, data, schema, checking, planning, releasing, results, ledger, receiving, methods)


def make_app(
    studio: Studio, *, hosts: Iterable[str], cookie: str = "sfumato_studio", piece_seconds: float = PIECE_SECONDS
) -> ASGIApp:
    """The application for requests to these hosts. It describes itself to nobody: there is no page of its interface."""

    @contextlib.asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        tidy = asyncio.create_task(studio.worker.keep_small())
        yield
        tidy.cancel()
        studio.worker.stop()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, lifespan=living)
    app.state.studio, app.state.cookie = studio, cookie
    for module in _PAGES:
        app.include_router(module.router)
    app.mount("/static", StaticFiles(directory=Path(__file__).parents[1] / "static"))
    app.add_exception_handler(HTTPException, _missing)
    app.add_exception_handler(BadForm, _bad_form)
    app.add_exception_handler(BodyRefused, _bad_body)
    app.add_exception_handler(SfumatoError, _refused)
    app.add_exception_handler(Exception, _unexpected)
    bounded = BoundedBodies(app, refuse=refusal, piece_seconds=piece_seconds)
    # Around all, the handler of what is unforeseen too: no answer leaves without its headers.
    return Guard(bounded, gate=studio.gate, hosts=hosts, cookie=cookie, refuse=refusal)


async def _missing(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return await refusal(request.scope, status, "missing")


async def _bad_form(request: Request, _: Exception) -> Response:
    return await refusal(request.scope, 403, "csrf")


async def _bad_body(request: Request, error: Exception) -> Response:
    status, why = (error.status, error.why) if isinstance(error, BodyRefused) else (413, "large")
    return await refusal(request.scope, status, why)


async def _refused(request: Request, error: Exception) -> Response:
    """A refusal of the package, in its own words."""
    return page(request, "refused.html", status=400, reason=str(error))


async def _unexpected(request: Request, _: Exception) -> Response:
    return await refusal(request.scope, 500, "unexpected")
