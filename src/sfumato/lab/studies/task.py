"""What a study is: tasks that each find a few figures, and a page that is written from them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

#: What one task found: plain values, as JSON has them.
Figures = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Task:
    """One part of a study, short enough to be run for itself.

    Attributes:
        key: Its name; the same in a quick and in a full run.
        run: Finds the figures. It may leave pictures in the folder that it is given.
    """

    key: str
    run: Callable[[Path], Figures] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the table that every study prints."""

    what: str
    published: str
    here: str
    honest: str
    sound: str


@dataclass(frozen=True)
class Found:
    """What has been found so far, by the key of its task; tasks of a full run that are still to be run are named."""

    figures: Mapping[str, Figures]
    missing: Sequence[str] = ()

    def __contains__(self, key: str) -> bool:
        """Whether the task was run."""
        return key in self.figures

    def get(self, key: str, name: str) -> Any:
        """One figure, or None where its task was not run."""
        return self.figures[key].get(name) if key in self.figures else None

    def percent(self, key: str, name: str = "accuracy") -> str:
        """A share in words, marked where it comes from a quick run.

        >>> Found({"a": {"accuracy": 0.68349, "quick": True}}).percent("a"), Found({}).percent("a")
        ('68.3 % (quick)', 'to be run')
        """
        share = self.get(key, name)
        return "to be run" if share is None else f"{100 * share:.1f} %{self.mark(key)}"

    def mark(self, key: str) -> str:
        """What is put behind a figure of a quick run."""
        return " (quick)" if self.get(key, "quick") else ""


class Study(Protocol):
    """A published experiment: as published (rows are read WITHOUT the doors), and made sound (through them)."""

    @property
    def name(self) -> str:
        """As it is called on the command line."""

    @property
    def title(self) -> str:
        """As it is called on the page."""

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        """All that can be run, the most telling first; a quick run has fewer of them, on fewer rows."""

    def lines(self, found: Found) -> Sequence[Line]:
        """The table."""

    def story(self, found: Found, folder: Path) -> str:
        """The page below the table, in Markdown. Its curves are drawn into the folder."""
