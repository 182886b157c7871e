"""A schema by questions: column by column, with what names and types suggest as the answer that Enter gives.

Questions go to stderr, so that the schema on stdout can be sent to a file. No row is read.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar, cast

import typer

from sfumato.errors import SchemaError
from sfumato.private.intake.drafts import Answers, entry_of
from sfumato.public.schema.column import CODED_KINDS, NUMBER_KINDS, Kind
from sfumato.public.schema.proposals import Proposal
from sfumato.public.schema.schema import Schema
from sfumato.public.spelling import did_you_mean

_KINDS = (*NUMBER_KINDS, *CODED_KINDS)
_DROP, _DISCOVER, _FILE, _DITTO, _BACK = "drop", "discover", "file ", "ditto", "back"
_SHOWN = 60

A = TypeVar("A")


def ask(proposals: Sequence[Proposal]) -> tuple[list[Proposal], Answers]:
    """All questions. Gives the columns as they were answered, and what was said of the table as a whole."""
    _say("Enter takes the answer in brackets. Answer from what is publicly known: no row is looked at.")
    _say(f"For a type, {_DITTO} is the same as the column before in all, and {_BACK} asks for that one again.")
    columns: list[Proposal] = []
    while len(columns) < len(proposals):
        at = len(columns)
        answered = _column(proposals[at], f"{at + 1} of {len(proposals)}", columns[-1] if columns else None)
        columns = columns[:-1] if answered is None else [*columns, answered]
    names = [column.name for column in columns]
    kept = [column.name for column in columns if column.kind is not None and not column.dropped]
    if not kept:
        raise SchemaError("every column was dropped, and a schema needs one at least. Keep what may be released.")
    target = _ask("The column that models shall predict (Enter: none)", lambda text: _one_of(text, kept), default="")
    rows = _ask("About how many rows, if that is public (Enter: not said)", _count, default="")
    person = _ask(
        "The column that says whose row it is, if a person can have several (Enter: none)",
        lambda text: _one_of(text, [name for name in names if name != target and kept != [name]]),
        default="",
    )
    most = _ask("Rows of a person that are used at most", _count, default="1") if person else 1
    columns = [replace(c, dropped="whose row it is") if c.name == person else c for c in columns]
    return columns, Answers(target=target, rows=rows, person=person, max_rows=most or 1)


def _column(proposal: Proposal, place: str, before: Proposal | None) -> Proposal | None:
    """The column as it was answered; None where the one before is to be asked for again."""
    _say(f"\n{proposal.name} ({place})" + (f": {proposal.dropped}" if proposal.dropped else ""))
    if proposal.kind is None:
        _say("  a type that no column can have: left out")
        return proposal
    default = _DROP if proposal.dropped else str(proposal.kind)
    more = (_DROP,) if before is None else (_DROP, _DITTO, _BACK)
    kind = _ask(
        f"  type ({', '.join(_KINDS)}) or {_DROP}", lambda text: _one_of(text, (*_KINDS, *more)), default=default
    )
    if kind == _BACK:
        return None
    if kind == _DITTO and before is not None:
        return replace(before, name=proposal.name)
    if kind == _DROP:
        return replace(proposal, dropped=proposal.dropped or "left out by you")
    if kind != proposal.kind:  # what was proposed for another type is no proposal for this one
        proposal = replace(proposal, bounds="", categories=())
    chosen = replace(proposal, kind=cast(Kind, kind), dropped="", note="", is_known=True)
    if kind in NUMBER_KINDS:
        example = {"datetime": ", such as 2020-01-01, 2024-12-31", "time": ", such as 06:00, 22:00"}.get(kind, "")
        question = f"  bounds: low, high{example}" + f"; or {_DISCOVER}" * (kind != "time")
        open_ = "00:00, 23:59" if kind == "time" else _DISCOVER
        chosen = _ask(question, lambda text: _with_bounds(chosen, text), default=chosen.bounds.strip("[]") or open_)
        if kind == "numeric":
            question = "  decimals that a released number has (Enter: as the rows seem to have)"
            chosen = _ask(question, lambda text: _with_decimals(chosen, text), default="")
    elif kind != "boolean":
        question = (
            f"  categories, with commas between{' and in order' if kind == 'ordinal' else ''}; {_FILE}NAME; {_DISCOVER}"
        )
        chosen = _ask(question, lambda text: _with_categories(chosen, text), default=_listed(chosen) or _DISCOVER)
    return replace(
        chosen, missing=_ask("  may values be missing? y or n", _yes_or_no, default="y" if chosen.missing else "n")
    )


def _with_bounds(column: Proposal, text: str) -> Proposal:
    if text == _DISCOVER:
        return _checked(replace(column, bounds=""))
    bounds = f"[{text.strip().strip('[]')}]"
    if column.kind == "time":
        return _checked(replace(column, bounds=bounds))
    if not _is_pair(bounds):
        example = "2020-01-01, 2024-12-31" if column.kind == "datetime" else "0, 110"
        raise SchemaError(f"bounds are two, with a comma between, such as {example}.")
    return _checked(replace(column, bounds=bounds))


def _with_decimals(column: Proposal, text: str) -> Proposal:
    if not text:
        return column
    if not text.isdigit():
        raise SchemaError(f"{text!r} is no whole number.")
    return _checked(replace(column, decimals=int(text)))


def _is_pair(text: str) -> bool:
    """Whether TOML reads a list of two."""
    try:
        return len(tomllib.loads(f"x = {text}")["x"]) == 2
    except tomllib.TOMLDecodeError:
        return False


def _with_categories(column: Proposal, text: str) -> Proposal:
    if text == _listed(column):
        return column
    if text == _DISCOVER:
        return replace(column, categories=())
    if text.startswith(_FILE):
        return replace(column, categories=(), categories_file=text.removeprefix(_FILE).strip())
    return _checked(replace(column, categories=_split(text)))


def _split(text: str) -> tuple[str, ...]:
    """Categories as they are typed: with commas between, or as a TOML list where a category has a comma itself."""
    if text.startswith("["):
        try:
            return tuple(str(value) for value in tomllib.loads(f"x = {text}")["x"])
        except tomllib.TOMLDecodeError:
            raise SchemaError('a list is written as ["a", "b"].') from None
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _checked(column: Proposal) -> Proposal:
    """The column, if a schema would take it."""
    try:
        Schema.parse(f"[columns]\n{entry_of(column)}")
    except SchemaError as error:
        raise SchemaError(str(error).rpartition("]: ")[2]) from None
    return column


def _listed(column: Proposal) -> str:
    """The proposed categories in one short line."""
    whole = ", ".join(column.categories)
    if len(whole) <= _SHOWN:
        return whole
    return f"{', '.join(column.categories[:5])}, ... ({len(column.categories)})"


def _one_of(text: str, known: Sequence[str]) -> str | None:
    if not text:
        return None
    if text not in known:
        raise SchemaError(f"{text!r} is none of {', '.join(known[:20])}.{did_you_mean(text, known)}")
    return text


def _count(text: str) -> int | None:
    plain = text.strip().replace(",", "").replace("_", "")
    if not plain:
        return None
    if not plain.isdigit() or not int(plain):
        raise SchemaError(f"{text!r} is no whole number of at least 1.")
    return int(plain)


def _yes_or_no(text: str) -> bool:
    if text.casefold() not in ("y", "yes", "n", "no"):
        raise SchemaError("answer y or n.")
    return text.casefold().startswith("y")


def _ask(question: str, read: Callable[[str], A], *, default: str) -> A:
    """Ask until the answer can be read."""
    while True:
        typer.echo(f"{question}{f' [{default}]' if default else ''}: ", err=True, nl=False)
        try:
            answer = input().strip()
        except EOFError:
            raise typer.Abort from None
        try:
            return read(answer or default)
        except SchemaError as error:
            _say(f"  {error}")


def _say(sentence: str) -> None:
    typer.echo(sentence, err=True)
