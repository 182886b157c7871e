"""The parts of an expression, typed. Each knows its value in rows (`of`), and what it can be where domains are known (`over`).

A truth has three values: false -1, unknown 0, true 1. What is compared with something missing is unknown; `and` is the least
of its parts, `or` the greatest, `not` the negative (Kleene's logic, and SQL's).
"""

import itertools
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.public.expressions.domains import (
    ANY_NUMBER,
    FALSE,
    TRUE,
    UNKNOWN,
    Domain,
    Domains,
    Some,
    Span,
    as_some,
    as_span,
)
from sfumato.public.expressions.variables import Kind, Variable

Rows = Mapping[str, NDArray[Any]]
SECONDS_OF_DAY = 86_400.0


@dataclass(frozen=True)
class Node(ABC):
    """A part of an expression."""

    @property
    def kind(self) -> Kind:
        """What it is."""
        return "truth"

    @property
    def parts(self) -> "tuple[Node, ...]":
        """What it is made of."""
        return ()

    @property
    def words(self) -> tuple[str, ...]:
        """The list that its words are places of."""
        return ()

    @abstractmethod
    def of(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """Its value in each row: numbers and dates as float64, words as places (-1: missing), truths as int8."""

    @abstractmethod
    def over(self, domains: Domains) -> Domain:
        """Everything that it can be; perhaps more, never less."""

    def walk(self) -> "Iterator[Node]":
        """It and all that it is made of."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True)
class Column(Node):
    """The value of a column."""

    variable: Variable

    @property
    def kind(self) -> Kind:
        """As declared."""
        return self.variable.kind

    @property
    def words(self) -> tuple[str, ...]:
        """As declared."""
        return self.variable.words

    def of(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """As rows hold it."""
        values = rows[self.variable.name]
        if self.kind in ("number", "date"):
            return np.asarray(values, dtype=np.float64)
        codes = np.asarray(values).astype(np.int64)
        if self.kind == "truth":
            return np.array([FALSE, TRUE, UNKNOWN], dtype=np.int8)[codes]
        return np.where(codes < len(self.words), codes, -1)

    def over(self, domains: Domains) -> Domain:
        """As given."""
        return domains[self.variable.name]


@dataclass(frozen=True)
class Number(Node):
    """A constant amount; or a moment or a day, which lasts from `value` to `last`."""

    value: float
    last: float
    of_kind: Kind = "number"

    @property
    def kind(self) -> Kind:
        """An amount or a moment."""
        return self.of_kind

    def of(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """The same in every row."""
        return np.full(n_rows, self.value)

    def over(self, domains: Domains) -> Domain:
        """One number."""
        return Span(self.value, self.value)


@dataclass(frozen=True)
class Word(Node):
    """A constant word, or true or false."""

    value: str

    @property
    def kind(self) -> Kind:
        """A word."""
        return "text"

    @property
    def words(self) -> tuple[str, ...]:
        """Itself."""
        return (self.value,)

    def of(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """The same in every row."""
        return np.zeros(n_rows, dtype=np.int64)

    def over(self, domains: Domains) -> Domain:
        """One word."""
        return Some(frozenset((0,)))


@dataclass(frozen=True)
class Constant(Node):
    """True or false."""

    value: bool

    def of(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """The same in every row."""
        return np.full(n_rows, TRUE if self.value else FALSE, dtype=np.int8)

    def over(self, domains: Domains) -> Domain:
        """One truth."""
        return Some(frozenset((TRUE if self.value else FALSE,)))


def _quiet(function: Callable[..., Any], *arguments: Any) -> NDArray[np.float64]:
    """What cannot be computed, as a division by zero, is missing."""
    with np.errstate(all="ignore"):
        values = np.asarray(function(*arguments), dtype=np.float64)
    return np.where(np.isfinite(values), values, np.nan)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": lambda x, digits=0.0: np.round(x * 10.0**digits) / 10.0**digits,
    "min": lambda *values: np.minimum.reduce(values),
    "max": lambda *values: np.maximum.reduce(values),
}


@dataclass(frozen=True)
class Arithmetic(Node):
    """Two amounts, added up, multiplied and so on. Of moments: the days between two, or one some days later."""

    sign: str
    left: Node
    right: Node

    @property
    def kind(self) -> Kind:
        """A moment with days added is a moment."""
        dates = (self.left.kind == "date", self.right.kind == "date")
        return "date" if any(dates) and not all(dates) else "number"

    @property
    def parts(self) -> tuple[Node, ...]:
        """Both sides."""
        return self.left, self.right

    def _scaled(self, x: Any, y: Any) -> Any:
        """Moments are in seconds, and amounts of them in days."""
        if self.left.kind == "date" and self.right.kind == "date":
            return (x - y) / SECONDS_OF_DAY
        day = SECONDS_OF_DAY
        x = x * day if self.right.kind == "date" else x
        y = y * day if self.left.kind == "date" else y
        return _OPERATIONS[self.sign](x, y)

    def of(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """Row by row; missing where either is, or where there is no finite result."""
        return _quiet(self._scaled, self.left.of(rows, n_rows), self.right.of(rows, n_rows))

    def over(self, domains: Domains) -> Domain:
        """From the ends of both sides."""
        x, y = span_of(self.left, domains), span_of(self.right, domains)
        missing = x.missing or y.missing
        if self.sign == "/" and y.low <= 0 <= y.high:
            return ANY_NUMBER
        if self.sign == "**" and x.low <= 0 <= x.high and y.low < 0:
            return ANY_NUMBER
        ends = [_end(self._scaled, a, b) for a, b in itertools.product((x.low, x.high), (y.low, y.high))]
        if self.sign == "**" and x.low < 0 < x.high:
            ends.append(0.0)
        if self.sign == "**" and x.low < 0 and not y.low.is_integer():
            ends, missing = [0.0, *ends], True
        return _within(ends, missing)


def _end(function: Callable[..., float], *ends: float) -> float:
    with np.errstate(all="ignore"):
        value = float(function(*map(np.float64, ends))) if all(map(math.isfinite, ends)) else math.inf
    return 0.0 if math.isnan(value) else value


def _within(ends: Sequence[float], missing: bool) -> Span:
    """From the least to the greatest. What can grow beyond all numbers is missing there, and may be any number elsewhere."""
    return Span(min(ends), max(ends), missing) if all(map(math.isfinite, ends)) else ANY_NUMBER


def span_of(node: Node, domains: Domains) -> Span:
    """What an amount or a moment can be."""
    return as_span(node.over(domains))


@dataclass(frozen=True)
class Call(Node):
    """A function of amounts."""

    name: str
    arguments: tuple[Node, ...]

    @property
    def kind(self) -> Kind:
        """The earliest of moments is a moment."""
        return self.arguments[0].kind

    @property
    def parts(self) -> tuple[Node, ...]:
        """What it is a function of."""
        return self.arguments

    def of(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """Row by row."""
        return _quiet(FUNCTIONS[self.name], *(part.of(rows, n_rows) for part in self.arguments))

    def over(self, domains: Domains) -> Domain:
        """All but `abs` grow with what they are given."""
        spans = [span_of(part, domains) for part in self.arguments]
        missing = any(span.missing for span in spans)
        if self.name == "abs":
            low, high = spans[0].low, spans[0].high
            least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
            return _within([least, max(abs(low), abs(high))], missing)
        function = FUNCTIONS[self.name]
        return _within([_end(function, *(getattr(s, side) for s in spans)) for side in ("low", "high")], missing)


def truths_of(node: Node, domains: Domains) -> frozenset[int]:
    """What a truth can be."""
    return as_some(node.over(domains)).places
