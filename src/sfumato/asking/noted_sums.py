"""What a release has measured, as linear functions of its rows: every noisy sum with the map that it was made by.

A mechanism that is run again on the doors' answers brings its maps along. Noted here, each says what any row, made up or
synthetic, counts in each noisy number: so each noisy number is a known function, summed over the private rows, plus known noise.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sfumato.public.plan.answers import AnsweredDoors, Answers
from sfumato.public.plan.block import Block, Dense, Hot, Outer
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.doors import GroupOf, Measured, Noisy, PerRecord
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.probe import take
from sfumato.public.plan.step import Everyone
from sfumato.public.schema.schema import Batch, n_rows_of

Floats = NDArray[np.float64]
#: Rows that a map is handed at a time.
_AT_ONCE = 4096
#: A sum of more numbers than this is left out: its map would take minutes.
_WIDEST = 1 << 17
#: Rounding of lengths.
_SLACK = 1 + 1e-6


@dataclass(frozen=True)
class NotedSum:
    """One use of a step: its map, and which columns had been prepared by then."""

    blocks: tuple[Block, ...]
    per_record: PerRecord
    prepared: tuple[tuple[str, GroupOf], ...]
    noisy: Noisy


class EnoughNoted(Exception):
    """Nothing more is to be noted: the mechanism is left where it stands."""


class NotingDoors(AnsweredDoors):
    """Doors that answer as they did then, and note the maps of all sums over everyone.

    With `is_enough` they stop when it says so of what was noted, and at the first answer that is not a sum over everyone.
    """

    def __init__(
        self, plan: Plan, answers: Answers, *, is_enough: Callable[[list[NotedSum]], bool] | None = None
    ) -> None:
        super().__init__(plan, answers)
        self._is_enough = is_enough
        self._prepared: tuple[tuple[str, GroupOf], ...] = ()
        self.sums: list[NotedSum] = []
        #: Sums that say less than they seem to, because persons with many rows were shortened in them.
        self.shortened = 0

    def prepare(self, name: str, per_record: GroupOf) -> None:
        """Note what later maps find in a batch."""
        self._prepared = (*self._prepared, (name, per_record))

    def noisy_sum(self, step_name: str, *asked: Any, **options: Any) -> Noisy:
        """What was answered then. A sum of sampled rows is not noted: its rows are not all rows."""
        noisy = super().noisy_sum(step_name, *asked, **options)
        step = self._plan.step(step_name)
        is_sum = step.door == "noisy_sum" and isinstance(step.sampling, Everyone) and bool(asked)
        if is_sum and step.clips_persons(self._plan.unit):
            self.shortened += 1
        elif is_sum and step.width <= _WIDEST:
            self.sums.append(NotedSum(step.blocks, asked[0], self._prepared, noisy))
        if self._is_enough is not None and (not is_sum or self._is_enough(self.sums)):
            raise EnoughNoted
        return noisy

    def _other(self, step_name: str, *asked: Any, **options: Any) -> Noisy:
        """What was answered then by a door whose answers are no sums over everyone."""
        if self._is_enough is not None:
            raise EnoughNoted
        return super().noisy_sum(step_name, *asked, **options)

    noisy_mixtures = noisy_reports = noisy_votes = _other

    def noisy_choice(self, step_name: str, per_record: PerRecord, expected: Mapping[int, Expected]) -> int:
        """What was chosen then."""
        if self._is_enough is not None:
            raise EnoughNoted
        return super().noisy_choice(step_name, per_record, expected)


class _WithPrepared(Mapping[str, NDArray[Any]]):
    """A batch with its prepared columns, each computed when a map first asks for it."""

    def __init__(self, batch: Batch, prepared: tuple[tuple[str, GroupOf], ...]) -> None:
        self._batch, self._prepared, self._made = batch, prepared, dict[str, NDArray[Any]]()

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name in self._batch:
            return self._batch[name]
        if name not in self._made:
            at = max(i for i, (known, _) in enumerate(self._prepared) if known == name)
            earlier = _WithPrepared(self._batch, self._prepared[:at])
            values = np.asarray(self._prepared[at][1](earlier), dtype=np.float32)
            self._made[name] = values[:, None] if values.ndim == 1 else values
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._batch, **dict(self._prepared)})

    def __len__(self) -> int:
        return len({**self._batch, **dict(self._prepared)})


@dataclass(frozen=True)
class Numbers:
    """Some noisy numbers: what each row counts in them (a sparse matrix), their values, and their noise."""

    features: Any
    values: Floats
    stddevs: Floats

    @staticmethod
    def together(parts: list["Numbers"], n_rows: int) -> "Numbers":
        """Side by side."""
        if not parts:
            return Numbers(sparse.csr_matrix((n_rows, 0)), np.zeros(0), np.zeros(0))
        features = sparse.hstack([part.features for part in parts], format="csr")
        values = np.concatenate([part.values for part in parts])
        return Numbers(features, values, np.concatenate([part.stddevs for part in parts]))


def mapped(noted: NotedSum, batch: Batch) -> dict[str, NDArray[Any]]:
    """What the map gives for the rows, by block."""
    parts = []
    for start in range(0, n_rows_of(batch), _AT_ONCE):
        some = take(batch, np.arange(start, min(start + _AT_ONCE, n_rows_of(batch))))
        given = noted.per_record(_WithPrepared(some, noted.prepared))
        parts.append({name: v[:, None] if np.ndim(v) == 1 else np.asarray(v) for name, v in given.items()})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def numbers_of(block: Block, rows: NDArray[Any], noisy: Measured, known: NDArray[np.bool_]) -> Numbers | None:
    """The noisy numbers of a block to which only `known` columns of its map contribute; None where there are none.

    None, too, where a row is longer than its clip, for then the door counted less of it than the map gave.
    """
    match block:
        case Hot():
            return _hot(block, rows, noisy, known)
        case Outer():
            return _outer(block, rows, noisy, known)
        case Dense():
            if np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1).max()) > block.l2_bound * _SLACK:
                return None
            return _numbers(sparse.csr_matrix(rows[:, known].astype(np.float64)), np.flatnonzero(known), noisy)
    return None


def _numbers(features: Any, entries: NDArray[np.intp], noisy: Measured) -> Numbers | None:
    if not len(entries):
        return None
    return Numbers(features, noisy.values[entries], np.full(len(entries), noisy.stddev))


def _hot(block: Hot, rows: NDArray[Any], noisy: Measured, known: NDArray[np.bool_]) -> Numbers | None:
    codes = np.where(rows[:, : block.n_hot] < 0, -1, rows[:, : block.n_hot]).astype(np.int64)
    codes[codes >= block.width] = -1
    counts = codes >= 0
    weights = rows[:, -1].astype(np.float64) if block.weighted else np.ones(len(rows))
    if np.abs(weights * np.sqrt(counts.sum(axis=1))).max() > np.sqrt(block.n_hot) * _SLACK:
        return None
    if block.weighted and not known[-1]:
        return None
    chosen = known[: block.n_hot]
    shared = np.unique(codes[:, ~chosen][counts[:, ~chosen]])
    at, which = np.nonzero(counts & chosen)
    at, entry = np.divmod(np.unique(at * block.width + codes[at, which]), block.width)  # a code counts once
    own = ~np.isin(entry, shared)  # a number that other columns add to as well says nothing of these alone
    at, entry = at[own], entry[own]
    entries, place = np.unique(entry, return_inverse=True)
    features = sparse.csr_matrix((weights[at], (at, place)), shape=(len(rows), len(entries)))
    return _numbers(features, entries, noisy)


def _outer(block: Outer, rows: NDArray[Any], noisy: Measured, known: NDArray[np.bool_]) -> Numbers | None:
    left, right = block.shape
    u, v = rows[:, :left].astype(np.float64), rows[:, left : left + right].astype(np.float64)
    group = rows[:, -1].astype(np.int64) if block.groups > 1 else np.zeros(len(rows), dtype=np.int64)
    if (np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)).max() > block.l2_bound * _SLACK:
        return None
    if block.groups > 1 and not known[-1]:
        return None
    i, j = np.flatnonzero(known[:left]), np.flatnonzero(known[left : left + right])
    i = i[np.abs(u[:, i]).sum(axis=0) > 0]
    j = j[np.abs(v[:, j]).sum(axis=0) > 0]
    products = (u[:, i, None] * v[:, None, j]).reshape(len(rows), -1)
    within = (i[:, None] * right + j).ravel()
    parts = [sparse.csr_matrix(products * (group == g)[:, None]) for g in range(block.groups)]
    entries = np.concatenate([g * left * right + within for g in range(block.groups)])
    return _numbers(sparse.hstack(parts, format="csr"), entries, noisy)
