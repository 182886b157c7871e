"""The inside of the door `noisy_votes`: every unit's rows go to one teacher, by a secret die, and votes are counted.

Teachers are made here, asked here and forgotten here. Proof: docs/proofs/noisy-votes.md.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ContractError, PlanError
from sfumato.private.engines.engine import Rows
from sfumato.private.kernel.arrays import Integers
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.rows.row_alone import Columns
from sfumato.public.plan.doors import Queries, Train
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch

_PUBLIC_ROWS = 256  # of a part that training is tried on
_NO_VOTE = -1


class Ballot:
    """Teachers to be made, and what they are asked."""

    def __init__(self, train: Train, queries: Queries, *, step: Step, plan: Plan) -> None:
        """Refuse queries that were not planned."""
        if step.votes is None:
            raise PlanError(f"step {step.name!r} plans no votes. Use the door {step.door}.")
        self._step, self._planned, self._train = step, step.votes, train
        if len(queries) != self._planned.queries:
            raise PlanError(f"step {step.name!r} plans {self._planned.queries} queries, and {len(queries)} are asked.")
        self._queries = np.array(queries)
        self._queries.flags.writeable = False  # what one teacher wrote there, the next would read
        self._units = int(plan.units_per_one(step.name, self._planned.name))

    def counted(self, rows: Rows, *, primitives: Primitives, key: bytes) -> dict[str, Integers]:
        """How many teachers vote for each class of each query, in units of the grid. What this gives back is private."""
        self._try(rows)
        private_counts = np.zeros((self._planned.queries, self._planned.classes), dtype=np.int64)
        asked = parts(rows, step=self._step, teachers=self._planned.teachers, primitives=primitives, key=key)
        for private_part in asked:
            private_votes = self._votes_or_none(private_part)
            voting = np.flatnonzero(private_votes != _NO_VOTE)
            private_counts[voting, private_votes[voting]] += 1
        return {self._planned.name: self._units * private_counts.ravel()}

    def _votes_or_none(self, private_part: Batch) -> Integers:
        """A teacher's vote on each query; none where it names no class, and none at all where it stumbles."""
        try:
            votes = self._votes(private_part)
        except (Exception, SystemExit):  # noqa: BLE001 - whatever training raises over private rows would be an output
            return np.full(self._planned.queries, _NO_VOTE)
        return np.where((votes >= 0) & (votes < self._planned.classes), votes, _NO_VOTE).astype(np.int64)

    def _votes(self, part: Batch) -> Integers:
        votes = np.array(self._train(part)(self._queries))
        if votes.shape != (self._planned.queries,) or votes.dtype.kind not in "biu":
            raise ContractError("a teacher must give one class for each query, as whole numbers.")
        return votes

    def _try(self, rows: Rows) -> None:
        """Train on public rows, on others, and on the first again: teachers that know of each other are not apart."""
        n = min(rows.rows, _PUBLIC_ROWS)
        # Of the type that private parts have: training must not be able to tell them apart.
        one, other = (_part(rows.public, np.arange(start, start + n)) for start in (0, n))
        first, _, again = (self._votes(part) for part in (one, other, one))
        if not np.array_equal(first, again):
            raise ContractError(
                "training gives another teacher when it is asked again, so one part may have a say in the votes of others. "
                "Train from the rows of the part and from public facts alone, and seed what is drawn."
            )


def parts(rows: Rows, *, step: Step, teachers: int, primitives: Primitives, key: bytes) -> Iterator[Batch]:
    """The rows of each teacher that has any. A unit's die is that of its first row, so that its rows stay together."""
    private_pieces = list(rows)
    if not private_pieces:
        return
    dice = [primitives.dice(step, key=key, first=p.first, n_rows=p.n_rows, sides=teachers) for p in private_pieces]
    units = np.concatenate([piece.units for piece in private_pieces])
    _, firsts, unit_of_row = np.unique(units, return_index=True, return_inverse=True)
    private_teachers = np.concatenate(dice)[firsts][unit_of_row]
    order = np.argsort(private_teachers, kind="stable")
    ends = np.searchsorted(private_teachers[order], np.arange(teachers), side="right")

    @cache  # made when it is first asked for: there are many teachers, and they read few columns
    def whole(name: str) -> NDArray[Any]:
        return np.concatenate([piece.batch[name][: piece.n_rows] for piece in private_pieces])

    private_rows = Columns(private_pieces[0].batch, whole)
    for private_part in np.split(order, ends[:-1]):
        if len(private_part):  # who has no rows has no say
            yield _part(private_rows, private_part)


def _part(private_rows: Batch, private_part: Integers) -> Columns:
    """The rows of one teacher: a column is a copy of these rows alone, which nobody may write into."""

    def column(name: str) -> NDArray[Any]:
        private_column = private_rows[name][private_part]
        private_column.flags.writeable = False
        return private_column

    return Columns(private_rows, column)
