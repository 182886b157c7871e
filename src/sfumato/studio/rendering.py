"""Templates become answers, in the language of the session."""

from functools import lru_cache
from gettext import NullTranslations
from importlib.metadata import version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from sfumato.studio.texts import LANGUAGES, Numbers, catalogue, language_of, locale_of, mark, shown


def language(request: HTTPConnection) -> str:
    """What this reader reads."""
    session = request.scope.get("state", {}).get("session")
    wanted = None if session is None else session.language
    return language_of(wanted, request.headers.get("accept-language", ""))


@lru_cache(maxsize=8)
def environment(spoken: str, place: str | None = None) -> Environment:
    """The templates with the texts of a language, and numbers and dates as in a place. Everything that is filled in is escaped."""
    made = Environment(
        loader=PackageLoader("sfumato.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    made.install_gettext_translations(catalogue(spoken), newstyle=True)  # type: ignore[attr-defined]
    numbers = Numbers(place or spoken)
    for name in ("number", "percent", "moment", "instant", "size"):
        made.filters[name] = getattr(numbers, name)
    made.filters["shown"] = shown
    made.filters["told"] = lambda text, longest=2000: _told(text, longest, catalogue(spoken))
    made.globals |= {"language": spoken, "languages": LANGUAGES, "version": version("sfumato"), "project": None}
    made.globals |= {"steps": ("data", "schema", "check", "plan", "release", "result"), "step": None}
    return made


def _told(text: str, longest: int, texts: NullTranslations) -> Markup:
    """A sentence in the reader's language, or marked as English where the catalogue does not have it."""
    translated = texts.gettext(text)
    if translated != text:
        return escape(shown(translated, longest))
    return Markup('<span lang="en">{}</span>').format(shown(text, longest))


def page(request: HTTPConnection, template: str, *, status: int = 200, **content: Any) -> Response:
    """A page, or a piece of one."""
    state = request.scope.get("state", {})
    session = state.get("session")
    content.setdefault("csrf", "" if session is None else session.csrf)
    content |= {"base": state.get("base", ""), "back": _back(request.scope, content)}
    spoken = language(request)
    place = locale_of(spoken, request.headers.get("accept-language", ""))
    text = environment(spoken, place).get_template(template).render(content)
    return HTMLResponse(text, status_code=status)


def _back(scope: Scope, content: dict[str, Any]) -> str:
    """The page that somebody stays on who chooses another language there."""
    if content.get("project") and content.get("step"):
        return f"/p/{content['project'].id}/{content['step']}"
    return str(scope["path"]) if scope["method"] == "GET" else "/"


#: Why a request is refused, and what to do: sentences that hold nothing of the request.
REFUSALS = {
    "host": mark("This studio is not known under that name. Open the address that the command printed."),
    "origin": mark(
        "This request came from another page, so it was not carried out. Open the studio and try again there."
    ),
    "session": mark(
        "This browser is not let in: the address was used already, or the studio was started again since. Open the address that "
        "the command printed, or start it anew: sfumato studio"
    ),
    "csrf": mark("This form is too old to be carried out. Nothing was changed. Load the page again and repeat it."),
    "large": mark("What was sent is too large. Nothing was kept. Name a path on this machine instead."),
    "slow": mark("What was sent took too long to arrive. Nothing was kept. Try again."),
    "missing": mark("There is no such page. What you looked for may have been removed."),
    "unexpected": mark(
        "Something unforeseen went wrong, and nothing more is said of it, because it might hold private values. Go back and try again."
    ),
}


async def refusal(scope: Scope, status: int, why: str) -> Response:
    """A page that says why, for a person."""
    request = HTTPConnection(scope)
    answer = page(request, "refused.html", status=status, reason=REFUSALS[why], csrf="")  # no secret for a stranger
    if status in (408, 413):
        answer.headers["connection"] = "close"
    return answer
