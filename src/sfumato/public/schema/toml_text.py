"""schema.toml, the file in which a person says what is public about the data: its text, and what it declares.

This knows columns but not schemas, so that a schema can read and write itself.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.errors import SchemaError
from sfumato.public.budget import PrivacyUnit
from sfumato.public.schema.column import Column
from sfumato.public.schema.faults import Faults, Place
from sfumato.public.schema.lookups import LOOKUPS, Lookup, Lookups, lookup_of, referring
from sfumato.public.schema.one_of import Groups, groups_declared
from sfumato.public.schema.rules import Rule
from sfumato.public.schema.shorter import DEFAULTS, whole_tree
from sfumato.public.schema.tables import EventTable
from sfumato.public.schema.toml_columns import (
    COLUMN_KEYS,
    column_entries,
    list_of,
    listed,
    note_unknown_keys,
    quoted,
    read_column,
)
from sfumato.public.schema.toml_rules import RULES, read_rule, rule_entries
from sfumato.public.schema.toml_tables import event_sections, named, read_tables
from sfumato.public.schema.whole import contradictions
from sfumato.public.spelling import did_you_mean

_KEYS = {"dataset": ("target", "rows", "one_of", "at_most_one_of"), "privacy": ("relation", "person", "max_rows")}
_SECTIONS = (*_KEYS, "columns", "tables", LOOKUPS, "defaults")
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
    persons: str | None = None
    tables: tuple[EventTable, ...] = ()
    lookups: tuple[Lookup, ...] = ()


def read_schema_file(path: str | Path) -> str:
    """The text of a schema file."""
    if "\n" in str(path):
        raise SchemaError("the path of a schema file is in one line. If this is its text, give sf.Schema.parse(text).")
    try:
        if Path(path).stat().st_size > MOST_BYTES:
            raise SchemaError(
                f"the schema file {path} has more than {MOST_BYTES >> 20} MB, which would take minutes to read. Give long lists "
                'of categories in a file of their own: categories_file = "codes.csv".'
            )
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SchemaError(
            f"there is no schema file {path}. Make one with: sfumato schema DATA --out schema.toml"
        ) from None
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
        if section == RULES:
            if not isinstance(body, list) or not all(isinstance(entry, dict) for entry in body):
                faults.add("rules must be tables: [[rules]], and then rule = ...", section)
        elif section not in _SECTIONS:
            known = ", ".join((*_SECTIONS, RULES))
            near = did_you_mean(section, (*_SECTIONS, RULES))
            faults.add(f"the schema has an unknown section [{section}].{near} Known: {known}.", section)
        elif not isinstance(body, dict):
            example = f"{section}.NAME" if section in ("columns", "tables", LOOKUPS) else section
            faults.add(f"{section} must be a section: [{example}].", section)
    declared = _declared(tree, faults, folder)
    faults.refuse(text, name=name)
    return declared


def _declared(tree: Mapping[str, Any], faults: Faults, folder: Path | None) -> Declared:
    """Everything that can be read; what cannot is among the faults."""
    _note_faults_of_defaults(tree.get("defaults"), faults)
    tree = whole_tree(tree, faults)
    dataset, privacy, entries, tables, public, _ = (
        body if isinstance(body := tree.get(key, {}), dict) else {} for key in _SECTIONS
    )
    lookups = Lookups(public, faults, folder)
    for section, body in (("dataset", dataset), ("privacy", privacy)):
        note_unknown_keys(body, _KEYS[section], faults, section, what=f"[{section}]")
    target, rows, unit = None, dataset.get("rows"), None
    with faults.at("dataset", "target"):
        target = named(dataset, "target")
    if rows is not None and type(rows) is not int:
        faults.add(f"rows = {rows!r} must be a whole number.", "dataset", "rows")
        rows = None
    with faults.at("privacy"):
        person = named(privacy, "person")
        known = {key: value for key, value in privacy.items() if key in _KEYS["privacy"]}
        unit = PrivacyUnit(**{**known, "person": person})
    groups: dict[str, Groups] = {"one_of": (), "at_most_one_of": ()}
    for key in groups:
        with faults.at("dataset", key):
            groups[key] = groups_declared(dataset.get(key, []), key=key)
    persons: str | None = None
    events: tuple[EventTable, ...] = ()
    if tables and not entries:
        persons, own_key, entries, events = read_tables(tables, faults, folder, lookups)
        within: Place = ("tables", str(persons), "columns")
        if unit is not None and (unit.person is not None or unit.max_rows != 1):
            faults.add("who the persons are is said by the key of their table. Remove person and max_rows.", "privacy")
        elif unit is not None:
            unit = replace(unit, person=own_key)
    else:
        within = ("columns",)
        if tables:
            faults.add("columns belong to one of the tables. Write [tables.NAME.columns.COLUMN].", "columns")
    entries = lookups.resolved(entries, table=None, within=within)
    columns = [read_column(name, entry, faults, folder, within=within) for name, entry in entries.items()]
    good = tuple(column for column in columns if column is not None)
    unread = [name for name, column in zip(entries, columns, strict=True) if column is None]
    n_faults = len(faults.entries)
    written = tree.get(RULES, []) if isinstance(tree.get(RULES, []), list) else []
    read = [read_rule(number, entry, faults, folder) for number, entry in enumerate(written) if isinstance(entry, dict)]
    rules = tuple(rule for rule in read if rule is not None)
    # The numbers of rules are those of the file, or they are not judged.
    judged = rules if len(faults.entries) == n_faults else ()
    if not faults.entries or not tables:
        faults.entries += contradictions(
            good,
            target=target,
            rows=rows,
            unit=unit,
            groups=groups,
            rules=judged,
            unread=unread,
            persons=persons,
            tables=events,
        )
    both = groups["one_of"], groups["at_most_one_of"]
    return Declared(good, target, rows, unit or PrivacyUnit(), *both, rules, persons, events, lookups.read())


def _note_faults_of_defaults(defaults: Any, faults: Faults) -> None:
    """Keys that no column can have. What their values must be is told where a column takes them."""
    given = defaults if isinstance(defaults, dict) else {}
    for_all = {key: value for key, value in given.items() if not isinstance(value, dict)}
    note_unknown_keys(for_all, DEFAULTS, faults, "defaults", what="[defaults]")
    for pattern, keys in given.items():
        if isinstance(keys, dict):
            note_unknown_keys(keys, COLUMN_KEYS, faults, "defaults", pattern, what=f"[defaults.{pattern!r}]")


def to_toml(declared: Declared) -> str:
    """Write a schema file; reading it back gives the same declarations."""
    unit, groups = declared.unit, {"one_of": declared.one_of, "at_most_one_of": declared.at_most_one_of}
    dataset = {
        "target": "" if declared.target is None else quoted(declared.target),
        "rows": "" if declared.rows is None else str(declared.rows),
        **{key: listed(map(list_of, each)) for key, each in groups.items()},
    }
    person = {} if unit.person is None else {"person": quoted(unit.person), "max_rows": str(unit.max_rows)}
    if declared.tables:
        person = {}
    sections = [("dataset", dataset), ("privacy", {"relation": f'"{unit.relation}"', **person})]
    within = "" if declared.persons is None else f"tables.{quoted(declared.persons)}."
    if declared.persons is not None:
        sections.append((within.rstrip("."), {"key": quoted(unit.person or "")}))
    for column in declared.columns:
        entries = referring(column_entries(column), lookup_of(declared.lookups, None, column.name))
        sections.append((f"{within}columns.{quoted(column.name)}", entries))
    for table in declared.tables:
        sections += event_sections(table, persons=declared.persons, lookups=declared.lookups)
    sections += [lookup.section() for lookup in declared.lookups]
    sections += [(f"[{RULES}]", rule_entries(rule)) for rule in declared.rules]
    return "\n".join(
        f"[{section}]\n" + "".join(f"{key} = {text}\n" for key, text in entries.items() if text)
        for section, entries in sections
    )
