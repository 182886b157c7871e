"""Other types in the text of a schema.toml, and all else as its writer left it: comments, order and what is declared."""

import json
import re
import tomllib
from collections.abc import Mapping

from sfumato.public.schema.faults import lines_of
from sfumato.public.schema.one_line import read_line

_BEFORE = re.compile(r"""\s*(?:"(?:\\.|[^"\\])*"|'[^']*'|[\w-]+)\s*=\s*""", re.ASCII)
_KEYS = ("type", "true", "false", "seconds", "discover")


def with_types(text: str, lines: Mapping[str, str]) -> str:
    r"""The text with these columns declared as one line says. Those that another way of writing hides stay as they are.

    >>> with_types('[columns]\nage = "categorical discover ?"  # hm\n[columns.b]\ntype = "categorical"\ndiscover = true',
    ...         {"age": "integer discover ?", "b": "boolean yes | no"}).split("\n")
    ['[columns]', 'age = "integer discover ?"', '[columns.b]', 'type = "boolean"', 'true = ["yes"]', 'false = ["no"]']
    """
    places, out = lines_of(text), text.split("\n")
    columns = tomllib.loads(text)["columns"]
    for name, line in lines.items():
        entry = read_line(line)
        given, at = columns.get(name), places.get(("columns", name, "type"))
        if isinstance(given, str):
            begin = _BEFORE.match(out[places["columns", name] - 1])
            if begin is not None:
                out[places["columns", name] - 1] = f"{begin[0]}{json.dumps(line, ensure_ascii=False)}"
        elif isinstance(given, dict) and at is not None:
            out[at - 1] = "\n".join(
                f"{key} = {json.dumps(entry[key], ensure_ascii=False)}" for key in _KEYS if key in entry
            )
            if (also := places.get(("columns", name, "discover"))) is not None and also != at:
                out[also - 1] = "\0"
    return "\n".join(line for line in out if line != "\0")
