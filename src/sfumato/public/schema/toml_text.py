"""schema.toml, the file in which a person says what is public about the data: its text, and what it declares.

This knows columns but not schemas, so that a schema can read and write itself.
"""

import csv
import json
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.errors import SchemaError
from sfumato.public.budget import PrivacyUnit
from sfumato.public.schema.column import CODED_KINDS, Column, bounds_of
from sfumato.public.schema.faults import Faults
from sfumato.public.schema.one_of import Groups, groups_declared
from sfumato.public.schema.spelling import did_you_mean
from sfumato.public.schema.whole import contradictions

_COLUMN_KEYS = (
    *("type", "bounds", "categories", "categories_file", "missing", "special", "decimals", "depends_on"),
    *("shape", "sound", "discover", "true", "false"),
)
_KEYS = {"dataset": ("target", "rows", "one_of", "at_most_one_of"), "privacy": ("relation", "person", "max_rows")}
_SECTIONS = (*_KEYS, "columns")
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
    r"""Read what the text of a schema file declares; all faults are told at once.

    Args:
        text: The file.
        name: What a refusal calls it.
        folder: Where files of categories are looked for; without it there can be none.

    >>> from_toml('[columns.y]\ntype = "boolean"').columns[0].categories
    ('false', 'true')
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
    for section in tree:
        with faults.at(section):
            _check_section(tree, section)
    dataset, privacy, entries = (body if isinstance(body := tree.get(key, {}), dict) else {} for key in _SECTIONS)
    declared = _declared(dataset, privacy, entries, faults, folder)
    faults.refuse(text, name=name)
    return declared


def _check_section(tree: Mapping[str, Any], section: str) -> None:
    if section not in _SECTIONS:
        near = did_you_mean(section, _SECTIONS)
        raise SchemaError(f"the schema has an unknown section [{section}].{near} Known: {', '.join(_SECTIONS)}.")
    if not isinstance(tree[section], dict):
        example = "columns.NAME" if section == "columns" else section
        raise SchemaError(f"{section} must be a section: [{example}].")


def _declared(
    dataset: Mapping[str, Any],
    privacy: Mapping[str, Any],
    entries: Mapping[str, Any],
    faults: Faults,
    folder: Path | None,
) -> Declared:
    """Everything that can be read; what cannot is among the faults."""
    for section, body in (("dataset", dataset), ("privacy", privacy)):
        _note_unknown_keys(body, _KEYS[section], faults, section, what=f"[{section}]")
    target, rows, unit = None, None, None
    with faults.at("dataset", "target"):
        target = _name(dataset, "target")
    with faults.at("dataset", "rows"):
        rows = _rows(dataset.get("rows"))
    with faults.at("privacy"):
        person = _name(privacy, "person")
        known = {key: value for key, value in privacy.items() if key in _KEYS["privacy"]}
        unit = PrivacyUnit(**{**known, "person": person})
    groups: dict[str, Groups] = {"one_of": (), "at_most_one_of": ()}
    for key in groups:
        with faults.at("dataset", key):
            groups[key] = groups_declared(dataset.get(key, []), key=key)
    columns = [_column(name, entry, faults, folder) for name, entry in entries.items()]
    good = tuple(column for column in columns if column is not None)
    unread = [name for name, column in zip(entries, columns, strict=True) if column is None]
    faults.entries += contradictions(good, target=target, rows=rows, unit=unit, groups=groups, unread=unread)
    return Declared(good, target, rows, unit or PrivacyUnit(), groups["one_of"], groups["at_most_one_of"])


def _note_unknown_keys(body: Mapping[str, Any], known: Iterable[str], faults: Faults, *place: str, what: str) -> None:
    for key in body:
        if key not in known:
            with faults.at(*place, key):
                near = did_you_mean(key, known)
                raise SchemaError(f"{what} has an unknown key {key!r}.{near} Known: {', '.join(sorted(known))}.")


def _name(section: Mapping[str, Any], key: str) -> str | None:
    value = section.get(key)
    if value is not None and not isinstance(value, str):
        raise SchemaError(f'{key} = {value!r} must be the name of a column in quotes, such as "age".')
    return value


def _rows(value: Any) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise SchemaError(f"rows = {value!r} must be a whole number.")
    return value


def _column(name: str, entry: Any, faults: Faults, folder: Path | None) -> Column | None:
    """The column, or None where it has faults, which are noted."""
    n_faults = len(faults.entries)
    if not isinstance(entry, dict) or "type" not in entry:
        with faults.at("columns", name):
            raise SchemaError(
                f'column {name!r} has no type. Write [columns.{name}] and type = "numeric" (or another type).'
            )
    if not isinstance(entry, Mapping):
        return None
    _note_unknown_keys(entry, _COLUMN_KEYS, faults, "columns", name, what=f"column {name!r}")
    read: dict[str, Any] = {}
    for key, (argument, reader) in _READERS.items():
        if key in entry:
            with faults.at("columns", name, key):
                read[argument] = reader(name, entry, key)
    if "categories_file" in entry:
        with faults.at("columns", name, "categories_file"):
            read["categories"] = _categories_of_file(name, entry, folder)
    if len(faults.entries) > n_faults:
        return None
    column = None
    with faults.at("columns", name):
        column = Column(name=name, kind=entry["type"], **read)
    return column


def _categories_of_file(name: str, entry: Mapping[str, Any], folder: Path | None) -> tuple[str, ...]:
    value = entry["categories_file"]
    if "categories" in entry or entry.get("discover"):
        raise SchemaError(f"column {name!r} has categories_file beside categories or discover. Keep one of them.")
    if not isinstance(value, str):
        raise SchemaError(f'column {name!r}: categories_file must be the name of a file, such as "zip.csv".')
    if folder is None:
        raise SchemaError(
            f"column {name!r}: categories_file is looked for beside the schema file, and this schema was read from a text. "
            "Load the file, or list the categories."
        )
    return _read_categories(folder / value, column=name)


def _read_categories(path: Path, *, column: str) -> tuple[str, ...]:
    """The first cell of every line that is not empty; a first one that is the column's own name is a heading."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            cells = [row[0].strip() for row in csv.reader(file) if row]
    except FileNotFoundError:
        raise SchemaError(f"there is no file {path} of categories. It is looked for beside the schema file.") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SchemaError(
            f"the categories in {path} cannot be read ({type(error).__name__}). Give a text file in UTF-8, one in each line."
        ) from None
    named = [cell for cell in cells if cell]
    if named and named[0].casefold() == column.strip().casefold():
        named = named[1:]
    if not named:
        raise SchemaError(f"{path} holds no categories. Write one in each line.")
    return tuple(named)


def _flag(name: str, entry: Mapping[str, Any], key: str) -> bool:
    value = entry[key]
    if not isinstance(value, bool):
        raise SchemaError(f"column {name!r}: {key} must be true or false.")
    return value


def _whole(name: str, entry: Mapping[str, Any], key: str) -> int:
    value = entry[key]
    if type(value) is not int:
        raise SchemaError(f"column {name!r}: {key} = {value!r} must be a whole number.")
    return value


def _numbers(name: str, entry: Mapping[str, Any], key: str) -> tuple[float, ...]:
    values = _list(name, entry, key)
    if not values or not all(
        type(value) is float or (type(value) is int and abs(value) <= sys.float_info.max) for value in values
    ):
        raise SchemaError(f"column {name!r}: {key} must be a list of numbers, such as [999, -1].")
    return tuple(map(float, values))


def _names(name: str, entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = entry[key]
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not values or not all(isinstance(each, str) for each in values):
        raise SchemaError(f'column {name!r}: {key} must be a list of columns, such as ["education"].')
    return tuple(values)


def _list(name: str, entry: Mapping[str, Any], key: str) -> list[Any]:
    value = entry[key]
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


def _shape(name: str, entry: Mapping[str, Any], key: str) -> tuple[int, ...]:
    sides = _list(name, entry, key)
    if any(type(side) is not int for side in sides):
        raise SchemaError(f"column {name!r}: shape must hold whole numbers, such as [28, 28].")
    return tuple(sides)


def _bounds(name: str, entry: Mapping[str, Any], key: str) -> tuple[float, float]:
    value = entry[key]
    if not isinstance(value, list) or len(value) != 2:
        raise SchemaError(f"column {name!r}: bounds must be [low, high].")
    if any(isinstance(side, bool) for side in value):
        raise SchemaError(f"column {name!r}: bounds must be numbers, or dates such as 2020-01-31.")
    return bounds_of(name, entry["type"], value)


#: For each key of a column, the argument that it becomes and how it is read.
_READERS: dict[str, tuple[str, Callable[[str, Mapping[str, Any], str], Any]]] = {
    "bounds": ("bounds", _bounds),
    "categories": ("categories", _texts),
    "missing": ("missing", _flag),
    "special": ("special", _numbers),
    "decimals": ("decimals", _whole),
    "depends_on": ("depends_on", _names),
    "shape": ("shape", _shape),
    "sound": ("sound", _numbers),
    "discover": ("discover", _flag),
    "true": ("true_words", _texts),
    "false": ("false_words", _texts),
}


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
    named = column.categories if column.kind in CODED_KINDS and column.kind != "boolean" else ()
    texts = {
        "shape": list(column.shape),
        "sound": list(column.sound),
        "bounds": _numbers_of(column, column.bounds or ()),
        "categories": _list_of(named),
        "true": _list_of(column.true_words),
        "false": _list_of(column.false_words),
        "missing": "true" if column.missing and column.special_as is None else "",
        "special": _numbers_of(column, column.special),
        "decimals": "" if column.decimals is None else str(column.decimals),
        "depends_on": _list_of(column.depends_on),
        "discover": "true" if column.discover else "",
    }
    return [f'type = "{column.kind}"', *(f"{key} = {text}" for key, text in texts.items() if text)]


def _list_of(values: Iterable[str]) -> str:
    """Nothing where there are none."""
    texts = ", ".join(_text(value) for value in values)
    return f"[{texts}]" if texts else ""


def _numbers_of(column: Column, values: Iterable[float]) -> str:
    texts = ", ".join(_number(column, value) for value in values)
    return f"[{texts}]" if texts else ""


def _number(column: Column, value: float) -> str:
    if column.kind == "datetime" and float(value).is_integer():
        return datetime.fromtimestamp(value, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


def _text(value: str) -> str:
    # A JSON string is a TOML string, but for the delete character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
