"""A column in one line of schema.toml: its type, its values, and a question mark where values may be missing.

What a line says is what the longer section says; whatever needs another key is written as a section.
"""

import re
from collections.abc import Iterable
from typing import Any

from sfumato.errors import SchemaError
from sfumato.public.schema.clock import has_seconds
from sfumato.public.schema.column import KINDS, NUMBER_KINDS
from sfumato.public.spelling import did_you_mean

DITTO, DISCOVER, MISSING, SECONDS = "ditto", "discover", "?", "seconds"
_FILE, _TO, _OR = "file ", "..", "|"
_DECIMALS = re.compile(r"(?P<rest>.*?)\s*\bdecimals (?P<decimals>\d{1,2})", re.ASCII)
_EXAMPLES = '"integer 0..110", "numeric 0..5 decimals 2 ?", "categorical a | b | c ?" or "boolean yes | no"'


def read_line(text: str) -> dict[str, Any]:
    """The keys that a line stands for.

    >>> read_line("integer 0..110 ?")
    {'type': 'integer', 'bounds': [0, 110], 'missing': True}
    >>> read_line("categorical light smoker | heavy smoker")
    {'type': 'categorical', 'categories': ['light smoker', 'heavy smoker']}
    >>> read_line("boolean Yes | No"), read_line("numeric discover")
    ({'type': 'boolean', 'true': ['Yes'], 'false': ['No']}, {'type': 'numeric', 'discover': True})
    """
    kind, _, rest = text.strip().partition(" ")
    if kind not in KINDS:
        near = did_you_mean(kind, KINDS)
        raise SchemaError(f"the line {text!r} begins with no type.{near} Write one such as {_EXAMPLES}.")
    entry: dict[str, Any] = {"type": kind}
    rest, missing = (rest[: -len(MISSING)].strip(), {"missing": True}) if f" {rest}".endswith(" ?") else (rest, {})
    if kind == "numeric" and (found := _DECIMALS.fullmatch(rest.strip())):
        rest, entry = found["rest"], {**entry, "decimals": int(found["decimals"])}
    return entry | _values(kind, rest.strip(), text) | missing


def _values(kind: str, values: str, text: str) -> dict[str, Any]:
    if not values:
        return {}
    if values == DISCOVER:
        return {"discover": True}
    if kind == "time" and values == SECONDS:
        return {"seconds": True}
    if kind in NUMBER_KINDS:
        low, between, high = values.partition(_TO)
        if not between:
            raise SchemaError(f"the line {text!r} has no bounds. Write low..high, such as {_example(kind)}.")
        written = {"seconds": True} if kind == "time" and has_seconds(low) else {}
        return written | {"bounds": [_bound(kind, side.strip(), text) for side in (low, high)]}
    if kind == "image":
        raise SchemaError(f"the line {text!r} declares an image, which needs a section of its own, with its shape.")
    if kind != "boolean" and values.startswith(_FILE):
        return {"categories_file": values.removeprefix(_FILE).strip()}
    words = [word.strip() for word in values.split(_OR)]
    if not all(words):
        raise SchemaError(f"the line {text!r} has an empty value. Write values with one bar between: a | b.")
    if kind != "boolean":
        return {"categories": words}
    if len(words) != 2:
        raise SchemaError(f"the line {text!r} must have the word for true and the word for false: boolean yes | no.")
    return {"true": words[:1], "false": words[1:]}


def _bound(kind: str, side: str, text: str) -> Any:
    """A number; a date stays a text, which its column reads."""
    if kind not in ("numeric", "integer"):
        return side
    for read in (int, float):
        try:
            return read(side)
        except ValueError:
            continue
    raise SchemaError(f"the line {text!r}: {side!r} is no number. Write low..high, such as {_example(kind)}.")


def _example(kind: str) -> str:
    return {"datetime": "2020-01-01..2024-12-31", "time": "06:00..22:00"}.get(kind, "0..110")


def line_of(
    kind: str,
    *,
    values: Iterable[str] = (),
    bounds: str = "",
    decimals: int | None = None,
    file: str = "",
    missing: bool = False,
) -> str:
    """The line that is read as these; empty where only a section can say it.

    >>> line_of("integer", bounds="[0, 110]", missing=True), line_of("ordinal", values=["a | b"])
    ('integer 0..110 ?', '')
    """
    listed = list(values)
    said = f" {_OR} ".join(listed)
    if bounds:
        said = _TO.join(side.strip() for side in bounds.strip("[]").split(","))
    elif file:
        said = f"{_FILE}{file}"
    elif not listed and kind not in ("boolean", "time"):
        said = DISCOVER
    said += "" if decimals is None else f" decimals {decimals}"
    line = f"{kind} {said}".strip() + f" {MISSING}" * missing
    meant: dict[str, Any] = {"categories": listed} if listed else {"categories_file": file} if file else {}
    if kind == "boolean":
        meant = {"true": listed[:1], "false": listed[1:]} if listed else {}
    if kind == "time":
        meant = {"seconds": True} if listed else {}
    meant |= {"missing": True} if missing else {}
    read = read_line(line)
    is_same = all(read.get(key) == value for key, value in meant.items()) and ("missing" in read) == missing
    return line if is_same else ""
