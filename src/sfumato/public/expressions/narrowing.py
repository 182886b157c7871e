"""What columns must be where an expression is true: domains that hold every such row, and perhaps others."""

import math

from sfumato.public.expressions.domains import FALSE, TRUE, UNKNOWN, Domain, Domains, Some, Span, as_some, joined, met
from sfumato.public.expressions.logic import All, AtLeastOne, Choice, Not
from sfumato.public.expressions.nodes import (
    SECONDS_OF_DAY,
    Arithmetic,
    Column,
    Constant,
    Node,
    Number,
    span_of,
    truths_of,
)
from sfumato.public.expressions.relations import COMPARED, Compared, Listed, Missing

NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
#: Rounding of a sum or product must not cut off a number that fits.
_SLACK = 1e-12
#: More pairs of words are not looked through.
_MOST_PAIRS = 1_000_000


def narrowed(node: Node, domains: Domains, *, holds: bool = True, or_unknown: bool = False) -> Domains | None:
    """Domains of the rows in which a truth holds, or does not; None where there is no such row.

    `or_unknown`: rows in which it is unknown count as well, as they do for rules.
    """
    if isinstance(node, Not):
        return narrowed(node.part, domains, holds=not holds, or_unknown=or_unknown)
    if isinstance(node, All | AtLeastOne):
        if isinstance(node, All) == holds:
            for part in node.members:
                inner = narrowed(part, domains, holds=holds, or_unknown=or_unknown)
                if inner is None:
                    return None
                domains = inner
            return domains
        return _union([narrowed(part, domains, holds=holds, or_unknown=or_unknown) for part in node.members])
    if isinstance(node, Choice):
        if or_unknown:
            return domains
        sides = []
        for part, truth in ((node.then, True), (node.otherwise, False)):
            inner = narrowed(node.condition, domains, holds=truth)
            sides.append(None if inner is None else narrowed(part, inner, holds=holds))
        return _union(sides)
    if isinstance(node, Constant):
        return domains if node.value == holds else None
    if isinstance(node, Column):
        wanted = {TRUE if holds else FALSE, *([UNKNOWN] if or_unknown else [])}
        return _with(domains, node, Some(frozenset(wanted)))
    if isinstance(node, Missing):
        return _where_missing(node.part, domains, holds)
    if isinstance(node, Compared):
        return _where_compared(node, domains, node.sign if holds else NEGATED[node.sign], or_unknown=or_unknown)
    if isinstance(node, Listed) and node.permitted == holds:
        if or_unknown and any(as_some(domains[column.variable.name]).missing for column in node.columns):
            return domains
        found: Domains | None = domains
        for column, places in zip(node.columns, zip(*node.left(domains), strict=True), strict=False):
            found = None if found is None else _with(found, column, Some(frozenset(places)))
        return found if node.left(domains) else None
    return domains


def _union(found: list[Domains | None]) -> Domains | None:
    kept = [domains for domains in found if domains is not None]
    if not kept:
        return None
    first, *others = kept
    together = dict(first)
    for more in others:
        for name, domain in more.items():
            if domain is not together[name]:
                together[name] = joined(together[name], domain)
    return together


def _with(domains: Domains, column: Column, domain: Domain) -> Domains | None:
    name = column.variable.name
    left = met(domains[name], domain)
    if isinstance(left, Span) and column.variable.is_whole and left.low <= left.high:
        left = Span(math.ceil(left.low), math.floor(left.high), left.missing)
    return None if left.is_empty else {**domains, name: left}


def _where_missing(part: Node, domains: Domains, holds: bool) -> Domains | None:
    if not isinstance(part, Column):
        return domains
    now = domains[part.variable.name]
    if isinstance(now, Span):
        return _with(domains, part, Span(math.inf, -math.inf, True) if holds else Span(now.low, now.high))
    if part.kind == "truth":
        return _with(domains, part, Some(frozenset((UNKNOWN,) if holds else (TRUE, FALSE))))
    return _with(domains, part, Some(frozenset(), True) if holds else Some(now.places))


def _where_compared(node: Compared, domains: Domains, sign: str, *, or_unknown: bool) -> Domains | None:
    if or_unknown and UNKNOWN in truths_of(node, domains):
        return domains
    left, right = node.left.over(domains), node.right.over(domains)
    if isinstance(left, Span) and isinstance(right, Span):
        # The whole day counts but where something lies before it; a day that something lies after has ended.
        is_day = isinstance(node.right, Number) and node.right.last > node.right.value
        last = node.right.last if isinstance(node.right, Number) and sign != "<" else right.high
        right = Span(last, last) if is_day and sign == ">" else right
        first = _back(node.left, _reach(sign, right.low, last), domains)
        if first is None or isinstance(node.right, Number):
            return first
        left = span_of(node.left, first)
        return _back(node.right, _reach(_TURNED.get(sign, sign), left.low, left.high), first)
    return _where_words(node, sign, as_some(left), as_some(right), domains)


def _reach(sign: str, low: float, high: float) -> Span:
    """The numbers that can stand on the left of numbers from low to high."""
    if sign == "=":
        return Span(low, high)
    if sign == "!=":
        return Span(-math.inf, math.inf)
    if sign in ("<", ">"):
        low, high = math.nextafter(low, math.inf), math.nextafter(high, -math.inf)
    return Span(-math.inf, high) if sign in ("<", "<=") else Span(low, math.inf)


def _back(node: Node, span: Span, domains: Domains) -> Domains | None:
    """Domains in which an amount lies in a span."""
    if isinstance(node, Column):
        return _with(domains, node, Span(span.low, span.high))
    if not isinstance(node, Arithmetic) or node.kind == "date" or node.left.kind == "date":
        return _dates_back(node, span, domains) if isinstance(node, Arithmetic) else domains
    x, y, span = span_of(node.left, domains), span_of(node.right, domains), _rounded(span)
    if node.sign == "+":
        inner = _back(node.left, Span(span.low - y.high, span.high - y.low), domains)
        return None if inner is None else _back(node.right, Span(span.low - x.high, span.high - x.low), inner)
    if node.sign == "-":
        inner = _back(node.left, Span(span.low + y.low, span.high + y.high), domains)
        return None if inner is None else _back(node.right, Span(x.low - span.high, x.high - span.low), inner)
    if node.sign in "*/" and isinstance(node.right, Number) and node.right.value:
        factor = 1 / node.right.value if node.sign == "*" else node.right.value
        low, high = sorted((span.low * factor, span.high * factor))
        return _back(node.left, Span(low, high), domains)
    return domains


def _dates_back(node: Arithmetic, span: Span, domains: Domains) -> Domains | None:
    """Days between two moments, and moments some days later: the same in seconds."""
    x, y, day = span_of(node.left, domains), span_of(node.right, domains), SECONDS_OF_DAY
    span = _rounded(span)
    if node.kind == "number":
        inner = _back(node.left, Span(span.low * day + y.low, span.high * day + y.high), domains)
        return (
            None if inner is None else _back(node.right, Span(x.low - span.high * day, x.high - span.low * day), inner)
        )
    if node.left.kind == "date":
        shift = (y.low, y.high) if node.sign == "+" else (-y.high, -y.low)
        return _back(node.left, Span(span.low - shift[1] * day, span.high - shift[0] * day), domains)
    return domains


def _rounded(span: Span) -> Span:
    """A little more, since sums round."""
    low, high = (_SLACK * abs(side) if math.isfinite(side) else 0.0 for side in (span.low, span.high))
    return Span(span.low - low, span.high + high)


def _where_words(node: Compared, sign: str, left: Some, right: Some, domains: Domains) -> Domains | None:
    if node.left.kind == "truth":
        x, y = {at: at for at in left.places - {UNKNOWN}}, {at: at for at in right.places - {UNKNOWN}}
    else:
        of_left, of_right = node.common_places()
        x, y = {at: of_left[at] for at in left.places}, {at: of_right[at] for at in right.places}
    if sign == "=":
        shared = set(x.values()) & set(y.values())
        kept = [{at for at, place in side.items() if place in shared} for side in (x, y)]
    elif len(x) * len(y) > _MOST_PAIRS:
        return domains
    else:
        holds = COMPARED[sign]
        kept = [
            {at for at, place in x.items() if any(holds(place, other) for other in set(y.values()))},
            {at for at, place in y.items() if any(holds(other, place) for other in set(x.values()))},
        ]
    found: Domains | None = domains
    for side, places in ((node.left, kept[0]), (node.right, kept[1])):
        if not places:
            return None
        if isinstance(side, Column) and found is not None:
            found = _with(found, side, Some(frozenset(places)))
    return found
