"""Templates become pages: one place that knows where they are and how they are filled in."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


@lru_cache(maxsize=1)
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("sfumato.present"),
        autoescape=True,  # names and categories come from a schema that somebody else may have written
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, content: Mapping[str, Any]) -> str:
    """Fill in a template of this package."""
    return _environment().get_template(template).render(content)
