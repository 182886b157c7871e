"""sfumato ask: numbers with an error that one can trust, from the noisy measurements of a release."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sfumato.asking.answer import Answer
from sfumato.asking.questions import usual_questions
from sfumato.cli.console import AsJson, Quiet, answer, progress
from sfumato.folder.releasing import load_release
from sfumato.verification.verifying import verify as verify_release

_CHECKING, _MEASURING, _ANSWERING = "checking the release", "reading its measurements", "answering"


def ask(
    release: Annotated[Path, typer.Argument(help="A release folder.")],
    questions: Annotated[
        list[str] | None,
        typer.Argument(
            help="Questions in quotes: count(), share(c), mean(x), sum(x), quantile(x, 0.9), difference(x, c, d), ratio(x, y), "
            "correlation(x, y), each with by COLUMN and where CONDITION. Default: one for every column.",
            metavar="[QUESTION...]",
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="How often intervals hold the truth.")] = 0.95,
    of: Annotated[
        str | None,
        typer.Option(
            "--of",
            help="rows: the private rows themselves; population: what they are a sample of. Default: rows for counts and sums.",
            metavar="rows|population",
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Answer questions about the private rows with intervals. No data needed, no budget spent."""
    with progress(title="ask", stages=dict.fromkeys((_CHECKING, _MEASURING, _ANSWERING), 1), quiet=quiet) as step:
        step(_CHECKING)
        verify_release(release, rebuild=False).raise_if_bad()  # forged measurements answer nothing
        step(_MEASURING)
        released = load_release(release)
        step(_ANSWERING)
        asked = questions or usual_questions(released.schema)
        answers = [released.ask(question, confidence=confidence, of=of) for question in asked]
    payload = {"answers": [one.to_json() for one in answers]}
    answer(payload, as_json=as_json, show=lambda console: _show(console, answers))


def _show(console: Console, answers: list[Answer]) -> None:
    for one in answers:
        console.print(_table(one))


def _table(one: Answer) -> Table:
    table = Table(title=escape(f"{one.question}, of {one.of}"), title_justify="left")
    for heading in (", ".join(one.by), "estimate", f"{one.confidence:.0%} interval", "synthetic rows alone"):
        table.add_column(escape(heading), overflow="fold")
    for line in one.lines():
        table.add_row(*map(escape, line))
    return table
