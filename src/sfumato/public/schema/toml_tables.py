"""How several tables are written in schema.toml: the table of persons, and those that hang on it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import SchemaError
from sfumato.public.schema.faults import Faults
from sfumato.public.schema.lookups import Lookup, Lookups, lookup_of, referring
from sfumato.public.schema.tables import EventTable, parent_fault
from sfumato.public.schema.toml_columns import column_entries, list_of, note_unknown_keys, quoted, read_column

_OF_PERSONS = ("key", "columns")
_OF_EVENTS = ("key", "parent", "parent_key", "person_key", "max_rows", "order", "kind", "last", "columns")


def read_tables(
    tables: Mapping[str, Any], faults: Faults, folder: Path | None, lookups: Lookups
) -> tuple[str | None, str | None, dict[str, Any], tuple[EventTable, ...]]:
    """The persons' table by its name, its key and what it says of its columns; and the tables of events.

    A table of events alone has no table of persons: everybody whom it names is one.
    """
    bodies = {name: body if isinstance(body, dict) else {} for name, body in tables.items()}
    parents: dict[str, str | None] = {}
    for table, body in bodies.items():
        with faults.at("tables", table, "parent"):
            parents[table] = _parent(table, body)
    wrong = {name: fault for name in parents if (fault := parent_fault(name, parents)) is not None}
    for name, fault in wrong.items():
        faults.add(fault, "tables", name, "parent")
    first = next((name for name, parent in parents.items() if parent is None), None)
    if wrong or first is None or len(parents) < len(bodies):
        return None, None, {}, ()
    keys = dict[str, str | None]()
    for name, body in bodies.items():
        with faults.at("tables", name, "key"):
            keys[name] = named(body, "key")
    if len(bodies) == 1 and "max_rows" in bodies[first]:
        alone = _events(first, bodies[first], keys, faults, folder, lookups, persons=None)
        return None, keys.get(first), {}, () if alone is None else (alone,)
    note_unknown_keys(bodies[first], _OF_PERSONS, faults, "tables", first, what=f"table {first!r}, of persons,")
    if len(bodies) == 1:
        sentence = "one table alone needs no [tables]. Declare its columns under [columns.NAME], or max_rows of events."
        faults.add(sentence, "tables", first)
    events = [
        _events(name, bodies[name], keys, faults, folder, lookups, persons=first)
        for name in _from_above(parents)
        if name != first
    ]
    columns = bodies[first].get("columns", {})
    read = tuple(event for event in events if event is not None)
    return first, keys.get(first), columns if isinstance(columns, dict) else {}, read


def _parent(table: str, body: Mapping[str, Any]) -> str | None:
    if isinstance(body.get("parent"), list):
        raise SchemaError(
            f"table {table!r}: parent is the one table through which its rows hang on a person. What else they refer to is a "
            'column: of a public table with lookup = "NAME".'
        )
    return named(body, "parent")


def _from_above(parents: Mapping[str, str | None]) -> list[str]:
    """Every table after the one that it hangs on, and otherwise as they are written."""

    def depth(name: str) -> int:
        above = parents[name]
        return 0 if above is None else 1 + depth(above)

    return sorted(parents, key=depth)


def _events(
    name: str,
    body: Mapping[str, Any],
    keys: Mapping[str, str | None],
    faults: Faults,
    folder: Path | None,
    lookups: Lookups,
    *,
    persons: str | None,
) -> EventTable | None:
    """A table of events, or None where it has faults, which are noted. Alone, its key is that of the person."""
    n_faults, within = len(faults.entries), ("tables", name, "columns")
    note_unknown_keys(body, _OF_EVENTS, faults, "tables", name, what=f"table {name!r}")
    parent = body.get("parent")
    if "max_rows" not in body:
        sentence = f"table {name!r} does not say how many of its rows count for each row that they hang on. Give max_rows = 20, say."
        faults.add(sentence, "tables", name)
    entries = lookups.resolved(body.get("columns", {}), table=name, within=within)
    columns = [read_column(column, entry, faults, folder, within=within) for column, entry in entries.items()]
    last = body.get("last", [])
    if not (isinstance(last, list) and all(isinstance(category, str) for category in last)):
        faults.add(f"table {name!r}: last must be a list of texts.", "tables", name, "last")
    table = None
    with faults.at("tables", name):
        words = {word: named(body, word) for word in ("order", "kind", "parent_key", "person_key")}
        own = keys.get(name)
        if len(faults.entries) == n_faults:
            table = EventTable(
                name=name,
                columns=tuple(column for column in columns if column is not None),
                key=words["parent_key"] or (own if parent is None else keys.get(parent)) or "",
                max_rows=body["max_rows"],
                order=words["order"],
                kind=words["kind"],
                last=tuple(last),
                parent=None if parent == persons else parent,
                own_key=None if parent is None else own,
                person_key=words["person_key"],
            )
    return table


def named(section: Mapping[str, Any], key: str) -> str | None:
    """The name that a section gives by a key."""
    value = section.get(key)
    if value is not None and not isinstance(value, str):
        raise SchemaError(f'{key} = {value!r} must be the name of a column in quotes, such as "age".')
    return value


def event_sections(
    table: EventTable, *, persons: str | None, lookups: tuple[Lookup, ...]
) -> Iterator[tuple[str, dict[str, str]]]:
    """How a table is written: the section of its own, and one for every column. Alone, its key is that of the person."""
    section = f"tables.{quoted(table.name)}"
    above = table.parent or persons
    given = {"key": table.key if above is None else table.own_key, "parent": above}
    given |= {"parent_key": None if above is None else table.key, "person_key": table.person_key}
    given |= {"order": table.order, "kind": table.kind}
    texts = {key: "" if value is None else quoted(value) for key, value in given.items()}
    yield section, {**texts, "last": list_of(table.last), "max_rows": str(table.max_rows)}
    for column in table.columns:
        entries = referring(column_entries(column), lookup_of(lookups, table.name, column.name))
        yield f"{section}.columns.{quoted(column.name)}", entries
