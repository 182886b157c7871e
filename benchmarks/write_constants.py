"""Write every setting of the methods for tables into docs/research/constants.md, with its default and what its comment says.

    python benchmarks/write_constants.py

Read from the settings themselves, so run it again when one of them changes.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from sfumato.mechanisms.histories.settings import HistorySettings
from sfumato.mechanisms.table.settings.table import TableSettings

PAGE = Path(__file__).parents[1] / "docs" / "research" / "constants.md"
_PLACE = re.compile(r"(<!-- (settings|histories): .*? -->\n).*?(<!-- end of \2 -->)", re.DOTALL)


def settings_text() -> str:
    """A table for every group of settings."""
    return "\n\n".join(_group(group) for group in _groups(TableSettings()))


def histories_text() -> str:
    """The same for persons with histories, but for what is a setting of tables."""
    return "\n\n".join(_group(group) for group in (HistorySettings().shares, HistorySettings()))


def written(page: str) -> str:
    """The page with the settings as they are."""
    text = {"settings": settings_text(), "histories": histories_text()}
    return _PLACE.sub(lambda m: f"{m[1]}\n{text[m[2]]}\n\n{m[3]}", page)


def _groups(settings: Any) -> Iterator[Any]:
    """Groups that hold values, in their order; groups within them first."""
    values = [getattr(settings, entry.name) for entry in fields(settings)]
    for value in values:
        if is_dataclass(value):
            yield from _groups(value)
    if not all(map(is_dataclass, values)):
        yield settings


def _group(group: Any) -> str:
    lines = [
        f"**{type(group).__name__}.** {type(group).__doc__}",
        "",
        "| setting | default | what it is |",
        "|---|---|---|",
    ]
    for name, comment in comments(type(group)).items():
        value = getattr(group, name)
        if not is_dataclass(value):
            lines.append(f"| `{name}` | {value} | {comment} |")
    return "\n".join(lines)


def comments(kind: type) -> dict[str, str]:
    """What the comment of every field says: beside it, or in the line above."""
    text = inspect.getsource(kind)
    lines, (body,) = text.splitlines(), ast.parse(text).body
    if not isinstance(body, ast.ClassDef):
        raise TypeError(kind)
    said = {}
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            beside, above = lines[(node.end_lineno or node.lineno) - 1], lines[node.lineno - 2]
            _, _, comment = (beside if "#:" in beside else above).partition("#:")
            if not comment.strip():
                raise ValueError(f"{kind.__name__}.{node.target.id} has no comment that says what it is.")
            said[node.target.id] = comment.strip()
    return said


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
