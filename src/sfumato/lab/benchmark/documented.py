"""What is public about each benchmark dataset, from its documentation: one file of schemas/ each, sources beside it.

No row is read here, and none was for the files: the protocol makes public what the documentation says, and nothing
that is computed from rows.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from sfumato.public.schema.schema import Schema
from sfumato.public.schema.schema_file import parse_schema

_RANGE = re.compile(r"(\D*)(\d+)\.\.(\D*)(\d+)")


def documented_schema(name: str) -> Schema:
    """The public schema of a benchmark dataset.

    >>> documented_schema("isolet")["f617"].bounds
    (-1.0, 1.0)
    """
    return parse_schema(_written_out(schema_text(name)))


def schema_text(name: str) -> str:
    """The file itself, with the sources in its comments."""
    return files("sfumato.lab.benchmark").joinpath("schemas", f"{name}.toml").read_text(encoding="utf-8")


def _written_out(text: str) -> str:
    """A schema file in which runs of columns and of categories stand one by one, as the package's own files do."""
    tree = tomllib.loads(text)
    columns = {each: entry for name, entry in tree.pop("columns").items() for each in _run(name)}
    lines = []
    for section, entry in (*tree.items(), *((f"columns.{json.dumps(name)}", entry) for name, entry in columns.items())):
        lines += [f"[{section}]", *(f"{key} = {json.dumps(_each(key, value))}" for key, value in entry.items())]
    return "\n".join(lines)  # a JSON value of these kinds is a TOML value


def _each(key: str, value: Any) -> Any:
    return [each for text in value for each in _run(text)] if key == "categories" else value


def _run(text: str) -> Iterator[str]:
    """What "first..last" stands for; any other text stands for itself.

    >>> list(_run("V08..V10")), list(_run("9..11")), list(_run("a"))
    (['V08', 'V09', 'V10'], ['9', '10', '11'], ['a'])
    """
    ends = _RANGE.fullmatch(text)
    if ends is None or ends[1] != ends[3]:
        yield text
        return
    width = len(ends[2]) if ends[2].startswith("0") else 0
    for at in range(int(ends[2]), int(ends[4]) + 1):
        yield f"{ends[1]}{at:0{width}d}"
