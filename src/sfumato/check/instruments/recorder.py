"""Primitives that note what goes through them: for checks on made-up rows, never for a release.

With the record of an earlier run they give the same answers again. Rows that both datasets hold have the coins that they had
then, and rows that are new take part wherever they can: so a second dataset is measured under the history of the first, which
is what sensitivity means for a mechanism that adapts and samples.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ContractError
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.plan.block import Response
from sfumato.public.plan.choice import ROW
from sfumato.public.plan.grid import NOISE_STDDEV
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.step import Step

Integers = NDArray[np.int64]


@dataclass
class Drawn:
    """Who takes part in one use of a step: places of rows in the data, and for each the mixture that it is in."""

    n_rows: int = 0
    rows: list[Integers] = field(default_factory=list)
    mixtures: list[Integers] = field(default_factory=list)

    def members(self) -> tuple[Integers, Integers]:
        """All pieces as one."""
        none = np.empty(0, dtype=np.int64)
        return np.concatenate([none, *self.rows]), np.concatenate([none, *self.mixtures])


@dataclass
class Record:
    """What one run of `measure` did, by step and use (and block): exact sums or scores, noisy answers, draws."""

    sums: dict[tuple[str, int, str], NDArray[Any]] = field(default_factory=dict)
    answers: dict[tuple[str, int, str], Integers] = field(default_factory=dict)
    drawn: dict[tuple[str, int], Drawn] = field(default_factory=dict)
    subsets: dict[tuple[str, int], NDArray[np.int32]] = field(default_factory=dict)
    orders: dict[str, list[Integers]] = field(default_factory=dict)

    def uses(self, step: str, block: str) -> int:
        """How often a block was answered."""
        return sum((name, part) == (step, block) for name, _, part in self.sums)


class History(TypedDict, total=False):
    """An earlier run that is to be repeated on other rows."""

    answers: Record
    #: Places of rows which the earlier data did not hold; the rows after them have moved on.
    new: Collection[int]
    #: Places of rows which take part in everything.
    always: Collection[int]


class Recorder(Primitives):
    """Other primitives, and a record of what goes through them."""

    def __init__(self, inner: Primitives, record: Record, **history: Unpack[History]) -> None:
        """Note everything in `record`. The inner ones clip and draw."""
        super().__init__(inner.source)
        self._inner, self._record, self._then = inner, record, history.get("answers")
        new, always = history.get("new", ()), history.get("always", ())
        self._new = np.sort(np.fromiter(new, dtype=np.int64))
        self._always = np.fromiter({*always, *new}, dtype=np.int64)
        for name in ("clip", "clip_outer", "clip_persons", "clip_gradients", "noise"):
            setattr(self, name, getattr(inner, name))

    def noisy(self, private_sum: Integers, *, step: str, block: str) -> Integers:
        """Note the exact sum, and answer as then."""
        return self._answered(private_sum, self._inner.noisy(private_sum, step=step, block=block), step, block)

    def choose(self, private_scores: list[int], *, step: str, block: str, rate: int) -> int:
        """Note the exact scores, and choose as then."""
        place = self._inner.choose(private_scores, step=step, block=block, rate=rate)
        return int(self._answered(np.array(private_scores, dtype=object), np.array([place]), step, block)[0])

    def respond(self, private_codes: Integers, *, step: str, block: str, categories: int, parts: int) -> Integers:
        """Note the exact codes, and respond as then."""
        answer = self._inner.respond(private_codes, step=step, block=block, categories=categories, parts=parts)
        return self._answered(private_codes, answer, step, block)

    def order(self, n_rows: int, *, step: str) -> Integers:
        """Note the order, or give that of then: their number is public, so places mean the same rows."""
        order, orders = self._inner.order(n_rows, step=step), self._record.orders.setdefault(step, [])
        if self._then is not None:
            order = self._then.orders[step][len(orders)]
        orders.append(order)
        return order

    def _answered(self, exact: NDArray[Any], answer: Integers, step: str, block: str) -> Integers:
        key = (step, self._record.uses(step, block), block)
        if self._then is not None:
            if key not in self._then.answers:
                raise ContractError(f"step {step!r} is used more often where a row is new, under the same answers.")
            answer = self._then.answers[key].copy()
        self._record.sums[key] = exact.copy()
        self._record.answers[key] = answer.copy()
        return answer

    def coins(self, step: Step, *, key: bytes, first: int, n_rows: int, n_coins: int, rate: float) -> Integers:
        """Note whose coins fall on heads; known rows have the coins that they had."""
        cells = self._inner.coins(step, key=key, first=first, n_rows=n_rows, n_coins=n_coins, rate=rate)
        rows, mixtures = np.divmod(cells, n_coins)
        if self._then is not None:
            rows, mixtures = self._as_then(step, first=first, n_rows=n_rows)
        here = self._always[(self._always >= first) & (self._always < first + n_rows)] - first
        known = ~np.isin(rows, here)
        rows = np.concatenate([rows[known], np.repeat(here, n_coins)])
        mixtures = np.concatenate([mixtures[known], np.tile(np.arange(n_coins), len(here))])
        cells = np.sort(rows * n_coins + mixtures)
        self._note(step, cells // n_coins + first, cells % n_coins, n_rows=n_rows)
        return cells

    def dice(self, step: Step, *, key: bytes, first: int, n_rows: int, sides: int) -> Integers:
        """Note each row's die; known rows have the side that they had."""
        thrown = self._inner.dice(step, key=key, first=first, n_rows=n_rows, sides=sides)
        if self._then is not None:
            rows, before = self._as_then(step, first=first, n_rows=n_rows)
            # In mixtures, new rows meet in the first. A person's teacher is for the door to settle: rows keep their dice.
            thrown = thrown if step.votes else np.zeros(n_rows, dtype=np.int64)
            thrown[rows] = before
        self._note(step, np.arange(first, first + n_rows), thrown, n_rows=n_rows)
        return thrown

    def subsets(self, step: Step, *, key: bytes, n_subsets: int, size: int, population: int) -> NDArray[np.int32]:
        """Note the subsets, or give those of then: the number of rows is public, so places mean the same rows."""
        chosen = self._inner.subsets(step, key=key, n_subsets=n_subsets, size=size, population=population)
        use = (step.name, self._use(step))
        if self._then is not None:
            chosen = self._then.subsets[use]
        for place in self._always:  # in every subset, at the cost of another row
            chosen[:, 0] = np.where((chosen == place).any(axis=1), chosen[:, 0], place)
        self._record.subsets[use] = chosen
        mixtures = np.repeat(np.arange(n_subsets), size)
        self._note(step, chosen.ravel().astype(np.int64), mixtures, n_rows=population)
        return chosen

    def _use(self, step: Step) -> int:
        return self._record.uses(step.name, step.blocks[0].name)

    def _note(self, step: Step, rows: Integers, mixtures: Integers, *, n_rows: int) -> None:
        """The next piece of the data."""
        drawn = self._record.drawn.setdefault((step.name, self._use(step)), Drawn())
        drawn.n_rows += n_rows
        drawn.rows.append(rows)
        drawn.mixtures.append(mixtures)

    def _as_then(self, step: Step, *, first: int, n_rows: int) -> tuple[Integers, Integers]:
        """Of the next rows, those that were there then: counted from `first`, with the mixtures that they were in."""
        before = (self._then or Record()).drawn.get((step.name, self._use(step)), Drawn())
        rows, mixtures = before.members()
        now = rows + np.searchsorted(self._new - np.arange(len(self._new)), rows, side="right")
        here = (now >= first) & (now < first + n_rows)
        return now[here] - first, mixtures[here]


def whitened_distance(one: Record, two: Record, *, plan: Plan) -> list[tuple[str, float]]:
    """For every use of a step, how far two datasets' sums lie apart, as a multiple of the norm that a row may have.

    For a choice, how far its scores do, as a multiple of what a row may move them by. A response that is another counts as far
    as two counts of its share.

    A sampled step is compared mixture by mixture, every other one as a whole.
    """
    squares: dict[tuple[str, int], Any] = defaultdict(float)
    for key in one.sums.keys() & two.sums.keys():
        (name, use, part), apart = key, one.sums[key] - two.sums[key]
        step, block = plan.step(name), plan.step(name).block(part)
        if step.choice:  # every score for itself: the largest change counts
            squares[name, use] += float(max(abs(apart)) / ROW) ** 2
        elif isinstance(block, Response):
            squares[name, use] += 2 * block.share * np.count_nonzero((apart != 0).any(axis=1))
        else:
            square = (apart / (NOISE_STDDEV / plan.noise_multiplier(name))) ** 2
            squares[name, use] += square.sum(axis=-1) if step.is_sampled else square.sum()
    return [(name, float(np.sqrt(np.max(square)))) for (name, _), square in sorted(squares.items(), key=lambda s: s[0])]
