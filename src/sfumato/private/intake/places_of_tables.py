"""Where each of several tables lies: in a dict, in a folder with a file for each, or in a database."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.errors import SourceError
from sfumato.private.intake.places import SUFFIXES, local_path
from sfumato.private.intake.query import Query, is_database
from sfumato.public.spelling import did_you_mean


def table_places(data: Any, names: Sequence[str]) -> dict[str, Any]:
    """For the name of every table what `open_source` takes. One table alone may be given as it is."""
    if isinstance(data, Mapping) and (len(names) > 1 or names[0] in data):
        return _named(data, names)
    if len(names) == 1 and not _holds_files(data, names[0]):
        return {names[0]: data}
    if not isinstance(data, str | os.PathLike):
        raise SourceError(
            f"data of type {type(data).__name__} is no set of tables. Give a dict such as {{{names[0]!r}: frame, ...}}, a folder "
            "with a file for each table, or a database."
        )
    if is_database(data):
        return {name: Query(data, table=name) for name in names}
    folder = local_path(data)
    if folder is None or not folder.is_dir():
        raise SourceError(f"{data} is no folder. The schema has several tables: give a folder with a file for each.")
    return {name: _file_of(folder, name) for name in names}


def _named(data: Mapping[Any, Any], names: Sequence[str]) -> dict[str, Any]:
    missing = [name for name in names if name not in data]
    if missing:
        near = did_you_mean(missing[0], [str(name) for name in data])
        raise SourceError(
            f"the data has no table {missing[0]!r} of the schema.{near} Give one for each of {', '.join(names)}."
        )
    return {name: data[name] for name in names}


def _file_of(folder: Path, name: str) -> Path:
    """The one file of a table: by its name, whatever its format; or the folder of that name, with its parts."""
    there = [folder / f"{name}{suffix}" for suffix in SUFFIXES if (folder / f"{name}{suffix}").is_file()]
    there += [folder / name] if (folder / name).is_dir() else []
    if len(there) != 1:
        found = "several files" if there else "no file"
        near = "" if there else did_you_mean(name, [path.name.split(".")[0] for path in sorted(folder.iterdir())])
        raise SourceError(
            f"{folder} has {found} for the table {name!r}.{near} Give one, such as {name}.csv or {name}.parquet."
        )
    return there[0]


def _holds_files(data: Any, name: str) -> bool:
    """Whether it is a folder with a file of that name, or a database."""
    if not isinstance(data, str | os.PathLike):
        return False
    folder = local_path(data)
    has_file = folder is not None and any((folder / f"{name}{suffix}").is_file() for suffix in SUFFIXES)
    return is_database(data) or has_file
