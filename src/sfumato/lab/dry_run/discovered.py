"""A text column whose categories are left to discovery: what it would not find, and which type the texts look like.

NOT private: it keeps counts of rows.
"""

from collections import Counter
from dataclasses import replace

import numpy as np

from sfumato.lab.dry_run.finding import Finding, found
from sfumato.lab.dry_run.texts import counted_texts
from sfumato.private.intake.scalars import parse_date, parse_number
from sfumato.private.intake.truth import truth_table
from sfumato.private.intake.values import Values
from sfumato.public.budget import budget_of
from sfumato.public.plan.discovery import plan_discovery
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


class DiscoveredTally:
    """How often each text comes."""

    def __init__(self, column: Column, *, least: int) -> None:
        """Nothing counted yet; texts in fewer rows than `least` are not let out."""
        self._column, self._least = column, least
        self._counts: Counter[str] = Counter()
        self._missing = 0

    def add(self, values: Values) -> None:
        """Count one chunk."""
        missing, told = counted_texts(values)
        self._missing += missing
        for text, count in told:
            self._counts[text.strip()] += count

    def findings(self, rows: int) -> list[Finding]:
        """The type that the texts look like, and how many rows have a text that is too rare."""
        name, n_texts = self._column.name, len(self._counts)
        out: list[Finding] = []
        if not self._column.missing:
            what = "missing, though not declared so: they become the first category"
            out = found(name, what, rows=self._missing, of=rows, remedy="Set missing = true.")
        if (kind := self._looks_like()) is not None:
            what = f"look like {kind[0]}, and each different one would be a category"
            held = sum(self._counts.values())
            return out + [replace(f, is_fault=kind[2]) for f in found(name, what, rows=held, of=rows, remedy=kind[1])]
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
        if not any(np.isnan(parse_number(text)) for text in self._counts):
            return "numbers", 'Set type = "numeric" or "integer", and bounds from what is known in public.', True
        if not any(np.isnan(parse_date(text)) for text in self._counts):
            return "dates", 'Set type = "datetime", and bounds from what is known in public.', True
        return None
