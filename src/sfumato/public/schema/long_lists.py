"""Lists that are too long for schema.toml: categories, combinations and reasons in a CSV file beside it."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import SchemaError


def combinations_of_file(entry: Mapping[str, Any], folder: Path | None, *, key: str) -> tuple[tuple[str, ...], ...]:
    """Every line a combination; a first one that holds the names of the columns is a heading."""
    path, lines = _lines_of_file("of a rule", entry, folder, key=key, what="combinations")
    if lines and [cell.casefold() for cell in lines[0]] == [str(name).casefold() for name in entry.get("columns", ())]:
        lines = lines[1:]
    if not lines:
        raise SchemaError(f"{path} holds no combinations. Write one in each line.")
    return tuple(map(tuple, lines))


def categories_of_file(name: str, entry: Mapping[str, Any], folder: Path | None) -> tuple[str, ...]:
    """The first cell of every line that is not empty; a first one that is the column's own name is a heading."""
    if "categories" in entry or entry.get("discover"):
        raise SchemaError(f"column {name!r} has categories_file beside categories or discover. Keep one of them.")
    path, lines = _lines_of_file(name, entry, folder, key="categories_file", what="categories")
    named = [line[0] for line in lines if line[0]]
    if named and named[0].casefold() == name.strip().casefold():
        named = named[1:]
    if not named:
        raise SchemaError(f"{path} holds no categories. Write one in each line.")
    return tuple(named)


def map_of_file(name: str, entry: Mapping[str, Any], folder: Path | None) -> tuple[tuple[str, ...], ...]:
    """Every line: the reasons and what follows; a first one that ends with the column's own name is a heading."""
    if "depends_on_map" in entry or "depends_on" not in entry:
        raise SchemaError(f"column {name!r}: depends_on_file goes with depends_on, in the place of depends_on_map.")
    path, lines = _lines_of_file(name, entry, folder, key="depends_on_file", what="reasons")
    if lines and lines[0][-1].casefold() == name.strip().casefold():
        lines = lines[1:]
    if not lines:
        raise SchemaError(f"{path} holds no reasons. Write them in each line, and what follows as its last cell.")
    return tuple(map(tuple, lines))


def _lines_of_file(
    name: str, entry: Mapping[str, Any], folder: Path | None, *, key: str, what: str
) -> tuple[Path, list[list[str]]]:
    """The cells of every line of a CSV file that a column names; empty lines are none."""
    value = entry[key]
    if not isinstance(value, str):
        raise SchemaError(f'column {name!r}: {key} must be the name of a file, such as "zip.csv".')
    if folder is None:
        raise SchemaError(
            f"column {name!r}: {key} is looked for beside the schema file, and this schema was read from a text. "
            f"Load the file, or list the {what}."
        )
    path = folder / value
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return path, [[cell.strip() for cell in line] for line in csv.reader(file) if line]
    except FileNotFoundError:
        raise SchemaError(f"there is no file {path} of {what}. It is looked for beside the schema file.") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SchemaError(
            f"the {what} in {path} cannot be read ({type(error).__name__}). Give a text file in UTF-8, one in each line."
        ) from None
