"""How several tables are written in schema.toml: the table of persons, and those that hang on it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import SchemaError
from sfumato.public.schema.faults import Faults
from sfumato.public.schema.tables import EventTable, parent_fault
from sfumato.public.schema.toml_columns import column_entries, list_of, note_unknown_keys, quoted, read_column

_OF_PERSONS = ("key", "columns")
_OF_EVENTS = ("parent", "parent_key", "max_rows", "order", "kind", "last", "columns")


def read_tables(
    tables: Mapping[str, Any], faults: Faults, folder: Path | None
) -> tuple[str | None, str | None, dict[str, Any], tuple[EventTable, ...]]:
    """The persons' table by its name, its key and what it says of its columns; and the tables of events."""
    bodies = {name: body if isinstance(body, dict) else {} for name, body in tables.items()}
    parents: dict[str, str | None] = {}
    for table, body in bodies.items():
        with faults.at("tables", table, "parent"):
            parents[table] = named(body, "parent")
    wrong = {name: fault for name in parents if (fault := parent_fault(name, parents)) is not None}
    for name, fault in wrong.items():
        faults.add(fault, "tables", name, "parent")
    persons = next((name for name, parent in parents.items() if parent is None), None)
    if wrong or persons is None:
        return None, None, {}, ()
    note_unknown_keys(bodies[persons], _OF_PERSONS, faults, "tables", persons, what=f"table {persons!r}, of persons,")
    key = None
    with faults.at("tables", persons, "key"):
        key = named(bodies[persons], "key")
    events = [_events(name, bodies[name], key, faults, folder) for name in bodies if name != persons]
    if not events:
        faults.add("one table alone needs no [tables]. Declare its columns under [columns.NAME].", "tables", persons)
    columns = bodies[persons].get("columns", {})
    read = tuple(event for event in events if event is not None)
    return persons, key, columns if isinstance(columns, dict) else {}, read


def _events(
    name: str, body: Mapping[str, Any], key: str | None, faults: Faults, folder: Path | None
) -> EventTable | None:
    """A table of events, or None where it has faults, which are noted."""
    n_faults, within = len(faults.entries), ("tables", name, "columns")
    note_unknown_keys(body, _OF_EVENTS, faults, "tables", name, what=f"table {name!r}")
    if "max_rows" not in body:
        faults.add(
            f"table {name!r} does not say how many rows of a person count. Give max_rows = 20, say.", "tables", name
        )
    entries = body.get("columns", {})
    columns = [
        read_column(column, entry, faults, folder, within=within)
        for column, entry in (entries.items() if isinstance(entries, dict) else ())
    ]
    last = body.get("last", [])
    if not (isinstance(last, list) and all(isinstance(category, str) for category in last)):
        faults.add(f"table {name!r}: last must be a list of texts.", "tables", name, "last")
    table = None
    with faults.at("tables", name):
        words = {word: named(body, word) for word in ("order", "kind", "parent_key")}
        if len(faults.entries) == n_faults:
            table = EventTable(
                name=name,
                columns=tuple(column for column in columns if column is not None),
                key=words["parent_key"] or key or "",
                max_rows=body["max_rows"],
                order=words["order"],
                kind=words["kind"],
                last=tuple(last),
            )
    return table


def named(section: Mapping[str, Any], key: str) -> str | None:
    """The name that a section gives by a key."""
    value = section.get(key)
    if value is not None and not isinstance(value, str):
        raise SchemaError(f'{key} = {value!r} must be the name of a column in quotes, such as "age".')
    return value


def event_sections(table: EventTable, *, parent: str) -> Iterator[tuple[str, dict[str, str]]]:
    """How a table is written: the section of its own, and one for every column."""
    section = f"tables.{quoted(table.name)}"
    given = {"parent": parent, "parent_key": table.key, "order": table.order, "kind": table.kind}
    texts = {key: "" if value is None else quoted(value) for key, value in given.items()}
    yield section, {**texts, "last": list_of(table.last), "max_rows": str(table.max_rows)}
    for column in table.columns:
        yield f"{section}.columns.{quoted(column.name)}", column_entries(column)
