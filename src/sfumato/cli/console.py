"""Where words go: answers to stdout, progress and refusals to stderr."""

import json
import math
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

#: The option that every command has.
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout, and nothing else there.")]


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
        typer.echo(json.dumps(_plain(payload), ensure_ascii=False, allow_nan=False))
    else:
        show(answers())


@contextmanager
def progress(*, title: str) -> Iterator[Callable[[str], None]]:
    """A spinner with the name of the step that runs; where there is no terminal, one line for each step.

    Never a count of rows or a share of them: how many there are is private. Say nothing else while it turns.
    """
    console = notices()
    if not console.is_terminal:

        def line(step: str) -> None:
            console.print(f"{title}: {step}", markup=False, soft_wrap=True)

        yield line
        return
    spinner = Spinner("dots", text=f"{title} ...")
    # Nothing else that the process says is sent to this terminal: it would be heard from behind the doors.
    with (
        _own_terminal() as terminal,
        Live(spinner, console=terminal, transient=True, redirect_stdout=False, redirect_stderr=False),
    ):
        yield lambda step: spinner.update(text=f"{title}: {escape(step)} ...")


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


def _plain(value: Any) -> Any:
    """JSON has no infinity: a number that is none becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
