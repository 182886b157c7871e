"""Whether a row can obey all rules: domains are narrowed until nothing changes, then one column after the other is fixed.

A small solver of our own: rules of schemas are orders, implications and lists, for which narrowing leaves little to search,
and its answer comes with example rows, which are needed anyway where no drawn row obeys.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.public.expressions.domains import FALSE, TRUE, UNKNOWN, Domain, Some, Span, met
from sfumato.public.expressions.narrowing import narrowed
from sfumato.public.expressions.nodes import Node
from sfumato.public.schema.column import Column
from sfumato.public.schema.ruled import Condition, Ruled

_TRIES = 24
#: A cycle of orders narrows a little each time: it is left after so many rounds for each rule.
_ROUNDS = 40
_FEW = 4
#: Of more conditions it is not worked out which of them contradict each other.
_MOST_TRIED = 20


@dataclass(frozen=True)
class Task:
    """Conditions that hang together, and the columns that decide about them."""

    ruled: Ruled
    conditions: tuple[Condition, ...]
    names: tuple[str, ...]

    @cached_property
    def columns(self) -> dict[str, Column]:
        """The columns by name."""
        return {name: self.ruled.by_name[name] for name in self.names}

    @cached_property
    def domains(self) -> dict[str, Domain]:
        """All that the columns can hold."""
        computed = (self.ruled.computed[i].column.name for i in self.computed)
        return {name: self.ruled.domains[name] for name in (*self.names, *computed)}

    @cached_property
    def computed(self) -> tuple[int, ...]:
        """The computed columns that the conditions speak of, and those behind them."""
        wanted = {name for condition in self.conditions for name in condition.columns}
        found = []
        for i, one in reversed(list(enumerate(self.ruled.computed))):
            if one.column.name in wanted:
                found.append(i)
                wanted |= set(one.needs)
        return tuple(reversed(found))

    def touching(self, names: Sequence[str]) -> "Task":
        """The same with those conditions alone that some columns decide about."""
        some = frozenset(names)
        return replace(self, conditions=tuple(c for c in self.conditions if self.ruled.base_of(c) & some))

    @cached_property
    def _touching(self) -> dict[str, list[int]]:
        """The conditions that a column decides about, by itself or through computed ones."""
        found: dict[str, list[int]] = {}
        for at, condition in enumerate(self.conditions):
            for name in self.ruled.base_of(condition):
                found.setdefault(name, []).append(at)
        return found

    def narrow(self, domains: dict[str, Domain], changed: Iterable[str] | None = None) -> dict[str, Domain] | int:
        """Domains with everything taken out that no obeying row has; or the number of the condition that leaves nothing."""
        domains, waiting = dict(domains), set(range(len(self.conditions)))
        if changed is not None:
            waiting = {at for name in changed for at in self._touching.get(name, ())}
        for _ in range(_ROUNDS * (len(self.conditions) + 1)):
            if not waiting:
                break
            at = min(waiting)
            waiting.discard(at)
            node, mine = self._own[at]
            before = self._with_computed({name: domains[name] for name in mine})
            if node.over(before) == Some(frozenset((FALSE,))):
                return at
            after = narrowed(node, before, or_unknown=True)
            if after is None:
                return at
            moved = [name for name in mine if after[name] != domains[name]]
            domains |= {name: after[name] for name in moved}
            waiting |= {other for name in moved for other in self._touching[name] if other != at}
        return domains

    @cached_property
    def _own(self) -> list[tuple[Node, tuple[str, ...]]]:
        """Each condition with the columns that decide about it."""
        return [(condition.node, tuple(self.ruled.base_of(condition))) for condition in self.conditions]

    def _with_computed(self, domains: dict[str, Domain]) -> dict[str, Domain]:
        """The domains of a condition's columns, with those of the computed ones that they give."""
        for i in self.computed:
            one = self.ruled.computed[i]
            if self.ruled.bases[one.column.name] <= domains.keys():
                domains[one.column.name] = met(self.domains[one.column.name], one.over(domains))
        return domains

    def example(self, rng: np.random.Generator) -> dict[str, NDArray[np.float64]] | None:
        """A row that obeys, drawn at random as far as the rules leave room; None where none was found."""
        start = self.narrow(dict(self.domains))
        if isinstance(start, int):
            return None
        for _ in range(_TRIES):
            row = self._dive(start, rng)
            if row is not None:
                return row
        return None

    def _dive(self, domains: dict[str, Domain], rng: np.random.Generator) -> dict[str, NDArray[np.float64]] | None:
        row: dict[str, NDArray[np.float64]] = {}
        for name in rng.permutation(np.array(self.names, dtype=object)):
            column = self.columns[name]
            value, domain = _picked(domains[name], column, rng)
            row[name] = np.array([value]) if column.is_number else np.array([int(value)])
            left = self.narrow({**domains, name: domain}, changed=(name,))
            if isinstance(left, int):
                return None
            domains = left
        whole = {name: row[name] for name in self.names}
        for i in self.computed:
            one = self.ruled.computed[i]
            whole[one.column.name] = one.values(whole, 1)
        is_fine = not any(condition.is_broken(whole, 1)[0] for condition in self.conditions)
        return row if is_fine else None


def _picked(domain: Domain, column: Column, rng: np.random.Generator) -> tuple[float, Domain]:
    """A value of a domain as rows hold it, and the domain of it alone."""
    if isinstance(domain, Span):
        if domain.low > domain.high:
            return math.nan, domain
        low, high = domain.low, domain.high
        value = float(rng.choice([low, high, rng.uniform(low, high), rng.uniform(low, high)]))
        digits = 0 if column.kind in ("integer", "datetime", "time") else column.decimals
        if digits is not None:
            near = [
                round(value, digits),
                (math.floor(value * 10**digits) / 10**digits),
                math.ceil(value * 10**digits) / 10**digits,
            ]
            value = next((number for number in near if low <= number <= high), value)
        return value, Span(value, value)
    places = sorted(domain.places)
    if column.kind == "boolean":
        truth = int(rng.choice([place for place in places if place != UNKNOWN] or [UNKNOWN]))
        return {FALSE: 0, TRUE: 1, UNKNOWN: 2}[truth], Some(frozenset((truth,)))
    if not places:
        return len(column.categories), domain
    place = int(rng.choice(places))
    return place, Some(frozenset((place,)))


def tasks_of(ruled: Ruled, tied: Sequence[Sequence[str]] = ()) -> list[Task]:
    """The conditions in groups that have no column in common; `tied` columns belong together anyway."""
    owner: dict[str, str] = {}

    def root(name: str) -> str:
        while owner.setdefault(name, name) != name:
            owner[name] = owner[owner[name]]
            name = owner[name]
        return name

    bases = [sorted(ruled.base_of(condition)) for condition in ruled.conditions]
    for names in (*bases, *tied):
        for name in names[1:]:
            owner[root(name)] = root(names[0])
    found: dict[str, list[int]] = {}
    for at, names in enumerate(bases):
        if names:
            found.setdefault(root(names[0]), []).append(at)
    names_of: dict[str, list[str]] = {}
    for column in ruled.columns:
        if column.name in owner:
            names_of.setdefault(root(column.name), []).append(column.name)
    return [
        Task(ruled, tuple(ruled.conditions[at] for at in members), tuple(names_of[key]))
        for key, members in found.items()
    ]


@lru_cache(maxsize=64)
def contradiction(ruled: Ruled) -> tuple[int, str] | None:
    """The number of a rule that leaves no row together with others, and a sentence; None where some row obeys all."""
    for condition in ruled.conditions:
        if not ruled.base_of(condition) and condition.is_broken({}, 1)[0]:
            return condition.rule, f"no row can obey: {condition.told}"
    for task in tasks_of(ruled):
        left = task.narrow(dict(task.domains))
        if isinstance(left, int):
            return task.conditions[
                left
            ].rule, f"no row can obey {_quoted(_fewest(task))}. Change or remove one of them."
        if _is_hopeless(task):
            return task.conditions[
                0
            ].rule, f"no row was found that obeys {_quoted(_fewest(task))}. Do they contradict each other?"
    return None


def _is_hopeless(task: Task) -> bool:
    return task.example(np.random.default_rng(0)) is None


def _fewest(task: Task) -> list[str]:
    """Conditions of which none can be left out, and that leave nothing together; of many, all."""
    kept = list(task.conditions)
    for condition in list(kept) if len(kept) <= _MOST_TRIED else []:
        fewer = tuple(other for other in kept if other is not condition)
        if fewer and _is_hopeless(Task(task.ruled, fewer, task.names)):
            kept = list(fewer)
    return list(dict.fromkeys(condition.told for condition in kept))


def _quoted(told: Sequence[str]) -> str:
    shown = "; ".join(repr(text) for text in told[:_FEW])
    more = f" and {len(told) - _FEW} more" if len(told) > _FEW else ""
    return f"{shown}{more}" if len(told) == 1 else f"all of {shown}{more}"


def impossible(ruled: Ruled, domains: Mapping[str, Domain]) -> str | None:
    """The conditions that leave no row within some domains, where narrowing alone shows it; None where it does not."""
    for task in tasks_of(ruled):
        start = {
            name: met(domain, domains[name]) if name in domains else domain for name, domain in task.domains.items()
        }
        left = task.narrow(start)
        if isinstance(left, int):
            return task.conditions[left].told
    return None
