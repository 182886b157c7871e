"""What a mechanism may say about the number of rows of its releases, before any row is read."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sfumato.public.schema.schema import Schema


@dataclass(frozen=True)
class Recommended:
    """How many rows serve a learner best, and what was gained by that many elsewhere, in a sentence.

    `default` is how many are released where nobody asks for a number, if these are more than were declared: where as many as
    declared would give away most of what the release knows.
    """

    rows: int
    gain: str
    default: int = 0


@runtime_checkable
class Recommending(Protocol):
    """A mechanism whose learners gain from more rows than there are. It need not: then `many` are as many as by default."""

    def recommended_rows(self, schema: Schema, n_rows: int) -> Recommended:
        """How many rows to train on where there are about so many private ones. Public: it sees no data."""


@runtime_checkable
class Holding(Protocol):
    """A mechanism that may release a fixed set of rows."""

    def held_rows(self, schema: Schema) -> int | None:
        """The most rows that a release can hold; None where any number can be drawn."""
