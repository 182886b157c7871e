"""What a column probably holds, told by its name and by the type that a format declares: public, and free of rows."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from sfumato.public.schema.column import Kind
from sfumato.public.spelling import words_of

#: What stands after the word that matters.
_UNITS = frozenset(["years", "yrs", "cm", "mm", "kg", "lb", "lbs", "mg", "ml", "mmhg", "bpm", "eur", "usd", "gbp"])
#: After these a word is not what the column holds: a wage per hour is no hour.
_TURNS = frozenset(["per", "in", "of", "by", "to", "from", "since", "until", "after", "before", "a"])
_TRUTH_BEGINS = ("is", "has", "was", "had", "did")
_NUMBERS: tuple[Kind, ...] = ("numeric", "integer")
_LONGEST_PHRASE = 3


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A column as it may be declared. `kind` is None where no column can be of its type.

    `bounds` is TOML; `words` are how true and false, or a time, are spelled. Without bounds or categories a column that needs them is to
    be discovered. `dropped` says why it had better stay inside; `note` is for the person who completes the draft; `is_known`
    unless the kind is a guess as well.
    """

    name: str
    kind: Kind | None
    bounds: str = ""
    categories: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    categories_file: str = ""
    decimals: int | None = None
    missing: bool = False
    dropped: str = ""
    note: str = ""
    is_known: bool = True


def propose(name: str, kind: Kind | None, *, is_known: bool = True) -> Proposal:
    """The proposal for a column. Where a format declares no kinds, as CSV, `kind` is replaced by what the name suggests."""
    plain = Proposal(name=name, kind=kind, is_known=is_known)
    if kind is None or kind in ("boolean", "image"):
        return plain
    begin = words_of(name)[:1]
    if not is_known and begin and begin[0] in _TRUTH_BEGINS:
        return replace(plain, kind="boolean", missing=True, note=_GUESS)
    proposed = (_FAMILIES[family](plain, fact) for family, fact in _facts_for(name))
    return next((proposal for proposal in proposed if proposal is not None), plain)


_GUESS = "guessed from the name"


def _dropped(plain: Proposal, fact: Mapping[str, Any]) -> Proposal | None:
    # Numbers with fractions and dates identify nobody by their name.
    return replace(plain, dropped=f"{fact['why']}, it seems") if plain.kind in ("categorical", "integer") else None


def _number(plain: Proposal, fact: Mapping[str, Any], kinds: Sequence[Kind] = _NUMBERS) -> Proposal | None:
    if plain.is_known and plain.kind not in kinds:
        return None
    kind = plain.kind if plain.is_known else fact.get("type", kinds[0])
    return replace(plain, kind=kind, bounds=str(fact.get("bounds", "")), missing=not plain.is_known, note=_GUESS)


def _date(plain: Proposal, fact: Mapping[str, Any]) -> Proposal | None:
    return _number(plain, fact, ("datetime",))


def _truth(plain: Proposal, fact: Mapping[str, Any]) -> Proposal | None:
    return None if plain.is_known else replace(plain, kind="boolean", missing=True, note=_GUESS)


def _code(plain: Proposal, fact: Mapping[str, Any]) -> Proposal | None:
    if "number" in fact and (plain.kind in _NUMBERS or not plain.is_known):
        numbered = _number(plain, {"type": "integer", "bounds": fact["number"]})
        words = f"; or ordinal, with categories, if the file has words for the {fact['about']}"
        return None if numbered is None else replace(numbered, note=_GUESS if plain.is_known else _GUESS + words)
    if plain.kind != "categorical":
        return None
    others = f"; or {', '.join(fact['others'])}" if "others" in fact else ""
    note = f"{fact['about']}, {_GUESS}: write them as the file does{others}"
    kind: Kind = "ordinal" if fact.get("type") == "ordinal" else "categorical"
    return replace(plain, kind=kind, categories=tuple(fact["categories"]), missing=True, note=note)


_FAMILIES = {"drop": _dropped, "number": _number, "date": _date, "truth": _truth, "code": _code}


@cache
def _facts() -> Mapping[str, Any]:
    return tomllib.loads(files("sfumato.public").joinpath("well_known.toml").read_text(encoding="utf-8"))


def _facts_for(name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The facts of which a word is the last of the name, or all of it, each with its family."""
    words = words_of(name)
    while words and (words[-1] in _UNITS or words[-1].isdigit()):
        words = words[:-1]
    if not words:
        return
    last = {" ".join(words[-n:]) for n in range(2, _LONGEST_PHRASE + 1)} | {"".join(words)}
    if len(words) == 1 or words[-2] not in _TURNS:
        last |= {words[-1], words[-1].rstrip("0123456789")}
    for family in _FAMILIES:
        for fact in _facts()[family]:
            if not last.isdisjoint(fact["words"]) or " ".join(words) in fact.get("whole", ()):
                yield family, fact
