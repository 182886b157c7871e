"""What cheats are made of: an honest mechanism, doors that peek, and the list of all cheats with the clauses that catch them.

Each family of cheats has a file of its own, and this one is small: the contract looks through the module of a mechanism before
and after every run.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato import Budget
from sfumato.extending import register
from sfumato.mechanisms import IndependentHistograms

STEPS = "steps are public and settled"
SPENDING = "spending stays within the plan"
OVERUSE = "a step used too often is refused"
MAPS = "maps act on each row alone"
ANSWERS = "what comes out follows from the doors' answers"
NEIGHBOURS = "neighbouring data cannot be told apart by anything else"
BOUND = "neighbouring data differ by at most the bound"
SHAPES = "shapes are public"
NASTY = "nasty rows survive"
TRAVELS = "no private row travels with the model"
FRESH = "a fresh process builds the same model"
MACHINE = "nothing is left on the machine"
NOISE = "noise has the planned scale"
RELEASE = "a release loads, samples and verifies without the data"

BUDGET = Budget(epsilon=1.0, delta=1e-6)
#: Every cheat and the clause that must catch it.
CHEATS: list[tuple[type, str]] = []


def caught_by(clause: str):
    def note(cls):
        cls.name = cls.__name__.lower()
        CHEATS.append((register(cls), clause))
        return cls

    return note


class Through:
    """Passes everything on to honest doors; what inherits from it spoils one of them."""

    def __init__(self, view):
        self.view = view

    def __getattr__(self, name):
        return getattr(self.view, name)


class Peeking(Through):
    """Keeps the last batch that a map was handed."""

    def __init__(self, view):
        super().__init__(view)
        self.seen = {}

    def noisy_sum(self, step, per_record):
        def peeking(batch):
            self.seen.update({name: np.array(values) for name, values in batch.items()})
            return per_record(batch)

        return self.view.noisy_sum(step, peeking)

    def ages(self):
        return self.seen.get("age", np.zeros(4))


class Remapping(Through):
    """Another map in place of the honest one."""

    def __init__(self, view, remapped):
        super().__init__(view)
        self.remapped = remapped

    def noisy_sum(self, step, per_record):
        return self.view.noisy_sum(step, lambda batch: self.remapped(batch, per_record))


@register
@dataclass(frozen=True, kw_only=True)
class Plain(IndependentHistograms):
    """The honest one, which must pass."""

    name: ClassVar[str] = "plain"
    bins: int = 8

    def measure(self, view, schema):
        doors = Peeking(view)
        measured = dict(super().measure(doors, schema))
        return self.cheat(measured, doors.ages())

    def cheat(self, measured, ages):
        return measured


def odd(ages) -> int:
    """One bit of the private rows."""
    return int((ages > 50).sum() % 2)
