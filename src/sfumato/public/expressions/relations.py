"""What is compared: two amounts, moments or words, and whether something is missing."""

import itertools
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.public.expressions.domains import FALSE, TRUE, UNKNOWN, Domain, Domains, Some, Span, as_some
from sfumato.public.expressions.nodes import Column, Node, Number, Rows

COMPARED: dict[str, Callable[..., Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip


@dataclass(frozen=True)
class Compared(Node):
    """Two amounts, moments or words, one beside the other."""

    sign: str
    left: Node
    right: Node

    @property
    def parts(self) -> tuple[Node, ...]:
        """Both sides."""
        return self.left, self.right

    def of(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """Row by row; unknown where either side is missing."""
        if self.left.kind in ("number", "date"):
            x, y = self.left.of(rows, n_rows), self.right.of(rows, n_rows)
            known = ~(np.isnan(x) | np.isnan(y))
            with np.errstate(invalid="ignore"):
                holds = self._holds(x, y)
        elif self.left.kind == "text":
            x, y = self._places(rows, n_rows)
            known, holds = (x >= 0) & (y >= 0), COMPARED[self.sign](x, y)
        else:
            x, y = self.left.of(rows, n_rows), self.right.of(rows, n_rows)
            known, holds = (x != UNKNOWN) & (y != UNKNOWN), COMPARED[self.sign](x, y)
        return np.where(known, np.where(holds, TRUE, FALSE), UNKNOWN).astype(np.int8)

    def _holds(self, x: Any, y: Any) -> Any:
        """A day lasts until its end: x <= day means any moment of it, and so does x = day."""
        day = self.right
        if isinstance(day, Number) and day.last > day.value:
            if self.sign in ("<=", ">"):
                return COMPARED[self.sign](x, day.last)
            if self.sign in ("=", "!="):
                within = (x >= day.value) & (x <= day.last)
                return within if self.sign == "=" else ~within
        return COMPARED[self.sign](x, y)

    def common_places(self) -> tuple[list[int], list[int]]:
        """The places of the words of both sides in one list: that of the longer one first, whose order counts."""
        both = sorted((self.left.words, self.right.words), key=len, reverse=True)
        place = {word: at for at, word in enumerate(dict.fromkeys((*both[0], *both[1])))}
        return [place[word] for word in self.left.words], [place[word] for word in self.right.words]

    def _places(self, rows: Rows, n_rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
        x, y = self.common_places()
        return (
            np.array([*x, -1], dtype=np.int64)[self.left.of(rows, n_rows)],
            np.array([*y, -1], dtype=np.int64)[self.right.of(rows, n_rows)],
        )

    def over(self, domains: Domains) -> Domain:
        """Whether it may be true, and whether false."""
        a, b = self.left.over(domains), self.right.over(domains)
        if isinstance(a, Span) and isinstance(b, Span):
            return Some(frozenset(self._span_truths(a, b)))
        a, b = as_some(a), as_some(b)
        if self.left.kind == "truth":
            pairs = [(x, y) for x in a.places for y in b.places]
            return Some(frozenset(UNKNOWN if UNKNOWN in p else _truth(COMPARED[self.sign](*p)) for p in pairs))
        x, y = self.common_places()
        left, right = {x[at] for at in a.places}, {y[at] for at in b.places}
        found = {UNKNOWN} if a.missing or b.missing else set()
        if left and right:
            found |= _set_truths(self.sign, left, right)
        return Some(frozenset(found))

    def _span_truths(self, a: Span, b: Span) -> Iterator[int]:
        if a.missing or b.missing:
            yield UNKNOWN
        if a.low > a.high or b.low > b.high:
            return
        last = self.right.last if isinstance(self.right, Number) else b.high
        if self.sign in ("=", "!="):
            apart = a.high < b.low or last < a.low
            same = (a.low == a.high == b.low == b.high) or (b.low == b.high and b.low <= a.low and a.high <= last)
            truths = [FALSE] * (not same) + [TRUE] * (not apart)
            yield from truths if self.sign == "=" else [-truth for truth in truths]
            return
        holds = COMPARED[self.sign]
        low, high = (last, last) if self.sign in ("<=", ">") and last > b.high else (b.low, b.high)
        ends = (a.low, high), (a.high, low)
        if any(holds(*pair) for pair in ends):
            yield TRUE
        if not all(holds(*pair) for pair in ends):
            yield FALSE


def _truth(value: Any) -> int:
    return TRUE if value else FALSE


def _set_truths(sign: str, left: set[int], right: set[int]) -> set[int]:
    """Whether words of two sets may be so, and whether not: by their ends, or by what they share."""
    if sign in ("=", "!="):
        found = {TRUE} if left & right else set()
        found |= {FALSE} if len(left | right) > 1 else set()
        return found if sign == "=" else {-truth for truth in found}
    ends = itertools.product((min(left), max(left)), (min(right), max(right)))
    return {_truth(COMPARED[sign](*pair)) for pair in ends}


@dataclass(frozen=True)
class Missing(Node):
    """Whether something is missing. This is always known."""

    part: Node

    @property
    def parts(self) -> tuple[Node, ...]:
        """What may be missing."""
        return (self.part,)

    def of(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """Row by row."""
        values = self.part.of(rows, n_rows)
        absent = {"truth": values == UNKNOWN, "text": values < 0}.get(self.part.kind, np.isnan(values))
        return np.where(absent, TRUE, FALSE).astype(np.int8)

    def over(self, domains: Domains) -> Domain:
        """Whether it may be, and may not be."""
        found = self.part.over(domains)
        if isinstance(found, Span):
            may, may_not = found.missing, found.low <= found.high
        elif self.part.kind == "truth":
            may, may_not = UNKNOWN in found.places, bool(found.places - {UNKNOWN})
        else:
            may, may_not = found.missing, bool(found.places)
        return Some(frozenset([TRUE] * may + [FALSE] * may_not))


@dataclass(frozen=True)
class Listed(Node):
    """Whether words stand together as a list says: one of its combinations, or with `permitted=False` none of them."""

    columns: tuple[Column, ...]
    combinations: frozenset[tuple[int, ...]]
    permitted: bool = True

    @property
    def parts(self) -> tuple[Node, ...]:
        """The columns."""
        return self.columns

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        """The combinations as single numbers, in order."""
        listed = np.array(sorted(self.combinations), dtype=np.int64).reshape(-1, len(self.columns))
        return np.unique(np.ravel_multi_index(tuple(listed.T), self._shape))

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(len(column.words) for column in self.columns)

    def of(self, rows: Rows, n_rows: int) -> NDArray[Any]:
        """Row by row; unknown where one of them is missing."""
        places = [column.of(rows, n_rows) for column in self.columns]
        known = np.all([at >= 0 for at in places], axis=0)
        at = np.ravel_multi_index(tuple(np.maximum(place, 0) for place in places), self._shape)
        found = np.searchsorted(self._table, at)
        is_listed = self._table[np.minimum(found, len(self._table) - 1)] == at
        return np.where(known, np.where(is_listed == self.permitted, TRUE, FALSE), UNKNOWN).astype(np.int8)

    def left(self, domains: Domains) -> set[tuple[int, ...]]:
        """The listed combinations that the domains leave."""
        some = [as_some(column.over(domains)).places for column in self.columns]
        return {one for one in self.combinations if all(at in places for at, places in zip(one, some, strict=True))}

    def over(self, domains: Domains) -> Domain:
        """Whether some of what the domains leave is listed, and whether something else."""
        some = [as_some(column.over(domains)) for column in self.columns]
        listed, every = len(self.left(domains)), math.prod(len(one.places) for one in some)
        may = {TRUE: listed > 0, FALSE: every > listed}
        found = {truth if self.permitted else -truth for truth, is_so in may.items() if is_so}
        return Some(frozenset(found | ({UNKNOWN} if any(one.missing for one in some) else set())))
