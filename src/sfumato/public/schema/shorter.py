"""Less to type in schema.toml: columns in one line, the line above again, and defaults for all columns or for a pattern of names.

All of it is gone when a file has been read: a schema, its digest and what is written of it have every column whole.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from sfumato.public.schema.faults import Faults, Place
from sfumato.public.schema.one_line import DITTO, read_line

#: What may be said of all columns, and the types that it is meant for.
DEFAULTS = {
    "missing": ("numeric", "integer", "datetime", "time", "categorical", "ordinal", "boolean"),
    "true": ("boolean",),
    "false": ("boolean",),
    "special": ("numeric", "integer"),
    "decimals": ("numeric",),
}
#: Of these a column has one.
_VALUES = ("bounds", "categories", "categories_file", "discover")


def whole_tree(tree: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """The file with every column whole, in each of its tables."""
    defaults = _section(tree, "defaults")
    out = {**tree, "columns": whole_entries(_section(tree, "columns"), defaults, faults)}
    names = list(out["columns"])
    if tables := _section(tree, "tables"):
        out["tables"] = {name: dict(body) if isinstance(body, dict) else body for name, body in tables.items()}
        for name, body in out["tables"].items():
            if isinstance(body, dict) and isinstance(body.get("columns"), dict):
                within = ("tables", name, "columns")
                body["columns"] = whole_entries(body["columns"], defaults, faults, within=within)
                names += body["columns"]
    for pattern in (key for key, keys in defaults.items() if isinstance(keys, dict)):
        if not any(_matches(name, pattern) for name in names):
            faults.add(
                f"no column of the schema is called as {pattern!r} says. Name the columns under [columns].",
                "defaults",
                pattern,
            )
    return out


def _section(tree: Mapping[str, Any], key: str) -> dict[str, Any]:
    body = tree.get(key)
    return body if isinstance(body, dict) else {}


def whole_entries(
    entries: Mapping[str, Any], defaults: Mapping[str, Any], faults: Faults, *, within: Place = ("columns",)
) -> dict[str, Any]:
    """Every column with all its keys: its own go before those of a pattern, and these before what is said of all.

    Of two patterns that say the same of a column the first counts.

    >>> entries = {"age": "integer 0..110", "size": "ditto", "web_tv": {}, "web_film": {"missing": False}}
    >>> defaults = {"missing": True, "web_*": {"type": "boolean"}}
    >>> for name, entry in whole_entries(entries, defaults, Faults()).items():
    ...     print(name, entry)
    age {'type': 'integer', 'bounds': [0, 110], 'missing': True}
    size {'type': 'integer', 'bounds': [0, 110], 'missing': True}
    web_tv {'type': 'boolean', 'missing': True}
    web_film {'missing': False, 'type': 'boolean'}
    """
    patterns = {name: keys for name, keys in defaults.items() if isinstance(keys, dict)}
    for_all = {key: value for key, value in defaults.items() if key in DEFAULTS}
    out: dict[str, Any] = {}
    above: Any = None
    for name, given in entries.items():
        above = own = _read(name, given, above, faults, within)
        if not isinstance(own, dict):
            out[name] = own
            continue
        entry = dict(own)
        for pattern in (p for p in patterns if _matches(name, p)):
            entry |= _added(entry, patterns[pattern])
        meant = {key: value for key, value in for_all.items() if entry.get("type") in DEFAULTS[key]}
        out[name] = entry | _added(entry, meant)
    return out


def _read(name: str, given: Any, above: Any, faults: Faults, within: Place) -> Any:
    """What a column says itself."""
    if not isinstance(given, str):
        return given
    if given.strip() != DITTO:
        entry = None
        with faults.at(*within, name):
            entry = read_line(given)
        return entry
    if above is None:
        faults.add(f"column {name!r} is {DITTO!r}, and there is no column above that can be read.", *within, name)
    return above


def _matches(name: str, pattern: str) -> bool:
    # A star stands for any characters; nothing else has a meaning of its own.
    return fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))


def _added(entry: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    settled = {*entry, *(_VALUES if any(key in entry for key in _VALUES) else ())}
    return {key: value for key, value in more.items() if key not in settled}
