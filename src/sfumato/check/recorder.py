"""A View that notes what goes on inside its doors: for checks on made-up rows, never for a release."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.private.kernel.view import View
from sfumato.public.plan import Plan
from sfumato.public.step import Step

Members = Callable[[int, int], tuple[NDArray[np.int64], NDArray[np.int64]]]


@dataclass
class Record:
    """What one run of `measure` did, door call by door call."""

    steps: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    sums: list[NDArray[np.int64]] = field(default_factory=list)
    released: list[NDArray[np.float64]] = field(default_factory=list)
    members: dict[str, list[tuple[NDArray[np.int64], NDArray[np.int64]]]] = field(default_factory=dict)
    drawn: list["Drawn"] = field(default_factory=list)

    def use(self, step: str, number: int) -> "Drawn":
        """The coins of one use of a step that plans one sum."""
        return [drawn for drawn in self.drawn if drawn.step == step][number]


@dataclass
class Drawn:
    """Whose coins fell on heads in one use of a step, among how many rows."""

    step: str
    n_rows: int = 0
    rows: set[int] = field(default_factory=set)


def recording(view_type: type[View], record: Record, *, answers: Record | None = None) -> type[View]:
    """The view type, with every sum and every membership noted in `record`.

    With `answers`, the doors give back what they gave then, and rows that both datasets hold have the coins that they
    had then, while rows that are new take part: so a second dataset can be measured under the history of the first,
    which is what sensitivity means for a mechanism that adapts and samples.
    """

    class Recorder(view_type):  # type: ignore[misc,valid-type]
        def _release(self, private_sum: NDArray[np.int64], *, step: Step, block: str) -> NDArray[np.float64]:
            released: NDArray[np.float64] = super()._release(private_sum, step=step, block=block)
            if answers is not None:
                released = answers.released[len(record.released)]
            record.steps.append(step.name)
            record.blocks.append(block)
            record.sums.append(private_sum.copy())
            record.released.append(released)
            return released

        def _charge(self, step_name: str) -> Step:
            record.drawn.append(Drawn(step_name))
            return super()._charge(step_name)  # type: ignore[no-any-return]

        def _taking_part(self, step: Step, n_rows: int) -> NDArray[np.int64]:
            chosen: NDArray[np.int64] = super()._taking_part(step, n_rows)
            now = record.drawn[-1]
            if answers is not None:
                then = answers.use(step.name, sum(drawn.step == step.name for drawn in record.drawn) - 1)
                rows = range(now.n_rows, now.n_rows + n_rows)
                chosen = np.array([at for at, row in enumerate(rows) if row in then.rows or row >= then.n_rows], int)
            now.rows |= {now.n_rows + int(at) for at in chosen}
            now.n_rows += n_rows
            return chosen

        def _members_by_row(self, step: Step) -> Members:
            members = super()._members_by_row(step)

            def noted(first: int, n_rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
                rows, mixtures = members(first, n_rows)
                record.members.setdefault(step.name, []).append((rows + first, mixtures))
                return rows, mixtures

            return noted

    return Recorder


def whitened_distance(a: Record, b: Record, *, plan: Plan) -> list[tuple[str, float]]:
    """For every door call, how far two datasets' sums lie apart, as a multiple of what a row may move them.

    A sampled or binned step is compared mixture by mixture, every other one as a whole.
    """
    distances: dict[tuple[str, int], Any] = {}
    calls: dict[tuple[str, str], int] = {}
    for step_name, block, left, right in zip(a.steps, a.blocks, a.sums, b.sums, strict=True):
        use = calls[step_name, block] = calls.get((step_name, block), 0) + 1
        step = plan.step(step_name)
        norm = (2**20) / plan.noise_multiplier(step_name)
        squares = ((left - right) / norm) ** 2
        total = squares.sum(axis=-1) if step.is_sampled else squares.sum()
        distances[step_name, use] = distances.get((step_name, use), 0.0) + total
    return [(name, float(np.sqrt(np.max(square)))) for (name, _), square in distances.items()]
