"""Where words go: answers to stdout, progress and refusals to stderr."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from sfumato.cli.agenda import Agenda
from sfumato.outlook.stages import in_words
from sfumato.present.pages import plain

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


def table_of(*headings: str, numbers: int = 0) -> Table:
    """A table without frills, so that it fits 80 columns. The last `numbers` columns are set to the right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for at, heading in enumerate(headings):
        table.add_column(heading, justify="right" if at >= len(headings) - numbers else "left")
    return table


def answer(payload: Mapping[str, Any], *, as_json: bool, show: Callable[[Console], None]) -> None:
    """Give a result: as one JSON object, or as a person likes to read it."""
    if as_json:
        typer.echo(json.dumps(plain(payload), ensure_ascii=False, allow_nan=False))
    else:
        show(answers())


@contextmanager
def progress(
    *, title: str, stages: Mapping[str, int] | None = None, quiet: bool = False
) -> Iterator[Callable[[str], None]]:
    """A spinner with the stage that runs, its number and the time that is left; in a log, one line for each stage.

    Never a count of rows or a share of them: how many there are is private. Say nothing else while it turns.

    Args:
        title: What all stages are part of.
        stages: Those that are planned, in their order, each with the number of times that it comes.
        quiet: Say nothing.
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
