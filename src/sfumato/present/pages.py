"""Templates become pages: one place that knows where they are and how they are filled in."""

import base64
import hashlib
import math
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

if TYPE_CHECKING:
    from jinja2 import Environment


@lru_cache(maxsize=1)
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("sfumato.present"),
        # Names and categories come from a schema that somebody else may have written. Markdown has no HTML to escape.
        autoescape=lambda template: not str(template).endswith(".md.jinja"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = files("sfumato.present").joinpath("templates", "columns.js").read_text(encoding="utf-8")
    # A page may run this script and no other, and ask nobody for anything: the browser holds it to that.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    made.globals |= {"columns_script": Markup(script), "columns_script_hash": f"sha256-{digest}"}
    return made


def render(template: str, content: Mapping[str, Any]) -> str:
    """Fill in a template of this package."""
    return _environment().get_template(template).render(content)


def plain(value: Any) -> Any:
    """A value as JSON has it: a list for a tuple, and null for a number that is none, as JSON knows no infinity."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
