"""The way in, and the first page: what is being worked on."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.studio.context import Form, Here, Of, texts
from sfumato.studio.rendering import page, refusal
from sfumato.studio.sessions import SESSION_SECONDS
from sfumato.studio.texts import LANGUAGES

router = APIRouter()


@router.get("/enter")
async def enter(request: Request, here: Here, token: str = "") -> Response:
    """Exchange the token for a cookie. The page leads on by itself, so that the first real request comes from here."""
    if request.state.session is not None:
        return RedirectResponse("/", status_code=303)
    cookie = here.gate.enter(token)
    if cookie is None:
        return await refusal(request.scope, 403, "session")
    answer = page(request, "enter.html")
    answer.set_cookie(
        request.app.state.cookie,
        cookie,
        max_age=int(SESSION_SECONDS),
        httponly=True,
        samesite="strict",
        path=here.gate.base,
    )
    return answer


@router.get("/")
async def home(request: Request, here: Here) -> Response:
    """All projects."""
    return page(
        request, "home.html", projects=here.projects.all(), damaged=here.projects.damaged(), roots=here.folders.roots
    )


@router.post("/language")
async def choose_language(request: Request, form: Form) -> Response:
    """Remember the language, on this side."""
    chosen = texts(form).get("language", "")
    request.state.session.language = chosen if chosen in LANGUAGES else None
    back = texts(form).get("back", "/")
    is_here = back.startswith("/") and not back.startswith(("//", "/\\")) and "\n" not in back and "\r" not in back
    return RedirectResponse(back if is_here else "/", status_code=303)


@router.post("/projects")
async def begin(here: Here, form: Form) -> Response:
    """A new project."""
    project = here.projects.new(texts(form).get("name", "").strip() or "release")
    return RedirectResponse(f"/p/{project.id}/data", status_code=303)


@router.post("/p/{project_id}/remove")
async def remove(here: Here, project: Of, form: Form) -> Response:
    """Forget a project with its jobs; what it released stays where it is."""
    for job in here.jobs.all():
        if job.project == project.id:
            here.jobs.cancel(job)
            here.jobs.remove(job)
    here.projects.remove(project)
    return RedirectResponse("/", status_code=303)
