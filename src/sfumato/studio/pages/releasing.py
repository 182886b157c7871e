"""Release: where to, then a job that goes on by itself."""

import re
import secrets
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.errors import SfumatoError
from sfumato.studio.context import Form, Here, Of, Studio, texts
from sfumato.studio.pages.checking import schema_file
from sfumato.studio.projects import Project
from sfumato.studio.rendering import page
from sfumato.studio.taking_away import arguments
from sfumato.studio.texts import mark

router = APIRouter()
_NAME = re.compile(r"[\w][\w .-]{0,99}")


@router.get("/p/{project_id}/release")
async def show(request: Request, here: Here, project: Of) -> Response:
    """The last steps before it begins, or how far it is."""
    return _page(request, here, project, {}, {})


@router.post("/p/{project_id}/release")
async def start(request: Request, here: Here, project: Of, form: Form) -> Response:
    """Start the job, after all that can be refused without it."""
    given, errors = texts(form), dict[str, str]()
    if not project.versions or "epsilon" not in project.chosen:
        return RedirectResponse(f"/p/{project.id}/plan", status_code=303)
    out = _target(here, given, errors)
    rows = given.get("rows", "").strip()
    if rows and rows != "many" and not (rows.isascii() and rows.isdigit() and int(rows[:12]) > 0 and len(rows) < 12):
        errors["rows"] = mark("a number of rows is a whole number, or many. Leave it empty for as many as declared.")
    chosen: dict[str, Any] = {}
    for key in ("sign", "passphrase_file"):
        try:
            chosen[key] = str(here.folders.inside(given[key])) if given.get(key, "").strip() else ""
        except SfumatoError as error:
            errors[key] = str(error)
    chosen |= {
        "rows": rows,
        "private_page": given.get("private_page") == "yes",
        "folder": given.get("folder", ""),
    }
    if errors or out is None:
        return _page(request, here, project, given, errors, status=422)
    here.projects.keep(project, **chosen)
    private = (
        here.projects.folder(project) / f"private-{secrets.token_hex(4)}.html"
        if project.chosen["private_page"]
        else None
    )
    told = arguments(
        project.source,
        project.chosen,
        schema=schema_file(here, project),
        out=str(out),
        page=str(private or ""),
        ledger=here.ledger,
    )
    facts = {"page": str(private or ""), "chosen": project.chosen, "source": project.source, "version": project.version}
    try:
        here.jobs.start("release", told, project=project.id, target=str(out), facts=facts)
    except SfumatoError as error:
        return _page(request, here, project, given, {"": str(error)}, status=409)
    return RedirectResponse(f"/p/{project.id}/release", status_code=303)


def _target(here: Studio, given: dict[str, str], errors: dict[str, str]) -> Path | None:
    """The folder to make."""
    name = given.get("name", "").strip()
    if not _NAME.fullmatch(name):
        errors["name"] = mark("the name of a folder has letters, digits, spaces, points and dashes, such as release-1.")
        return None
    try:
        folder = here.folders.inside(given.get("folder", "") or str(here.folders.roots[0]))
        target = here.folders.inside(str(folder / name))
    except SfumatoError as error:
        errors["folder"] = str(error)
        return None
    if not folder.is_dir():
        errors["folder"] = mark("there is no such folder. Make it first, or choose another one.")
    elif target.exists():
        errors["name"] = mark(
            "a folder of this name is there already, and a release replaces nothing. Choose another name."
        )
    return target


def _faults_found(here: Studio, project: Project) -> int | None:
    """What the last check of this version found; None: nobody has checked it."""
    job = here.jobs.latest(project.id, "check")
    if job is None or (job.facts or {}).get("version") != project.version:
        return None
    answer = here.jobs.progress(job).answer
    return None if answer is None else int(answer.get("faults", 0))


def _page(
    request: Request,
    here: Studio,
    project: Project,
    given: dict[str, str],
    errors: dict[str, str],
    *,
    status: int = 200,
) -> Response:
    job = here.jobs.latest(project.id, "release")
    progress = None if job is None else here.jobs.progress(job)
    number = 1 + sum(one.kind == "release" and one.project == project.id for one in here.jobs.all())
    filled = {"name": f"release-{number}", "folder": project.chosen.get("folder") or str(here.folders.roots[0])}
    filled |= {key: str(project.chosen.get(key) or "") for key in ("rows", "sign", "passphrase_file")}
    return page(
        request,
        "release.html",
        status=status,
        project=project,
        step="release",
        job=job,
        progress=progress,
        form={**filled, **given},
        errors=errors,
        chosen=project.chosen,
        n_faults=_faults_found(here, project),
        ledger=here.ledger,
    )
