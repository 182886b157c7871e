"""A first schema.toml from the structure of a file: names and types, and nothing that any row holds.

Bounds and categories are left to a person who knows them from elsewhere, or to `discover`, which is charged.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.errors import SourceError
from sfumato.private.intake.header import looks_like_names
from sfumato.private.intake.pictures import FolderSource, IdxSource
from sfumato.private.intake.sources import open_path
from sfumato.private.intake.tables import CsvSource, NpzSource, TableSource
from sfumato.public.schema import Kind

_TOP = """\
# A draft: it holds what the structure of the data shows ({shown}), and nothing from any row.
# It loads as it stands, but `discover = true` spends privacy budget on every column that has it.
# Where you know them from PUBLIC knowledge (never by looking at the rows), replace that line by
#   bounds = [low, high]            for numeric, integer (numbers) and datetime (dates such as 2020-01-31)
#   categories = ["a", "b", "c"]    for categorical, and for ordinal in its order
# and add `missing = true` where a value may be missing. Remove columns that need not be released.

[dataset]
{target:<34} # the column that models shall predict
# rows = 10000                     # an approximate number of rows, if that is public

[privacy]
relation = "add_or_remove"         # or replace_one: then the number of rows is public
# person = "NAME"                  # the column that says whose row it is, if a person can have several;
# max_rows = 1                     # remove that column below
"""
_HINTS: dict[str, str] = {
    "numeric": "bounds = [?, ?]",
    "integer": "bounds = [?, ?]",
    "datetime": "bounds = [????-01-01, ????-01-01]",
    "categorical": 'categories = ["?", "?"]',
}


def draft_schema(data: str | os.PathLike[str] | pd.DataFrame, *, header: bool = False) -> str:
    """The text of a schema.toml to be completed by a person; it parses as it stands.

    Args:
        data: a path, or a frame, whose names and types are shown.
        header: say that the first line of a CSV file holds names, where that cannot be told from its words.

    >>> print(draft_schema(pd.DataFrame({"age": [41]})).split("[columns")[1])
    ."age"]
    type = "integer"
    discover = true                    # or: bounds = [?, ?]
    <BLANKLINE>
    """
    if isinstance(data, pd.DataFrame):
        dtypes = list(data.dtypes)
        return _draft([_entry(str(n), _kind_of_pandas(t)) for n, t in zip(data.columns, dtypes, strict=True)], "types")
    source = open_path(Path(data), None)
    if isinstance(source, CsvSource):
        _require_header(source.names, data, header=header)
        return _draft([_entry_of_unknown(name) for name in source.names], "the header line; a CSV file shows no types")
    if isinstance(source, TableSource):
        return _draft([_entry(name, _kind_of_arrow(kind)) for name, kind in source.types.items()], "names and types")
    if isinstance(source, NpzSource):
        return _draft(*_entries_of_arrays(source))
    entries = [_entry_of_image("image", source.shapes["image"][1:])] if isinstance(source, IdxSource) else []
    if isinstance(source, FolderSource):
        # The size of a picture belongs to its row.
        note = "# or [H, W, 3] for colour. Choose a size: every picture is brought to it"
        entries = [_entry_of_image("image", (28, 28), note=note)]
    if "label" not in source.names:
        return _draft(entries, "shapes")
    return _draft([*entries, _entry("label", "categorical")], "shapes", target="label")


def _draft(entries: Sequence[str], shown: str, target: str | None = None) -> str:
    line = '# target = "NAME"' if target is None else f"target = {_quoted(target)}"
    return _TOP.format(shown=shown, target=line) + "".join("\n" + entry for entry in entries)


def _require_header(names: Sequence[str], path: object, *, header: bool) -> None:
    """A file without a header has a private row in its first line: refuse what may be one, and quote nothing of it."""
    if header and not all(names):
        raise SourceError(f"the header line of {path} lacks a name. Give every column one.")
    if not header and not looks_like_names(names):
        raise SourceError(
            f"the first line of {path} does not look like column names, and may be a private row. Add a header line; "
            "if the line is one, say so with --header (in Python: header=True)."
        )


def _section(name: str) -> str:
    return f"[columns.{_quoted(name)}]"


def _quoted(name: str) -> str:
    # A JSON string is a TOML string, but for the delete character.
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def _entry(name: str, kind: Kind | None) -> str:
    if kind is None:
        # Commented out: a schema has no type for it.
        return f"# {_section(name)}   # a type that no column can have: split it, or leave it out\n"
    if kind == "boolean":
        return f'{_section(name)}\ntype = "boolean"\n'
    return f'{_section(name)}\ntype = "{kind}"\n{"discover = true":<34} # or: {_HINTS[kind]}\n'


def _entry_of_unknown(name: str) -> str:
    kinds = 'type = "categorical"               # or numeric, integer, datetime, ordinal, boolean'
    hints = f"or: {_HINTS['categorical']}; for numbers {_HINTS['numeric']}; for boolean: no line"
    hint = f"{'discover = true':<34} # {hints}"
    return f"{_section(name)}\n{kinds}\n{hint}\n"


def _entry_of_image(name: str, shape: Sequence[int], *, note: str = "", fractions: bool = False) -> str:
    size = f"shape = {list(map(int, shape))}"
    bounds = f"{'bounds = [0, 1]':<34} # or [0, 255], or what the pixels are" if fractions else "bounds = [0, 255]"
    return f'{_section(name)}\ntype = "image"\n{f"{size:<34} {note}" if note else size}\n{bounds}\n'


def _entries_of_arrays(source: NpzSource) -> tuple[list[str], str, str | None]:
    """The entries, what they were made of, and the target: the labels beside pictures, where there is one such array."""
    shown = "names, types and shapes"
    headers = source.headers
    pictures = [name for name, (shape, _, _) in headers.items() if len(shape) in (3, 4)]
    if not pictures:
        kinds = {
            name: _kind_of_numpy(dtype) if len(shape) == 1 else None for name, (shape, dtype, _) in headers.items()
        }
        return [_entry(name, kind) for name, kind in kinds.items()], shown, None
    # Beside a picture a schema holds coded columns only, and one picture.
    (n_rows, *shape), dtype, _ = headers[pictures[0]]
    entries, labels = [_entry_of_image(pictures[0], shape, fractions=dtype.kind == "f")], []
    for name, (shape_beside, kind, _) in headers.items():
        if name != pictures[0]:
            is_label = shape_beside == (n_rows,) and kind.kind in "biuUS"
            labels += [name] if is_label else []
            entries.append(_entry(name, "categorical" if is_label else None))
    return entries, shown, labels[0] if len(labels) == 1 else None


def _kind_of_numpy(dtype: np.dtype[Any]) -> Kind | None:
    kinds: dict[str, Kind] = {"b": "boolean", "i": "integer", "u": "integer", "f": "numeric", "M": "datetime"}
    kinds |= {"U": "categorical", "S": "categorical", "O": "categorical", "T": "categorical"}
    return kinds.get(dtype.kind)


def _kind_of_pandas(dtype: Any) -> Kind | None:
    if isinstance(dtype, np.dtype):
        return _kind_of_numpy(dtype)
    if isinstance(dtype, pd.ArrowDtype):
        return _kind_of_arrow(dtype.pyarrow_dtype)
    if isinstance(dtype, pd.CategoricalDtype | pd.StringDtype):
        return "categorical"
    kinds: dict[str, Kind] = {"b": "boolean", "i": "integer", "u": "integer", "f": "numeric", "M": "datetime"}
    return kinds.get(dtype.kind)


def _kind_of_arrow(kind: Any) -> Kind | None:
    types = pa.types
    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind):
        return "integer"
    if types.is_floating(kind) or types.is_decimal(kind):
        return "numeric"
    if types.is_timestamp(kind) or types.is_date(kind):
        return "datetime"
    if types.is_nested(kind) or types.is_interval(kind) or isinstance(kind, pa.BaseExtensionType):
        return None
    return "categorical"
