"""What a case is: rows to release, rows to test on, and what is public about them, under a name."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf

#: Draws made-up rows. Training and test rows come from one call, so that constants may be drawn too.
Draw = Callable[..., tuple[pd.DataFrame, sf.Schema]]

#: The delta of the protocol.
DELTA = 1e-5
#: Test rows of a made-up population: enough that a score does not hang on them, few enough to be quick.
_FEWEST_TESTS, _MOST_TESTS = 5_000, 20_000


@dataclass(frozen=True)
class Split:
    """The rows of a case: `train` is released, `test` is for scores alone."""

    train: pd.DataFrame = field(repr=False)
    test: pd.DataFrame = field(repr=False)
    schema: sf.Schema = field(repr=False)


@dataclass(frozen=True)
class Case:
    """One table of the zoo.

    Attributes:
        name: What it is called on the command line.
        what: What it is for, in one line.
        load: Reads or draws its rows, the same ones each time.
        slow: Whether it runs only when it is asked for by name.
        made: Whether its rows are made up, so that no file is needed.
    """

    name: str
    what: str
    load: Callable[[], Split] = field(repr=False)
    slow: bool = False
    made: bool = False


CASES: dict[str, Case] = {}


def add(case: Case) -> None:
    if case.name in CASES:
        raise ValueError(f"the zoo has a case {case.name!r} already.")
    CASES[case.name] = case


def made(name: str, rows: int, what: str, *, slow: bool = False, **settings: Any) -> Callable[[Draw], Draw]:
    """Register a made-up population with so many training rows; `settings` go to the function that draws."""

    def register(draw: Draw) -> Draw:
        add(Case(name, what, lambda: _drawn(draw, rows, settings), slow, made=True))
        return draw

    return register


def _drawn(draw: Draw, rows: int, settings: dict[str, Any]) -> Split:
    tests = min(max(rows // 2, _FEWEST_TESTS), _MOST_TESTS)
    frame, schema = draw(rows + tests, np.random.default_rng(0), **settings)
    person = schema.unit.person
    training = np.arange(len(frame)) < rows
    if person is not None:  # a person is on one side with all rows
        training = frame[person].isin(set(frame[person].iloc[:rows])).to_numpy()
    return split_by(frame, training, schema)


def split_by(frame: pd.DataFrame, training: Any, schema: sf.Schema) -> Split:
    """Rows on two sides. The declared number of rows is the training rows' in two figures, as a documentation has it.

    It is not declared where the zoo's delta would be above 1/rows, which a plan refuses; the benchmarks do the same.
    """
    train, test = frame[training], frame[~training]
    declared = _two_figures(len(train)) if len(train) * DELTA <= 1 else None
    schema = sf.Schema(columns=schema.columns, target=schema.target, rows=declared, unit=schema.unit)
    return Split(train.reset_index(drop=True), test.reset_index(drop=True), schema)


def _two_figures(n: int) -> int:
    return int(float(f"{n:.1e}"))
