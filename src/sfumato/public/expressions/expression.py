"""An expression over columns: what a rule, a condition or a question is written in."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.public.expressions.domains import FALSE, TRUE, Domains, domain_of
from sfumato.public.expressions.logic import All, AtLeastOne, Not
from sfumato.public.expressions.meaning import Reader
from sfumato.public.expressions.narrowing import narrowed
from sfumato.public.expressions.nodes import Column, Constant, Node, Number, Rows, Word
from sfumato.public.expressions.relations import Compared, Missing
from sfumato.public.expressions.syntax import parsed
from sfumato.public.expressions.variables import Kind, Variable


@dataclass(frozen=True)
class Box:
    """What each column must hold where a condition is true: only columns that are limited are in it.

    `is_exact`: every row within is one, so that the box is the condition.
    """

    domains: Domains
    is_exact: bool


@dataclass(frozen=True)
class Expression:
    """A text that was parsed and typed.

    >>> age, ill = Variable("age", "number", 0, 100, is_whole=True), Variable("ill", "truth")
    >>> old = read_expression("age >= 65 and not ill", {"age": age, "ill": ill})
    >>> old.columns
    ('age', 'ill')
    >>> old.holds({"age": np.array([70.0, 70.0, np.nan]), "ill": np.array([0, 1, 0])}).tolist()
    [True, False, False]
    >>> old.box().domains["age"]
    Span(low=65, high=100, missing=False)
    """

    text: str
    node: Node
    variables: Mapping[str, Variable]

    @property
    def kind(self) -> Kind:
        """What it is: a truth for rules and conditions."""
        return self.node.kind

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that it speaks of, in the order in which they are declared."""
        named = {part.variable.name for part in self.node.walk() if isinstance(part, Column)}
        return tuple(name for name in self.variables if name in named)

    def evaluate(self, rows: Rows) -> NDArray[Any]:
        """Its value in each encoded row: numbers and dates as float64 (NaN: missing), truths as -1, 0 (unknown) or 1."""
        n_rows = len(next(iter(rows.values())))
        return self.node.of(rows, n_rows)

    def holds(self, rows: Rows) -> NDArray[np.bool_]:
        """The rows in which a condition is true. Where it is unknown, because something is missing, it is not."""
        return np.asarray(self.evaluate(rows) == TRUE)

    def is_broken(self, rows: Rows) -> NDArray[np.bool_]:
        """The rows in which a rule is false. Where it is unknown, because something is missing, it is kept."""
        return np.asarray(self.evaluate(rows) == FALSE)

    @property
    def all_domains(self) -> Domains:
        """All that the columns can hold."""
        return {name: domain_of(variable) for name, variable in self.variables.items()}

    def box(self) -> Box:
        """What its columns must hold where it is true; refused where no row can be so."""
        before = {name: domain_of(self.variables[name]) for name in self.columns}
        after: Domains | None = before
        for _ in range(3):  # what one part takes away may narrow another
            after = None if after is None else narrowed(self.node, after)
        if after is None:
            raise SchemaError(f"no row can be so by the bounds and categories of the schema: {self.text}")
        kept = {name: domain for name, domain in after.items() if domain != before[name]}
        return Box(kept, _is_box(self.node))


def _is_box(node: Node) -> bool:
    """Whether a truth is a conjunction, each part of which limits one column by itself."""
    if isinstance(node, All):
        return all(map(_is_box, node.members))
    return _limits_one(node)


def _limits_one(node: Node) -> bool:
    """Whether a part limits one column, to a range or to some of its values."""
    if isinstance(node, Not):
        return isinstance(node.part, Column | Missing) and _limits_one(node.part)
    if isinstance(node, Column | Constant):
        return True
    if isinstance(node, Missing):
        return isinstance(node.part, Column)
    if isinstance(node, AtLeastOne):  # one of some words
        sides = {part.left for part in node.members if isinstance(part, Compared)}
        same = len(sides) == 1 and all(isinstance(part, Compared) for part in node.members)
        return same and next(iter(sides)).kind == "text" and all(map(_limits_one, node.members))
    if isinstance(node, Compared):
        is_plain = isinstance(node.left, Column) and isinstance(node.right, Number | Word | Constant)
        return is_plain and (node.sign != "!=" or node.left.kind in ("text", "truth"))
    return False


def read_expression(text: str, variables: Mapping[str, Variable], *, truth: bool = True) -> Expression:
    """Parse and type a text. A rule or a condition is a truth; with `truth=False` it may be an amount, too."""
    tree = parsed(text)
    reader = Reader(text, variables)
    node = reader.truth(tree) if truth else reader.read(tree)
    return Expression(text, node, variables)
