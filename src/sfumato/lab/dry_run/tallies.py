"""One column of a dry run, chunk by chunk: what was not read as the schema hopes. NOT private: it keeps counts of rows."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.lab.dry_run.finding import (
    BAD_BYTES,
    LITTLE,
    READABLE,
    Finding,
    Texts,
    counted_texts,
    found,
    is_code,
    look_of,
    may_be_thousands,
    readable_look,
)
from sfumato.lab.dry_run.spread import Spread
from sfumato.private.intake.conforming import coder, parser_of, truth_table
from sfumato.private.intake.scalars import parse_date, parse_number
from sfumato.private.intake.values import Values, rows_where, to_numbers, to_texts
from sfumato.public.budget import budget_of
from sfumato.public.plan.discovery import plan_discovery
from sfumato.public.schema.clock import DAY
from sfumato.public.schema.column import Column, plain_word
from sfumato.public.schema.schema import Schema

#: The budget for which it is told what is too rare; others are not known before a release.
_EPSILON = 1.0
#: Fewer different numbers than this may well be codes.
_CODES = 20


def rows_to_be_found(schema: Schema) -> int:
    """About how many rows must hold a text of this schema, for discovery to let it out at epsilon 1; 0 where none is sought."""
    if all(column.is_number for column in schema.unknown):
        return 0
    budget = budget_of(_EPSILON, rows=schema.rows)
    return plan_discovery(schema, schema.unknown, budget=budget).rows_of_a_category


class Tally(ABC):
    """Counts of one column."""

    def __init__(self, column: Column) -> None:
        self._column, self._missing = column, 0
        self._unread = Texts()
        self._seen: set[Any] = set()

    @abstractmethod
    def add(self, values: Values) -> None:
        """Look at the raw values of some rows."""

    @abstractmethod
    def findings(self, rows: int) -> list[Finding]:
        """What is wrong, of so many rows."""

    def _count(self, values: Values, is_read: Callable[[str | None], bool] = lambda text: False) -> None:
        """Count what is missing, and note the texts that are not read."""
        missing, told = counted_texts(values, is_read)
        self._missing += missing
        for text, count in told:
            self._unread.add(text, count)

    def _missing_found(self, rows: int, into: str) -> list[Finding]:
        what = f"missing, though not declared so: they become {into}"
        absent = 0 if self._column.missing else self._missing
        return found(self._column.name, what, rows=absent, of=rows, remedy="Set missing = true.")

    def _see(self, different: Iterable[Any]) -> None:
        """Keep two different values in mind at most: whether there are two is all that is asked."""
        for value in different:
            if len(self._seen) > 1:
                return
            self._seen.add(value)

    def _constant_found(self, rows: int) -> list[Finding]:
        if len(self._seen) > 1 or self._unread.rows or (self._seen and self._missing):
            return []
        what = "hold one and the same value" if self._seen else "hold no value"
        remedy = "It tells nothing, and takes a part of the budget. Leave the column out."
        return [replace(f, is_fault=False) for f in found(self._column.name, what, rows=rows, of=rows, remedy=remedy)]

    def _unread_found(self, rows: int, what: str, remedy: str) -> list[Finding]:
        unread = self._unread
        return found(self._column.name, what, rows=unread.rows, of=rows, remedy=remedy, examples=unread.examples())


def tally_of(column: Column, *, least: int) -> Tally:
    """The tally that suits a column; a text that is left to discovery must be held by `least` rows to be found."""
    if column.discover and not column.is_number:
        return DiscoveredTally(column, least=least)
    return NumberTally(column) if column.is_number else CodedTally(column)


class DiscoveredTally(Tally):
    """A text column whose categories are left to discovery: what it would not find, and which type the texts look like."""

    def __init__(self, column: Column, *, least: int) -> None:
        super().__init__(column)
        self._least, self._counts = least, Counter[str]()

    def add(self, values: Values) -> None:
        """Count one chunk."""
        missing, told = counted_texts(values, lambda text: False)
        self._missing += missing
        for text, count in told:
            self._counts[text.strip()] += count
        self._see(self._counts)

    def findings(self, rows: int) -> list[Finding]:
        """The type that the texts look like, and how many rows have a text that is too rare."""
        name, n_texts = self._column.name, len(self._counts)
        out = self._missing_found(rows, "the first category") + self._constant_found(rows)
        if (kind := self._looks_like()) is not None:
            what = f"look like {kind[0]}, and each different one would be a category"
            held = sum(self._counts.values())
            return out + [replace(f, is_fault=kind[2]) for f in found(name, what, rows=held, of=rows, remedy=kind[1])]
        spoilt = sum(count for text, count in self._counts.items() if "\ufffd" in text)
        if spoilt:
            out += found(name, f"hold {BAD_BYTES[0]}", rows=spoilt, of=rows, remedy=BAD_BYTES[1])
        rare = [count for count in self._counts.values() if count < self._least]
        what = (
            f"hold one of {len(rare):,} texts (of {n_texts:,}) that fewer than about {self._least:,} rows have: at epsilon 1 "
            "discovery does not let them out"
        )
        remedy = "Declare categories, or a categories_file, from a public list; merge the rare ones, or leave the column out."
        return out + found(name, what, rows=sum(rare), of=rows, remedy=remedy)

    def _looks_like(self) -> tuple[str, str, bool] | None:
        """What all texts are, the remedy, and whether leaving it so is a fault."""
        truths = truth_table(Column(name=self._column.name, kind="boolean"))
        if len(self._counts) == 2 and all(plain_word(text) in truths for text in self._counts):
            return "true or false", 'Set type = "boolean" in place of discover: it is free.', False
        if len(self._counts) < _CODES:
            return None
        if any(is_code(text) for text in self._counts):
            return None
        if not any(np.isnan(parse_number(text)) for text in self._counts):
            return "numbers", 'Set type = "numeric" or "integer", and bounds from what is known in public.', True
        if not any(np.isnan(parse_date(text)) for text in self._counts):
            return "dates", 'Set type = "datetime", and bounds from what is known in public.', True
        look, n_texts = Counter(map(readable_look, self._counts)).most_common(1)[0]
        if look in READABLE and n_texts >= (1 - LITTLE) * len(self._counts):
            return look, READABLE[look], True
        return None


class NumberTally(Tally):
    """Numbers and dates: not readable, missing, beyond the bounds, not whole."""

    def __init__(self, column: Column) -> None:
        super().__init__(column)
        self._parse = parser_of(column)
        self._below = self._above = self._broken = self._rows = self._pointed = 0
        self._spread = Spread(column)

    def add(self, values: Values) -> None:
        """Count one chunk."""
        column = self._column
        numbers = to_numbers(values, parse=self._parse)
        if column.kind == "time":  # what lies outside of its bounds is cut to the nearer one on the clock's face
            numbers = column.low + np.mod(numbers - column.low, DAY)
        pointed = column.kind == "numeric" and self._pointed == self._rows
        if pointed and may_be_thousands(to_texts(values).private_values):
            self._pointed += len(numbers)
        self._rows += len(numbers)
        self._spread.add(numbers)
        self._see(np.unique(numbers[~np.isnan(numbers)])[:2].tolist() if len(self._seen) < 2 else ())
        absent = np.isnan(numbers)
        if absent.any():
            self._count(rows_where(values, absent))
        if column.special:  # codes lie where they like
            numbers = numbers[~np.isin(numbers, column.special)]
        if column.bounds is not None:
            self._below += int(np.count_nonzero(numbers < column.low))
            self._above += int(np.count_nonzero(numbers > column.high))
        if column.kind == "integer":
            self._broken += int(np.count_nonzero(np.isfinite(numbers) & (numbers != np.rint(numbers))))

    def findings(self, rows: int) -> list[Finding]:
        """What did not parse, what is missing, what is cut, what is rounded."""
        column, name = self._column, self._column.name
        into = "missing values" if column.missing else "the middle of the bounds"
        out: list[Finding] = []
        if self._unread.rows:
            looks, remedy = look_of(self._unread.kept(), date=column.kind == "datetime")
            out = self._unread_found(rows, f"did not parse, and become {into}: they look like {looks}", remedy)
        out += self._missing_found(rows, into)
        for side, count in (("below", self._below), ("above", self._above)):
            remedy = "Are the bounds in the unit of the file? Widen them by what is known in public; never to an extreme row."
            out += found(name, f"{side} the bounds, and cut to them", rows=count, of=rows, remedy=remedy)
        if self._rows and self._pointed == self._rows:
            what = "have three digits after every point, and are read as fractions"
            remedy = "If the points separate thousands, write the numbers without them: 1234567."
            pointed = found(name, what, rows=self._pointed, of=rows, remedy=remedy)
            out += [replace(finding, is_fault=False) for finding in pointed]
        remedy = 'Set type = "numeric" if fractions matter.'
        out += found(name, "no whole numbers: they are rounded", rows=self._broken, of=rows, remedy=remedy)
        narrow = [] if self._unread.rows else self._spread.findings(rows)
        return out + (self._constant_found(rows) or narrow)


class CodedTally(Tally):
    """Categories and booleans: outside of the list, missing."""

    def __init__(self, column: Column) -> None:
        super().__init__(column)
        self._read = coder(column)
        self._folded = {category.strip().casefold() for category in column.categories}
        self._words = Counter[str]()

    def add(self, values: Values) -> None:
        """Count one chunk."""
        self._count(values, lambda text: self._read(text) is not None)
        if len(self._seen) < 2:
            self._see(text for text, _ in counted_texts(values, lambda text: self._read(text) is None)[1])
        if self._column.written == (False, True):
            for text, count in counted_texts(values, lambda text: self._read(text) is None)[1]:
                self._words[text.strip()] += count

    def findings(self, rows: int) -> list[Finding]:
        """What is outside of the list, and what is missing."""
        is_truth = self._column.kind == "boolean"
        into = "missing values" if self._column.missing else "false" if is_truth else "the first category"
        out: list[Finding] = []
        if self._unread.rows:
            what = "words that are neither true nor false" if is_truth else "outside of the categories"
            out = self._unread_found(rows, f"{what}: they become {into}", self._remedy(self._unread.kept()))
        out += self._missing_found(rows, into) + self._other_words_found(rows)
        return out + self._constant_found(rows)

    def _other_words_found(self, rows: int) -> list[Finding]:
        """Words that are read, and that a release would not give back."""
        if len(self._words) != 2 or {word.casefold() for word in self._words} <= {"true", "false"}:
            return []
        no, yes = sorted(self._words, key=lambda word: str(self._read(word)))
        what = f"{no} and {yes}: a release writes False and True in their place"
        remedy = f"To have your words back: true = {json.dumps([yes])}, false = {json.dumps([no])}."
        held = sum(self._words.values())
        return [replace(f, is_fault=False) for f in found(self._column.name, what, rows=held, of=rows, remedy=remedy)]

    def _remedy(self, texts: list[str]) -> str:
        if any("\ufffd" in text for text in texts):
            return f"They hold {BAD_BYTES[0]}. {BAD_BYTES[1]}"
        if self._column.kind == "boolean":
            return 'Declare the words: true = ["Y"], false = ["N"].'
        if any(text.strip().casefold() in self._folded for text in texts):
            return "Some differ from the list in capitals alone: write the list as the file does."
        return "Add what the public code list has, or set missing = true."
