"""Check, for the custodian alone: what in the file does not fit the schema. And jobs, which every page shows the same way."""

from fastapi import APIRouter, HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.errors import SfumatoError
from sfumato.studio import editing
from sfumato.studio.context import Form, Here, Of, Studio
from sfumato.studio.jobs import Job
from sfumato.studio.projects import Project, write_private
from sfumato.studio.rendering import page
from sfumato.studio.taking_away import source_options

router = APIRouter()


def schema_file(here: Studio, project: Project) -> str:
    """The present version of the schema as a file, for a command to read."""
    path = here.projects.folder(project) / f"schema-{project.version:06d}.toml"
    write_private(path, editing.to_toml(here.projects.schema(project)))
    return str(path)


@router.get("/p/{project_id}/check")
async def show(request: Request, here: Here, project: Of) -> Response:
    """What the last check found, while this server runs: it is written nowhere."""
    return _page(request, here, project)


@router.post("/p/{project_id}/check")
async def start(request: Request, here: Here, project: Of, form: Form) -> Response:
    """Read all rows once, without privacy."""
    if not project.source or not project.versions:
        return RedirectResponse(f"/p/{project.id}/data", status_code=303)
    options = [f"--{key}={value}" for key, value in source_options(project.source).items() if value]
    given = ["check", project.source["place"], f"--schema={schema_file(here, project)}", *options]
    try:
        here.jobs.start("check", given, project=project.id, facts={"version": project.version})
    except SfumatoError as error:
        return _page(request, here, project, error=str(error), status=409)
    return RedirectResponse(f"/p/{project.id}/check", status_code=303)


@router.get("/p/{project_id}/job/{job_id}")
async def follow(request: Request, here: Here, project: Of, job_id: str) -> Response:
    """How far a job is. When it is over, the page is loaded anew."""
    job = _job(here, project, job_id)
    progress = here.jobs.progress(job)
    answer = page(request, "_progress.html", project=project, job=job, progress=progress, after=_page_after(job))
    if progress.is_over:
        after = _page_after(job)
        if job.kind == "release" and progress.state == "done":
            after = "result"
        answer.headers["hx-redirect"] = f"/p/{project.id}/{after}"
    return answer


@router.post("/p/{project_id}/job/{job_id}/cancel")
async def cancel(here: Here, project: Of, job_id: str, form: Form) -> Response:
    """Ask a job to end."""
    job = _job(here, project, job_id)
    here.jobs.cancel(job)
    return RedirectResponse(f"/p/{project.id}/{_page_after(job)}", status_code=303)


def _page_after(job: Job) -> str:
    """The page that shows such jobs."""
    return "result" if job.kind in ("verify", "sample") else job.kind


def _job(here: Studio, project: Project, job_id: str) -> Job:
    job = here.jobs.get(job_id)
    if job is None or job.project != project.id:
        raise HTTPException(404)
    return job


def _page(request: Request, here: Studio, project: Project, *, error: str = "", status: int = 200) -> Response:
    job = here.jobs.latest(project.id, "check")
    progress = None if job is None else here.jobs.progress(job)
    places = {one["name"]: at for at, one in enumerate(here.projects.schema(project)["columns"])}
    is_stale = job is not None and (job.facts or {}).get("version") != project.version
    return page(
        request,
        "check.html",
        status=status,
        project=project,
        step="check",
        job=job,
        progress=progress,
        stale=is_stale,
        places=places,
        error=error,
    )
