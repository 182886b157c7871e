"""Plan: what an epsilon means, and what a release would do and be worth, before any row is read."""

import math
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from sfumato.errors import SfumatoError
from sfumato.studio import editing, engine
from sfumato.studio.context import Form, Here, Of, Studio, texts
from sfumato.studio.projects import Project
from sfumato.studio.rendering import page
from sfumato.studio.texts import mark

router = APIRouter()
#: Where the slider stops.
EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
_TEXT_KEYS = ("method", "dataset", "recipient", "purpose")


@router.get("/p/{project_id}/plan")
async def show(request: Request, here: Here, project: Of) -> Response:
    """The slider. The plan itself is asked for by the page, which is there at once."""
    chosen = {"epsilon": 1.0, **project.chosen}
    words = in_words(chosen["epsilon"])
    return page(
        request,
        "plan.html",
        project=project,
        step="plan",
        chosen=chosen,
        errors={},
        epsilons=EPSILONS,
        words=words,
        ledger=here.ledger,
    )


@router.post("/p/{project_id}/plan")
async def plan(request: Request, here: Here, project: Of, form: Form) -> Response:
    """The plan for what is chosen, which is kept for the release."""
    chosen, errors = read_chosen(texts(form))
    if errors or not project.versions:
        return page(
            request, "_plan.html", status=422, project=project, planned=None, errors=errors, error="", words=None
        )
    here.projects.keep(project, **chosen)
    planned, error = await planned_for(here, project)
    words = in_words(chosen["epsilon"])
    return page(
        request,
        "_plan.html",
        status=422 if error else 200,
        project=project,
        planned=planned,
        errors={},
        error=error,
        words=words,
    )


async def planned_for(here: Studio, project: Project) -> tuple[dict[str, Any] | None, str]:
    """The plan, or why there is none."""
    try:
        text = editing.to_toml(here.projects.schema(project))
        return await here.worker.ask(engine.plan, text, project.chosen, here.ledger), ""
    except SfumatoError as error:
        return None, str(error)


def in_words(epsilon: float) -> dict[str, float]:
    """What an attacker who knows all other rows can learn at most: by how much odds move, and two beliefs.

    >>> {name: round(value, 4) for name, value in in_words(1.0).items()}
    {'factor': 2.7183, 'even': 0.7311, 'rare': 0.0027}
    """
    factor = math.exp(min(epsilon, 700.0))
    return {"factor": factor, "even": factor / (1 + factor), "rare": 0.001 * factor / (0.999 + 0.001 * factor)}


def read_chosen(given: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """What a form chooses, and what is wrong with it, by field."""
    errors: dict[str, str] = {}
    chosen: dict[str, Any] = {key: given[key].strip()[:200] for key in _TEXT_KEYS if key in given}
    epsilon = _positive(given.get("epsilon", ""))
    if epsilon is None or epsilon > 100:
        errors["epsilon"] = mark(
            "epsilon is a number above 0, such as 1. Above 10 it promises next to nothing, and above 100 it is refused."
        )
    else:
        chosen["epsilon"] = epsilon
    text = given.get("delta", "").strip()
    delta = _positive(text) if text else None
    if text and (delta is None or delta >= 1):
        errors["delta"] = mark(
            "delta is a small number between 0 and 1, such as 1e-6. Leave it empty for the usual one."
        )
    chosen["delta"] = delta
    chosen["score"] = given.get("score") == "yes"
    chosen["score"] = given.get("score") == "yes"
    return chosen, errors


def _positive(text: str) -> float | None:
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None
