"""How one column is written in schema.toml: its keys, what each must be, and the files that they may name."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfumato.public.schema.clock import clock_texts
from sfumato.public.schema.column import CODED_KINDS, Column, bounds_of
from sfumato.public.schema.faults import Faults, Place
from sfumato.public.schema.long_lists import categories_of_file, map_of_file
from sfumato.public.spelling import did_you_mean


def note_unknown_keys(body: Mapping[str, Any], known: Iterable[str], faults: Faults, *place: str, what: str) -> None:
    """Keys that nobody reads are misspelt, and are said to be."""
    for key in body:
        if key not in known:
            near, all_known = did_you_mean(key, known), ", ".join(sorted(known))
            faults.add(f"{what} has an unknown key {key!r}.{near} Known: {all_known}.", *place, key)


def read_column(
    name: str, entry: Any, faults: Faults, folder: Path | None, *, within: Place = ("columns",)
) -> Column | None:
    """The column, or None where it has faults, which are noted; `within` is the section that it stands in."""
    n_faults = len(faults.entries)
    if entry is None:  # a line that could not be read, which is said already
        return None
    if not isinstance(entry, dict) or "type" not in entry:
        remedy = f'Write [{".".join(within)}.{name}] and type = "numeric" (or another type).'
        faults.add(f"column {name!r} has no type. {remedy}", *within, name)
    if not isinstance(entry, dict):
        return None
    note_unknown_keys(entry, COLUMN_KEYS, faults, *within, name, what=f"column {name!r}")
    read: dict[str, Any] = {}
    for key, reader in READERS.items():
        if key in entry:
            if reader.fits(entry[key]):
                read[reader.argument] = reader.read(entry[key])
            else:
                faults.add(f"column {name!r}: {key} must be {reader.must_be}.", *within, name, key)
    if "bounds" in read:
        with faults.at(*within, name, "bounds"):
            read["bounds"] = bounds_of(name, str(entry.get("type")), read["bounds"])
    if "categories_file" in entry:
        with faults.at(*within, name, "categories_file"):
            read["categories"] = categories_of_file(name, entry, folder)
    if "depends_on_file" in entry:
        with faults.at(*within, name, "depends_on_file"):
            read["depends_on_map"] = map_of_file(name, entry, folder)
    column = None
    if len(faults.entries) == n_faults:
        with faults.at(*within, name):
            column = Column(name=name, kind=entry["type"], **read)
    return column


class Reader(NamedTuple):
    """How a key is read: the argument that it becomes, whether a value fits, what it must be else, what becomes of it."""

    argument: str
    fits: Callable[[Any], bool]
    must_be: str
    read: Callable[[Any], Any] = tuple


def are(values: Any, *types: type) -> bool:
    """Whether it is a list of values of these types."""
    return isinstance(values, list) and all(type(value) in types for value in values)


FLAG = (lambda v: isinstance(v, bool), "true or false", bool)
TEXTS = (
    lambda v: are(v, str, int, float, bool),
    'a list of texts or numbers, such as ["a", "b"]',
    lambda v: tuple(str(text).lower() if isinstance(text, bool) else str(text) for text in v),
)
READERS = {
    "bounds": Reader(
        "bounds", lambda v: isinstance(v, list) and len(v) == 2 and bool not in map(type, v), "[low, high]"
    ),
    "categories": Reader("categories", *TEXTS),
    "missing": Reader("missing", *FLAG),
    "special": Reader(
        "special",
        lambda v: v != [] and are(v, int, float) and not any(abs(code) > sys.float_info.max for code in v),
        "a list of finite numbers, such as [999, -1]",
        lambda v: tuple(map(float, v)),
    ),
    "decimals": Reader("decimals", lambda v: type(v) is int, "a whole number", int),
    "depends_on": Reader(
        "depends_on",
        lambda v: isinstance(v, str) or (v != [] and are(v, str)),
        'a list of columns, such as ["education"]',
        lambda v: (v,) if isinstance(v, str) else tuple(v),
    ),
    "depends_on_map": Reader(
        "depends_on_map",
        lambda v: isinstance(v, list) and v != [] and all(are(entry, str, int, float, bool) for entry in v),
        'a list of reasons and what follows, such as [["school", 12], ["college", 16]]',
        lambda v: tuple(map(TEXTS[2], v)),
    ),
    "shape": Reader("shape", lambda v: are(v, int), "a list of whole numbers, such as [28, 28]"),
    "sound": Reader("sound", lambda v: are(v, int, float), "seconds and hertz, such as [1.0, 4000]"),
    "discover": Reader("discover", *FLAG),
    "seconds": Reader("seconds", *FLAG),
    "true": Reader("true_words", *TEXTS),
    "false": Reader("false_words", *TEXTS),
}
COLUMN_KEYS = ("type", "categories_file", "depends_on_file", *READERS)


def column_entries(column: Column) -> dict[str, str]:
    """The keys of a column, and the text of each; an empty one is left out."""
    named = column.categories if column.kind in CODED_KINDS and column.kind != "boolean" else ()
    return {
        "type": f'"{column.kind}"',
        "shape": listed(map(str, column.shape)),
        "sound": listed(_number(column, side) for side in column.sound),
        "bounds": listed(_number(column, side) for side in column.bounds or ()),
        "categories": list_of(named),
        "true": list_of(column.true_words),
        "false": list_of(column.false_words),
        "missing": "true" if column.missing and column.special_as is None else "",
        "special": listed(_number(column, code) for code in column.special),
        "decimals": "" if column.decimals is None else str(column.decimals),
        "depends_on": list_of(column.depends_on),
        "depends_on_map": listed(map(list_of, column.depends_on_map)),
        "discover": "true" if column.discover else "",
        "seconds": "true" if column.seconds else "",
    }


def listed(texts: Iterable[str]) -> str:
    """Nothing where there are none."""
    joined = ", ".join(texts)
    return f"[{joined}]" if joined else ""


def list_of(values: Iterable[str]) -> str:
    """A list of texts."""
    return listed(map(quoted, values))


def _number(column: Column, value: float) -> str:
    if column.kind == "time":
        return quoted(clock_texts(np.array([value]), seconds=True)[0])
    if column.kind == "datetime" and float(value).is_integer():
        return datetime.fromtimestamp(value, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


def quoted(value: str) -> str:
    """A text in quotes."""
    # A JSON string is a TOML string, but for the delete character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
