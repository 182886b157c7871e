"""Which type the texts of a column have, for a custodian's draft. NOT private: it reads all rows.

A type, and how true and false are spelled if that is one of the usual ways, is all that is kept: no other value, no bound and no
count. Nearly all rows must agree, so that a few odd ones change nothing; but no noise is added, so this is no release.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sfumato.lab.dry_run.finding import (
    COMPACT_DATES,
    DECIMAL_COMMAS,
    LITTLE,
    OTHER_DATES,
    READABLE,
    THOUSANDS,
    is_code,
    is_compact_date,
    readable_look,
)
from sfumato.private.intake.scalars import FALSE_WORDS, MISSING_TEXTS, TRUE_WORDS, parse_date
from sfumato.private.intake.sources import open_source
from sfumato.private.intake.values import Values, rows_where, to_numbers, to_texts
from sfumato.public.schema.clock import has_seconds, seconds_of
from sfumato.public.schema.one_line import SECONDS
from sfumato.public.schema.proposals import Proposal
from sfumato.public.schema.schema import Column, Kind, Schema

_CHUNK_CELLS = 1 << 21
#: Fewer rows are no evidence.
_ENOUGH = 10
_WITH_SECONDS = "time with seconds"
#: Rows that mostly show whether a column has two words.
_FIRST = 1_000
#: The type that such texts have once they are written as they can be read.
_MEANT: dict[str, Kind] = {DECIMAL_COMMAS: "numeric", THOUSANDS: "numeric", OTHER_DATES: "datetime"}


@dataclass(frozen=True)
class Told:
    """What the rows tell of a column's type; `words` are those for true and false, or that a time has seconds."""

    kind: Kind | None
    missing: bool
    words: tuple[str, ...] = ()
    note: str = ""
    is_empty: bool = False


@dataclass
class _Tally:
    rows: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    words: set[str] = field(default_factory=set)

    def add(self, values: Values) -> None:
        self.rows += len(values)
        first = np.arange(len(values)) < _FIRST
        for part in (first, ~first):  # mostly the first rows show that there are more than two words
            if len(self.words) <= 2 and part.any():
                texts = to_texts(rows_where(values, part)).private_values
                self.words.update(_known(texts))
        numbers = to_numbers(values)
        is_number = ~np.isnan(numbers)
        whole = is_number & (numbers == np.rint(numbers))
        self.kinds["numeric"] += int(np.count_nonzero(is_number & ~whole))
        for some, kind_of in ((whole, _kind_of_whole), (~is_number, _kind_of_text)):
            if not some.any():
                continue
            texts = to_texts(rows_where(values, some))
            counts = np.bincount(texts.private_codes + 1, minlength=len(texts.private_values) + 1)
            for text, count in zip(texts.private_values, counts[1:], strict=True):
                for known in _known([text]):
                    self.kinds[kind_of(known)] += int(count)

    def told(self) -> Told:
        known = self.kinds.total()
        missing = self.rows - known >= LITTLE * self.rows
        if known < _ENOUGH:
            return Told(None, missing, is_empty=self.rows >= _ENOUGH and missing and known < LITTLE * self.rows)
        if (words := _truth(self.words)) is not None:
            return Told("boolean", missing, words)

        def nearly_all(*kinds: str) -> bool:
            return sum(self.kinds[kind] for kind in kinds) >= (1 - LITTLE) * known

        if nearly_all(COMPACT_DATES):
            return Told("datetime", missing, note=f"{COMPACT_DATES}. {READABLE[OTHER_DATES]}")
        if nearly_all("integer", COMPACT_DATES):
            return Told("integer", missing)
        if nearly_all("integer", "numeric", COMPACT_DATES):
            return Told("numeric", missing)
        if nearly_all("datetime"):
            return Told("datetime", missing)
        if nearly_all("time", _WITH_SECONDS):
            return Told("time", missing, (SECONDS,) if self.kinds[_WITH_SECONDS] else ())
        look = next((name for name in self.kinds if name in READABLE and nearly_all(name)), None)
        if look is None:
            return Told("categorical", missing)
        return Told(_MEANT.get(look, "categorical"), missing, note=f"{look}. {READABLE[look]}")


def _known(texts: Iterable[str | None]) -> list[str]:
    stripped = [text.strip() for text in texts if text is not None]
    return [text for text in stripped if text not in MISSING_TEXTS]


def _kind_of_whole(text: str) -> str:
    return "code" if is_code(text) else COMPACT_DATES if is_compact_date(text) else "integer"


def _kind_of_text(text: str) -> str:
    """The type of what is no number, or what it looks like that could be one if it were written otherwise."""
    if not np.isnan(parse_date(text)):
        return "datetime"
    if not np.isnan(seconds_of(text)):
        return _WITH_SECONDS if has_seconds(text) else "time"
    return readable_look(text) or "text"


def _truth(words: set[str]) -> tuple[str, ...] | None:
    """The words for true and for false, as they are spelled; None where the texts are no such two."""
    spelled = {word: (word.lower(), word.upper(), word.capitalize()) for word in words}
    if len(words) != 2 or any(word not in spellings for word, spellings in spelled.items()):
        return None
    yes = [word for word in words if word.lower() in TRUE_WORDS]
    no = [word for word in words if word.lower() in FALSE_WORDS]
    if not (yes and no):
        return None
    return () if {yes[0].lower(), no[0].lower()} == {"true", "false"} else (yes[0], no[0])


def told_kinds(data: Any, names: Sequence[str]) -> dict[str, Told]:
    """Read all rows once, and tell the types of these columns. Not private."""
    schema = Schema(columns=tuple(Column(name=name, kind="categorical", discover=True) for name in names))
    tallies = {name: _Tally() for name in names}
    for chunk in open_source(data, schema).chunks(names, rows=max(1, min(1 << 16, _CHUNK_CELLS // len(names)))):
        for name, tally in tallies.items():
            tally.add(chunk[name])
    return {name: tally.told() for name, tally in tallies.items()}


def with_kinds(proposals: Sequence[Proposal], told: Mapping[str, Told]) -> list[Proposal]:
    """The proposals with the types that the rows tell; bounds and codes that a name suggests stay where they fit the type."""
    return [_with_kind(proposal, told.get(proposal.name)) for proposal in proposals]


def _with_kind(proposal: Proposal, told: Told | None) -> Proposal:
    if told is not None and told.is_empty:
        return replace(proposal, dropped=proposal.dropped or "no values, it seems")
    if told is None or told.kind is None or proposal.kind is None:
        return proposal
    numbers = ("numeric", "integer")
    fits = told.kind == proposal.kind or (told.kind in numbers and proposal.kind in numbers)
    coded = told.kind == "categorical" and proposal.kind == "ordinal"
    if (fits or coded) and (proposal.bounds or proposal.categories):
        kind = proposal.kind if coded else told.kind
        return replace(proposal, kind=kind, missing=told.missing or bool(proposal.categories), is_known=True)
    plain = Proposal(name=proposal.name, kind=told.kind, dropped=proposal.dropped)
    return replace(plain, missing=told.missing, words=told.words, note=told.note)
