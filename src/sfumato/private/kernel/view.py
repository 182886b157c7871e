"""The View and its doors: the only way from private rows to anything else.

A door clips every row itself, charges the step before it draws noise, takes the name of a planned step instead of a
noise scale, and gives back numbers on a public grid in a public shape. docs/proofs/doors.md proves each of them.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError, PrivacyError
from sfumato.private.kernel import sampling as draw
from sfumato.private.kernel.clip import (
    OUTER_ROWS,
    add_codes,
    clip_to_grid,
    contribution_of,
    distinct_codes,
    outer_sum,
    outer_to_grid,
    weights_in_units,
)
from sfumato.private.kernel.gaussian import rounded_gaussian
from sfumato.private.kernel.gradients import GradientSum, clip_gradients, gradient_block
from sfumato.private.kernel.mixing import add_members
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.prepared import PreparedRows
from sfumato.private.row_alone import check_row_wise
from sfumato.private.sensitive import Sensitive, count_rows
from sfumato.public import grid
from sfumato.public.doors import GroupOf, Loss, Noisy, PerRecord, Tensor
from sfumato.public.plan import Plan
from sfumato.public.probe import random_batch
from sfumato.public.schema import Batch, Schema
from sfumato.public.step import Block, Everyone, KnownPartition, Poisson, SecretBins, Step, WithoutReplacement

_CELLS_PER_BATCH = 1 << 22  # rows times entries held at once: 32 MB of float64


class View:
    """Private rows as a mechanism may use them: by the doors, within the plan."""

    def __init__(
        self,
        data: Sensitive,
        *,
        plan: Plan,
        source: NoiseSource,
        schema: Schema,
        on_step: Callable[[str], None] = lambda name: None,
    ) -> None:
        """Open the data for exactly the accesses of the plan."""
        self.__data = data
        self.__rows = PreparedRows(data, keep=sum(step.uses for step in plan.steps) > 1)
        self.__plan = plan
        self.__source = source
        self.__schema = schema
        self.__on_step = on_step
        self.__used: dict[str, int] = {}
        self.__gradients: dict[str, GradientSum] = {}

    def __reduce__(self) -> str:
        """Refuse to leave the private zone."""
        raise PrivacyError("a View cannot be pickled or copied: it holds private rows.")

    def noise_stddev(self, step_name: str, block: str) -> float:
        """The planned noise on each entry of a block, in the block's units: a public fact."""
        return self.__plan.noise_stddev(step_name, block)

    def prepare(self, name: str, per_record: GroupOf) -> None:
        """Add a column that is computed from each row alone, once for all later doors. Nothing comes out of it.

        A second column of the same name is computed from the first, and takes its place.
        """
        if name in {column.name for column in self.__schema.columns}:
            raise PlanError(f"the schema has a column {name!r} already. Give the prepared column another name.")
        self._check(lambda batch: {name: per_record(batch)})
        self.__rows.prepare(name, per_record)
        self.__gradients.clear()  # they hold public rows without the new column

    def _check(self, per_record: PerRecord) -> None:
        check_row_wise(lambda batch: per_record(self.__rows.completed(batch)), schema=self.__schema)

    @property
    def used(self) -> dict[str, int]:
        """How often each step was used so far."""
        return dict(self.__used)

    def noisy_sum(self, step_name: str, per_record: PerRecord) -> Noisy:
        """The sum over rows of what each contributes, clipped, plus Gaussian noise.

        With Poisson sampling, over rows that each take part by their own coin.
        """
        step = self._charge(step_name)
        if step.mixtures * step.groups > 1 or not isinstance(step.sampling, Everyone | Poisson):
            raise PlanError(f"step {step.name!r} is planned as mixtures. Use the door noisy_mixtures.")
        private_sums = {block.name: np.zeros(block.width, dtype=np.int64) for block in step.blocks}
        for private_rows in self._contributions(step, per_record):
            self._add_rows(private_sums, private_rows, step=step)
        for block in step.blocks:
            if block.outer:
                units = self.__plan.units_per_one(step.name, block.name)
                private_sums[block.name] = outer_to_grid(private_sums[block.name], block=block, units=units)
        return {name: self._release(private_sum, step=step, block=name) for name, private_sum in private_sums.items()}

    def noisy_mixtures(self, step_name: str, per_record: PerRecord, *, group_of: GroupOf | None = None) -> Noisy:
        """Many sums over sampled rows at once: groups * mixtures rows of noisy sums for each block.

        With `group_of`, a row takes part only in the mixtures of its own group, which come one group after another.
        """
        step = self._charge(step_name)
        if (step.groups > 1) != (group_of is not None):
            raise PlanError(
                f"step {step.name!r} plans {step.groups} groups: give group_of if and only if there are several."
            )
        private_sums = np.zeros((step.groups * step.mixtures, step.width), dtype=np.int64)
        self._mix(private_sums, step, per_record, group_of)
        out, start = {}, 0
        for block in step.blocks:
            out[block.name] = self._release(private_sums[:, start : start + block.width], step=step, block=block.name)
            start += block.width
        return out

    def noisy_gradients(
        self,
        step_name: str,
        loss: Loss,
        parameters: Mapping[str, Any],
        *,
        device: str | None = None,
        microbatch: int | None = None,
    ) -> Noisy:
        """The sum of the gradients of a loss, each clipped, over rows that take part by their own coin, plus noise.

        Args:
            step_name: A step with one plain block, as wide as the parameters have entries; its `l2_bound` is the clip.
            loss: The loss of one example. Give the same function at every step: a new one is tried on public rows.
            parameters: Public tensors or arrays by name, all of one floating-point type.
            device: `cpu`, `cuda`, ...; a GPU where torch finds one, unless told otherwise.
            microbatch: How many gradients are computed at once; fewer where memory does not suffice.
        """
        step = self._charge(step_name)
        gradients = self.__gradients.get(step_name)
        if gradients is None or gradients.loss is not loss or gradients.asked != (device, microbatch):
            gradients = self._gradient_sum(step, loss, device=device, microbatch=microbatch)
            gradients.at(parameters).check()
            self.__gradients[step_name] = gradients
        private_sum = gradients.at(parameters).over(self._rows_taking_part(step))
        return gradients.by_name(self._release(private_sum, step=step, block=step.blocks[0].name))

    # What follows is the inside of the doors. Nothing here returns a number without noise to a mechanism.

    def _charge(self, step_name: str) -> Step:
        step = self.__plan.step(step_name)
        used = self.__used.get(step_name, 0)
        if used >= step.uses:
            raise PlanError(
                f"step {step_name!r} is planned for {step.uses} uses and was used as often. Plan more uses."
            )
        self.__used[step_name] = used + 1
        self.__on_step(step_name)
        return step

    def _contributions(self, step: Step, per_record: PerRecord) -> Iterator[dict[str, NDArray[Any]]]:
        self._check(per_record)
        for batch in self._batches(step):
            n_rows = len(next(iter(batch.values())))
            yield self._contribution(per_record, batch, step=step, n_rows=n_rows)

    def _contribution(
        self, per_record: PerRecord, private_batch: Batch, *, step: Step, n_rows: int
    ) -> dict[str, NDArray[Any]]:
        # A warning about an odd value is an output like any other.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return contribution_of(per_record(private_batch), step=step, n_rows=n_rows)

    def _batches(self, step: Step) -> Iterator[Batch]:
        """Rows in pieces that fit the step."""
        rows = max(64, min(OUTER_ROWS, _CELLS_PER_BATCH // max(1, step.columns)))
        for batch in self.__rows:
            n_rows = len(next(iter(batch.values())))
            for start in range(0, n_rows, rows):
                yield {name: values[start : start + rows] for name, values in batch.items()}

    def _add_rows(
        self, private_sums: dict[str, NDArray[np.int64]], rows: dict[str, NDArray[Any]], *, step: Step
    ) -> None:
        noise_multiplier = self.__plan.noise_multiplier(step.name)
        if isinstance(step.sampling, Poisson):
            taking_part = self._taking_part(step, len(next(iter(rows.values()))))
            rows = {name: values[taking_part] for name, values in rows.items()}
        for block in step.blocks:
            if block.outer:
                private_sums[block.name] += outer_sum(rows[block.name], block=block)
            elif block.hot:
                units = self.__plan.units_per_one(step.name, block.name)
                private_units = weights_in_units(rows[block.name], block=block, units=units)
                add_codes(private_sums[block.name], distinct_codes(rows[block.name], block=block), private_units)
            else:
                integers = self._clip(rows[block.name], block=block, noise_multiplier=noise_multiplier)
                private_sums[block.name] += integers.sum(axis=0, dtype=np.int64)

    def _gradient_sum(self, step: Step, loss: Loss, *, device: str | None, microbatch: int | None) -> GradientSum:
        rows = self.__schema.rows
        expected = rows * step.sampling.rate if rows is not None and isinstance(step.sampling, Poisson) else None
        return GradientSum(
            step,
            loss,
            clip=lambda gradients: self._clip_gradients(gradients, step=step),
            public_rows=lambda n_rows: self.__rows.completed(random_batch(self.__schema, n_rows=n_rows, seed=20)),
            device=device,
            microbatch=microbatch,
            expected=expected,
        )

    def _rows_taking_part(self, step: Step) -> Iterator[Batch]:
        """Batches of the rows that take part. The coins fall before anything is computed."""
        for batch in self.__rows:
            taking_part = self._taking_part(step, len(next(iter(batch.values()))))
            yield {name: values[taking_part] for name, values in batch.items()}

    def _taking_part(self, step: Step, n_rows: int) -> NDArray[np.int64]:
        """Which of the next rows take part in this use of a step that plans one sum."""
        return self._coins(n_rows, step.sampling.rate) if isinstance(step.sampling, Poisson) else np.arange(n_rows)

    def _dense(self, rows: dict[str, NDArray[Any]], *, step: Step) -> NDArray[np.int32]:
        """All blocks side by side, as integers."""
        noise_multiplier = self.__plan.noise_multiplier(step.name)
        private_integers = np.empty((len(rows[step.blocks[0].name]), step.width), dtype=np.int32)
        start = 0
        for block in step.blocks:
            values, place = rows[block.name], slice(start, start + block.width)
            if block.outer:
                raise PlanError(f"step {step.name!r}: mixtures cannot hold an outer block. Use the door noisy_sum.")
            if block.hot:
                private_integers[:, place] = self._one_hot(values, block=block, step=step)
            else:
                private_integers[:, place] = self._clip(values, block=block, noise_multiplier=noise_multiplier)
            start += block.width
        return private_integers

    def _one_hot(self, values: NDArray[Any], *, block: Block, step: Step) -> NDArray[np.int64]:
        codes = distinct_codes(values, block=block)
        units = weights_in_units(values, block=block, units=self.__plan.units_per_one(step.name, block.name))
        private_integers = np.zeros((len(codes), block.width), dtype=np.int64)
        at, position = np.nonzero(codes >= 0)
        private_integers[at, codes[at, position]] = units[at]
        return private_integers

    def _mix(
        self, private_sums: NDArray[np.int64], step: Step, per_record: PerRecord, group_of: GroupOf | None
    ) -> None:
        self._check(per_record)
        if group_of is not None:
            self._check(lambda batch: {"group": group_of(batch)})
        row_norm = grid.norm_in_units(self.__plan.noise_multiplier(step.name))
        members = self._members_by_row(step)
        first = 0
        for batch in self._batches(step):
            n_rows = len(next(iter(batch.values())))
            integers = self._dense(self._contribution(per_record, batch, step=step, n_rows=n_rows), step=step)
            rows, mixtures = members(first, n_rows)
            if group_of is not None:
                groups = np.clip(np.asarray(group_of(batch)).astype(np.int64), 0, step.groups - 1)
                mixtures = groups[rows] * step.mixtures + mixtures
            add_members(private_sums, integers=integers, rows=rows, mixtures=mixtures, row_norm=row_norm)
            first += n_rows

    def _members_by_row(self, step: Step) -> Callable[[int, int], tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """A function that says who of a batch takes part where: rows within the batch, and their mixtures."""
        n_mixtures = step.mixtures
        match step.sampling:
            case Poisson(rate):

                def by_coin(first: int, n_rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
                    cells = self._coins(n_rows * n_mixtures, rate)
                    rows = cells // n_mixtures
                    return rows, cells - rows * n_mixtures

                return by_coin
            case SecretBins():

                def by_die(first: int, n_rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
                    return np.arange(n_rows), draw.uniform_below(n_mixtures, count=n_rows, source=self.__source)

                return by_die
            case KnownPartition():
                return lambda first, n_rows: (np.arange(n_rows), (first + np.arange(n_rows)) % n_mixtures)
            case WithoutReplacement(degree, population):
                return self._members_of_subsets(degree, population, n_mixtures)
            case Everyone():
                raise PlanError(f"step {step.name!r} is planned over everyone. Use the door noisy_sum.")

    def _members_of_subsets(
        self, degree: int, population: int, n_mixtures: int
    ) -> Callable[[int, int], tuple[NDArray[np.int64], NDArray[np.int64]]]:
        if count_rows(self.__data) != population:  # public under replace_one, the only relation that gets here
            raise PlanError(
                f"the plan says {population} rows, and the data has another number. Set rows in the schema to it."
            )
        chosen = self._subsets(n_mixtures, degree, population)
        order = np.argsort(chosen, axis=None, kind="stable")
        rows, mixtures = chosen.ravel()[order].astype(np.int64), order // degree

        def by_subset(first: int, n_rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            here = slice(*np.searchsorted(rows, [first, first + n_rows]))
            return rows[here] - first, mixtures[here]

        return by_subset

    # The six places where privacy is made. The broken twins of the tests override exactly these.

    def _clip(self, values: NDArray[Any], *, block: Block, noise_multiplier: float) -> NDArray[np.int32]:
        return clip_to_grid(values, block=block, noise_multiplier=noise_multiplier)

    def _clip_gradients(self, gradients: Tensor, *, step: Step) -> Tensor:
        noise_multiplier = self.__plan.noise_multiplier(step.name)
        return clip_gradients(gradients, block=gradient_block(step), noise_multiplier=noise_multiplier)

    def _coins(self, n_coins: int, rate: float) -> NDArray[np.int64]:
        return draw.heads(n_coins, rate=rate, source=self.__source)

    def _subsets(self, n_mixtures: int, degree: int, population: int) -> NDArray[np.int32]:
        return draw.subsets(n_mixtures, size=degree, population=population, source=self.__source)

    def _noise(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return rounded_gaussian(int(np.prod(shape)), source=self.__source).reshape(shape)

    def _release(self, private_sum: NDArray[np.int64], *, step: Step, block: str) -> NDArray[np.float64]:
        noisy_units = private_sum + self._noise(private_sum.shape)
        return noisy_units / self.__plan.units_per_one(step.name, block)
