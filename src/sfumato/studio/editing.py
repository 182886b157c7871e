"""The schema as it is edited: plain values, one entry for each column of the file, kept or left out.

What a form says is read here, field by field; whether the whole makes sense is for the schema's own reader to say.
"""

import copy
import fnmatch
import json
import math
import tomllib
from collections.abc import Mapping
from typing import Any

from sfumato.errors import SchemaError
from sfumato.studio.texts import mark

Schema = dict[str, Any]
#: Types that can be chosen for a column of a table, by what has to be said of them.
WITH_BOUNDS, WITH_CATEGORIES = ("numeric", "integer", "datetime", "time"), ("categorical", "ordinal")
_BY_THE_CLOCK = ("datetime", "time")
KINDS = (*WITH_BOUNDS, *WITH_CATEGORIES, "boolean")
#: Keys that the form of a column sets; all others are kept as they are.
_FORM_KEYS = ("type", "bounds", "categories", "categories_file", "missing", "decimals", "discover", "true", "false")


EMPTY: Schema = {"columns": [], "dataset": {}, "privacy": {}, "rules": []}


class FieldErrors(SchemaError):
    """What is wrong with a form, by its fields."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__(next(iter(fields.values())))
        self.fields = fields


def from_toml(text: str, *, names: list[str] | None = None) -> Schema:
    """The editor's values of a schema.toml. Columns of the file that it does not name are left out."""
    try:
        tree = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise SchemaError(f"this is no schema.toml: {error}. Export one from here to see how it is written.") from None
    if set(tree) - {"columns", "dataset", "privacy", "rules"}:  # several tables, say: nothing is left out in silence
        return {**EMPTY, "text": text}
    columns, rules = tree.get("columns", {}), tree.get("rules", [])
    dataset, privacy = tree.get("dataset", {}), tree.get("privacy", {})
    is_whole = all(isinstance(part, dict) for part in (columns, dataset, privacy)) and isinstance(rules, list)
    if not is_whole or not all(isinstance(entry, dict) for entry in [*columns.values(), *rules]):
        raise SchemaError(
            "this is no schema.toml: it needs tables [columns.NAME], and may have [dataset], [privacy], [[rules]]."
        )
    entries = [column(name, _plain(entry)) for name, entry in columns.items()]
    entries += [column(name, {"type": "categorical"}, kept=False) for name in names or () if name not in columns]
    return {"columns": entries, "dataset": _plain(dataset), "privacy": _plain(privacy), "rules": _plain(rules)}


def column(name: str, entry: Mapping[str, Any], *, kept: bool = True, why: str = "", note: str = "") -> Schema:
    """One column: what is declared, whether it is released, why not, and a note for the person."""
    return {"name": name, "entry": dict(entry), "kept": kept, "why": why, "note": note}


def to_toml(schema: Schema) -> str:
    """The text of the schema.toml. One that has no table of columns, as that of several tables, is text and stays so."""
    if "text" in schema:
        return str(schema["text"])
    sections = [(f"[{key}]", schema[key]) for key in ("dataset", "privacy") if schema[key]]
    sections += [(f"[columns.{_text(c['name'])}]", c["entry"]) for c in schema["columns"] if c["kept"]]
    sections += [("[[rules]]", rule) for rule in schema["rules"]]
    return "\n".join(
        f"{head}\n" + "".join(f"{_key(key)} = {_value(value)}\n" for key, value in body.items())
        for head, body in sections
    )


def summary(entry: Mapping[str, Any], *, longest: int = 60) -> str:
    """What a column may hold, in a few words."""
    if entry.get("discover"):
        return "discover"
    if "bounds" in entry:
        return " – ".join(map(str, entry["bounds"]))
    if "categories_file" in entry:
        return str(entry["categories_file"])
    named = ", ".join(map(str, entry.get("categories", ())))
    return named if len(named) <= longest else f"{named[:longest]}… ({len(entry['categories'])})"


def with_column(schema: Schema, at: int, form: Mapping[str, str]) -> Schema:
    """The schema with one column as a form says."""
    changed = copy.deepcopy(schema)
    one = changed["columns"][at]
    one["kept"] = form.get("kept") == "yes"
    if one["kept"] and one["entry"].get("type") in KINDS:  # of pictures the form asks no more
        one["entry"], one["note"] = entry_from(form, one["entry"]), ""
    one["why"] = ""
    return changed


def with_all(schema: Schema, form: Mapping[str, str]) -> tuple[Schema, int]:
    """The schema with every column whose name matches a pattern as a form says, and how many these are."""
    pattern, changed = form.get("pattern", "").strip(), copy.deepcopy(schema)
    if not pattern:
        raise FieldErrors(
            {"pattern": mark("no pattern is given. Write one, such as lab_* for all names that begin with lab_.")}
        )
    touched = [one for one in changed["columns"] if fnmatch.fnmatchcase(one["name"], pattern)]
    if not touched:
        raise FieldErrors({"pattern": mark("no column has such a name. * stands for any characters.")})
    for one in touched:
        one["kept"] = form.get("kept") == "yes"
        if one["kept"]:
            one["entry"], one["note"] = entry_from(form, one["entry"]), ""
        one["why"] = ""
    return changed, len(touched)


def is_open(one: Mapping[str, Any]) -> bool:
    """Whether nobody has said more of a column than that it is released and its texts are to be discovered."""
    entry = one["entry"]
    return bool(one["kept"] and entry.get("type") == "categorical" and entry.get("discover"))


def with_types(schema: Schema, told: Mapping[str, Mapping[str, Any]]) -> tuple[Schema, int]:
    """The schema with the types that the rows have told for columns that are open, and how many these are."""
    changed = copy.deepcopy(schema)
    touched = [
        one
        for one in changed["columns"]
        if is_open(one) and told.get(one["name"], one["entry"])["type"] != "categorical"
    ]
    for one in touched:
        missing = {"missing": True} if one["entry"].get("missing") else {}
        one["entry"] = {**{key: value for key, value in told[one["name"]].items() if key != "missing"}, **missing}
    return changed, len(touched)


def entry_from(form: Mapping[str, str], old: Mapping[str, Any]) -> dict[str, Any]:
    """What a form declares of a column; keys that it does not know are kept."""
    kind, errors = form.get("type", ""), dict[str, str]()
    entry: dict[str, Any] = {"type": kind}
    if kind not in KINDS:
        errors["type"] = mark("no type is chosen. Choose one from the list.")
    elif form.get("discover") == "yes" and kind != "boolean":
        entry["discover"] = True
    elif kind in WITH_BOUNDS:
        bounds, wrong = _bounds(form, kind)
        errors |= wrong
        entry["bounds"] = bounds
    elif kind in WITH_CATEGORIES:
        listed = _listed(form.get("categories", ""))
        if not listed and "categories_file" in old:
            entry["categories_file"] = old["categories_file"]
        elif not listed:
            errors["categories"] = mark("no category is given. Write one in each line, or let them be discovered.")
        else:
            entry["categories"] = listed
    else:
        for key in ("true", "false"):
            if words := _listed(form.get(key, "")):
                entry[key] = words
    if decimals := form.get("decimals", "").strip():
        if not decimals.isdigit() or int(decimals) > 12:
            errors["decimals"] = mark("this is no number of digits. Write a whole number up to 12, or nothing.")
        elif kind == "numeric":
            entry["decimals"] = int(decimals)
    if form.get("missing") == "yes":
        entry["missing"] = True
    if errors:
        raise FieldErrors(errors)
    kept = {key: value for key, value in old.items() if key not in _FORM_KEYS} if old.get("type") == kind else {}
    return {**entry, **kept}


def with_table(schema: Schema, form: Mapping[str, str]) -> Schema:
    """The schema with what is said of the table as a whole: target, size, persons, rules."""
    changed, errors = copy.deepcopy(schema), dict[str, str]()
    dataset, privacy = changed["dataset"], changed["privacy"]
    _put(dataset, "target", form.get("target", ""))
    _put(privacy, "person", form.get("person", ""))
    _put(dataset, "rows", _count(form, "rows", errors))
    _put(privacy, "max_rows", _count(form, "max_rows", errors) if privacy.get("person") else None)
    if errors:
        raise FieldErrors(errors)
    written = [{"rule": line.strip()} for line in form.get("rules", "").splitlines() if line.strip()]
    changed["rules"] = written + [rule for rule in changed["rules"] if "rule" not in rule]
    return changed


def _put(body: dict[str, Any], key: str, value: Any) -> None:
    if value in ("", None):
        body.pop(key, None)
    else:
        body[key] = value


def _count(form: Mapping[str, str], key: str, errors: dict[str, str]) -> int | None:
    text = form.get(key, "").strip().translate({ord(mark): None for mark in ",._' \u202f\u00a0’"})
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or not int(text[:18]) > 0 or len(text) > 15:
        errors[key] = mark("this is no whole number of at least 1. Write one, such as 10000, or nothing.")
        return None
    return int(text)


def _bounds(form: Mapping[str, str], kind: str) -> tuple[list[Any], dict[str, str]]:
    found: list[Any] = []
    errors: dict[str, str] = {}
    for side in ("low", "high"):
        text = form.get(side, "").strip()
        if not text:
            errors[side] = mark("this bound is missing. Give it from what is publicly known, or let it be discovered.")
        elif kind in _BY_THE_CLOCK:
            found.append(text)
        else:
            value = _number(text)
            if value is None:
                errors[side] = mark("this is no number. Write one with a decimal point, such as 3.5.")
            found.append(value)
    if not errors and kind not in _BY_THE_CLOCK and found[0] >= found[1]:
        errors["high"] = mark("the upper bound must be above the lower one.")
    return found, errors


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _listed(text: str) -> list[str]:
    """One in each line, or with commas between where all stand in one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1:
        lines = [part.strip() for part in lines[0].split(",") if part.strip()]
    return list(dict.fromkeys(lines))


def _plain(value: Any) -> Any:
    """TOML's dates as texts, which JSON and the schema's reader take alike."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


def _key(name: str) -> str:
    return name if name.replace("_", "").isalnum() and name.isascii() else _text(name)


def _text(value: str) -> str:
    # A JSON string is a TOML string, but for the delete character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {_value(entry)}' for key, entry in value.items())} }}"
    return _text(value) if isinstance(value, str) else repr(value)
