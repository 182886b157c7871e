"""What every mechanism takes, releases and has been seen to reach: found out by asking it to plan, never by reading rows."""

import inspect
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.mechanism import Learner, registered, registered_names
from sfumato.public.budget import Budget
from sfumato.public.schema.schema import Column, Schema

FIGURES = "method_figures.json"

_ROWS = 20_000
_BUDGET = Budget(epsilon=1.0, delta=1e-6)
_TABLE = (
    Column(name="age", kind="numeric", bounds=(0, 100)),
    Column(name="sex", kind="categorical", categories=("f", "m")),
)
_CLASS = Column(name="class", kind="categorical", categories=("a", "b", "c"))
_NUMBER = Column(name="cost", kind="numeric", bounds=(0, 1_000))
_IMAGE = Column(name="image", kind="image", shape=(28, 28), bounds=(0, 255))

#: One small schema for each kind of data.
KINDS = {
    "tables with classes": Schema(columns=(*_TABLE, _CLASS), target="class", rows=_ROWS),
    "tables with a numeric target": Schema(columns=(*_TABLE, _NUMBER), target="cost", rows=_ROWS),
    "tables without a target": Schema(columns=_TABLE, rows=_ROWS),
    "images with classes": Schema(columns=(_IMAGE, _CLASS), target="class", rows=_ROWS),
    "images alone": Schema(columns=(_IMAGE,), rows=_ROWS),
}


@dataclass(frozen=True)
class Method:
    """A mechanism as a person would look it up.

    Args:
        name: By which `release --method`, or `train --learner`, knows it.
        about: The first line of its text.
        releases: `rows`, or `a model`.
        takes: Kinds of data.
        figures: What it reached in the benchmark whose table is committed, by dataset.
    """

    name: str
    about: str
    releases: str
    takes: tuple[str, ...]
    figures: dict[str, dict[str, Any]]


def methods() -> list[Method]:
    """All mechanisms that are registered, in the order of their names. Each keeps to the budget that it is given."""
    return [_method(name) for name in registered_names()]


def figures_of(name: str) -> dict[str, dict[str, Any]]:
    """What it reached in the committed benchmark, by dataset."""
    figures = json.loads(resources.files("sfumato.outlook").joinpath(FIGURES).read_text(encoding="utf-8"))
    found: dict[str, dict[str, Any]] = figures.get(name, {})
    return found


def _method(name: str) -> Method:
    cls = registered(name)
    takes = tuple(kind for kind, schema in KINDS.items() if _plans(name, schema))
    return Method(
        name=name,
        about=(inspect.getdoc(cls) or "").split("\n")[0],
        releases="a model" if issubclass(cls, Learner) else "rows",
        takes=takes,
        figures=figures_of(name),
    )


def _plans(name: str, schema: Schema) -> bool:
    """Whether the mechanism, with its default settings, has a plan for such data."""
    mechanism = registered(name)()
    try:
        mechanism.steps(schema, _BUDGET)
    except SfumatoError:  # the refusal is the answer
        return False
    return True
