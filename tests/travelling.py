"""Maps that travel: in a module, so that a process elsewhere finds them by their names. And a plan with a step of every kind."""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato import Column, Schema
from sfumato.extending import Choice, Dense, Expected, Hot, Poisson, SecretBins, Step

COLUMNS = (
    Column(name="x", kind="numeric", bounds=(-4, 4), missing=True),
    Column(name="c", kind="categorical", categories=tuple("abcd")),
    Column(name="y", kind="boolean"),
)
SCHEMA = Schema(columns=COLUMNS, target="y", rows=3000)
X = Dense(name="x", width=2, l2_bound=3.0)

ROWS = (
    Step(name="everyone", blocks=(X,)),
    Step(name="coins", blocks=(X,), sampling=Poisson(0.4)),
    Step(name="mixed", blocks=(X,), sampling=Poisson(0.1), mixtures=3, groups=2),
    Step(name="bins", blocks=(X,), sampling=SecretBins(), mixtures=4),
    Step(name="choice", blocks=(Choice(name="t", widths=(4, 8)),)),
    Step(name="prepared", blocks=(X,)),
)
PERSONS = (
    Step(name="everyone", blocks=(X,)),
    Step(name="together", blocks=(Hot(name="h", width=4, n_hot=1),), person_bound=1.5),
    Step(name="prepared", blocks=(X,)),
)


def numbers(batch):
    x = np.nan_to_num(batch["x"])
    return {"x": np.stack([x, x * batch["y"]], axis=1)}


def codes(batch):
    return {"h": batch["c"][:, None]}


def tables(batch):
    return {"t": np.stack([batch["c"], batch["c"] * 2 + batch["y"]], axis=1)}


def class_of(batch):
    return batch["y"]


def first_column(batch):
    return np.stack([np.nan_to_num(batch["x"]) / 3, batch["c"] / 3], axis=1)


def second_column(batch):
    return batch["u"] * 2 - 1 / 3


def prepared_columns(batch):
    return {"x": batch["u"]}


def ask(view, steps):
    """Every step of a plan, with a column that is prepared before the rows are read, and again after it."""
    view.prepare("u", first_column)
    for step in steps:
        match step.name:
            case "mixed":
                view.noisy_mixtures("mixed", numbers, group_of=class_of)
            case "bins":
                view.noisy_mixtures("bins", numbers)
            case "choice":
                offered = {0: Expected(np.full(4, 700.0)), 1: Expected(np.full(8, 350.0))}
                view.noisy_choice("choice", tables, offered)
            case "together":
                view.noisy_sum("together", codes)
            case "prepared":
                view.prepare("u", second_column)
                view.noisy_sum("prepared", prepared_columns)
            case name:
                view.noisy_sum(name, numbers)
    return view.answers.integers


@dataclass(frozen=True)
class KillsOnce:
    """The numbers; but the first process that is asked for them, other than the driver, is killed."""

    marker: Path
    driver: int

    def __call__(self, batch):
        if os.getpid() != self.driver and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return numbers(batch)


@dataclass(frozen=True)
class Loud:
    """Says what it sees, on all outputs and in an error; but not of the public rows that the driver tries it on."""

    driver: int

    def __call__(self, batch):
        if os.getpid() != self.driver:
            seen = batch["x"].tolist()
            print(seen)
            print(seen, file=sys.stderr)
            os.write(2, str(seen).encode())
            if 3.25 in seen:
                raise ValueError(f"a row holds {seen}")
        return numbers(batch)


@dataclass(frozen=True)
class Shifted:
    """A step of a frame that adds what a file says: such a frame is not the same twice."""

    file: Path

    def __call__(self, batches):
        for batch in batches:
            x = pa.array(batch.column("x").to_numpy(zero_copy_only=False) + float(self.file.read_text()))
            yield pa.record_batch([x, batch.column("c"), batch.column("y")], names=["x", "c", "y"])
