"""How training goes, by noisy counts: training rows that the model of the moment gets right and wrong, and its log-loss.

A door gives them, so they are charged like everything else; they decide nothing, and stand in the report.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.logistic import losses
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.block import Dense
from sfumato.public.plan.doors import Doors, Measured
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.reading import Reading
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch, Schema

#: The name of the step, and of its block.
PROGRESS = "progress"
#: What all looks together get of the precision, next to all other steps.
SHARE = 0.02
#: A row's log-loss is cut here, and divided by it.
MOST_LOSS = 5.0
#: A row is either wrong or right, and loses at most 1.
_BOUND = math.sqrt(2.0)


@dataclass(frozen=True)
class Look:
    """One look at the training rows: how many there seem to be, the share that is right, and the mean log-loss.

    `stddev` is the noise in each of the three sums behind these.
    """

    rows: float
    accuracy: float
    loss: float
    stddev: float

    @property
    def accuracy_stddev(self) -> float:
        """The noise in the share: that of right and of wrong, as it goes through the quotient."""
        return math.hypot(self.accuracy, 1 - self.accuracy) * self.stddev / max(self.rows, 1.0)


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What a classifier knows of its own training; nothing, where it was read from a file."""

    looks: tuple[Look, ...] = ()

    @property
    def noisy_rows(self) -> float:
        """The noisy number of training rows, as all looks say it."""
        return sum(look.rows for look in self.looks) / len(self.looks)

    @property
    def noisy_rows_stddev(self) -> float:
        """The noise in it: each look adds two sums."""
        return math.sqrt(2 / len(self.looks)) * self.looks[-1].stddev

    @property
    def notes(self) -> tuple[str, ...]:
        """The last look, in a sentence."""
        if not self.looks:
            return ()
        last = self.looks[-1]
        return (
            f"Of the training rows the model gets {last.accuracy:.1%} right, by a noisy count, give or take "
            f"{last.accuracy_stddev:.1%}. On rows that it has not seen it may do worse.",
        )


def progress_step(*, looks: int, share: float) -> Step:
    """So many looks over everyone. A row of three numbers: wrong, right, and its log-loss."""
    return Step(name=PROGRESS, blocks=(Dense(name=PROGRESS, width=3, l2_bound=_BOUND),), uses=looks, share=share)


class Watching:
    """A learner that looks at its training rows on the way."""

    def readings(self, schema: Schema) -> tuple[Reading, ...]:
        """What the noise means for a look: all that a model says of its rows beside its weights."""
        target, what = schema.require_coded_target().name, "the share of rows that are right"
        return (Reading(column=target, what=what, step=PROGRESS, block=PROGRESS, unit="share", over=1.0),)


def judged(p: Floats, labels: Integers) -> Floats:
    """What each row counts, given the probabilities of all classes: a function of that row's alone."""
    right = p.argmax(axis=1) == labels
    return np.column_stack([~right, right, losses(p, labels, most=MOST_LOSS) / MOST_LOSS])


def look_of(measured: Measured) -> Look:
    """Shares from noisy sums; between nothing and everything, whatever the noise says.

    >>> look_of(Measured(np.array([100.0, 900.0, 50.0]), 10.0))
    Look(rows=1000.0, accuracy=0.9, loss=0.25, stddev=10.0)
    """
    wrong, right, loss = (float(value) for value in measured.values)
    seen = max(wrong + right, measured.stddev, 1.0)
    accuracy, lost = (min(max(part / seen, 0.0), 1.0) for part in (right, loss))
    return Look(wrong + right, accuracy, lost * MOST_LOSS, measured.stddev)


def look_at(view: Doors, judge: Callable[[Batch], tuple[Floats, Integers]]) -> Look:
    """A look at everyone. The judge gives, for each row alone, the chance of every class, and its own."""
    return look_of(view.noisy_sum(PROGRESS, partial(_seen, judge=judge))[PROGRESS])


def _seen(batch: Batch, judge: Callable[[Batch], tuple[Floats, Integers]]) -> dict[str, Floats]:
    return {PROGRESS: judged(*judge(batch))}


def looks_of(plan: Plan, answers: Answers) -> tuple[Look, ...]:
    """All looks of a release, from the doors' answers; none where none were planned."""
    steps = [step for step in plan.steps if step.name == PROGRESS]
    return tuple(
        look_of(answers.measured(plan, step.name, use)[PROGRESS]) for step in steps for use in range(answers.uses(step))
    )
