"""What the driver of a cluster does, whichever it is: hand out tasks, and add up what comes back, every part exactly once."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import EngineError
from sfumato.private.engines import part as parts
from sfumato.private.engines.engine import Rows
from sfumato.private.engines.here import HERE, RowsHere
from sfumato.private.engines.local import CANNOT_TRAVEL, STAYS_HERE, TRAVELLING, travelling, whole_parts
from sfumato.private.engines.task import Task, Texts, added
from sfumato.private.intake.persons import limited
from sfumato.private.intake.sensitive import Sensitive, open_parts, require_same_files
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.sums import Sums
from sfumato.private.rows.batches import Piece
from sfumato.private.rows.prepared import pieces_of
from sfumato.private.rows.row_alone import RowMap
from sfumato.public.certificate.software import installed_software
from sfumato.public.plan.doors import GroupOf
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Schema

_IN_ONE_PLACE = (
    "a step of this mechanism needs all rows in one place, so they are read by this process and not by the cluster."
)


class ClusterRows(RowsHere, ABC):
    """Rows that stay on a cluster. Doors that need them in one place read them here, one by one."""

    def __init__(self, data: Sensitive, *, schema: Schema, keep: bool, primitives: Primitives) -> None:
        """Nothing is read yet."""
        super().__init__(data, schema=schema, keep=keep, primitives=primitives)
        self._facts = parts.Facts(installed_software(), schema)
        self._known: list[tuple[int, bytes]] | None = None  # rows and digest of every part
        self._is_home = False  # whether rows are read here, because a map cannot travel
        self._is_said = False  # that a door needs them here

    # What clusters do in their own ways.

    @property
    @abstractmethod
    def n_workers(self) -> int:
        """How many tasks run at once."""

    @abstractmethod
    def read(self, raw: Any) -> None:
        """Read and encode rows where they lie, and keep them there."""

    @abstractmethod
    def read_persons(self, raw: Any, *, person: str, key: bytes, max_rows: int) -> None:
        """The same where rows belong to persons: whole persons in one part, none with more rows than allowed."""

    @abstractmethod
    def ship(self, made: Iterable[parts.Part]) -> None:
        """Keep parts that were read here."""

    @abstractmethod
    def facts(self) -> Mapping[int, Any]:
        """Rows and digest of every part, by its number."""

    @abstractmethod
    def add_column(self, facts: parts.Facts) -> None:
        """Add the last of the prepared columns to every part."""

    @abstractmethod
    def sums(self, facts: parts.Facts, task: Task, firsts: Sequence[int]) -> Mapping[int, Any]:
        """Digest and sums of every part, by its number; the first rows of parts have these places."""

    @abstractmethod
    def texts_by_part(self, facts: parts.Facts, names: Sequence[str]) -> Mapping[int, Any]:
        """Digest and counts of texts of every part, by its number."""

    # What is the same on all, or on most.

    def can_read(self, raw: Any) -> bool:
        """Whether workers can read these parts: a frame of another engine goes through the driver."""
        return isinstance(raw, Sequence)

    def __iter__(self) -> Iterator[Piece]:
        """All rows, here: which is said once."""
        if not (self._is_home or self._is_said):
            self._is_said = True
            self.remarks.append(_IN_ONE_PLACE)
        return super().__iter__()

    def prepare(self, name: str, per_record: GroupOf) -> RowMap:
        """Add a column to the rows, wherever they are."""
        row_map = super().prepare(name, per_record)
        before = self._facts.prepared
        self._facts = parts.Facts(self._facts.software, self.schema, (*before, (name, per_record, row_map.digest)))
        if self._known is not None and self._travels():
            self.add_column(self._facts)
        return row_map

    def reduced(self, task: Task, row_map: RowMap) -> Sums:
        """The sums of a task over all rows. A part that is missing, or is not what it was, ends the release."""
        if not self._travels(task):
            return super().reduced(task, row_map)
        known = self._parts_known()
        firsts = [0, *accumulate(n_rows for n_rows, _ in known)][: len(known)]
        private_sums = task.over((), row_map=row_map, primitives=self._primitives)
        return reduce(added, self._every_part(self.sums(self._facts, task, firsts)), private_sums)

    def texts(self, names: Sequence[str]) -> Texts:
        """How often each text of some columns occurs."""
        if not self._travels():
            return super().texts(names)
        self._parts_known()
        private_counts = {name: Counter[str]() for name in names}
        for private_part in self._every_part(self.texts_by_part(self._facts, names)):
            for name, private_counter in private_counts.items():
                private_counter.update(private_part[name])
        return private_counts

    def _travels(self, *asked: Task) -> bool:
        """Whether all maps so far can be sent to workers. If one cannot, rows are read here from then on."""
        try:
            if not self._is_home:
                travelling("asked", (self._facts, *asked))
        except CANNOT_TRAVEL:
            self.close()
            self._is_home, self._known = True, None
            self.remarks.append(STAYS_HERE)
        return not self._is_home

    def _every_part(self, answered: Mapping[int, Any]) -> Iterator[Any]:
        """The answers of all parts, each once."""
        for at, (_, digest) in enumerate(self._parts_known()):
            private_answer = _unless_refused(answered.get(at))
            if private_answer is None:
                raise EngineError(
                    "the cluster gave no answer for a part of the rows, so nothing is released. Start again."
                )
            if private_answer[0] != digest:
                raise EngineError(
                    "a part of the data was not the same when it was read again, so nothing is released. Give data that stays "
                    "as it is: files instead of a query, or a frame that was sorted or written before."
                )
            yield private_answer[1]

    def _parts_known(self) -> list[tuple[int, bytes]]:
        """Rows and digest of every part; the data is read at the first time."""
        if self._known is not None:
            return self._known
        require_same_files(self._data)
        raw = open_parts(self._data)
        if raw is None or not self.can_read(raw.rows):
            made = whole_parts(pieces_of(self._data, self))
            self.ship(parts.of_pieces([self.packed(p) for p in pieces], first=pieces[0].first) for pieces in made)
        elif raw.person is None:
            self.read(raw.rows)
        else:
            self.read_persons(raw.rows, person=raw.person, key=raw.key, max_rows=raw.max_rows)
        known = {at: _unless_refused(facts) for at, facts in self.facts().items()}
        require_same_files(self._data)
        self._known = [known[at] for at in sorted(known)]
        return self._known


def numbers_of(
    private_hashes: Sequence[Any], *, key: bytes, max_rows: int
) -> tuple[list[parts.Numbered], NDArray[np.int64]]:
    """The number of each row's person, part by part and all together; -1 for a row that is dropped."""
    own = [_unless_refused(hashes) for hashes in private_hashes]
    numbers = limited(own, key=key, max_rows=max_rows)
    by_part = np.split(numbers, np.cumsum([len(hashes) for hashes in own])[:-1])[: len(own)]
    told = [parts.Numbered(n, parts.hashes_digest([h]), key) for n, h in zip(by_part, own, strict=True)]
    return told, numbers


def _unless_refused(answer: Any) -> Any:
    if isinstance(answer, parts.Refusal):
        raise answer.error
    return answer


def opened_here(data: Sensitive, *, schema: Schema, plan: Plan, primitives: Primitives) -> Rows | None:
    """Rows in this process, where a plan has doors that need all of them in one place, or primitives that no worker has."""
    if primitives.may_travel and all(step.door in TRAVELLING for step in plan.steps):
        return None
    rows = HERE.open(data, schema=schema, plan=plan, primitives=primitives)
    rows.remarks.append(_IN_ONE_PLACE)
    return rows
