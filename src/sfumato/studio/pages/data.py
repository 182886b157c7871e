"""Data: where the rows lie. Nothing is uploaded, and no row is read: a path is noted, and the names of columns are looked up."""

from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.errors import SfumatoError, SourceError
from sfumato.studio import editing, engine
from sfumato.studio.context import Form, Here, Of, Studio, texts
from sfumato.studio.projects import Project
from sfumato.studio.rendering import page
from sfumato.studio.texts import mark

router = APIRouter()
#: A refusal that the page answers with a question: is the first line one of names?
_HEADER = "does not look like column names"
_POSTGRES = ("postgresql://", "postgres://")


@router.get("/p/{project_id}/data")
async def show(request: Request, here: Here, project: Of) -> Response:
    """What is chosen, and what can be."""
    return await _page(request, here, project, {})


@router.post("/p/{project_id}/browse")
async def browse(request: Request, here: Here, project: Of, form: Form) -> Response:
    """What a folder holds. It is asked for by a form, so that no path stands in an address."""
    try:
        listing = await run_in_threadpool(here.folders.listing, texts(form).get("folder", ""))
    except SourceError as error:
        return page(request, "_refused.html", reason=str(error), status=422)
    return page(request, "_listing.html", listing=listing, project=project)


@router.post("/p/{project_id}/data")
async def choose(request: Request, here: Here, project: Of, form: Form) -> Response:
    """Take a source, draft a schema from its names and types, and go on to it."""
    given = texts(form)
    try:
        source = _source(here, given)
        if given.get("schema", "").strip():
            text = await here.worker.ask(engine.imported, str(here.folders.inside(given["schema"])))
            drafted = {**editing.from_toml(text), "shown": "its schema.toml"}
        else:
            drafted = await here.worker.ask(engine.draft, source, given.get("header") == "yes")
    except SfumatoError as error:
        return await _page(request, here, project, given, error=str(error), status=422)
    source["shown"] = drafted.pop("shown")
    return _take(here, project, source, drafted)


@router.post("/p/{project_id}/demo")
async def demo(here: Here, project: Of, form: Form) -> Response:
    """Made-up people, with a schema that is complete."""
    drafted = await here.worker.ask(engine.demo, str(here.projects.folder(project)))
    source = {"kind": "demo", "place": drafted.pop("place"), "shown": ""}
    return _take(here, project, source, drafted)


def _take(here: Studio, project: Project, source: dict[str, Any], drafted: dict[str, Any]) -> Response:
    here.projects.change(project, drafted, seen=None, source=source)
    return RedirectResponse(f"/p/{project.id}/schema", status_code=303)


def _source(here: Studio, given: dict[str, str]) -> dict[str, Any]:
    place = given.get("place", "").strip()
    table, sql = given.get("table", "").strip(), given.get("sql", "").strip()
    if place.lower().startswith(_POSTGRES):
        if urlsplit(place).password:
            raise SourceError(
                mark(
                    "the address holds a password, which would be kept in a file. Write it to ~/.pgpass, and leave it out here."
                )
            )
        return {"kind": "database", "place": place, "table": table, "sql": sql}
    if "://" in place and not place.lower().startswith(("sqlite:///", "duckdb:///")):
        raise SourceError(
            mark(
                "the studio reads files of this machine and databases. For other addresses use the command line: sfumato release"
            )
        )
    path = here.folders.inside(place.removeprefix("sqlite:///").removeprefix("duckdb:///"))
    if not path.exists():
        raise SourceError(mark("there is no such file or folder. Choose one from the list, or correct the path."))
    if not path.is_dir() and not path.is_file():
        raise SourceError(mark("this is neither a file nor a folder, but a pipe or a device. Choose another one."))
    kind = "folder" if path.is_dir() else "database" if table or sql else "file"
    return {"kind": kind, "place": str(path), "table": table, "sql": sql}


async def _page(
    request: Request, here: Studio, project: Project, given: dict[str, str], *, error: str = "", status: int = 200
) -> Response:
    listing = await run_in_threadpool(here.folders.listing, "")
    roots = [str(root) for root in here.folders.roots]
    return page(
        request,
        "data.html",
        status=status,
        project=project,
        step="data",
        listing=listing,
        roots=roots,
        given=given,
        error=error,
        asks_header=_HEADER in error,
    )
