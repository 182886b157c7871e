"""The View and its doors: the only way from private rows to anything else.

A door takes the name of a planned step instead of a noise scale, and charges it first. Then it is map, reduce, noise: a map
of one batch and public facts, each row clipped by the door itself to exact integers; integers that add up in any order; and
noise, drawn once. What comes out lies on a public grid in a public shape. docs/proofs/doors.md proves each of them, and
docs/kernel.md leads through this folder.
"""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from sfumato.errors import PlanError, PrivacyError
from sfumato.private.doors import reports, votes
from sfumato.private.doors.gradients import GradientSum
from sfumato.private.engines.engine import Engine
from sfumato.private.engines.here import HERE
from sfumato.private.engines.task import GROUP, MIXTURES, Task, Texts
from sfumato.private.intake.quiet import silence
from sfumato.private.intake.sensitive import Sensitive, count_rows, follows_values
from sfumato.private.kernel import choice, sums
from sfumato.private.kernel.arrays import Integers
from sfumato.private.kernel.membership import taking_part
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.rows.batches import Piece
from sfumato.private.rows.row_alone import RowMap
from sfumato.public.budget import Budget
from sfumato.public.machine.torch_extra import default_device
from sfumato.public.plan.answers import Answers, by_parameter
from sfumato.public.plan.choice import Expected, on_offer, tables_of
from sfumato.public.plan.doors import Device, GroupOf, Loss, Noisy, PerRecord, Queries, Tensors, Train
from sfumato.public.plan.gradient_step import gradient_block, microbatch_rows
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.probe import take
from sfumato.public.plan.step import KnownPartition, Step, WithoutReplacement
from sfumato.public.schema.schema import Batch, Schema

#: Told the name of every step that is charged.
OnStep = Callable[[str], None]
_CELLS_PER_BATCH = 1 << 22  # rows times entries held at once: 32 MB of float64


class View:
    """Private rows as a mechanism may use them: by the doors, within the plan."""

    def __init__(
        self,
        data: Sensitive,
        *,
        plan: Plan,
        primitives: Primitives,
        schema: Schema,
        on_step: OnStep = lambda _: None,
        engine: Engine = HERE,
    ) -> None:
        """Open the data for exactly the accesses of the plan; sums over rows are made where the engine keeps them."""
        if plan.unit != data.schema.unit:
            raise PrivacyError("the plan protects another unit than the data is read for. Plan by the data's schema.")
        if follows_values(data) and any(isinstance(step.sampling, KnownPartition) for step in plan.steps):
            raise PrivacyError(
                "a known partition needs rows that keep their place when one of them is replaced, and these lie in the order "
                "of their values. Write them to a file in another order, or sample in another way."
            )
        self.__rows = engine.open(data, schema=schema, plan=plan, primitives=primitives)
        self.__data, self.__plan, self.__schema = data, plan, schema
        self.__primitives, self.__on_step, self.__process = primitives, on_step, os.getpid()
        self.__used: dict[str, int] = {}
        self.__kept: dict[str, tuple[object, Any]] = {}  # for a step: what was asked, and what was made of it
        #: All that ever came out: public.
        self.answers = Answers()

    def __reduce__(self) -> NoReturn:
        raise PrivacyError("a View cannot be pickled or copied: it holds private rows.")

    @property
    def budget(self) -> Budget:
        """The guarantee to meet: a public fact."""
        return self.__plan.budget

    def noise_stddev(self, step_name: str, block: str) -> float:
        """The planned noise on each entry of a block, in the block's units: a public fact."""
        return self.__plan.noise_stddev(step_name, block)

    def prepare(self, name: str, per_record: GroupOf) -> None:
        """Add a column that is computed from each row alone, once for all later doors. Nothing comes out of it.

        A second column of the same name is computed from the first, and takes its place.
        """
        if name in {slot.name for slot in self.__schema.slots}:
            raise PlanError(f"the schema has a column {name!r} already. Give the prepared column another name.")
        with silence():
            self.__rows.prepare(name, per_record)
        self.__kept.clear()  # gradients hold public rows without the new column

    def noisy_sum(self, step_name: str, per_record: PerRecord) -> Noisy:
        """The sum over rows of what each contributes, clipped, plus Gaussian noise.

        With Poisson sampling, over rows that each take part by their own coin. The rows of a person are clipped together
        where the step has a `person_bound`.
        """
        step = self._charge(step_name)
        if step.door != "noisy_sum":
            raise PlanError(f"step {step.name!r} plans no sum. Use the door {step.door}.")
        private_sums = self._reduced(step, per_record)
        return self._release(step, sums.on_grid(private_sums, step=step, plan=self.__plan))

    def noisy_mixtures(self, step_name: str, per_record: PerRecord, *, group_of: GroupOf | None = None) -> Noisy:
        """Many sums over sampled rows at once: groups * mixtures rows of noisy sums for each block.

        With `group_of`, a row takes part only in the mixtures of its own group, which come one group after another.
        """
        step = self._charge(step_name)
        if (step.groups > 1) != (group_of is not None):
            raise PlanError(f"step {step.name!r} plans {step.groups} groups: give group_of if and only if several.")
        if step.door != "noisy_mixtures":
            raise PlanError(f"step {step.name!r} plans no mixtures. Use the door {step.door}.")
        population = step.sampling.population if isinstance(step.sampling, WithoutReplacement) else None
        with silence():
            agrees = population is None or count_rows(self.__data) == population
        if not agrees:
            raise PlanError(f"the plan says {population} rows, the data another number. Set rows in the schema.")
        both = per_record if group_of is None else partial(_with_groups, per_record, group_of)
        private_sums = self._reduced(step, both)
        return self._release(step, sums.split_by_block(private_sums[MIXTURES], step))

    def noisy_choice(self, step_name: str, per_record: PerRecord, expected: Mapping[int, Expected]) -> int:
        """Which table departs most from what is expected of it, by the exponential mechanism.

        Args:
            step_name: A step with one block of the kind `Choice`: the tables.
            per_record: One code for each table, the cell of the row. Give the same map at every use: rows are counted once.
            expected: For every table that is on offer, what is expected of it and how its distance from that is scored.
        """
        step = self._charge(step_name)
        tables = tables_of(step)
        candidates, rate = on_offer(tables, expected), int(self.__plan.units_per_one(step.name, tables.name))
        private_scores = choice.scores(self._counts(step, per_record), candidates, tables=tables)
        place = self.__primitives.choose(private_scores, step=step.name, block=tables.name, rate=rate)
        self.answers.add(step.name, self.__used[step.name] - 1, tables.name, np.array([candidates[place].index]))
        return candidates[place].index

    def noisy_reports(self, step_name: str, per_record: PerRecord) -> Noisy:
        """One report of every row, in a secret order: each block has as many lines as there are rows, a public number.

        A row's dense blocks are clipped and get noise of their own; its responses are its codes, or thrown by a die.
        """
        step = self._charge(step_name)
        row_map = self._row_map(per_record, step)
        with silence():
            mapped = (row_map(piece.batch, n_rows=piece.n_rows) for piece in self.__rows)
            noisy = reports.of_rows(mapped, step=step, plan=self.__plan, primitives=self.__primitives)
        return self.answers.taken(self.__plan, step.name, self.__used[step.name] - 1, noisy)

    def noisy_votes(self, step_name: str, train: Train, queries: Queries) -> Noisy:
        """How many teachers vote for each class of each query, side by side, plus Gaussian noise.

        Args:
            step_name: A step with one block of the kind `Votes`: teachers, queries and classes.
            train: Makes a teacher of the rows of one part, and of public facts; it must keep nothing of them.
            queries: What every teacher is asked, one row each: public.
        """
        step = self._charge(step_name)
        with silence():
            asked = votes.Ballot(train, queries, step=step, plan=self.__plan)
            private_counts = asked.counted(self.__rows, primitives=self.__primitives, key=self._key(step))
        return self._release(step, private_counts)

    def noisy_gradients(
        self, step_name: str, loss: Loss, parameters: Tensors, *, device: Device = None, microbatch: int | None = None
    ) -> Noisy:
        """The sum of the gradients of a loss, each clipped, over rows that take part by their own coin, plus noise.

        Args:
            step_name: A step with one dense block, as wide as the parameters have entries; its `l2_bound` is the clip.
            loss: The loss of one example. Its code runs on public rows alone, once for each function: give the same at every step.
            parameters: Public tensors or arrays by name, all of one floating-point type.
            device: `cpu`, `cuda`, ...; a GPU where torch finds one, unless told otherwise.
            microbatch: How many gradients are computed at once; fewer where memory does not suffice.
        """
        step = self._charge(step_name)
        gradients, key = self._gradient_sum(step, parameters, (loss, device, microbatch)), self._key(step)
        with silence():
            private_sum = gradients.over(take(piece.batch, chosen) for piece, chosen in self._taking_part(step, key))
        self._remark()
        (measured,) = self._release(step, {step.blocks[0].name: private_sum}).values()
        return by_parameter(measured, parameters)

    # What follows is the inside of the doors. Nothing here returns a number without noise to a mechanism.

    def private_texts(self, names: Sequence[str]) -> Texts:
        """How often each text occurs: for the door of discovery, which adds noise and lets out what is frequent."""
        with silence():
            return self.__rows.texts(names)

    def _charge(self, step_name: str) -> Step:
        if os.getpid() != self.__process:
            raise PrivacyError("a View cannot be used in a forked process: what it spends there would not be counted.")
        step = self.__plan.step(step_name)
        used = self.__used.get(step_name, 0)
        if used >= step.uses:
            raise PlanError(f"step {step_name!r} is planned for {step.uses} uses and was used as often. Plan more.")
        self.__used[step_name] = used + 1
        self.__on_step(step_name)
        self._remark()
        return step

    def _row_map(self, per_record: PerRecord, step: Step) -> RowMap:
        """The map, tried on public rows; its batches are smaller where the step is wide.

        In silence too: by then it may have seen private rows, and what it says now may follow from them.
        """
        fitting = max(1, _CELLS_PER_BATCH // step.columns)
        with silence():
            row_map = self.__rows.row_map(per_record, most_rows=2 ** (fitting.bit_length() - 1))
        if {n: w for n, w in row_map.widths.items() if n != GROUP} != {b.name: b.columns for b in step.blocks}:
            wanted = ", ".join(f"{block.name} ({block.columns} columns)" for block in step.blocks)
            raise PlanError(f"step {step.name!r}: per_record must give exactly the blocks {wanted}, row by row.")
        return row_map

    def _key(self, step: Step) -> bytes:
        """A new key for the coins of every use of a step that draws any."""
        return self.__primitives.key() if step.draws else b""

    def _reduced(self, step: Step, per_record: PerRecord) -> sums.Sums:
        """Map and reduce, wherever the rows are: exact integers, and private."""
        row_map = self._row_map(per_record, step)
        task = Task(step, self.__plan.scaled, per_record, row_map.rows, row_map.digest, self._key(step))
        with silence():
            private_sums = self.__rows.reduced(task, row_map)
        self._remark()
        return private_sums

    def _remark(self) -> None:
        """Say where rows are kept, if that is not as asked."""
        while self.__rows.remarks:
            warnings.warn(self.__rows.remarks.pop(), stacklevel=5)

    def _taking_part(self, step: Step, key: bytes) -> Iterator[tuple[Piece, Integers]]:
        """Every batch, and which of its rows take part. The coins fall before anything is computed."""
        for piece in self.__rows:
            yield piece, taking_part(step, self.__primitives, key=key, first=piece.first, n_rows=piece.n_rows)

    def _counts(self, step: Step, per_record: PerRecord) -> Integers:
        """The tables of a choice, counted exactly; anew where the map is another."""
        if self.__kept.get(step.name, (None,))[0] is not per_record:
            self.__kept[step.name] = (per_record, self._reduced(step, per_record)[tables_of(step).name])
        return np.asarray(self.__kept[step.name][1])

    def _gradient_sum(self, step: Step, parameters: Tensors, asked: tuple[Loss, Device, int | None]) -> GradientSum:
        """The gradients of a loss, tried on public rows; made anew where the loss or the way to compute it is another."""
        if self.__kept.get(step.name, (None,))[0] != asked:
            loss, device, noise = asked[0], asked[1] or default_device(), self.__plan.noise_multiplier(step.name)
            clip = partial(self.__primitives.clip_gradients, block=gradient_block(step), noise_multiplier=noise)
            rows = microbatch_rows(step, declared=self.__schema.rows, asked=asked[2], device=device)
            public = take(self.__rows.public, np.arange(2 * rows) % (2 * self.__rows.rows))
            with silence():
                gradients = GradientSum(step, loss, clip, public_rows=public, rows=rows, device=device)
                gradients.at(parameters).check()
            self.__kept[step.name] = (asked, gradients)
        kept: GradientSum = self.__kept[step.name][1]
        return kept.at(parameters)

    def _release(self, step: Step, private_sums: sums.Sums) -> Noisy:
        """Add noise, once. Here private numbers become public ones."""
        noisy = {name: self.__primitives.noisy(s, step=step.name, block=name) for name, s in private_sums.items()}
        return self.answers.taken(self.__plan, step.name, self.__used[step.name] - 1, noisy)

    def close(self) -> None:
        """Forget the rows, wherever they are."""
        self.__rows.close()


def _with_groups(per_record: PerRecord, group_of: GroupOf, batch: Batch) -> Batch:
    return {**per_record(batch), GROUP: np.asarray(group_of(batch))}
