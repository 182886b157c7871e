"""What every mechanism takes, releases and has been seen to reach: found out by asking it to plan, never by reading rows."""

import contextlib
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
    """A mechanism as a person would look it up: it releases `rows`, or `a model`, and takes some kinds of data.

    The figures are what it reached in the benchmark whose table is committed, by dataset.
    """

    name: str
    about: str
    releases: str
    takes: tuple[str, ...]
    figures: dict[str, dict[str, Any]]


def methods() -> list[Method]:
    """All mechanisms that are registered, in the order of their names. Each keeps to the budget that it is given."""
    found = []
    for name in registered_names():
        cls = registered(name)
        about, releases = (inspect.getdoc(cls) or "").split("\n")[0], "a model" if issubclass(cls, Learner) else "rows"
        takes = []
        for kind, schema in KINDS.items():
            with contextlib.suppress(SfumatoError):  # a refusal is an answer
                cls().steps(schema, _BUDGET)
                takes.append(kind)
        found.append(Method(name, about, releases, tuple(takes), figures_of(name)))
    return found


def figures_of(name: str) -> dict[str, dict[str, Any]]:
    """What it reached in the committed benchmark, by dataset."""
    figures = json.loads(resources.files("sfumato.outlook").joinpath(FIGURES).read_text(encoding="utf-8"))
    return dict(figures.get(name, {}))
