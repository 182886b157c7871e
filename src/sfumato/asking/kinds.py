"""The kinds of questions: which totals each is made of, its value, and its interval."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from sfumato.asking.insides import bounds, least_and_most
from sfumato.asking.intervals import Span, Uncertain
from sfumato.asking.questions import Question, values_of
from sfumato.public.expressions.domains import Span as Amounts
from sfumato.public.schema.schema import Batch

Ends = tuple[NDArray[np.float64], NDArray[np.float64]]
Moved = list[list[Batch]]
Members = Callable[[Batch], NDArray[np.bool_]]

Floats = NDArray[np.float64]
#: Places at which the rows below are counted for a quantile.
_POINTS = 64
#: Half of as many lie around the level that is asked for, up to the one whose odds are so many powers of e from its own.
_AROUND = 3.0
#: So many different values, or fewer, are steps: whole numbers of years, say.
_STEPS = 200


@dataclass(frozen=True)
class Kind(ABC):
    """A question without its groups and its condition. Its answer lies between `least` and `most`."""

    question: Question
    least: float = -math.inf
    most: float = math.inf

    @property
    def counts(self) -> tuple[int, ...]:
        """Which totals count rows that may be rare."""
        return (0,) if self.question.function in ("count", "share") else ()

    @property
    def is_count(self) -> bool:
        """Whether rows are counted, and nothing of them added up."""
        return self.question.function in ("count", "share", "median", "quantile")

    @abstractmethod
    def functions(self, rows: Batch) -> Floats:
        """What each row (first) counts in each total."""

    @abstractmethod
    def value(self, totals: Floats) -> float:
        """The answer, where totals are known."""

    def interval(self, totals: Uncertain, z: float) -> Span | None:
        """The answer with its interval; None where noise leaves nothing to say."""
        return totals.function(self.value, z)

    def naive(self, functions: Floats) -> float | None:
        """The answer, as if synthetic rows were the private ones; None where there are none."""
        with np.errstate(all="ignore"):
            value = self.value(functions.sum(axis=0))
        return value if math.isfinite(value) else None

    def ends(self, rows: Batch, members: Members, moved: Moved) -> Ends | None:
        """What each row counts in each total, where the insides of cells make the answer least, and where most.

        `moved` are copies of the rows with numbers elsewhere in their cells. None where such totals do not bound the answer.
        """
        return None

    def denominators(self, rows: Batch, members: Members) -> list[NDArray[np.bool_]]:
        """The rows that something is divided by, for answers that `ends` does not bound."""
        return [members(rows)]

    def arguments(self, rows: Batch) -> list[Floats]:
        """What stands in the brackets, in each row."""
        return [values_of(argument, rows) for argument in self.question.arguments]


class Total(Kind):
    """count and sum."""

    def functions(self, rows: Batch) -> Floats:
        """One, or the amount."""
        (values,) = self.arguments(rows) or [np.ones(len(next(iter(rows.values()))))]
        return np.nan_to_num(values)[:, None]

    def value(self, totals: Floats) -> float:
        """Itself."""
        return float(totals[0])

    def ends(self, rows: Batch, members: Members, moved: Moved) -> Ends:
        """Without the rows that may be elsewhere, and with them."""
        amounts = self.functions(rows)
        either = [amounts * part[:, None] for part in least_and_most(members, moved)]
        return np.minimum(*either), np.maximum(*either)


class Ratio(Kind):
    """share, mean and ratio: one total over another."""

    def functions(self, rows: Batch) -> Floats:
        """The amount, and what it is divided by: 1 unless another amount is asked for."""
        above, *rest = self.arguments(rows)
        below = rest[0] if rest else np.ones_like(above)
        known = ~np.isnan(above + below)
        return np.where(known[:, None], np.stack([above, below], axis=1), 0.0)

    def value(self, totals: Floats) -> float:
        """The ratio."""
        return float(totals[0] / totals[1])

    def interval(self, totals: Uncertain, z: float) -> Span | None:
        """Fieller's."""
        return totals.ratio(0, 1, z)

    def ends(self, rows: Batch, members: Members, moved: Moved) -> Ends | None:
        """Of a share: as many of those that have it as there may be, and as few of the others; and the other way about."""
        if self.question.function != "share":
            return None
        (have_least, have_most), (lack_least, lack_most) = (
            least_and_most(lambda some, is_so=is_so: members(some) & (self.arguments(some)[0] == is_so), moved)  # type: ignore[misc]
            for is_so in (1, 0)
        )
        return np.stack([have_least, have_least + lack_most], axis=1), np.stack(
            [have_most, have_most + lack_least], axis=1
        )


class Difference(Kind):
    """How much more an amount is, on average, where one thing is true than where another is."""

    def functions(self, rows: Batch) -> Floats:
        """The amount and 1, on either side."""
        amount, *sides = self.arguments(rows)
        known = ~np.isnan(amount)
        sides = [np.nan_to_num(side) * known for side in sides]
        return np.stack([part for side in sides for part in (np.nan_to_num(amount) * side, side)], axis=1)

    def value(self, totals: Floats) -> float:
        """The difference of two means."""
        return float(totals[0] / totals[1] - totals[2] / totals[3])

    def interval(self, totals: Uncertain, z: float) -> Span | None:
        """By slopes, where there surely are rows on both sides."""
        return totals.function(self.value, z) if totals.is_there(1, z) and totals.is_there(3, z) else None

    def denominators(self, rows: Batch, members: Members) -> list[NDArray[np.bool_]]:
        """Either side."""
        return [members(rows) & (side == 1) for side in self.arguments(rows)[1:]]


@dataclass(frozen=True)
class Correlation(Kind):
    """Pearson's, of two amounts. They are centred and scaled by public numbers, which changes nothing but rounding."""

    centres: tuple[float, float] = (0.0, 0.0)
    scales: tuple[float, float] = (1.0, 1.0)

    def functions(self, rows: Batch) -> Floats:
        """1, x, y, xx, yy and xy."""
        x, y = ((v - c) / s for v, c, s in zip(self.arguments(rows), self.centres, self.scales, strict=True))
        moments = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
        return np.where(np.isnan(x + y)[:, None], 0.0, moments)

    def value(self, totals: Floats) -> float:
        """Covariance over both deviations."""
        xx, yy, xy = _moments(totals)
        return float(xy / math.sqrt(xx * yy)) if min(xx, yy) > 0 else math.nan

    def interval(self, totals: Uncertain, z: float) -> Span | None:
        """By Fisher's transform, in which errors are even."""
        if not totals.is_there(0, z) or any(
            totals.function(lambda t, k=k: _moments(t)[k], z)[1] <= 0  # type: ignore[misc]
            for k in (0, 1)
        ):
            return None

        def transformed(t: Floats) -> float:
            return math.atanh(min(max(self.value(t), -1 + 1e-9), 1 - 1e-9))

        value, low, high = totals.function(transformed, z)
        return math.tanh(value), math.tanh(low), math.tanh(high)


def _moments(t: Floats) -> tuple[float, float, float]:
    x, y = t[1] / t[0], t[2] / t[0]
    return float(t[3] / t[0] - x * x), float(t[4] / t[0] - y * y), float(t[5] / t[0] - x * y)


@dataclass(frozen=True)
class Quantile(Kind):
    """The amount below which a share of the rows lies: rows below some points are counted, and points in between interpolated.

    Where the points are all values that there are, the answer is one of them.
    """

    points: Floats = field(default_factory=lambda: np.zeros(1))
    is_stepped: bool = False
    is_bounded: bool = False  # the first and the last point are all that there can be

    def functions(self, rows: Batch) -> Floats:
        """Whether the amount lies at or below each point, less the share that should."""
        (amount,) = self.arguments(rows)
        below = (amount[:, None] <= self.points).astype(np.float64) - float(self.question.level or 0.0)
        ones = np.ones((len(amount), 1))
        return np.where(np.isnan(amount)[:, None], 0.0, np.concatenate([below, ones], axis=1))

    def value(self, totals: Floats) -> float:
        """Where the rows below are as many as should be."""
        return self._crossing(totals[:-1])

    def _crossing(self, below: Floats) -> float:
        grown = np.maximum.accumulate(below)
        if self.is_stepped:
            return float(self.points[min(int(np.searchsorted(grown, 0.0)), len(self.points) - 1)])
        return float(np.interp(0.0, grown, self.points))

    def interval(self, totals: Uncertain, z: float) -> Span | None:
        """All points that a test of `so many rows lie below` does not rule out."""
        if not totals.is_there(len(self.points), z):
            return None
        below, errors = totals.values[:-1], np.sqrt(np.maximum(np.diag(totals.covariance)[:-1], 0.0))
        low, high = self._crossing(below + z * errors), self._crossing(below - z * errors)
        ends = below[0] + z * errors[0] > 0, below[-1] - z * errors[-1] < 0  # what lies beyond is not ruled out
        return (
            None
            if (all if self.is_bounded else any)(ends)
            else (min(max(self.value(totals.values), low), high), low, high)
        )

    def ends(self, rows: Batch, members: Members, moved: Moved) -> Ends:
        """As many rows beyond each point as there may be, and as few: an amount may lie anywhere in its cell."""
        level, size = float(self.question.level or 0.0), len(self.points)
        below, beyond = [], []
        for copies in moved:
            counted = np.zeros((len(next(iter(rows.values()))), size + 1))
            for some in copies:
                (amount,) = self.arguments(some)
                at = np.flatnonzero(members(some) & ~np.isnan(amount))
                counted[at, np.searchsorted(self.points, amount[at])] += 1 / len(copies)
            below.append(counted.cumsum(axis=1)[:, :-1])
            beyond.append(counted[:, ::-1].cumsum(axis=1)[:, -2::-1])
        (below_least, below_most), (beyond_least, beyond_most) = bounds(below), bounds(beyond)
        known = (members(rows) & ~np.isnan(self.arguments(rows)[0]))[:, None].astype(np.float64)
        return (
            np.hstack([(1 - level) * below_least - level * beyond_most, known]),
            np.hstack([(1 - level) * below_most - level * beyond_least, known]),
        )

    def naive(self, functions: Floats) -> float | None:
        """The same of the synthetic rows."""
        totals = functions.sum(axis=0)
        return self.value(totals) if totals[-1] > 0 else None


def kind_of(question: Question, synthetic: Batch) -> Kind:
    """The kind of a question; what is public about the synthetic rows sets its points and scales."""
    match question.function:
        case "count":
            return Total(question, least=0.0)
        case "sum":
            return Total(question)
        case "share":
            return Ratio(question, least=0.0, most=1.0)
        case "mean" | "ratio":
            return Ratio(question)
        case "difference":
            return Difference(question)
    kept = (
        synthetic if question.where is None else {n: v[question.where.holds(synthetic)] for n, v in synthetic.items()}
    )
    rows = kept if len(next(iter(kept.values()))) else synthetic
    amounts = [values_of(argument, rows) for argument in question.arguments]
    if question.function == "correlation":
        centres, scales = ([float(of(amount)) for amount in amounts] for of in (_mean, _spread))
        return Correlation(question, -1.0, 1.0, (centres[0], centres[1]), (scales[0], scales[1]))
    known = amounts[0][~np.isnan(amounts[0])]
    ends = _ends(question)
    different = np.unique(known) if len(known) else np.zeros(1)
    if len(different) <= _STEPS:
        return Quantile(question, points=np.union1d(different, ends), is_stepped=True, is_bounded=len(ends) == 2)
    # Between two points the rows are taken to be spread evenly, which is wrong in a tail unless points lie close to the level.
    level = question.level or 0.5
    levels = np.union1d(np.linspace(0, 1, _POINTS), expit(logit(level) + np.linspace(-_AROUND, _AROUND, _POINTS // 2)))
    return Quantile(question, points=np.union1d(np.quantile(known, levels), ends), is_bounded=len(ends) == 2)


def _ends(question: Question) -> Floats:
    """What the amount can be at least and at most, by the bounds: where no count rules out a tail, it may reach so far."""
    amount = question.arguments[0]
    domain = amount.node.over(amount.all_domains)
    found = [domain.low, domain.high] if isinstance(domain, Amounts) else []
    return np.array([end for end in found if math.isfinite(end)], dtype=np.float64)


def _mean(amount: Floats) -> float:
    known = amount[~np.isnan(amount)]
    return float(known.mean()) if len(known) else 0.0


def _spread(amount: Floats) -> float:
    known = amount[~np.isnan(amount)]
    return max(float(known.std()), 1e-12) if len(known) else 1.0
