"""Where words go: answers to stdout, progress and refusals to stderr.

What is still to be done is told by public names and by the clock, never by rows.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from sfumato.outlook.stage_words import in_words
from sfumato.present.pages import plain

#: Nothing is said of the time that is left before so many seconds have passed, nor if it is less than this.
_SECONDS_TO_JUDGE = 3.0


@dataclass
class Agenda:
    """Stages in their order, each with the number of times that it is planned for; `begin` tells of one as it begins.

    >>> seconds = iter([0.0, 4.0, 6.0])
    >>> agenda = Agenda({"pairs": 1, "teacher": 3}, clock=lambda: next(seconds))
    >>> agenda.begin("pairs")
    '1 of 2, counting pairs of columns'
    >>> agenda.begin("teacher")
    '2 of 2, correcting the labels, 1 of 3, about 10 s left'
    >>> agenda.begin("teacher")
    '2 of 2, correcting the labels, 2 of 3, about 4 s left'
    """

    stages: Mapping[str, int]
    clock: Callable[[], float] = time.monotonic
    _spent: dict[str, list[float]] = field(default_factory=dict, init=False)
    _running: tuple[str, float] | None = field(default=None, init=False)

    def begin(self, stage: str) -> str:
        """Note that a stage begins, and say where it stands. One that is not planned is told by its name alone."""
        now = self.clock()
        if self._running is not None:
            last, since = self._running
            self._spent.setdefault(last, []).append(now - since)
        self._running = (stage, now)
        if stage not in self.stages:
            return in_words(stage)
        said = [self.place_of(stage), in_words(stage)]
        if self.stages[stage] > 1:
            said.append(f"{len(self._spent.get(stage, ())) + 1} of {self.stages[stage]}")
        return ", ".join([*said, *self._left()])

    def place_of(self, stage: str) -> str:
        """A stage's number among all."""
        return f"{list(self.stages).index(stage) + 1} of {len(self.stages)}"

    def _left(self) -> list[str]:
        """The rest at the pace of the same stage, and of all stages where that is not known yet."""
        done = [seconds for spent in self._spent.values() for seconds in spent]
        if sum(done) < _SECONDS_TO_JUDGE:
            return []
        left = 0.0
        for stage, times in self.stages.items():
            spent = self._spent.get(stage, [])
            pace = sum(spent) / len(spent) if spent else sum(done) / len(done)
            left += max(0, times - len(spent)) * pace
        return [f"about {_rough(left)} left"] if left >= _SECONDS_TO_JUDGE else []


def _rough(seconds: float) -> str:
    """As exact as such a guess can be."""
    if seconds < 10:
        return f"{seconds:.0f} s"
    if seconds < 90:
        return f"{round(seconds, -1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


#: The options that every command has.
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout, and nothing else there.")]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress. Warnings and refusals are still said.")]


def answers() -> Console:
    """Where results are shown. Made anew each time, as tests and pipes exchange stdout."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=False)


def notices() -> Console:
    """Where progress and refusals are shown."""
    return Console(file=sys.stderr, highlight=False)


def warn(sentence: str | None) -> None:
    """Say a warning, if there is one, beside the answer and not in it."""
    if sentence:
        notices().print(Text.assemble(("warning: ", "bold red"), sentence))


def table_of(headings: Sequence[str], rows: Iterable[Sequence[RenderableType]], *, numbers: int = 0) -> Table:
    """A table without frills, so that it fits 80 columns. The last `numbers` columns are set to the right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for at, heading in enumerate(headings):
        table.add_column(heading, justify="right" if at >= len(headings) - numbers else "left")
    for row in rows:
        table.add_row(*row)
    return table


def print_json(payload: Mapping[str, Any]) -> None:
    """One line on stdout."""
    typer.echo(json.dumps(plain(payload), ensure_ascii=False, allow_nan=False))


def answer(payload: Mapping[str, Any], *, as_json: bool, show: Callable[[Console], None]) -> None:
    """Give a result: as one JSON object, or as a person likes to read it."""
    if as_json:
        print_json(payload)
    else:
        show(answers())


@contextmanager
def progress(
    *, title: str, stages: Mapping[str, int] | None = None, quiet: bool = False
) -> Iterator[Callable[[str], None]]:
    """A spinner with the stage that runs, its number and the time that is left; in a log, one line for each stage.

    Never a count of rows or a share of them: how many there are is private. Say nothing else while it turns. `stages` are
    those that are planned, in their order, each with the number of times that it comes.
    """
    agenda, console = Agenda(stages or {}), notices()
    if quiet:
        yield lambda stage: None
        return
    if not console.is_terminal:
        yield _in_a_log(console, agenda, title)
        return
    spinner = Spinner("dots", text=f"{title} ...")
    # Nothing else that the process says is sent to this terminal: it would be heard from behind the doors.
    with (
        _own_terminal() as terminal,
        Live(spinner, console=terminal, transient=True, redirect_stdout=False, redirect_stderr=False) as live,
    ):

        def show(stage: str) -> None:
            spinner.update(text=f"{title}: {escape(agenda.begin(stage))} ...")
            live.refresh()  # at once: a stage may be over before the next turn of the spinner

        yield show


def _in_a_log(console: Console, agenda: Agenda, title: str) -> Callable[[str], None]:
    """Each stage once, as it begins: no spinner and no time that is left, which would be stale when it is read."""
    told: set[str] = set()

    def line(stage: str) -> None:
        if stage not in told:
            told.add(stage)
            place = f"{agenda.place_of(stage)}, " if stage in agenda.stages else ""
            console.print(f"{title}: {place}{in_words(stage)}", markup=False, soft_wrap=True)

    return line


@contextmanager
def _own_terminal() -> Iterator[Console]:
    """A console on the terminal of stderr that goes on speaking while the doors keep stderr itself quiet.

    The doors send descriptor 2 elsewhere while private rows are read, so that no library can tell of them. What the
    spinner shows is public, the name of a step; it writes to a descriptor of its own, made beforehand.
    """
    try:
        kept = os.dup(sys.stderr.fileno())
    except (OSError, ValueError):  # a stream that only looks like a terminal has no descriptor
        yield notices()
        return
    with open(kept, "w", encoding=sys.stderr.encoding or "utf-8", errors="replace") as terminal:
        yield Console(file=terminal, highlight=False)
