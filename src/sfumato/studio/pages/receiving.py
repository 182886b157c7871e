"""Receive: a release that somebody hands in is verified and looked at. No data is needed."""

from pathlib import Path
from typing import Any

from fastapi import APIRouter, HTTPException
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.errors import ReleaseError, SfumatoError
from sfumato.studio import engine
from sfumato.studio.bodies import UPLOAD_PATH
from sfumato.studio.context import Form, Here, Studio, texts, uploads
from sfumato.studio.jobs import Job
from sfumato.studio.pages.results import foreign_page
from sfumato.studio.rendering import page
from sfumato.studio.texts import mark

router = APIRouter()
_KIND, _LISTED = "receive", 50


@router.get("/receive")
async def show(request: Request, here: Here) -> Response:
    """Where to put it."""
    return _page(request, here)


@router.post(UPLOAD_PATH)
async def upload(request: Request, here: Here, form: Form) -> Response:
    """Take a zip or the files of a folder."""
    zips, files = uploads(form, "zip"), uploads(form, "folder")
    try:
        if zips:
            identity = await run_in_threadpool(here.received.from_zip, zips[0].file)
        else:
            named = [(file.filename or "", file.file) for file in files]
            identity = await run_in_threadpool(here.received.from_files, named)
        folder = here.received.get(identity)
        job = here.jobs.start(
            _KIND, ["verify", str(folder)], facts={"received": identity, "name": _name(zips or files)}
        )
    except SfumatoError as error:
        return _page(request, here, error=str(error))
    return RedirectResponse(f"/receive/{job.id}", status_code=303)


@router.post("/receive/path")
async def open_path(request: Request, here: Here, form: Form) -> Response:
    """Verify a release folder of this machine where it lies."""
    given = texts(form)
    try:
        folder = here.folders.inside(given.get("place", ""))
        if not (folder / "certificate.json").is_file():
            raise ReleaseError(
                mark("there is no release folder at that path: it has no certificate.json. Choose another one.")
            )
        job = here.jobs.start(_KIND, ["verify", str(folder)], facts={"path": str(folder), "name": folder.name})
    except SfumatoError as error:
        return _page(request, here, error=str(error), given=given)
    return RedirectResponse(f"/receive/{job.id}", status_code=303)


@router.get("/receive/{job_id}")
async def result(request: Request, here: Here, job_id: str) -> Response:
    """What the check found, and what the release holds."""
    job = _job(here, job_id)
    progress, seen, error = here.jobs.progress(job), None, ""
    if progress.is_over:
        try:
            seen = await here.worker.ask(engine.look, str(_folder(here, job)))
        except SfumatoError as refused:
            error = str(refused)
    content: dict[str, Any] = {"job": job, "progress": progress, "seen": seen, "error": error}
    is_piece = "hx-request" in request.headers
    if is_piece and not progress.is_over:
        return page(request, "_received_progress.html", **content)
    answer = page(request, "received.html", **content)
    if is_piece:
        answer.headers["hx-redirect"] = f"/receive/{job.id}"
    return answer


@router.get("/receive/{job_id}/report")
async def report(here: Here, job_id: str) -> Response:
    """Its report, in a cage."""
    return await foreign_page(_folder(here, _job(here, job_id)) / "report.html")


@router.post("/receive/{job_id}/remove")
async def remove(here: Here, job_id: str, form: Form) -> Response:
    """End the check, and forget what was handed in. A folder that was named by its path stays where it is."""
    job = _job(here, job_id)
    here.jobs.cancel(job)
    here.jobs.cancel(job)  # nothing of a check is half-written
    here.received.remove((job.facts or {}).get("received", ""))
    here.jobs.remove(job)
    return RedirectResponse("/receive", status_code=303)


def _page(request: Request, here: Studio, *, error: str = "", given: dict[str, str] | None = None) -> Response:
    seen = [(job, (job.facts or {}).get("name", "")) for job in here.jobs.all() if job.kind == _KIND][:_LISTED]
    return page(request, "receive.html", status=422 if error else 200, error=error, given=given or {}, seen=seen)


def _job(here: Studio, job_id: str) -> Job:
    job = here.jobs.get(job_id)
    if job is None or job.kind != _KIND:
        raise HTTPException(404)
    return job


def _name(sent: list[UploadFile]) -> str:
    """What a browser calls what was handed in."""
    return (sent[0].filename or "").split("/")[0][:200] if sent else ""


def _folder(here: Studio, job: Job) -> Path:
    facts = job.facts or {}
    if "path" in facts:
        return here.folders.inside(facts["path"])
    found = here.received.get(facts.get("received", ""))
    if found is None:
        raise HTTPException(404)
    return found
