"""What a part of an expression can be, of rows that are known only by what each column may hold."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.public.expressions.variables import Variable


@dataclass(frozen=True)
class Span:
    """Numbers or moments from `low` to `high`; none where low is above high. `missing`: it may be missing as well."""

    low: float
    high: float
    missing: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left."""
        return not (self.low <= self.high or self.missing)

    def joined(self, other: "Span") -> "Span":
        """What either can be."""
        return Span(min(self.low, other.low), max(self.high, other.high), self.missing or other.missing)

    def met(self, other: "Span") -> "Span":
        """What both can be."""
        return Span(max(self.low, other.low), min(self.high, other.high), self.missing and other.missing)


@dataclass(frozen=True)
class Some:
    """Some of a list of words, by their places."""

    places: frozenset[int]
    missing: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left."""
        return not (self.places or self.missing)

    def joined(self, other: "Some") -> "Some":
        """What either can be."""
        return Some(self.places | other.places, self.missing or other.missing)

    def met(self, other: "Some") -> "Some":
        """What both can be."""
        return Some(self.places & other.places, self.missing and other.missing)


#: A truth that may be false (-1), unknown (0) or true (1) is `Some` of these three; what is unknown is no missing word.
FALSE, UNKNOWN, TRUE = -1, 0, 1
Domain = Span | Some
Domains = Mapping[str, Domain]

#: Nothing is known of it; it may be missing, too.
ANY_NUMBER = Span(-math.inf, math.inf, True)


def domain_of(variable: Variable) -> Domain:
    """All that a column can hold."""
    if variable.kind in ("number", "date"):
        whole = variable.is_whole
        low = math.ceil(variable.low) if whole else variable.low
        return Span(low, math.floor(variable.high) if whole else variable.high, variable.missing)
    if variable.kind == "truth":
        return Some(frozenset((FALSE, TRUE, *([UNKNOWN] if variable.missing else []))))
    return Some(frozenset(range(len(variable.words))), variable.missing)


def met(a: Domain, b: Domain) -> Domain:
    """What both of two domains of one column hold."""
    return a.met(b) if isinstance(a, Span) and isinstance(b, Span) else as_some(a).met(as_some(b))


def joined(a: Domain, b: Domain) -> Domain:
    """What either of two domains of one column holds."""
    return a.joined(b) if isinstance(a, Span) and isinstance(b, Span) else as_some(a).joined(as_some(b))


def as_some(domain: Domain) -> Some:
    """The domain of words or truths, where the kind says that it is one."""
    if isinstance(domain, Some):
        return domain
    raise TypeError("a domain of numbers stands where words are")


def as_span(domain: Domain) -> Span:
    """The domain of amounts or moments, where the kind says that it is one."""
    if isinstance(domain, Span):
        return domain
    raise TypeError("a domain of words stands where numbers are")
