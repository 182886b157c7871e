"""One column of a dry run, chunk by chunk: what was not read as the schema hopes. NOT private: it keeps counts of rows."""

from dataclasses import replace
from typing import Protocol

import numpy as np

from sfumato.lab.dry_run.discovered import DiscoveredTally
from sfumato.lab.dry_run.finding import Finding, Texts, found
from sfumato.lab.dry_run.looks import BAD_BYTES, look_of, may_be_thousands
from sfumato.lab.dry_run.texts import counted_texts
from sfumato.private.intake.conforming import coder
from sfumato.private.intake.scalars import MISSING_TEXTS, parse_date, parse_number
from sfumato.private.intake.values import Values, rows_where, to_numbers, to_texts
from sfumato.public.schema.column import Column


class Tally(Protocol):
    """Counts of one column."""

    def add(self, values: Values) -> None:
        """Look at the raw values of some rows."""
        ...

    def findings(self, rows: int) -> list[Finding]:
        """What is wrong, of so many rows."""
        ...


def tally_of(column: Column, *, least: int) -> Tally:
    """The tally that suits a column; a text that is left to discovery must be held by `least` rows to be found."""
    if column.discover and not column.is_number:
        return DiscoveredTally(column, least=least)
    return NumberTally(column) if column.is_number else CodedTally(column)


class NumberTally:
    """Numbers and dates: not readable, missing, beyond the bounds, not whole."""

    def __init__(self, column: Column) -> None:
        """Nothing counted yet."""
        self._column = column
        self._parse = parse_date if column.kind == "datetime" else parse_number
        self._unread, self._missing = Texts(), 0
        self._below = self._above = self._broken = self._rows = self._pointed = 0

    def add(self, values: Values) -> None:
        """Count one chunk."""
        column = self._column
        numbers = to_numbers(values, parse=self._parse)
        if (
            column.kind == "numeric"
            and self._pointed == self._rows
            and may_be_thousands(to_texts(values).private_values)
        ):
            self._pointed += len(numbers)
        self._rows += len(numbers)
        absent = np.isnan(numbers)
        if absent.any():
            self._add_absent(rows_where(values, absent))
        if column.special:  # codes lie where they like
            numbers = numbers[~np.isin(numbers, column.special)]
        if column.bounds is not None:
            self._below += int(np.count_nonzero(numbers < column.low))
            self._above += int(np.count_nonzero(numbers > column.high))
        if column.kind == "integer":
            self._broken += int(np.count_nonzero(np.isfinite(numbers) & (numbers != np.rint(numbers))))

    def _add_absent(self, values: Values) -> None:
        missing, told = counted_texts(values)
        self._missing += missing
        for text, count in told:
            self._unread.add(text, count)

    def findings(self, rows: int) -> list[Finding]:
        """What did not parse, what is missing, what is cut, what is rounded."""
        column, name = self._column, self._column.name
        into = "missing values" if column.missing else "the middle of the bounds"
        out: list[Finding] = []
        if self._unread.rows:
            looks, remedy = look_of(self._unread.kept(), date=column.kind == "datetime")
            what = f"did not parse, and become {into}: they look like {looks}"
            out += found(name, what, rows=self._unread.rows, of=rows, remedy=remedy, examples=self._unread.examples())
        if not column.missing:
            what = f"missing, though not declared so: they become {into}"
            out += found(name, what, rows=self._missing, of=rows, remedy="Set missing = true.")
        for side, count in (("below", self._below), ("above", self._above)):
            remedy = "Are the bounds in the unit of the file? Widen them by what is known in public; never to an extreme row."
            out += found(name, f"{side} the bounds, and cut to them", rows=count, of=rows, remedy=remedy)
        if self._rows and self._pointed == self._rows:
            what = "have three digits after every point, and are read as fractions"
            remedy = "If the points separate thousands, write the numbers without them: 1234567."
            pointed = found(name, what, rows=self._pointed, of=rows, remedy=remedy)
            out += [replace(finding, is_fault=False) for finding in pointed]
        remedy = 'Set type = "numeric" if fractions matter.'
        return out + found(name, "no whole numbers: they are rounded", rows=self._broken, of=rows, remedy=remedy)


class CodedTally:
    """Categories and booleans: outside of the list, missing."""

    def __init__(self, column: Column) -> None:
        """Nothing counted yet."""
        self._column = column
        self._read = coder(column)
        self._folded = {category.strip().casefold() for category in column.categories}
        self._unknown, self._missing = Texts(), 0

    def add(self, values: Values) -> None:
        """Count one chunk."""
        texts = to_texts(values)
        counts = np.bincount(texts.private_codes + 1, minlength=len(texts.private_values) + 1)
        self._missing += int(counts[0])
        for text, count in zip(texts.private_values, counts[1:], strict=True):
            if self._read(text) is not None:
                continue
            if text is None or text.strip() in MISSING_TEXTS:
                self._missing += int(count)
            else:
                self._unknown.add(text, int(count))

    def findings(self, rows: int) -> list[Finding]:
        """What is outside of the list, and what is missing."""
        column = self._column
        first = "false" if column.kind == "boolean" else "the first category"
        into = "missing values" if column.missing else first
        out: list[Finding] = []
        if self._unknown.rows:
            texts = self._unknown.kept()
            what = "words that are neither true nor false" if column.kind == "boolean" else "outside of the categories"
            out += found(
                column.name,
                f"{what}: they become {into}",
                rows=self._unknown.rows,
                of=rows,
                remedy=self._remedy(texts),
                examples=self._unknown.examples(),
            )
        if not column.missing:
            what = f"missing, though not declared so: they become {into}"
            out += found(column.name, what, rows=self._missing, of=rows, remedy="Set missing = true.")
        return out

    def _remedy(self, texts: list[str]) -> str:
        if any("\ufffd" in text for text in texts):
            return f"They hold {BAD_BYTES[0]}. {BAD_BYTES[1]}"
        if self._column.kind == "boolean":
            return 'Declare the words: true = ["Y"], false = ["N"].'
        if any(text.strip().casefold() in self._folded for text in texts):
            return "Some differ from the list in capitals alone: write the list as the file does."
        return "Add what the public code list has, or set missing = true."
