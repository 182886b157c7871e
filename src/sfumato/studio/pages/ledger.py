"""Ledger: what was released of which dataset, to whom, what is left, and what waits for signatures."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.errors import SfumatoError
from sfumato.studio import engine
from sfumato.studio.context import Form, Here, Studio, texts
from sfumato.studio.pages.planning import read_chosen
from sfumato.studio.rendering import page
from sfumato.studio.texts import mark

router = APIRouter()


@router.get("/ledger")
async def show(request: Request, here: Here) -> Response:
    """All datasets."""
    return await _page(request, here, {}, {})


@router.post("/ledger/add")
async def add(request: Request, here: Here, form: Form) -> Response:
    """Enter a dataset with its total; a ledger that is a file is made with its first one."""
    given = texts(form)
    chosen, errors = read_chosen(given)
    name = given.get("name", "").strip()
    if not name:
        errors["name"] = mark("a dataset has a name. Give one, such as patients.")
    if errors:
        return await _page(request, here, given, errors)
    delta = chosen["delta"] or 1e-6
    try:
        await here.worker.ask(
            engine.ledger_add, here.ledger, name, chosen["epsilon"], delta, given.get("person", "").strip()
        )
    except SfumatoError as error:
        return await _page(request, here, given, {"name": str(error)})
    return RedirectResponse("/ledger", status_code=303)


@router.post("/ledger/approve")
async def approve(request: Request, here: Here, form: Form) -> Response:
    """Sign what waits, with a key of this machine. Its passphrase is used and forgotten."""
    given = texts(form)
    try:
        key = str(here.folders.inside(given.get("key", "")))
        given_to = [given.get(name, "") for name in ("dataset", "digest")]
        await here.worker.ask(engine.ledger_approve, here.ledger, *given_to, key, given.get("passphrase", ""))
    except SfumatoError as error:
        return await _page(request, here, {}, {"key": str(error)})
    return RedirectResponse("/ledger", status_code=303)


async def _page(request: Request, here: Studio, given: dict[str, str], errors: dict[str, str]) -> Response:
    book, error = None, ""
    if here.ledger:
        try:
            book = await here.worker.ask(engine.ledger_state, here.ledger)
        except SfumatoError as refused:
            error = str(refused)
    return page(
        request,
        "ledger.html",
        status=422 if errors else 200,
        book=book,
        error=error,
        errors=errors,
        given=given,
        is_named=bool(here.ledger),
    )
