"""Truths put together: not, and, or, and one of two as a condition says."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.public.expressions.domains import FALSE, TRUE, UNKNOWN, Domain, Domains, Some, Span, as_some
from sfumato.public.expressions.nodes import Node, Rows, truths_of
from sfumato.public.expressions.variables import Kind


@dataclass(frozen=True)
class Not(Node):
    """The opposite."""

    part: Node

    @property
    def parts(self) -> tuple[Node, ...]:
        """What is denied."""
        return (self.part,)

    def of(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """Row by row; the opposite of unknown is unknown."""
        return np.asarray(np.negative(self.part.of(rows, n_rows)))

    def over(self, domains: Domains) -> Domain:
        """The opposites."""
        return Some(frozenset(-truth for truth in truths_of(self.part, domains)))


@dataclass(frozen=True)
class All(Node):
    """All of some truths."""

    members: tuple[Node, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        """Its members."""
        return self.members

    def of(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """The least of them."""
        return np.asarray(np.minimum.reduce([part.of(rows, n_rows) for part in self.members]))

    def over(self, domains: Domains) -> Domain:
        """The least of what each can be."""
        return Some(frozenset(_every(min, [truths_of(part, domains) for part in self.members])))


@dataclass(frozen=True)
class AtLeastOne(Node):
    """At least one of some truths."""

    members: tuple[Node, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        """Its members."""
        return self.members

    def of(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """The greatest of them."""
        return np.asarray(np.maximum.reduce([part.of(rows, n_rows) for part in self.members]))

    def over(self, domains: Domains) -> Domain:
        """The greatest of what each can be."""
        return Some(frozenset(_every(max, [truths_of(part, domains) for part in self.members])))


def _every(of: Callable[[int, int], int], truths: list[frozenset[int]]) -> set[int]:
    found = set(truths[0])
    for more in truths[1:]:
        found = {of(x, y) for x in found for y in more}
    return found


@dataclass(frozen=True)
class Choice(Node):
    """One of two, as a condition says. Where that is unknown, so is this."""

    condition: Node
    then: Node
    otherwise: Node

    @property
    def kind(self) -> Kind:
        """That of both."""
        return self.then.kind

    @property
    def words(self) -> tuple[str, ...]:
        """Those of both."""
        return tuple(dict.fromkeys((*self.then.words, *self.otherwise.words)))

    @property
    def parts(self) -> tuple[Node, ...]:
        """The condition and both."""
        return self.condition, self.then, self.otherwise

    def of(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """Row by row."""
        truth, values = self.condition.of(rows, n_rows), [p.of(rows, n_rows) for p in (self.then, self.otherwise)]
        if self.kind == "text":
            values = [
                np.array([*map(self.words.index, part.words), -1], dtype=np.int64)[at]
                for part, at in zip((self.then, self.otherwise), values, strict=True)
            ]
        absent = {"text": -1, "truth": UNKNOWN}.get(self.kind, np.nan)
        return np.where(truth == TRUE, values[0], np.where(truth == FALSE, values[1], absent)).astype(values[0].dtype)

    def over(self, domains: Domains) -> Domain:
        """What the sides that may be chosen can be."""
        truths = truths_of(self.condition, domains)
        sides = [p for p, truth in ((self.then, TRUE), (self.otherwise, FALSE)) if truth in truths]
        found = [side.over(domains) for side in sides]
        unknown = UNKNOWN in truths or not found
        if self.kind in ("number", "date"):
            spans = [span for span in found if isinstance(span, Span)]
            low, high = min((s.low for s in spans), default=math.inf), max((s.high for s in spans), default=-math.inf)
            return Span(low, high, unknown or any(span.missing for span in spans))
        places = set[int]()
        for side, some in zip(sides, found, strict=True):
            at = as_some(some).places
            places |= {self.words.index(side.words[place]) for place in at} if self.kind == "text" else at
        if self.kind == "truth":
            return Some(frozenset(places | ({UNKNOWN} if unknown else set())))
        return Some(frozenset(places), unknown or any(s.missing for s in found))
