"""Methods: every mechanism, what it takes, and what it reached."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from sfumato.studio import engine
from sfumato.studio.context import Here
from sfumato.studio.rendering import page

router = APIRouter()


@router.get("/methods")
async def show(request: Request, here: Here) -> Response:
    """All that release rows, and all that release models."""
    return page(request, "methods.html", found=await here.worker.ask(engine.methods))
