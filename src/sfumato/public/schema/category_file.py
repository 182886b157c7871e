"""A list of categories in a file of its own, beside the schema: for codes that nobody wants to type."""

import csv
from pathlib import Path

from sfumato.errors import SchemaError


def read_categories(path: Path, *, column: str) -> tuple[str, ...]:
    """The first cell of every line, without spaces around it and without empty lines.

    A first line that is the column's own name is a heading.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            cells = [row[0].strip() for row in csv.reader(file) if row]
    except FileNotFoundError:
        raise SchemaError(f"there is no file {path} of categories. It is looked for beside the schema file.") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SchemaError(
            f"the categories in {path} cannot be read ({type(error).__name__}). Give a text file in UTF-8, one in each line."
        ) from None
    found = [cell for cell in cells if cell]
    if found and found[0].casefold() == column.strip().casefold():
        found = found[1:]
    if not found:
        raise SchemaError(f"{path} holds no categories. Write one in each line.")
    return tuple(found)
