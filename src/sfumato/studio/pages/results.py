"""Result: what was written, whether it bears out its claim, real rows beside synthetic ones, and what to take away."""

import errno
import os
import re
import stat
import tempfile
import zipfile
from pathlib import Path

from fastapi import APIRouter, HTTPException
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response

from sfumato.errors import ReleaseError, SfumatoError
from sfumato.studio.context import Form, Here, Of, Studio, texts
from sfumato.studio.guard import FOREIGN_POLICY
from sfumato.studio.jobs import Job
from sfumato.studio.projects import Project
from sfumato.studio.rendering import page
from sfumato.studio.taking_away import arguments, command, notebook, script
from sfumato.studio.texts import mark

router = APIRouter()
_REPORT = "report.html"
_FILE = re.compile(r"\w[\w .-]{0,90}\.(csv|parquet)")
#: A page with all its pictures is far smaller.
_MOST_OF_A_PAGE = 64 << 20


@router.get("/p/{project_id}/result")
async def show(request: Request, here: Here, project: Of) -> Response:
    """All of it."""
    return _page(request, here, project)


@router.post("/p/{project_id}/verify")
async def verify(request: Request, here: Here, project: Of, form: Form) -> Response:
    """Check the release, without the data."""
    job = _finished(here, project)
    try:
        here.jobs.start("verify", ["verify", job.target], project=project.id, facts={"release": job.id})
    except SfumatoError as error:
        return _page(request, here, project, error=str(error), status=409)
    return RedirectResponse(f"/p/{project.id}/result", status_code=303)


@router.get("/p/{project_id}/result/report")
async def report(here: Here, project: Of) -> Response:
    """The page that receivers get."""
    return await foreign_page(here.folders.inside(_finished(here, project).target) / _REPORT)


@router.get("/p/{project_id}/result/private")
async def private(here: Here, project: Of) -> Response:
    """Real rows beside synthetic ones, for the custodian's eyes."""
    return await foreign_page(_private_page(here, project))


@router.post("/p/{project_id}/result/private/remove")
async def remove_private(here: Here, project: Of, form: Form) -> Response:
    """Delete the page of real rows."""
    _private_page(here, project).unlink(missing_ok=True)
    return RedirectResponse(f"/p/{project.id}/result", status_code=303)


@router.post("/p/{project_id}/sample")
async def sample(request: Request, here: Here, project: Of, form: Form) -> Response:
    """More rows of the released model, all of them or of one kind, into a file. It costs nothing."""
    job, given, errors = _finished(here, project), texts(form), dict[str, str]()
    rows = given.get("more_rows", "").strip()
    if not (rows.isascii() and rows.isdigit() and 0 < int(rows[:12]) < 10**9 and len(rows) < 12):
        errors["more_rows"] = mark("a number of rows is a whole number, such as 1000.")
    name = given.get("file", "").strip()
    out = Path(job.target).parent / name
    if not _FILE.fullmatch(name):
        errors["file"] = mark("the name of a file ends with .csv or .parquet, such as more.csv.")
    elif out.exists():
        errors["file"] = mark("a file of this name is there already. Choose another name.")
    where = given.get("where", "").strip()
    if errors:
        return _page(request, here, project, given=given, errors=errors, status=422)
    asked = ["sample", job.target, f"--out={here.folders.inside(str(out))}", f"--rows={rows}"]
    asked += [f"--where={where}"] if where else []
    try:
        here.jobs.start("sample", asked, project=project.id, facts={"release": job.id})
    except SfumatoError as error:
        return _page(request, here, project, error=str(error), status=409)
    return RedirectResponse(f"/p/{project.id}/result#more", status_code=303)


@router.get("/p/{project_id}/result/release.zip")
async def download(here: Here, project: Of) -> Response:
    """The folder as one file."""
    folder = here.folders.inside(_finished(here, project).target)
    path = await run_in_threadpool(_zipped, folder, here.state)
    return FileResponse(
        path, filename=f"{folder.name}.zip", media_type="application/zip", background=BackgroundTask(path.unlink)
    )


@router.get("/p/{project_id}/result/{kind}")
async def take(here: Here, project: Of, kind: str) -> Response:
    """The same release as a command, a script or a notebook."""
    job = _finished(here, project)
    facts = job.facts or {}
    where = _elsewhere(here, job)
    made = {
        "release.sh": lambda: command(arguments(facts["source"], facts["chosen"], **where)) + "\n",
        "release.py": lambda: script(facts["source"], facts["chosen"], **where),
        "release.ipynb": lambda: notebook(facts["source"], facts["chosen"], **where),
    }
    if kind not in made:
        raise HTTPException(404)
    return PlainTextResponse(made[kind](), headers={"content-disposition": f'attachment; filename="{kind}"'})


async def foreign_page(path: Path) -> Response:
    """A page that was written elsewhere, in a cage: it runs nothing and asks for nothing. A link, a pipe or a device is none."""
    try:
        text = await run_in_threadpool(_of_a_file, path)
    except OSError:
        raise HTTPException(404) from None
    return HTMLResponse(text, headers={"content-security-policy": FOREIGN_POLICY})


def _of_a_file(path: Path) -> bytes:
    """The bytes of a plain file of a size that a page has. Nothing is waited for: a pipe could make a thread wait for ever."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "no file")
        text = file.read(_MOST_OF_A_PAGE + 1)
    if len(text) > _MOST_OF_A_PAGE:
        raise OSError(errno.EFBIG, "no page")
    return text


def _zipped(folder: Path, scratch: Path) -> Path:
    """A zip of the folder's files, in a file that is removed when it was sent."""
    handle, name = tempfile.mkstemp(prefix="download-", suffix=".zip", dir=scratch)
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_symlink() or not (path.is_file() or path.is_dir()):
                    raise ReleaseError(
                        "the release folder holds a link, a pipe or a device, which no release has. Look who put it there."
                    )
                archive.write(path, f"{folder.name}/{path.relative_to(folder)}")
    except (OSError, ReleaseError) as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, ReleaseError):
            raise
        raise ReleaseError(
            f"the release cannot be zipped ({os.strerror(error.errno or 0)}). Is its folder still there?"
        ) from None
    return Path(name)


def _finished(here: Studio, project: Project) -> Job:
    job = here.jobs.latest(project.id, "release")
    if job is None or here.jobs.progress(job).state != "done":
        raise HTTPException(404)
    return job


def _of_release(here: Studio, project: Project, release: Job, kind: str) -> Job | None:
    """The last job of a kind that was about this release."""
    found = here.jobs.latest(project.id, kind)
    return found if found is not None and (found.facts or {}).get("release") == release.id else None


def _free_name(folder: Path) -> str:
    """A file that is not there yet."""
    names = ("more-rows.csv", *(f"more-rows-{number}.csv" for number in range(2, 1000)))
    return next((name for name in names if not (folder / name).exists()), names[0])


def _elsewhere(here: Studio, job: Job) -> dict[str, str]:
    """What is taken away is run elsewhere: beside the schema.toml that is taken with it, to make another folder."""
    return {"schema": "schema.toml", "out": f"{Path(job.target).name}-again", "ledger": here.ledger}


def _private_page(here: Studio, project: Project) -> Path:
    path = (_finished(here, project).facts or {}).get("page")
    if not path or Path(path).parent != here.projects.folder(project):
        raise HTTPException(404)
    return Path(path)


def _page(
    request: Request,
    here: Studio,
    project: Project,
    *,
    error: str = "",
    given: dict[str, str] | None = None,
    errors: dict[str, str] | None = None,
    status: int = 200,
) -> Response:
    job = here.jobs.latest(project.id, "release")
    progress = None if job is None else here.jobs.progress(job)
    if job is None or progress is None or progress.state != "done":
        return page(request, "result.html", status=status, project=project, step="result", answer=None, error=error)
    facts = job.facts or {}
    verifying, sampling = (_of_release(here, project, job, kind) for kind in ("verify", "sample"))
    private = facts.get("page") or ""
    where = _elsewhere(here, job)
    return page(
        request,
        "result.html",
        status=status,
        project=project,
        step="result",
        answer=progress.answer,
        is_there=Path(job.target).is_dir(),
        verifying=verifying,
        verified=None if verifying is None else here.jobs.progress(verifying),
        sampling=sampling,
        sampled=None if sampling is None else here.jobs.progress(sampling),
        more={"more_rows": "1000", "file": _free_name(Path(job.target).parent), "where": "", **(given or {})},
        errors=errors or {},
        private=bool(private) and Path(private).is_file(),
        command=command(arguments(facts["source"], facts["chosen"], **where)),
        script=script(facts["source"], facts["chosen"], **where),
        error=error,
    )
