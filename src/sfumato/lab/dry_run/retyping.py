"""Types told by the rows, written into a schema.toml that leaves them open. NOT private: it reads all rows."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.errors import SchemaError
from sfumato.folder.disk import whole_file
from sfumato.lab.dry_run.kinds import Told, told_kinds
from sfumato.public.schema.column import Column
from sfumato.public.schema.one_line import SECONDS, line_of
from sfumato.public.schema.retyped import with_types
from sfumato.public.schema.schema import Schema
from sfumato.public.schema.toml_text import from_toml, read_schema_file


def open_columns(schema: Schema) -> list[str]:
    """Columns of which nobody has said more than that they are texts to be discovered."""
    return [column.name for column in schema.unknown if column.kind == "categorical"]


def write_types(path: Path, data: Any) -> dict[str, str]:
    """Fill in the types of open columns, and give what was written for each. The file is replaced as a whole, or left as it was."""
    text, schema = read_schema_file(path), Schema.load(path)
    names = open_columns(schema)
    told = told_kinds(data, names) if names else {}
    changed = {name: each for name, each in told.items() if each.kind not in (None, "categorical")}
    if not changed:
        return {}
    columns = {name: _column(schema[name], each) for name, each in changed.items()}
    lines = {name: _line(columns[name]) for name in changed}
    new = with_types(text, lines)
    expected = schema.with_columns(columns)
    with whole_file(path, mode=path.stat().st_mode & 0o777) as file:
        file.write(new.encode())
        written = _read(new, path)
        left = [name for name in changed if written[name] == schema[name]]
        if written != expected.with_columns({name: schema[name] for name in left}):
            raise SchemaError(f"the types could not be written into {path}: it is written in a way that is not known.")
    return {name: line for name, line in lines.items() if name not in left}


def _read(text: str, path: Path) -> Schema:
    """As `Schema.load` reads it: files of categories lie beside it."""
    return Schema(**from_toml(text, name=path.name, folder=path.parent)._asdict())


def _column(column: Column, told: Told) -> Column:
    if told.kind == "boolean":
        true, false = (told.words[:1], told.words[1:]) if told.words else ((), ())
        return replace(column, kind="boolean", discover=False, true_words=true, false_words=false)
    if told.kind == "time":
        return replace(column, kind="time", discover=False, seconds=bool(told.words))
    return replace(column, kind=told.kind or column.kind)


def _line(column: Column) -> str:
    words = (*column.true_words, *column.false_words, *([SECONDS] if column.seconds else []))
    return line_of(column.kind, values=words, missing=column.missing)


def sentence_of(written: Mapping[str, str], path: Path) -> str:
    """What was done, for the custodian."""
    if not written:
        return f"No types were written: no column of {path} is left open whose rows tell one."
    return (
        f"Types of {len(written)} column{'s' * (len(written) > 1)} were written to {path}, told by nearly all rows, without "
        "privacy. Types alone, and how true and false are spelled: bounds and categories are yours to fill in."
    )
