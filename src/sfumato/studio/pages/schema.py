"""Schema: what is public about the rows, column by column. Every change is a version, and can be undone."""

import json
from typing import Any

from fastapi import APIRouter, HTTPException
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from sfumato.errors import SchemaError, SfumatoError
from sfumato.studio import editing, engine
from sfumato.studio.context import Form, Here, Of, Studio, texts, uploads
from sfumato.studio.projects import Project, StaleEdit
from sfumato.studio.rendering import page
from sfumato.studio.taking_away import source_options

router = APIRouter()
#: Columns on one page.
SHOWN = 200
_REMEMBERED = 32
_MOST_TOML = 4 << 20


@router.get("/p/{project_id}/schema")
async def show(request: Request, here: Here, project: Of, start: int = 0) -> Response:
    """The table of columns."""
    return await _editor(request, here, project, template="schema.html", start=start)


@router.post("/p/{project_id}/schema/find")
async def find(request: Request, here: Here, project: Of, form: Form) -> Response:
    """The columns whose names hold a text. It is asked for by a form, so that no name stands in an address."""
    return await _editor(request, here, project, find=texts(form).get("find", ""))


@router.get("/p/{project_id}/schema/column/{at}")
async def edit(request: Request, here: Here, project: Of, at: int) -> Response:
    """The form of one column."""
    return _form(request, here, project, at)


@router.post("/p/{project_id}/schema/column/{at}")
async def change(request: Request, here: Here, project: Of, at: int, form: Form) -> Response:
    """One column as the form says."""
    schema, given = here.projects.schema(project), texts(form)
    if not 0 <= at < len(schema["columns"]):
        raise HTTPException(404)
    try:
        changed = editing.with_column(schema, at, given)
        fault = await _fault_of_column(here, changed["columns"][at])
        if fault:
            raise editing.FieldErrors({fault[0]: fault[1]})
        here.projects.change(project, changed, seen=_seen(given))
    except editing.FieldErrors as error:
        return _form(request, here, project, at, given=given, errors=error.fields)
    except StaleEdit as error:
        return _form(request, here, project, at, given=given, errors={"": str(error)}, status=409)
    start = at - at % SHOWN
    return await _editor(request, here, project, start=start, find=given.get("find", ""), focus=f"edit-{at}")


@router.post("/p/{project_id}/schema/several")
async def change_several(request: Request, here: Here, project: Of, form: Form) -> Response:
    """All columns whose names match a pattern."""
    given = texts(form)
    try:
        changed, touched = editing.with_all(here.projects.schema(project), given)
        here.projects.change(project, changed, seen=_seen(given))
    except editing.FieldErrors as error:
        return await _editor(
            request, here, project, template="schema.html", several=given, errors=error.fields, status=422
        )
    except StaleEdit as error:
        return await _editor(
            request, here, project, template="schema.html", several=given, stale=str(error), status=409
        )
    return await _editor(request, here, project, template="schema.html", touched=touched)


@router.post("/p/{project_id}/schema/table")
async def change_table(request: Request, here: Here, project: Of, form: Form) -> Response:
    """What is said of the table as a whole."""
    given = texts(form)
    try:
        changed = editing.with_table(here.projects.schema(project), given)
        here.projects.change(project, changed, seen=_seen(given))
    except editing.FieldErrors as error:
        return await _editor(
            request, here, project, template="schema.html", table=given, errors=error.fields, status=422
        )
    except StaleEdit as error:
        return await _editor(request, here, project, template="schema.html", table=given, stale=str(error), status=409)
    return RedirectResponse(f"/p/{project.id}/schema#table", status_code=303)


@router.post("/p/{project_id}/schema/undo")
async def undo(request: Request, here: Here, project: Of, form: Form) -> Response:
    """One step back, or forward again."""
    given = texts(form)
    try:
        here.projects.step(project, 1 if given.get("redo") == "yes" else -1, seen=_seen(given))
    except StaleEdit as error:
        return await _editor(request, here, project, template="schema.html", stale=str(error), status=409)
    return RedirectResponse(f"/p/{project.id}/schema", status_code=303)


@router.post("/p/{project_id}/schema/import")
async def take(request: Request, here: Here, project: Of, form: Form) -> Response:
    """A schema.toml in the place of this one, from a file or from a path on this machine."""
    given, sent = texts(form), uploads(form, "file")
    names = [column["name"] for column in here.projects.schema(project)["columns"]]
    try:
        if sent:
            text = await here.worker.ask(engine.spelled_out, (await sent[0].read(_MOST_TOML)).decode("utf-8-sig"))
        else:
            text = await here.worker.ask(engine.imported, str(here.folders.inside(given.get("place", ""))))
        read = await run_in_threadpool(editing.from_toml, text, names=names)
        here.projects.change(project, read, seen=_seen(given))
    except UnicodeDecodeError:
        return await _editor(request, here, project, template="schema.html", refused=_NO_TEXT, status=422)
    except SfumatoError as error:
        return await _editor(request, here, project, template="schema.html", refused=str(error), status=422)
    return RedirectResponse(f"/p/{project.id}/schema", status_code=303)


@router.post("/p/{project_id}/schema/text")
async def write(request: Request, here: Here, project: Of, form: Form) -> Response:
    """The whole schema as it would stand in its file."""
    given = texts(form)
    text = given.get("text", "").replace("\r\n", "\n")
    names = [column["name"] for column in here.projects.schema(project)["columns"]]
    try:
        read = editing.from_toml(await here.worker.ask(engine.spelled_out, text), names=names)
        if "text" in read:
            read["text"] = text  # as it was written, with its remarks
        here.projects.change(project, read, seen=_seen(given))
    except StaleEdit as error:
        return await _editor(request, here, project, template="schema.html", stale=str(error), written=text, status=409)
    except SfumatoError as error:
        return await _editor(
            request, here, project, template="schema.html", refused=str(error), written=text, status=422
        )
    return RedirectResponse(f"/p/{project.id}/schema", status_code=303)


@router.post("/p/{project_id}/schema/types")
async def read_types(request: Request, here: Here, project: Of, form: Form) -> Response:
    """Read all rows, without privacy, to tell the types of columns that nobody has spoken of."""
    if not project.source:
        return RedirectResponse(f"/p/{project.id}/data", status_code=303)
    options = [f"--{key}={value}" for key, value in source_options(project.source).items() if value]
    given = ["schema", project.source["place"], "--types", "--header", *options]
    try:
        here.jobs.start("schema", given, project=project.id)
    except SfumatoError as error:
        return await _editor(request, here, project, template="schema.html", refused=str(error), status=409)
    return RedirectResponse(f"/p/{project.id}/schema", status_code=303)


@router.post("/p/{project_id}/schema/types/take")
async def take_types(request: Request, here: Here, project: Of, form: Form) -> Response:
    """The types that the rows have told, for the columns that are open still."""
    job = here.jobs.latest(project.id, "schema")
    progress = None if job is None else here.jobs.progress(job)
    if job is None or progress is None or progress.answer is None or "schema_toml" not in progress.answer:
        return RedirectResponse(f"/p/{project.id}/schema", status_code=303)
    try:
        told = await here.worker.ask(engine.told_types, progress.answer["schema_toml"])
        changed, touched = editing.with_types(here.projects.schema(project), told)
        here.projects.change(project, changed, seen=_seen(texts(form)))
    except StaleEdit as error:
        return await _editor(request, here, project, template="schema.html", stale=str(error), status=409)
    here.jobs.remove(job)
    return await _editor(request, here, project, template="schema.html", touched=touched)


_NO_TEXT = "this is no schema.toml: it is no text in UTF-8. Choose another file."


@router.get("/p/{project_id}/schema.toml")
async def export(here: Here, project: Of) -> Response:
    """The schema as a file to take away."""
    headers = {"content-disposition": 'attachment; filename="schema.toml"'}
    return PlainTextResponse(editing.to_toml(here.projects.schema(project)), headers=headers)


async def _fault_of_column(here: Studio, column: dict[str, Any]) -> tuple[str, str] | None:
    """What is wrong with one column by itself, with the field that it belongs to."""
    if not column["kept"]:
        return None
    alone = {"columns": [column], "dataset": {}, "privacy": {}, "rules": []}
    entry = {key: value for key, value in column["entry"].items() if not key.startswith("depends_on")}
    found = await here.worker.ask(engine.faults, editing.to_toml({**alone, "columns": [{**column, "entry": entry}]}))
    for place, sentence in found:
        key = place[2] if len(place) > 2 else "bounds" if "bound" in sentence else "type"
        return {"bounds": "low"}.get(key, key), sentence
    return None


async def _editor(
    request: Request,
    here: Studio,
    project: Project,
    *,
    template: str = "_editor.html",
    start: int = 0,
    find: str = "",
    focus: str = "",
    status: int = 200,
    **more: Any,
) -> Response:
    schema = here.projects.schema(project)
    faults, problem = await _faults(here, project, schema)
    job = here.jobs.latest(project.id, "schema")
    by_column: dict[str, list[str]] = {}
    of_table = []
    for place, sentence in faults:
        if place[:1] == ["columns"] and len(place) > 1:
            by_column.setdefault(place[1], []).append(sentence)
        else:
            of_table.append(sentence)
    found = [
        {"at": at, **one, "told": editing.summary(one["entry"]), "faults": by_column.get(one["name"], [])}
        for at, one in enumerate(schema["columns"])
        if find.casefold() in one["name"].casefold()
    ]
    start = max(0, min(start - start % SHOWN, max(0, len(found) - 1)))
    start -= start % SHOWN
    kept = [one["name"] for one in schema["columns"] if one["kept"]]
    rules = "\n".join(rule["rule"] for rule in schema["rules"] if "rule" in rule)
    facts = {**{key: schema["dataset"].get(key, "") for key in ("target", "rows")}, "rules": rules}
    facts |= {key: schema["privacy"].get(key, "") for key in ("person", "max_rows")}
    given: dict[str, Any] = {
        "several": {},
        "table": facts,
        "errors": {},
        "stale": "",
        "refused": "",
        "touched": None,
        "written": "",
        **more,
    }
    given["table"] = {**facts, **given["table"]}
    answer = page(
        request,
        template,
        status=status,
        is_piece=bool(focus),
        project=project,
        step="schema",
        columns=found[start : start + SHOWN],
        n_found=len(found),
        n_columns=len(schema["columns"]),
        n_kept=len(kept),
        names=[one["name"] for one in schema["columns"]] if len(schema["columns"]) <= 1000 else [],
        kept=kept if len(kept) <= 1000 else [],
        text=given["written"] or editing.to_toml(schema) if len(schema["columns"]) <= SHOWN else "",
        is_text="text" in schema,
        n_open=sum(map(editing.is_open, schema["columns"])),
        job=job,
        progress=None if job is None else here.jobs.progress(job),
        other_rules=sum("rule" not in rule for rule in schema["rules"]),
        table_faults=of_table,
        n_faults=len(faults),
        problem=problem,
        start=start,
        shown_at_once=SHOWN,
        find=find,
        kinds=editing.KINDS,
        **given,
    )
    if focus:
        answer.headers["hx-retarget"], answer.headers["hx-reswap"] = "#editor", "outerHTML"
        answer.headers["hx-trigger-after-settle"] = json.dumps({"focusOn": focus})
    return answer


async def _faults(here: Studio, project: Project, schema: dict[str, Any]) -> tuple[list[tuple[list[str], str]], str]:
    """What is wrong with the schema. That of thousands of columns takes seconds, so the last answers are remembered."""
    key = project.id, project.version
    if not schema["columns"] and "text" not in schema:
        return [], ""
    try:
        if key not in here.faults:
            found = await here.worker.ask(engine.faults, editing.to_toml(schema))
            while len(here.faults) >= _REMEMBERED:
                here.faults.pop(next(iter(here.faults)))
            here.faults[key] = found
        return here.faults[key], ""
    except SfumatoError as error:
        return [], str(error)


def _form(
    request: Request,
    here: Studio,
    project: Project,
    at: int,
    *,
    given: dict[str, str] | None = None,
    errors: dict[str, str] | None = None,
    status: int | None = None,
) -> Response:
    columns = here.projects.schema(project)["columns"]
    if not 0 <= at < len(columns):
        raise HTTPException(404)
    at_first = _as_form(columns[at])
    filled = at_first if given is None else {**dict.fromkeys(at_first, ""), **given}
    is_piece = "hx-request" in request.headers
    return page(
        request,
        "_column.html" if is_piece else "column.html",
        status=status or (422 if errors else 200),
        project=project,
        step="schema",
        at=at,
        column=columns[at],
        form=filled,
        errors=errors or {},
        kinds=editing.KINDS,
    )


def _as_form(column: dict[str, Any]) -> dict[str, str]:
    """The fields of a column's form as they are filled in at first."""
    entry = column["entry"]
    low, high = entry.get("bounds", ("", ""))
    return {
        "kept": "yes" if column["kept"] else "no",
        "type": str(entry.get("type", "categorical")),
        "discover": "yes" if entry.get("discover") else "",
        "low": str(low),
        "high": str(high),
        "categories": "\n".join(map(str, entry.get("categories", ()))),
        "missing": "yes" if entry.get("missing") else "",
        "decimals": str(entry.get("decimals", "")),
        "true": ", ".join(map(str, entry.get("true", ()))),
        "false": ", ".join(map(str, entry.get("false", ()))),
    }


def _seen(given: dict[str, str]) -> int:
    """The version that the page showed."""
    text = given.get("version", "")
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise SchemaError("the form does not say which version of the schema it is for. Load the page again.")
    return int(text)
