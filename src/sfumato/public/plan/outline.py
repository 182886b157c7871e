"""What a mechanism will do with a schema and a budget, in words: the path that it takes, and what it leaves out."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from sfumato.public.budget import Budget
from sfumato.public.schema.schema import Schema


@dataclass(frozen=True)
class LeftOut:
    """Something that a release will not have, and why: both from public facts."""

    what: str
    why: str

    @property
    def sentence(self) -> str:
        """Both together."""
        return f"{self.what}: {self.why}."


@dataclass(frozen=True)
class Outline:
    """The path in a sentence, and all that is left out or made coarser on it."""

    path: str
    left_out: tuple[LeftOut, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"path": self.path, "left_out": [vars(entry) for entry in self.left_out]}


@runtime_checkable
class Outlined(Protocol):
    """A mechanism that does other things with other tables, and says which. It need not: then it does the same with all."""

    def outline(self, schema: Schema, budget: Budget) -> Outline:
        """What it will do. Public: it sees no data."""


def outline_of(mechanism: object, schema: Schema, budget: Budget) -> Outline | None:
    """What the mechanism says of itself, if it does."""
    return mechanism.outline(schema, budget) if isinstance(mechanism, Outlined) else None
