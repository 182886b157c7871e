"""schema.toml, the file in which a person says what is public about the data: its text, and what it declares.

This knows columns but not schemas, so that a schema can read and write itself.
"""

import json
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfumato.errors import SchemaError
from sfumato.public.budget import PrivacyUnit
from sfumato.public.schema.clock import clock_texts
from sfumato.public.schema.column import CODED_KINDS, Column, bounds_of
from sfumato.public.schema.faults import Faults
from sfumato.public.schema.long_lists import categories_of_file, combinations_of_file, map_of_file
from sfumato.public.schema.one_of import Groups, groups_declared
from sfumato.public.schema.rules import Rule
from sfumato.public.schema.shorter import DEFAULTS, whole_entries
from sfumato.public.schema.whole import contradictions
from sfumato.public.spelling import did_you_mean

_KEYS = {"dataset": ("target", "rows", "one_of", "at_most_one_of"), "privacy": ("relation", "person", "max_rows")}
_SECTIONS = (*_KEYS, "columns", "defaults")
_RULES = "rules"
#: The longest schema file that is read.
MOST_BYTES = 16 << 20


class Declared(NamedTuple):
    """The declarations of a schema file, each checked by itself; whether they fit together is the schema's affair."""

    columns: tuple[Column, ...]
    target: str | None
    rows: int | None
    unit: PrivacyUnit
    one_of: Groups = ()
    at_most_one_of: Groups = ()
    rules: tuple[Rule, ...] = ()


def read_schema_file(path: str | Path) -> str:
    """The text of a schema file."""
    try:
        if Path(path).stat().st_size > MOST_BYTES:
            raise SchemaError(
                f"the schema file {path} has more than {MOST_BYTES >> 20} MB, which would take minutes to read. Give long lists "
                'of categories in a file of their own: categories_file = "codes.csv".'
            )
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SchemaError(f"there is no schema file {path}. Make one with: sfumato schema DATA > schema.toml") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(
            f"the schema file {path} cannot be read ({type(error).__name__}). Is it a text in UTF-8?"
        ) from None


def from_toml(text: str, *, name: str = "schema.toml", folder: Path | None = None) -> Declared:
    """Read what the text of a schema file declares; all faults are told at once.

    Files of categories are looked for in the folder; without it there can be none.
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(
            f'{name} is not valid TOML: {error}. Texts need quotes, and so do names with spaces or marks: [columns."a b"].'
        ) from None
    except (RecursionError, ValueError):  # nested without end, or a number of thousands of digits
        raise SchemaError(f"{name} is TOML that nobody writes by accident.") from None
    faults = Faults()
    for section, body in tree.items():
        if section == _RULES:
            if not isinstance(body, list) or not all(isinstance(entry, dict) for entry in body):
                faults.add("rules must be tables: [[rules]], and then rule = ...", section)
        elif section not in _SECTIONS:
            known = ", ".join((*_SECTIONS, _RULES))
            near = did_you_mean(section, (*_SECTIONS, _RULES))
            faults.add(f"the schema has an unknown section [{section}].{near} Known: {known}.", section)
        elif not isinstance(body, dict):
            example = "columns.NAME" if section == "columns" else section
            faults.add(f"{section} must be a section: [{example}].", section)
    declared = _declared(tree, faults, folder)
    faults.refuse(text, name=name)
    return declared


def _declared(tree: Mapping[str, Any], faults: Faults, folder: Path | None) -> Declared:
    """Everything that can be read; what cannot is among the faults."""
    dataset, privacy, given, defaults = (
        body if isinstance(body := tree.get(key, {}), dict) else {} for key in _SECTIONS
    )
    for section, body in (("dataset", dataset), ("privacy", privacy)):
        _note_unknown_keys(body, _KEYS[section], faults, section, what=f"[{section}]")
    target, rows, unit = None, dataset.get("rows"), None
    with faults.at("dataset", "target"):
        target = _name(dataset, "target")
    if rows is not None and type(rows) is not int:
        faults.add(f"rows = {rows!r} must be a whole number.", "dataset", "rows")
        rows = None
    with faults.at("privacy"):
        person = _name(privacy, "person")
        known = {key: value for key, value in privacy.items() if key in _KEYS["privacy"]}
        unit = PrivacyUnit(**{**known, "person": person})
    groups: dict[str, Groups] = {"one_of": (), "at_most_one_of": ()}
    for key in groups:
        with faults.at("dataset", key):
            groups[key] = groups_declared(dataset.get(key, []), key=key)
    _note_faults_of_defaults(defaults, faults)
    entries = whole_entries(given, defaults, faults)
    columns = [_column(name, entry, faults, folder) for name, entry in entries.items()]
    good = tuple(column for column in columns if column is not None)
    unread = [name for name, column in zip(entries, columns, strict=True) if column is None]
    n_faults = len(faults.entries)
    listed = tree.get(_RULES, []) if isinstance(tree.get(_RULES, []), list) else []
    read = [_rule(number, entry, faults, folder) for number, entry in enumerate(listed) if isinstance(entry, dict)]
    rules = tuple(rule for rule in read if rule is not None)
    judged = (
        rules if len(faults.entries) == n_faults else ()
    )  # numbers of rules are those of the file, or they are not judged
    faults.entries += contradictions(
        good, target=target, rows=rows, unit=unit, groups=groups, rules=judged, unread=unread
    )
    return Declared(good, target, rows, unit or PrivacyUnit(), groups["one_of"], groups["at_most_one_of"], rules)


def _note_faults_of_defaults(defaults: Mapping[str, Any], faults: Faults) -> None:
    """Keys that no column can have. What their values must be is told where a column takes them."""
    for_all = {key: value for key, value in defaults.items() if not isinstance(value, dict)}
    _note_unknown_keys(for_all, DEFAULTS, faults, "defaults", what="[defaults]")
    for pattern, keys in defaults.items():
        if isinstance(keys, dict):
            _note_unknown_keys(keys, _COLUMN_KEYS, faults, "defaults", pattern, what=f"[defaults.{pattern!r}]")


def _rule(number: int, entry: Mapping[str, Any], faults: Faults, folder: Path | None) -> Rule | None:
    """The rule, or None where it has faults, which are noted."""
    place, n_faults = (_RULES, str(number)), len(faults.entries)
    _note_unknown_keys(entry, _RULE_KEYS, faults, *place, what="a rule")
    read: dict[str, Any] = {}
    for key, reader in _RULE_READERS.items():
        if key in entry and reader.fits(entry[key]):
            read[key] = reader.read(entry[key])
        elif key in entry:
            faults.add(f"{key} must be {reader.must_be}.", *place, key)
    for key in ("permitted", "forbidden"):
        if f"{key}_file" in entry:
            with faults.at(*place, f"{key}_file"):
                read[key] = combinations_of_file(entry, folder, key=f"{key}_file")
    rule = None
    if len(faults.entries) == n_faults:
        with faults.at(*place):
            rule = Rule(**read)
    return rule


def _note_unknown_keys(body: Mapping[str, Any], known: Iterable[str], faults: Faults, *place: str, what: str) -> None:
    for key in body:
        if key not in known:
            near, listed = did_you_mean(key, known), ", ".join(sorted(known))
            faults.add(f"{what} has an unknown key {key!r}.{near} Known: {listed}.", *place, key)


def _name(section: Mapping[str, Any], key: str) -> str | None:
    value = section.get(key)
    if value is not None and not isinstance(value, str):
        raise SchemaError(f'{key} = {value!r} must be the name of a column in quotes, such as "age".')
    return value


def _column(name: str, entry: Any, faults: Faults, folder: Path | None) -> Column | None:
    """The column, or None where it has faults, which are noted; of a line that could not be read they are so already."""
    n_faults = len(faults.entries)
    if entry is None:
        return None
    if not isinstance(entry, dict) or "type" not in entry:
        remedy = f'Write [columns.{name}] and type = "numeric" (or another type).'
        faults.add(f"column {name!r} has no type. {remedy}", "columns", name)
    if not isinstance(entry, dict):
        return None
    _note_unknown_keys(entry, _COLUMN_KEYS, faults, "columns", name, what=f"column {name!r}")
    read: dict[str, Any] = {}
    for key, reader in _READERS.items():
        if key in entry:
            if reader.fits(entry[key]):
                read[reader.argument] = reader.read(entry[key])
            else:
                faults.add(f"column {name!r}: {key} must be {reader.must_be}.", "columns", name, key)
    if "bounds" in read:
        with faults.at("columns", name, "bounds"):
            read["bounds"] = bounds_of(name, str(entry.get("type")), read["bounds"])
    if "categories_file" in entry:
        with faults.at("columns", name, "categories_file"):
            read["categories"] = categories_of_file(name, entry, folder)
    if "depends_on_file" in entry:
        with faults.at("columns", name, "depends_on_file"):
            read["depends_on_map"] = map_of_file(name, entry, folder)
    column = None
    if len(faults.entries) == n_faults:
        with faults.at("columns", name):
            column = Column(name=name, kind=entry["type"], **read)
    return column


class _Reader(NamedTuple):
    """How a key is read: the argument that it becomes, whether a value fits, what it must be else, what becomes of it."""

    argument: str
    fits: Callable[[Any], bool]
    must_be: str
    read: Callable[[Any], Any] = tuple


def _are(values: Any, *types: type) -> bool:
    return isinstance(values, list) and all(type(value) in types for value in values)


_FLAG = (lambda v: isinstance(v, bool), "true or false", bool)
_TEXTS = (
    lambda v: _are(v, str, int, float, bool),
    'a list of texts or numbers, such as ["a", "b"]',
    lambda v: tuple(str(text).lower() if isinstance(text, bool) else str(text) for text in v),
)
_READERS = {
    "bounds": _Reader(
        "bounds", lambda v: isinstance(v, list) and len(v) == 2 and bool not in map(type, v), "[low, high]"
    ),
    "categories": _Reader("categories", *_TEXTS),
    "missing": _Reader("missing", *_FLAG),
    "special": _Reader(
        "special",
        lambda v: v != [] and _are(v, int, float) and not any(abs(code) > sys.float_info.max for code in v),
        "a list of finite numbers, such as [999, -1]",
        lambda v: tuple(map(float, v)),
    ),
    "decimals": _Reader("decimals", lambda v: type(v) is int, "a whole number", int),
    "depends_on": _Reader(
        "depends_on",
        lambda v: isinstance(v, str) or (v != [] and _are(v, str)),
        'a list of columns, such as ["education"]',
        lambda v: (v,) if isinstance(v, str) else tuple(v),
    ),
    "depends_on_map": _Reader(
        "depends_on_map",
        lambda v: isinstance(v, list) and v != [] and all(_are(entry, str, int, float, bool) for entry in v),
        'a list of reasons and what follows, such as [["school", 12], ["college", 16]]',
        lambda v: tuple(map(_TEXTS[2], v)),
    ),
    "shape": _Reader("shape", lambda v: _are(v, int), "a list of whole numbers, such as [28, 28]"),
    "sound": _Reader("sound", lambda v: _are(v, int, float), "seconds and hertz, such as [1.0, 4000]"),
    "discover": _Reader("discover", *_FLAG),
    "seconds": _Reader("seconds", *_FLAG),
    "true": _Reader("true_words", *_TEXTS),
    "false": _Reader("false_words", *_TEXTS),
}
_WORD = (lambda v: isinstance(v, str) and v != "", "a text in quotes", str)
_NAMES = (lambda v: v != [] and _are(v, str), 'a list of columns, such as ["a", "b"]', tuple)
_ENTRIES = _READERS["depends_on_map"]
_LISTED = (_ENTRIES.fits, 'a list of combinations, such as [["a", "b"]]', _ENTRIES.read)
_RULE_READERS = {
    "rule": _Reader("rule", *_WORD),
    "columns": _Reader("columns", *_NAMES),
    "permitted": _Reader("permitted", *_LISTED),
    "forbidden": _Reader("forbidden", *_LISTED),
    "missing_together": _Reader("missing_together", *_NAMES),
    "key": _Reader("key", *_WORD),
    "pattern": _Reader("pattern", *_WORD),
    "unique": _Reader("unique", *_FLAG),
}
_RULE_KEYS = (*_RULE_READERS, "permitted_file", "forbidden_file")
_COLUMN_KEYS = ("type", "categories_file", "depends_on_file", *_READERS)


def to_toml(declared: Declared) -> str:
    """Write a schema file; reading it back gives the same declarations."""
    unit, groups = declared.unit, {"one_of": declared.one_of, "at_most_one_of": declared.at_most_one_of}
    dataset = {
        "target": "" if declared.target is None else _text(declared.target),
        "rows": "" if declared.rows is None else str(declared.rows),
        **{key: _listed(map(_list_of, each)) for key, each in groups.items()},
    }
    person = {} if unit.person is None else {"person": _text(unit.person), "max_rows": str(unit.max_rows)}
    sections = [("dataset", dataset), ("privacy", {"relation": f'"{unit.relation}"', **person})]
    sections += [(f"columns.{_text(column.name)}", _column_entries(column)) for column in declared.columns]
    sections += [(f"[{_RULES}]", _rule_entries(rule)) for rule in declared.rules]
    return "\n".join(
        f"[{section}]\n" + "".join(f"{key} = {text}\n" for key, text in entries.items() if text)
        for section, entries in sections
    )


def _rule_entries(rule: Rule) -> dict[str, str]:
    return {
        "rule": _text(rule.rule) if rule.rule else "",
        "columns": _list_of(rule.columns),
        "permitted": _listed(map(_list_of, rule.permitted)),
        "forbidden": _listed(map(_list_of, rule.forbidden)),
        "missing_together": _list_of(rule.missing_together),
        "key": _text(rule.key) if rule.key else "",
        "pattern": _text(rule.pattern) if rule.pattern else "",
        "unique": "" if rule.unique else "false",
    }


def _column_entries(column: Column) -> dict[str, str]:
    named = column.categories if column.kind in CODED_KINDS and column.kind != "boolean" else ()
    return {
        "type": f'"{column.kind}"',
        "shape": _listed(map(str, column.shape)),
        "sound": _listed(_number(column, side) for side in column.sound),
        "bounds": _listed(_number(column, side) for side in column.bounds or ()),
        "categories": _list_of(named),
        "true": _list_of(column.true_words),
        "false": _list_of(column.false_words),
        "missing": "true" if column.missing and column.special_as is None else "",
        "special": _listed(_number(column, code) for code in column.special),
        "decimals": "" if column.decimals is None else str(column.decimals),
        "depends_on": _list_of(column.depends_on),
        "depends_on_map": _listed(map(_list_of, column.depends_on_map)),
        "discover": "true" if column.discover else "",
        "seconds": "true" if column.seconds else "",
    }


def _listed(texts: Iterable[str]) -> str:
    """Nothing where there are none."""
    joined = ", ".join(texts)
    return f"[{joined}]" if joined else ""


def _list_of(values: Iterable[str]) -> str:
    return _listed(map(_text, values))


def _number(column: Column, value: float) -> str:
    if column.kind == "time":
        return _text(clock_texts(np.array([value]), seconds=True)[0])
    if column.kind == "datetime" and float(value).is_integer():
        return datetime.fromtimestamp(value, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


def _text(value: str) -> str:
    # A JSON string is a TOML string, but for the delete character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
