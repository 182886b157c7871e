"""What the checks share: a mechanism, a schema, and ways to run one on rows made up from the other."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from sfumato.check.instruments import rows as made
from sfumato.check.instruments.neighbours import bases
from sfumato.check.instruments.noted import NotedDoors
from sfumato.check.instruments.outcome import Outcome, outcome_of
from sfumato.check.instruments.recorder import History, Record, Recorder
from sfumato.errors import ContractError
from sfumato.fitted import Fitted
from sfumato.fitting import fit_with
from sfumato.mechanism import Mechanism
from sfumato.private.doors_only import doors_of
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.view import View
from sfumato.public.budget import Budget
from sfumato.public.plan.answers import AnsweredDoors, Answers
from sfumato.public.plan.plan import Plan, make_plan
from sfumato.public.schema.schema import Schema

#: The public seed of every model that a check builds.
MODEL_SEED = 7


@dataclass(frozen=True)
class Run:
    """One run of `measure`: all that came out, and what went on inside the doors."""

    outcome: Outcome
    record: Record
    answers: Answers


@dataclass(frozen=True)
class Pair:
    """Two runs on neighbouring data, the second under the answers of the first."""

    one: Run
    two: Run
    label: str


@dataclass(frozen=True)
class Setting:
    """A mechanism on trial. `primitives` makes what the doors are built of: for twins that spoil one of them."""

    mechanism: Mechanism
    schema: Schema
    budget: Budget
    size: int
    primitives: Callable[[NoiseSource], Primitives] = Primitives
    _pairs: list[Pair] = field(default_factory=list, repr=False)
    #: What was added to the sums, run by run, once a clause has looked at it.
    noise: list[NDArray[np.float64]] = field(default_factory=list, repr=False)

    @property
    def n_rows(self) -> int:
        """How many rows to make up: the public number, where there is one."""
        return self.schema.rows if self.size_is_public and self.schema.rows is not None else self.size

    @property
    def size_is_public(self) -> bool:
        """Whether neighbours have equally many rows."""
        return self.schema.unit.relation == "replace_one"

    @cached_property
    def plan(self) -> Plan:
        """The plan that the mechanism asks for. Made once: an account of sampled steps takes its time."""
        steps = self.mechanism.steps(self.schema, self.budget)
        return make_plan(steps, budget=self.budget, unit=self.schema.unit, rows=self.schema.rows)

    def ordinary(self) -> made.Raw:
        """Ordinary rows."""
        return made.made_up(self.schema, n_rows=self.n_rows, seed=1)

    def view(self, raw: made.Raw, *, record: Record, seed: int | None, **history: Unpack[History]) -> View:
        """A View of some rows, recorded. The same seed draws the same coins and the same noise."""
        primitives = Recorder(self.primitives(NoiseSource(research_seed=seed)), record, **history)
        return View(made.read(raw, self.schema), plan=self.plan, primitives=primitives, schema=self.schema)

    def run(self, raw: made.Raw, *, seed: int | None, **history: Unpack[History]) -> Run:
        """Run `measure` on some rows, watched."""
        record = Record()
        view = self.view(raw, record=record, seed=seed, **history)
        outcome = outcome_of(self.mechanism, NotedDoors(doors_of(view)), self.schema)
        return Run(outcome, record, view.answers)

    def run_well(self, raw: made.Raw, *, seed: int | None) -> Run:
        """The same where `measure` has no reason to raise."""
        run = self.run(raw, seed=seed)
        if run.outcome.error is not None:
            raise ContractError(f"measure raises {run.outcome.error}")
        return run

    def run_without_rows(self, answers: Answers) -> Outcome:
        """Run `measure` on doors that give these answers and have no rows behind them."""
        return outcome_of(self.mechanism, NotedDoors(AnsweredDoors(self.plan, answers)), self.schema)

    def pairs(self) -> Iterator[Pair]:
        """Runs on neighbouring data of all kinds, one by one; kept for all clauses that look at them."""
        seen = []
        for pair in self._pairs or self._new_pairs():
            seen.append(pair)
            yield pair
        self._pairs[:] = seen  # only if all were made: a clause that is broken asks for no more of them

    def _new_pairs(self) -> Iterator[Pair]:
        for seed, base in enumerate(bases(self.schema, n_rows=self.n_rows)):
            one = None
            for neighbour in base.neighbours:
                # A replaced row takes part before as after.
                replaced, new = (neighbour.as_read, ()) if self.size_is_public else ((), neighbour.as_read)
                if one is None or self.size_is_public:
                    one = self.run(base.raw, seed=seed, always=replaced)
                two = self.run(neighbour.raw, seed=seed, answers=one.record, new=new, always=neighbour.as_read)
                yield Pair(without_maps(one), without_maps(two), f"{base.label} and {neighbour.label}")

    def fit(self, raw: made.Raw) -> Fitted:
        """Fit on some rows, as a user would."""
        data = made.read(raw, self.schema)
        return fit_with(self.primitives(NoiseSource()), self.mechanism, data, self.budget, seed=MODEL_SEED)


def without_maps(run: Run) -> Run:
    """Maps may hold on to the doors, and doors to rows: nothing is kept that leads to them."""
    return replace(run, outcome=replace(run.outcome, maps=[]))
