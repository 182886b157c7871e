"""One use of a step, in the form in which it travels: public facts, a map, and the key of its coins.

What comes back is exact integers. They add up in any order, so that no engine can change a sum; and every draw is a function
of the key and of a row's place, so that a task that runs twice gives the same. Proof: docs/proofs/doors.md, what travels.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.private.kernel import choice, sums
from sfumato.private.kernel.membership import members_of, taking_part
from sfumato.private.kernel.mixing import add_members
from sfumato.private.kernel.persons import Numbered, of_whole_persons
from sfumato.private.kernel.primitives import RowPrimitives
from sfumato.private.kernel.sums import Sums
from sfumato.private.rows.batches import Piece
from sfumato.private.rows.row_alone import RowMap
from sfumato.public.plan import grid
from sfumato.public.plan.choice import tables_of
from sfumato.public.plan.doors import PerRecord
from sfumato.public.plan.probe import take
from sfumato.public.plan.scaled import ScaledSteps
from sfumato.public.plan.step import Step

#: The column in which a map gives the group of a row, beside the blocks of the step.
GROUP = "group of the row"
MIXTURES = "mixtures"
#: By column, how often each text occurs.
Texts = dict[str, Counter[str]]


@dataclass(frozen=True)
class Task:
    """What is asked of rows, wherever they lie.

    Attributes:
        step: The step that is used; which door it has says what is added up.
        plan: The steps that it belongs to, and their noise.
        per_record: The map.
        rows: How many rows it is handed at a time.
        digest: Of what it gives for public rows: on another processor the same, or nothing is released.
        key: Of the coins of this use. It is never shown.
    """

    step: Step
    plan: ScaledSteps
    per_record: PerRecord
    rows: int
    digest: bytes
    key: bytes = field(repr=False)

    def over(self, pieces: Iterable[Piece], *, row_map: RowMap, primitives: RowPrimitives) -> Sums:
        """The exact sums over some rows. What this gives back is private."""
        match self.step.door:
            case "noisy_sum":
                return self._sums(pieces, row_map, primitives)
            case "noisy_choice":
                return self._counts(pieces, row_map, primitives)
            case _:
                return self._mixtures(pieces, row_map, primitives)

    def _sums(self, pieces: Iterable[Piece], row_map: RowMap, primitives: RowPrimitives) -> Sums:
        private_sums = sums.nothing(self.step)
        mapped, together = self._mapped(pieces, row_map, primitives), self.step.clips_persons(self.plan.unit)
        for private_rows in of_whole_persons(mapped) if together else mapped:
            sums.add_rows(private_sums, private_rows, step=self.step, plan=self.plan, primitives=primitives)
        return private_sums

    def _counts(self, pieces: Iterable[Piece], row_map: RowMap, primitives: RowPrimitives) -> Sums:
        tables = tables_of(self.step)
        private_counts = np.zeros(sum(tables.widths), dtype=np.int64)
        for private_rows, _ in self._mapped(pieces, row_map, primitives):
            choice.add_rows(private_counts, private_rows[tables.name], tables=tables)
        return {tables.name: private_counts}

    def _mixtures(self, pieces: Iterable[Piece], row_map: RowMap, primitives: RowPrimitives) -> Sums:
        step, plan = self.step, self.plan
        row_norm = grid.norm_in_units(plan.noise_multiplier(step.name))
        private_sums = np.zeros((step.groups * step.mixtures, step.width), dtype=np.int64)
        members = members_of(step, primitives, key=self.key)
        for piece in pieces:
            private_values, counts = row_map(piece.batch, n_rows=piece.n_rows)
            integers = sums.row_integers(private_values, step=step, plan=plan, primitives=primitives)
            rows, mixtures = members(piece.first, piece.n_rows)
            if GROUP in private_values:
                group = np.clip(private_values[GROUP][:, 0].astype(np.int64), 0, step.groups - 1)
                mixtures = group[rows] * step.mixtures + mixtures
            rows, mixtures = rows[counts[rows]], mixtures[counts[rows]]
            add_members(private_sums, integers=integers, rows=rows, mixtures=mixtures, row_norm=row_norm)
        return {MIXTURES: private_sums}

    def _mapped(self, pieces: Iterable[Piece], row_map: RowMap, primitives: RowPrimitives) -> Iterator[Numbered]:
        """What a map gives for the rows that take part, less those over which it has stumbled; and whose they are."""
        for piece in pieces:
            # The coins fall before anything is computed.
            chosen = taking_part(self.step, primitives, key=self.key, first=piece.first, n_rows=piece.n_rows)
            private_values, counts = row_map(piece.batch, n_rows=piece.n_rows)
            rows = chosen[counts[chosen]]
            yield take(private_values, rows) if len(rows) < piece.n_rows else private_values, piece.units[rows]


def added(one: Sums, two: Sums) -> Sums:
    """Sums over two sets of rows together."""
    return {name: values + two[name] for name, values in one.items()}


def texts_of(pieces: Iterable[Piece], names: Sequence[str]) -> Texts:
    """How often each text of some columns occurs among rows. What this gives back is private."""
    private_counts: Texts = {name: Counter() for name in names}
    for piece in pieces:
        for name, private_counter in private_counts.items():
            private_counter.update(v for v in piece.batch[name][: piece.n_rows].tolist() if v is not None)
    return private_counts
