"""Public tables that columns refer to: hospitals, drugs, airports. They are given, and nobody in them is protected.

The categories of such a column are the keys of its table, so a value that is not in the table is no category. Whoever gets the
release finds the table in its schema, and joins it by the key.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sfumato.errors import SchemaError
from sfumato.public.schema.faults import Faults
from sfumato.public.schema.toml_columns import list_of, listed, note_unknown_keys, quoted
from sfumato.public.spelling import did_you_mean

LOOKUPS = "lookups"
_KEYS = ("key", "file", "columns", "rows")


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """A public table.

    Attributes:
        name: The table's name.
        key: The column that names its rows.
        columns: The names of all columns.
        rows: Its cells as texts.
        used: The columns that refer to it, each with its table; none stands for the one table, or that of persons.
    """

    name: str
    key: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    used: tuple[tuple[str | None, str], ...] = ()

    def __post_init__(self) -> None:
        what = f"the public table {self.name!r}"
        if self.key not in self.columns:
            near = did_you_mean(self.key, self.columns)
            raise SchemaError(
                f"{what} has no column {self.key!r} for its key.{near} It has: {', '.join(self.columns)}."
            )
        if len(set(self.columns)) != len(self.columns) or any(len(row) != len(self.columns) for row in self.rows):
            raise SchemaError(f"{what} must have a cell for each of its columns in every row, and no column twice.")
        if not self.rows or len(set(self.keys)) != len(self.rows) or "" in self.keys:
            raise SchemaError(f"{what} must have rows, each with a key of its own in {self.key!r}.")

    @property
    def keys(self) -> tuple[str, ...]:
        """What columns that refer to it may hold."""
        at = self.columns.index(self.key)
        return tuple(row[at] for row in self.rows)

    @property
    def frame(self) -> pd.DataFrame:
        """The table."""
        return pd.DataFrame(list(self.rows), columns=list(self.columns))

    def to_json(self) -> dict[str, Any]:
        """Plain values, the same for the same table."""
        used = [list(place) for place in self.used]
        return {
            "name": self.name,
            "key": self.key,
            "columns": list(self.columns),
            "rows": list(map(list, self.rows)),
            "used": used,
        }

    def section(self) -> tuple[str, dict[str, str]]:
        """How it is written in schema.toml, whole."""
        entries = {"key": quoted(self.key), "columns": list_of(self.columns), "rows": listed(map(list_of, self.rows))}
        return f"{LOOKUPS}.{quoted(self.name)}", entries


class Lookups:
    """The public tables of a schema file, and which of its columns refer to them."""

    def __init__(self, sections: Any, faults: Faults, folder: Path | None) -> None:
        self._faults, self._used = faults, list[tuple[str, str | None, str]]()
        self._tables = dict[str, Lookup]()
        bodies = sections if isinstance(sections, dict) else {}
        self._names = tuple(bodies)
        for name, body in bodies.items():
            with faults.at(LOOKUPS, name):
                self._tables[name] = _read(name, body if isinstance(body, dict) else {}, faults, folder)

    def resolved(self, entries: Any, *, table: str | None, within: tuple[str, ...]) -> dict[str, Any]:
        """The entries of columns, with categories in the place of `lookup`."""
        return {name: self._column(name, entry, table, within) for name, entry in _sections(entries).items()}

    def read(self) -> tuple[Lookup, ...]:
        """All tables, each with the columns that refer to it."""
        return tuple(
            Lookup(
                name=one.name,
                key=one.key,
                columns=one.columns,
                rows=one.rows,
                used=tuple((table, column) for name, table, column in self._used if name == one.name),
            )
            for one in self._tables.values()
        )

    def _column(self, name: str, entry: Any, table: str | None, within: tuple[str, ...]) -> Any:
        if not isinstance(entry, dict) or "lookup" not in entry:
            return entry
        rest, asked = {key: value for key, value in entry.items() if key != "lookup"}, entry["lookup"]
        if "categories" in rest or "categories_file" in rest or rest.get("discover"):
            self._faults.add(
                f"column {name!r} has lookup beside categories or discover. Keep one of them.", *within, name
            )
        elif asked not in self._names:
            near = did_you_mean(str(asked), self._names)
            sentence = f"column {name!r}: there is no public table {asked!r}.{near} Declare it: [lookups.NAME]."
            self._faults.add(sentence, *within, name)
        elif asked in self._tables:
            self._used.append((str(asked), table, name))
            return {**rest, "categories": list(self._tables[asked].keys)}
        return {**rest, "categories": ["?"]}  # its fault is noted


def lookup_of(lookups: tuple[Lookup, ...], table: str | None, column: str) -> str | None:
    """The public table that a column refers to."""
    return next((one.name for one in lookups if (table, column) in one.used), None)


def referring(entries: Mapping[str, str], lookup: str | None) -> dict[str, str]:
    """The entries of a column as they are written: those of a public table name it."""
    if lookup is None:
        return dict(entries)
    return {**{key: text for key, text in entries.items() if key != "categories"}, "lookup": quoted(lookup)}


def _sections(entries: Any) -> dict[str, Any]:
    return entries if isinstance(entries, dict) else {}


def _read(name: str, body: Mapping[str, Any], faults: Faults, folder: Path | None) -> Lookup:
    note_unknown_keys(body, _KEYS, faults, LOOKUPS, name, what=f"the public table {name!r}")
    key, columns, rows = body.get("key"), body.get("columns", []), body.get("rows", [])
    if "file" in body:
        columns, *rows = _lines(name, body["file"], folder)
    if not isinstance(key, str) or not all(isinstance(cells, list) for cells in (columns, rows, *rows)):
        raise SchemaError(
            f'the public table {name!r} needs key = "NAME" and file = "hospitals.csv", whose first line has the names.'
        )
    return Lookup(name=name, key=key, columns=_texts(columns), rows=tuple(map(_texts, rows)))


def _texts(cells: Any) -> tuple[str, ...]:
    return tuple(str(cell).strip() for cell in cells)


def _lines(name: str, file: Any, folder: Path | None) -> Iterator[list[str]]:
    if folder is None or not isinstance(file, str):
        raise SchemaError(
            f"the public table {name!r}: file is the name of a CSV file beside the schema file. A schema that is read from a text "
            "lists columns and rows."
        )
    path = folder / file
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            found = [line for line in csv.reader(lines) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SchemaError(
            f"the public table {path} cannot be read ({type(error).__name__}). Give a CSV file in UTF-8."
        ) from None
    if not found:
        raise SchemaError(f"the public table {path} is empty. Its first line has the names of the columns.")
    return iter(found)
