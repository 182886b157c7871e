"""schema.toml, the file in which a person says what is public about the data: its text, and what it declares.

This knows columns but not schemas, so that a schema can read and write itself.
"""

import json
import sys
import tomllib
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.errors import SchemaError
from sfumato.public.budget import PrivacyUnit
from sfumato.public.column import CODED_KINDS, Column
from sfumato.public.one_of import Groups, groups_declared

_COLUMN_KEYS = {"type", "bounds", "categories", "missing", "shape", "discover", "true", "false"}
_DATASET_KEYS = {"target", "rows", "one_of", "at_most_one_of"}
_PRIVACY_KEYS = {"relation", "person", "max_rows"}


class Declared(NamedTuple):
    """The declarations of a schema file, each checked by itself; whether they fit together is the schema's affair."""

    columns: tuple[Column, ...]
    target: str | None
    rows: int | None
    unit: PrivacyUnit
    one_of: Groups = ()
    at_most_one_of: Groups = ()


def read_schema_file(path: str | Path) -> str:
    """The text of a schema file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SchemaError(f"there is no schema file {path}. Make one with: sfumato schema DATA > schema.toml") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(f"the schema file {path} cannot be read ({type(error).__name__}).") from None


def from_toml(text: str) -> Declared:
    r"""Read what the text of a schema file declares.

    >>> from_toml('[columns.y]\ntype = "boolean"').columns[0].categories
    ('false', 'true')
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"the schema is not valid TOML: {error}.") from None
    except (RecursionError, ValueError):  # nested without end, or a number of thousands of digits
        raise SchemaError("the schema is TOML that nobody writes by accident.") from None
    dataset = _section(tree, "dataset", _DATASET_KEYS)
    privacy = _section(tree, "privacy", _PRIVACY_KEYS)
    unknown = set(tree) - {"dataset", "privacy", "columns"}
    if unknown:
        raise SchemaError(
            f"the schema has an unknown section [{sorted(unknown)[0]}]. Known: dataset, privacy, columns."
        )
    columns = tree.get("columns", {})
    if not isinstance(columns, dict):
        raise SchemaError("columns must be sections: [columns.NAME].")
    rows = dataset.get("rows")
    if rows is not None and (not isinstance(rows, int) or isinstance(rows, bool)):
        raise SchemaError(f"rows = {rows!r} must be a whole number.")
    return Declared(
        columns=tuple(_column(name, entry) for name, entry in columns.items()),
        target=dataset.get("target"),
        rows=rows,
        unit=PrivacyUnit(**privacy),
        one_of=groups_declared(dataset.get("one_of", []), key="one_of"),
        at_most_one_of=groups_declared(dataset.get("at_most_one_of", []), key="at_most_one_of"),
    )


def _section(tree: Mapping[str, Any], name: str, known: set[str]) -> dict[str, Any]:
    section = tree.get(name, {})
    if not isinstance(section, dict):
        raise SchemaError(f"{name} must be a section: [{name}].")
    unknown = set(section) - known
    if unknown:
        raise SchemaError(f"[{name}] has an unknown key {sorted(unknown)[0]!r}. Known: {', '.join(sorted(known))}.")
    return section


def _column(name: str, entry: Any) -> Column:
    if not isinstance(entry, dict) or "type" not in entry:
        raise SchemaError(
            f'column {name!r} has no type. Write [columns.{name}] and type = "numeric" (or another type).'
        )
    unknown = set(entry) - _COLUMN_KEYS
    if unknown:
        raise SchemaError(
            f"column {name!r} has an unknown key {sorted(unknown)[0]!r}. Known: {', '.join(sorted(_COLUMN_KEYS))}."
        )
    for key in ("missing", "discover"):
        if not isinstance(entry.get(key, False), bool):
            raise SchemaError(f"column {name!r}: {key} must be true or false.")
    return Column(
        name=name,
        kind=entry["type"],
        bounds=None if "bounds" not in entry else _bounds(name, entry["bounds"]),
        categories=_texts(name, entry, "categories"),
        missing=entry.get("missing", False),
        shape=tuple(_side(name, value) for value in _list(name, entry, "shape")),
        discover=entry.get("discover", False),
        true_words=_texts(name, entry, "true"),
        false_words=_texts(name, entry, "false"),
    )


def _list(name: str, entry: Mapping[str, Any], key: str) -> list[Any]:
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise SchemaError(f'column {name!r}: {key} must be a list, such as ["a", "b"].')
    return value


def _texts(name: str, entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(_as_text(name, value, key) for value in _list(name, entry, key))


def _as_text(name: str, value: Any, key: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise SchemaError(f"column {name!r}: {key} must be texts or numbers.")


def _side(name: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise SchemaError(f"column {name!r}: shape must hold whole numbers, such as [28, 28].")


def _bounds(name: str, value: Any) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise SchemaError(f"column {name!r}: bounds must be [low, high].")
    low, high = (_bound(name, side) for side in value)
    return low, high


def _bound(name: str, value: Any) -> float:
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    if isinstance(value, float) or (type(value) is int and abs(value) <= sys.float_info.max):
        return float(value)
    raise SchemaError(f"column {name!r}: bounds must be numbers, or dates such as 2020-01-31.")


def to_toml(declared: Declared) -> str:
    """Write a schema file; reading it back gives the same declarations."""
    lines = ["[dataset]"]
    if declared.target is not None:
        lines.append(f"target = {_text(declared.target)}")
    if declared.rows is not None:
        lines.append(f"rows = {declared.rows}")
    for key, groups in (("one_of", declared.one_of), ("at_most_one_of", declared.at_most_one_of)):
        if groups:
            lines.append(f"{key} = [{', '.join(map(_list_of, groups))}]")
    lines += ["", "[privacy]", f'relation = "{declared.unit.relation}"']
    if declared.unit.person is not None:
        lines += [f"person = {_text(declared.unit.person)}", f"max_rows = {declared.unit.max_rows}"]
    for column in declared.columns:
        lines += ["", f"[columns.{_text(column.name)}]", *_column_lines(column)]
    return "\n".join(lines) + "\n"


def _column_lines(column: Column) -> list[str]:
    lines = [f'type = "{column.kind}"']
    if column.shape:
        lines.append(f"shape = {list(column.shape)}")
    if column.bounds is not None:
        lines.append(f"bounds = [{', '.join(_number(column, side) for side in column.bounds)}]")
    if column.categories and column.kind in CODED_KINDS and column.kind != "boolean":
        lines.append(f"categories = {_list_of(column.categories)}")
    if column.true_words:
        lines.append(f"true = {_list_of(column.true_words)}")
    if column.false_words:
        lines.append(f"false = {_list_of(column.false_words)}")
    if column.missing:
        lines.append("missing = true")
    if column.discover:
        lines.append("discover = true")
    return lines


def _list_of(values: Iterable[str]) -> str:
    return f"[{', '.join(_text(value) for value in values)}]"


def _number(column: Column, value: float) -> str:
    if column.kind == "datetime" and float(value).is_integer():
        return datetime.fromtimestamp(value, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


def _text(value: str) -> str:
    # A JSON string is a TOML string, but for the delete character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
