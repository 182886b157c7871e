"""A first schema.toml from the structure of a file: names, types and what they suggest, and nothing that any row holds.

Other bounds and categories are left to a person who knows them from elsewhere, or to `discover`, which is charged.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.errors import SourceError
from sfumato.private.intake.csv_file import CsvSource
from sfumato.private.intake.header import looks_like_names
from sfumato.private.intake.many_files import FilesSource
from sfumato.private.intake.pictures import FolderSource, IdxSource
from sfumato.private.intake.related_tables import PERSONS, are_several, related, tables_in
from sfumato.private.intake.sources import is_place, open_place
from sfumato.private.intake.tables import NpzSource
from sfumato.public.schema.one_line import line_of
from sfumato.public.schema.proposals import Proposal, propose
from sfumato.public.schema.schema import NUMBER_KINDS, Kind
from sfumato.public.spelling import words_of

_TOP = """\
# A draft: it holds what the structure of the data shows ({shown}),
# what names of columns suggest, and {nothing}. It loads as it stands, but `discover`
# spends privacy budget on every column that has it, and finds only what many rows have.
# Replace it where you know better from PUBLIC knowledge (never by looking at the rows):
#   "integer 0..110"  "numeric 0..5 decimals 2"  "datetime 2020-01-01..2024-12-31"  "time 06:00..22:00"
#   "categorical a | b | c"  "ordinal low | high", in its order  "categorical file codes.csv"
#   "boolean"  "boolean Yes | No", the word for true first  "ditto", the same as the line above
# A ? at the end: values may be missing. Remove the lines of columns that need not be released.
# Then try it on the rows, for your eyes alone: sfumato check DATA --schema schema.toml

[dataset]
{target:<34} # the column that models shall predict
{rows:<34} # an approximate number of rows, if that is public

[privacy]
relation = "add_or_remove"         # or replace_one: then the number of rows is public
{person:<34} # the column that says whose row it is, if a person can have several;
{max_rows:<34} # remove that column below

"""
#: Of a schema of several tables.
_TOP_OF_TABLES = """\
# A draft of several tables: which hangs on which is guessed from the names of tables and columns, and nothing is from any row.
# It loads when every table of events has a column. Complete them from PUBLIC knowledge (never by looking at the rows):
#   "integer 0..110"  "numeric 0..5 decimals 2"  "datetime 2020-01-01..2024-12-31"  "categorical a | b | c"  "boolean"
# A ? at the end: values may be missing. Remove the lines of columns that need not be released.
# Then try it on the rows, for your eyes alone: sfumato check DATA --schema schema.toml

[dataset]
# target = "NAME"                  # the column of the persons that models shall predict
# rows = 10000                     # an approximate number of persons, if that is public

"""
_MOMENTS = {"day", "date", "time", "moment", "timestamp", "year", "month", "when", "at"}
_NOTHING = "nothing from any row"
_LINE, _NOTED = 100, 120
#: What a draft says of NumPy's types, by the letter of each.
_KINDS: dict[str, Kind] = {"b": "boolean", "i": "integer", "u": "integer", "f": "numeric", "M": "datetime"}
_KINDS |= {"U": "categorical", "S": "categorical", "O": "categorical", "T": "categorical"}

#: What has a structure to draft from.
Structured = Any  # a Place, a Query, or a frame of pandas, polars or Arrow


@dataclass(frozen=True)
class Answers:
    """What only a person knows of a table as a whole."""

    target: str | None = None
    rows: int | None = None
    person: str | None = None
    max_rows: int = 1


def draft_schema(data: Structured, *, header: bool = False) -> str:
    """The text of a schema.toml to be completed by a person; it parses as it stands.

    Args:
        data: a path, folder, glob, URL or query, or a frame, whose names and types are shown.
        header: say that the first line of a CSV file holds names, where that cannot be told from its words.

    >>> print(draft_schema(pd.DataFrame({"gain": [41]})).split("[columns]")[1])
    <BLANKLINE>
    "gain" = "integer discover"              # or low..high
    <BLANKLINE>
    """
    several = _several(data, header=header)
    if several is not None:
        return _draft_of_tables(several)
    source = open_place(data, None) if is_place(data) else None
    if not isinstance(source, NpzSource | IdxSource | FolderSource):
        proposals, shown = proposals_for(data, header=header)
        return draft_of(proposals, shown=shown)
    if isinstance(source, NpzSource):
        return _draft(*_entries_of_arrays(source))
    if isinstance(source, IdxSource):
        entry = _entry_of_image("image", source.shapes["image"][1:])
    else:  # of a folder: the size of a picture belongs to its row
        note = "# or [H, W, 3] for colour. Choose a size: every picture is brought to it"
        sound = "# For recordings (.wav): sound = [1.0, 4000], their seconds and highest pitch, and bounds = [-80, 0]"
        entry = f"{_entry_of_image('image', (28, 28), note=note)}{sound}\n"
    if "label" not in source.names:
        return _draft([entry], "shapes")
    return _draft([entry, _section_of_label("label")], "shapes", Answers(target="label"))


def proposals_for(data: Structured, *, header: bool = False) -> tuple[list[Proposal], str]:
    """What may be proposed for each column of a table, and what it was told by."""
    if _several(data, header=header) is not None:
        raise SourceError(
            f"{data if is_place(data) else 'the data'} holds several tables, and types are told, and questions asked, of one. Give "
            "one of its files, or draft the structure of all without --types and --interactive."
        )
    if not is_place(data):
        return _some_kept([propose(name, kind) for name, kind in _kinds_of_frame(data).items()]), "names and types"
    source = open_place(data, None)
    types: dict[str, Any] | None = getattr(source, "types", None)
    if isinstance(source, CsvSource | FilesSource) and types is None:
        _require_header(source.names, data, header=header)
        shown = "the header line; a CSV file shows no types"
        return _some_kept([propose(name, "categorical", is_known=False) for name in source.names]), shown
    if types == {}:  # a database without types
        return _some_kept([propose(name, "categorical", is_known=False) for name in source.names]), "names; no types"
    if types is not None:
        found = [propose(name, _kind_of_arrow(kind)) for name, kind in types.items()]
        return _some_kept(found), "names and types"
    raise SourceError(f"{data} is no table, and there is nothing to ask for pictures. Leave out --interactive.")


def _several(data: Structured, *, header: bool) -> dict[str, list[Proposal]] | None:
    """The columns of each of several tables; None where there is one."""
    tables = tables_in(data)
    if tables is None:
        return None
    several = {name: proposals_for(table, header=header)[0] for name, table in tables.items()}
    is_several = are_several({name: [p.name for p in proposals] for name, proposals in several.items()})
    return several if is_several else None


def _draft_of_tables(several: Mapping[str, Sequence[Proposal]]) -> str:
    """A draft of persons and what hangs on them. Events are not discovered: what is not known of them is left to a person."""
    tables, others = related({name: [p.name for p in proposals] for name, proposals in several.items()})
    sections = []
    for table in tables:
        head = [f"[tables.{_quoted(table.name)}]"]
        named = {
            "key": table.key,
            "parent": table.parent,
            "parent_key": table.parent_key,
            "person_key": table.person_key,
        }
        head += [f"{word} = {_quoted(name)}" for word, name in named.items() if name is not None]
        own = [replace(p, dropped="") for p in several[table.name] if p.name not in table.keys]
        if table.parent is not None:
            moments = [p.name for p in own if p.kind == "datetime" or _MOMENTS & set(words_of(p.name))]
            head.append("max_rows = 20                      # so many rows count, of each that they hang on")
            head.append(
                f"# order = {_quoted(next(iter(moments), 'NAME'))}   # a number or a date of its columns, if rows have an order"
            )
            head.append('# kind = "NAME"                    # a column of sorts, each with values of its own')
        entries = "".join(entry_of(p) if table.parent is None else _entry_of_event(p) for p in own)
        sections.append("\n".join(head) + f"\n\n[tables.{_quoted(table.name)}.columns]\n{entries}")
    left = "".join(
        f"# {name} leads to no person. If it is public: [lookups.NAME] with key and file.\n" for name in others
    )
    return _TOP_OF_TABLES + "\n".join(sections) + left


def _entry_of_event(proposal: Proposal) -> str:
    """A column of events: what would be discovered waits as a comment for whoever knows."""
    entry = entry_of(proposal)
    if "discover" not in entry:
        return entry
    name = _quoted(proposal.name)
    line = {"numeric": "numeric LOW..HIGH", "integer": "integer LOW..HIGH", "datetime": "datetime FIRST..LAST"}
    return f"# {name} = {_quoted(line.get(str(proposal.kind), 'categorical A | B'))}   # complete it, and remove the first #\n"


def _some_kept(proposals: list[Proposal]) -> list[Proposal]:
    """A table of identifiers alone keeps them: a schema without columns is none."""
    if any(p.kind is not None and not p.dropped for p in proposals):
        return proposals
    return [replace(p, dropped="") for p in proposals]


def _kinds_of_frame(data: Any) -> dict[str, Kind | None]:
    """The type of each column of a frame: structure, and no row of it."""
    if isinstance(data, pd.DataFrame):
        return {str(name): _kind_of_pandas(kind) for name, kind in zip(data.columns, data.dtypes, strict=True)}
    if hasattr(data, "head") and hasattr(
        data, "__arrow_c_stream__"
    ):  # polars: its first no rows, so that none is copied
        data = data.head(0)
    try:
        head = data.schema if isinstance(data, pa.Table) else pa.table(data).schema
    except (TypeError, ValueError, pa.ArrowException):
        raise SourceError(
            f"data of type {type(data).__name__} shows no names and types. Give a path, a Query, or a frame of pandas, polars "
            "or Arrow."
        ) from None
    return {name: _kind_of_arrow(kind) for name, kind in zip(head.names, head.types, strict=True)}


def draft_of(
    proposals: Sequence[Proposal], *, shown: str, answers: Answers | None = None, nothing: str = _NOTHING
) -> str:
    """The text of a draft with these columns; `nothing` says what of the rows is in it."""
    likely = [p.name for p in proposals if p.dropped and PERSONS & set(words_of(p.name))]
    entries = "".join(entry_of(proposal) for proposal in proposals)
    return _draft([f"[columns]\n{entries}"], shown, answers, person=likely[:1], nothing=nothing)


def _draft(
    entries: Sequence[str],
    shown: str,
    answers: Answers | None = None,
    *,
    person: Sequence[str] = (),
    nothing: str = _NOTHING,
) -> str:
    said = answers or Answers()
    top = _TOP.format(
        shown=shown,
        nothing=nothing,
        target='# target = "NAME"' if said.target is None else f"target = {_quoted(said.target)}",
        rows="# rows = 10000" if said.rows is None else f"rows = {said.rows}",
        person=f"{'# ' * (said.person is None)}person = {_quoted(said.person or next(iter(person), 'NAME'))}",
        max_rows="# max_rows = 1" if said.person is None else f"max_rows = {said.max_rows}",
    )
    return top + "\n".join(entries)


def _require_header(names: Sequence[str], path: object, *, header: bool) -> None:
    """A file without a header has a private row in its first line: refuse what may be one, and quote nothing of it."""
    if header and not all(names):
        raise SourceError(f"the header line of {path} lacks a name. Give every column one.")
    if not header and not looks_like_names(names):
        raise SourceError(
            f"the first line of {path} does not look like column names, and may be a private row. Add a header line; "
            "if the line is one, say so with --header (in Python: header=True)."
        )


def _quoted(name: str) -> str:
    # A JSON string is a TOML string, but for the delete character.
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def entry_of(proposal: Proposal) -> str:
    """A column of the draft, in one line if it can be; one that is dropped is a comment that a person can undo."""
    name, kind = _quoted(proposal.name), proposal.kind
    if kind is None:
        # Commented out: a schema has no type for it.
        return f"# {name}   # a type that no column can have: split it, or leave it out\n"
    short = len(", ".join(proposal.categories)) <= _LINE
    line = line_of(
        kind,
        values=(proposal.words or proposal.categories) if short else (),
        bounds=proposal.bounds,
        decimals=proposal.decimals,
        file=proposal.categories_file,
        missing=proposal.missing,
    )
    if line and short:
        note = f"{proposal.dropped}. To release it, remove the first #" if proposal.dropped else _note(proposal)
        said = f"{name} = {_quoted(line)}"
        noted = f"{said:<40} # {note}" if note else said
        lines = [noted] if len(noted) <= _NOTED else [f"# {note.rstrip('.')}:", said]
    else:
        table = f'{name} = {{type = "{kind}", {"missing = true, " * proposal.missing}categories = ['
        lines = _wrapped(table, map(_quoted, proposal.categories))
        lines[-1] += "}"
        lines = [*([f"# {_note(proposal)}:"] if proposal.note else []), *lines]
    return "".join(f"{'# ' * bool(proposal.dropped)}{each}\n" for each in lines)


def _note(proposal: Proposal) -> str:
    """What to do with the line."""
    if proposal.note:
        return proposal.note
    if proposal.bounds or proposal.categories or proposal.categories_file or proposal.kind in ("boolean", "time"):
        return ""
    if not proposal.is_known:
        return "or a number, date or boolean: see above"
    return "or low..high" if proposal.kind in NUMBER_KINDS else "or a | b | c"


def _wrapped(begin: str, values: Iterable[str]) -> list[str]:
    """A list, in several lines where it is long."""
    lines = [begin]
    for value in values:
        if len(lines[-1]) + len(value) > _LINE:
            lines.append("    ")
        lines[-1] += f"{value}, "
    lines[-1] = lines[-1].removesuffix(", ") + "]"
    return [line.rstrip() for line in lines]


def _entry_of_image(name: str, shape: Sequence[int], *, note: str = "", fractions: bool = False) -> str:
    size = f"shape = {list(map(int, shape))}"
    bounds = f"{'bounds = [0, 1]':<34} # or [0, 255], or what the pixels are" if fractions else "bounds = [0, 255]"
    size = f"{size:<34} {note}" if note else size
    return f'[columns.{_quoted(name)}]\ntype = "image"\n{size}\n{bounds}\n'


def _section_of_label(name: str) -> str:
    hint = "# or: categories"
    return f'[columns.{_quoted(name)}]\ntype = "categorical"\n{"discover = true":<34} {hint} = ["?", "?"]\n'


def _entries_of_arrays(source: NpzSource) -> tuple[list[str], str, Answers | None]:
    """The entries, what they were made of, and the target: the labels beside pictures, where there is one such array."""
    shown, headers = "names, types and shapes", source.headers
    pictures = [name for name, (shape, _, _) in headers.items() if len(shape) in (3, 4)]
    if not pictures:
        kinds = {
            name: _KINDS.get(dtype.kind) if len(shape) == 1 else None for name, (shape, dtype, _) in headers.items()
        }
        listed = "".join(entry_of(propose(name, kind)) for name, kind in kinds.items())
        return [f"[columns]\n{listed}"], shown, None
    # Beside a picture a schema holds coded columns only, and one picture.
    (n_rows, *shape), dtype, _ = headers[pictures[0]]
    entries, labels = [_entry_of_image(pictures[0], shape, fractions=dtype.kind == "f")], []
    for name, (shape_beside, kind, _) in headers.items():
        if name != pictures[0]:
            is_label = shape_beside == (n_rows,) and kind.kind in "biuUS"
            labels += [name] if is_label else []
            entries.append(_section_of_label(name) if is_label else entry_of(Proposal(name=name, kind=None)))
    return entries, shown, Answers(target=labels[0]) if len(labels) == 1 else None


def _kind_of_pandas(dtype: Any) -> Kind | None:
    if isinstance(dtype, pd.ArrowDtype):
        return _kind_of_arrow(dtype.pyarrow_dtype)
    is_plain = isinstance(dtype, np.dtype | pd.CategoricalDtype | pd.StringDtype)
    return _KINDS.get(dtype.kind) if is_plain or dtype.kind in "biufM" else None  # periods and intervals are none


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
    if types.is_time(kind):
        return "time"
    if types.is_nested(kind) or types.is_interval(kind) or isinstance(kind, pa.BaseExtensionType):
        return None
    return "categorical"
