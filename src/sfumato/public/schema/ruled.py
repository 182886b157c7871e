"""What the rules of a schema mean together: which columns are computed and in which order, and what every row must obey."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.public.expressions.domains import FALSE, Domain, Domains, Some, Span, domain_of
from sfumato.public.expressions.expression import read_expression
from sfumato.public.expressions.logic import All
from sfumato.public.expressions.nodes import Arithmetic, Call, Node, Number, span_of
from sfumato.public.expressions.nodes import Column as Value
from sfumato.public.expressions.relations import Compared, Listed, Missing
from sfumato.public.schema.column import Column
from sfumato.public.schema.made_up import Pattern
from sfumato.public.schema.rules import MOST_RULES, Rule
from sfumato.public.schema.variables import variables_of
from sfumato.public.spelling import did_you_mean, hidden_character

Rows = Mapping[str, NDArray[Any]]
_FEW = 5


@dataclass(frozen=True)
class Computed:
    """A column that a formula gives: rounded as the column is declared."""

    column: Column
    exact: Node
    rule: int

    @cached_property
    def formula(self) -> Node:
        """What gives it, rounded."""
        digits = _digits(self.column)
        return self.exact if digits is None else Call("round", (self.exact, Number(digits, digits)))

    @property
    def step(self) -> float:
        """What it is rounded to; 0 where it is not."""
        digits = _digits(self.column)
        return 0.0 if digits is None else 10.0**-digits

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that it is computed from."""
        return names_in(self.formula)

    def values(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """As encoded rows hold them."""
        found = self.formula.of(rows, n_rows)
        if self.column.is_number:
            return found
        missing = len(self.column.categories)
        if self.formula.kind == "truth":
            return np.asarray(np.array([missing, 1, 0], dtype=np.int64)[found])
        place = [self.column.categories.index(word) for word in self.formula.words]
        return np.asarray(np.array([*place, missing], dtype=np.int64)[found])

    def over(self, domains: Domains) -> Domain:
        """What it can be."""
        found = self.formula.over(domains)
        if isinstance(found, Some) and self.formula.kind == "text":
            words = self.formula.words
            return Some(frozenset(self.column.categories.index(words[at]) for at in found.places), found.missing)
        return found


@dataclass(frozen=True)
class Condition:
    """What must not be false in any row, and the declared rule that it comes from."""

    told: str
    node: Node
    rule: int

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that it speaks of."""
        return names_in(self.node)

    def is_broken(self, rows: Rows, n_rows: int) -> NDArray[np.bool_]:
        """The rows that break it."""
        return np.asarray(self.node.of(rows, n_rows) == FALSE)


@dataclass(frozen=True)
class Key:
    """A column that is made up."""

    name: str
    pattern: Pattern
    unique: bool


@dataclass(frozen=True)
class Ruled:
    """All rules, ready for rows. Computed columns stand in the order in which they can be computed."""

    columns: tuple[Column, ...] = ()
    computed: tuple[Computed, ...] = ()
    conditions: tuple[Condition, ...] = ()
    keys: tuple[Key, ...] = ()

    def complete(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """Encoded rows with the computed columns."""
        n_rows, out = len(next(iter(rows.values()))), dict(rows)
        for one in self.computed:
            out[one.column.name] = one.values(out, n_rows)
        return out

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """The columns by name."""
        return {column.name: column for column in self.columns}

    @cached_property
    def domains(self) -> dict[str, Domain]:
        """All that the columns can hold."""
        return {name: domain_of(variable) for name, variable in variables_of(self.columns).items()}

    @cached_property
    def bases(self) -> dict[str, frozenset[str]]:
        """For each computed column those that stand behind it and are not computed themselves."""
        found: dict[str, frozenset[str]] = {}
        for one in self.computed:
            found[one.column.name] = frozenset().union(*(found.get(name, {name}) for name in one.needs))
        return found

    def base_of(self, condition: Condition) -> frozenset[str]:
        """The columns that decide about a condition, none of them computed."""
        return frozenset().union(*(self.bases.get(name, {name}) for name in condition.columns))


def names_in(node: Node) -> tuple[str, ...]:
    """The columns that a node speaks of, each once."""
    return tuple(dict.fromkeys(part.variable.name for part in node.walk() if isinstance(part, Value)))


@dataclass
class Reading:
    """Rules that are being read: what is right of them, and the faults of the others by the number of the rule."""

    columns: Sequence[Column]
    target: str | None
    tied: frozenset[str]  # columns of groups and dependences, which nothing else may decide
    faults: list[tuple[int, str]] = field(default_factory=list)
    computed: list[Computed] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.by_name = {column.name: column for column in self.columns}
        self.variables = variables_of(self.columns)

    def read(self, rules: Sequence[Rule]) -> Ruled:
        """All of them."""
        if len(rules) > MOST_RULES:
            self.faults.append((0, f"there are {len(rules):,} rules, and {MOST_RULES:,} are the most."))
            return Ruled()
        if rules and any(column.kind == "image" for column in self.columns):
            self.faults.append((0, "rules are for tables, and this schema has an image. Remove them."))
            return Ruled()
        for number, rule in enumerate(rules):
            try:
                self._one(number, rule)
            except SchemaError as error:
                self.faults.append((number, str(error)))
        ordered = self._in_order()
        if not self.faults:
            self._check_formulas(ordered)
        return Ruled(tuple(self.columns), tuple(ordered), tuple(self.conditions), tuple(self.keys))

    def _one(self, number: int, rule: Rule) -> None:
        if rule.key:
            self._key(rule)
        elif rule.rule:
            node = read_expression(rule.rule, self.variables).node
            self._known(names_in(node))
            formula = self._formula(node)
            if formula is None:
                self.conditions.append(Condition(rule.told, node, number))
            else:
                self._compute(number, rule, *formula)
        elif rule.missing_together:
            values = [self._value(name) for name in rule.missing_together]
            first, *others = [Missing(value) for value in values]
            self.conditions.append(Condition(rule.told, All(tuple(Compared("=", first, o) for o in others)), number))
            lacking = [value.variable.name for value in values if not value.variable.missing]
            if lacking:
                raise SchemaError(
                    f"column {lacking[0]!r} is never missing. Declare missing = true, or remove the rule."
                )
        else:
            self._listed(number, rule)

    def _value(self, name: str) -> Value:
        if name not in self.variables:
            near = did_you_mean(name, self.variables) or " Check the spelling."
            raise SchemaError(f"a rule names {name!r}, which is not a column of the schema.{near}")
        self._known((name,))
        return Value(self.variables[name])

    def _known(self, names: Sequence[str]) -> None:
        unknown = [name for name in names if self.by_name[name].discover]
        if unknown:
            raise SchemaError(
                f"column {unknown[0]!r} is to be discovered, and rules are judged before any row is read. Declare its bounds or "
                "categories."
            )

    def _key(self, rule: Rule) -> None:
        if rule.key in self.by_name or rule.key in [key.name for key in self.keys] or hidden_character(rule.key):
            raise SchemaError(
                f"the key {rule.key!r} is a column already, or has no clean name. Take it out of [columns]."
            )
        pattern = Pattern(rule.pattern)
        if not pattern.places:
            raise SchemaError("a pattern must make at least one character.")
        self.keys.append(Key(rule.key, pattern, rule.unique))

    def _listed(self, number: int, rule: Rule) -> None:
        values = tuple(self._value(name) for name in rule.columns)
        plain = [value.variable.name for value in values if value.kind != "text"]
        if plain or len(values) < 2 or len(set(rule.columns)) < len(values):
            raise SchemaError(
                "combinations are of two or more categorical or ordinal columns, each once. Write a rule for others."
            )
        if math.prod(len(value.words) for value in values) >= 1 << 62:
            raise SchemaError("these columns have too many combinations to be listed. Write several rules.")
        places = [{word: at for at, word in enumerate(value.words)} for value in values]
        combinations = set()
        for entry in rule.permitted or rule.forbidden:
            for word, value, place in zip(entry, values, places, strict=True):
                if word not in place:
                    near = did_you_mean(word, value.words)
                    raise SchemaError(f"a combination names {word!r}, which {value.variable.name!r} cannot hold.{near}")
            combinations.add(tuple(place[word] for word, place in zip(entry, places, strict=True)))
        node = Listed(values, frozenset(combinations), permitted=bool(rule.permitted))
        self.conditions.append(Condition(rule.told, node, number))

    def _formula(self, node: Node) -> tuple[Value, Node] | None:
        """A column and what it equals, where that speaks of other columns."""
        if not isinstance(node, Compared) or node.sign != "=":
            return None
        for one, other in ((node.left, node.right), (node.right, node.left)):
            names = names_in(other)
            if isinstance(one, Value) and names and one.variable.name not in (*names, self.target):
                return one, other
        return None

    def _compute(self, number: int, rule: Rule, value: Value, formula: Node) -> None:
        name, column = value.variable.name, self.by_name[value.variable.name]
        if name in self.tied:
            raise SchemaError(
                f"column {name!r} is in a group or has depends_on, so no formula can give it. Keep one of them."
            )
        if name in [one.column.name for one in self.computed]:
            raise SchemaError(f"column {name!r} has two formulas. Keep one.")
        strange = [word for word in formula.words if formula.kind == "text" and word not in column.categories]
        if strange:
            raise SchemaError(
                f"{rule.rule} would give {strange[0]!r}, which {name!r} cannot hold. Add it to its categories."
            )
        self.computed.append(Computed(column, formula, number))

    def _in_order(self) -> list[Computed]:
        """Each after those that it is computed from; those of a circle are faults."""
        waiting, ordered = {one.column.name: one for one in self.computed}, list[Computed]()
        while waiting:
            ready = [one for one in waiting.values() if not any(name in waiting for name in one.needs)]
            if not ready:
                names = ", ".join(list(waiting)[:_FEW])
                for one in waiting.values():
                    self.faults.append((one.rule, f"the formulas of {names} go round in a circle. Break it."))
                break
            ordered += ready
            for one in ready:
                del waiting[one.column.name]
        return ordered

    def _check_formulas(self, ordered: Sequence[Computed]) -> None:
        """Divisions by zero, overflow, and results that the column has no place for."""
        domains: dict[str, Domain] = {name: domain_of(variable) for name, variable in self.variables.items()}
        declared = list(self.conditions)
        for one in ordered:
            self.faults += ((one.rule, fault) for fault in self._faults_of(one, domains))
            inner = self._bounds_condition(one, domains)
            if inner is not None:
                self.conditions.append(inner)
            if not one.column.is_number:
                domains[one.column.name] = one.over(domains)
        for condition in declared:
            for zero in _divisors(condition.node, domains):
                self.faults.append((condition.rule, _zero(zero)))

    def _faults_of(self, one: Computed, domains: Domains) -> Iterator[str]:
        name, column = one.column.name, one.column
        zeros = list(_divisors(one.formula, domains))
        if zeros and not column.missing:
            yield _zero(zeros[0]) + f" Or declare missing = true for {name!r}, which is then missing in such rows."
            return
        found = one.over(domains)
        if isinstance(found, Span) and not zeros and not (math.isfinite(found.low) and math.isfinite(found.high)):
            yield f"the formula of {name!r} overflows within the bounds of its columns. Check their units and bounds."
        elif isinstance(found, Span) and (found.low > column.high or found.high < column.low):
            reach = f"from {found.low:.6g} to {found.high:.6g}"
            yield f"the formula of {name!r} gives numbers {reach}, and its bounds are [{column.low:g}, {column.high:g}]."
        unknown = 0 in found.places if isinstance(found, Some) and one.formula.kind == "truth" else found.missing
        if unknown and not column.missing:
            yield f"the formula of {name!r} is missing where its columns are. Declare missing = true for {name!r}."

    def _bounds_condition(self, one: Computed, domains: dict[str, Domain]) -> Condition | None:
        """What its bounds ask of the columns that a formula speaks of; None where they ask for nothing."""
        found, column = one.over(domains), one.column
        if not isinstance(found, Span):
            return None
        low, high = column.released_bounds
        domains[column.name] = Span(max(found.low, low), min(found.high, high), found.missing)
        if low <= found.low and found.high <= high:
            return None
        sides = (Compared(">=", one.formula, Number(low, low, one.formula.kind)),
                 Compared("<=", one.formula, Number(high, high, one.formula.kind)))  # fmt: skip
        return Condition(f"{column.name} within its bounds", All(sides), one.rule)


def _digits(column: Column) -> float | None:
    """Decimals that a column is rounded to."""
    if column.kind in ("integer", "datetime", "time"):
        return 0.0
    return None if column.decimals is None else float(column.decimals)


def _divisors(node: Node, domains: Domains) -> Iterator[Node]:
    """Whatever may be zero and is divided by, or has a negative exponent."""
    for part in node.walk():
        if isinstance(part, Arithmetic) and part.sign in ("/", "**"):
            divisor = part.right if part.sign == "/" else part.left
            power = part.right.value if isinstance(part.right, Number) else 1.0
            span = span_of(divisor, domains)
            if (part.sign == "/" or power < 0) and span.low <= 0 <= span.high:
                yield divisor


def _zero(divisor: Node) -> str:
    names = ", ".join(names_in(divisor)) or "a constant"
    return (
        f"a division by zero is possible: by the bounds, {names} can make the divisor 0. Give bounds that leave it out."
    )


@lru_cache(maxsize=64)  # a schema is copied often, with the same rules
def read_rules(
    columns: tuple[Column, ...], rules: tuple[Rule, ...], *, target: str | None, grouped: tuple[str, ...]
) -> tuple[Ruled, list[tuple[int, str]]]:
    """The rules of a schema, and their faults by the number of the rule; `grouped` columns are those of one-hot groups."""
    tied = set(grouped)
    for column in columns:
        if column.depends_on:
            tied |= {column.name, *column.depends_on}
    reading = Reading(columns, target, frozenset(tied))
    return reading.read(rules), reading.faults
