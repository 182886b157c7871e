"""What is told of a plan and of a folder that was written: to a program, and to a person, within 80 columns."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sfumato.cli.console import table_of
from sfumato.folder.releasing import REPORT, Release
from sfumato.outlook.warnings import verdict_on
from sfumato.public.certificate.layout import Grid, Section

_COLOURS = {"warning": "bold red", "advice": "yellow"}


def show_sections(console: Console, sections: Iterable[Section]) -> None:
    """One after the other, with an empty line between them."""
    for at, section in enumerate(sections):
        if at:
            console.print()
        console.print(f"[bold]{escape(section.title)}[/bold]{escape(section.subtitle)}\n")
        for sentence in section.before:
            console.print(sentence, markup=False)
        if section.grid is not None:
            console.print(*([] if not section.before else [""]), grid_as_table(section.grid), sep="\n")
        for note in section.notes:
            console.print(note, style="dim", markup=False)
        for sentence in section.after:
            console.print(f"\n{sentence}", markup=False)


def show_remarks(console: Console, remarks: Iterable[tuple[str, str]]) -> None:
    """Warnings and advice, each with its word."""
    for word, sentence in remarks:
        console.print(Text.assemble((f"\n{word}: ", _COLOURS[word]), sentence))


def grid_as_table(grid: Grid) -> Table:
    """A table that fits 80 columns."""
    return table_of(grid.headings, [[*map(escape, row)] for row in grid.rows], numbers=grid.numbers)


def describe_release(written: Release) -> dict[str, Any]:
    """The public facts of a release folder, as plain values."""
    certificate = written.certificate
    return {
        "release": str(written.path),
        "status": certificate.status,
        "mechanism": {"name": certificate.mechanism.name, "parameters": certificate.mechanism.parameters},
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "spent_epsilon": certificate.claim.spent_epsilon,
        "accountant": certificate.claim.accountant,
        "claim": certificate.claim.in_words,
        "warnings": list(certificate.warnings),
        "notes": list(certificate.notes),
        "rows": None if certificate.rows is None else written.n_rows,
        "load": {} if certificate.rows is None else written.load_lines(),
        "seed": certificate.seed,
        "files": sorted(file.name for file in written.path.iterdir()),
    }


def show_written(
    console: Console, payload: Mapping[str, Any], done: str, what: str, out: Path, *how_to_use: str
) -> None:
    """What was done to what, in green only where no warning speaks against it; the claim, the notes, and what to do next."""
    verdict = verdict_on(payload["warnings"])
    colour = "green" if verdict is None else "yellow"
    console.print(f"[{colour}]{done}[/{colour}] {what}", soft_wrap=True)
    if verdict is not None:
        console.print(f"[yellow]{verdict}[/yellow] ({escape(str(out / REPORT))})", soft_wrap=True)
    console.print(payload["claim"], markup=False)
    for sentence in payload["notes"]:
        console.print(f"note: {sentence}", style="dim", markup=False)
    for sentence in (*how_to_use, f"Anyone can check it, without the data: sfumato verify {out}"):
        console.print(sentence, markup=False, soft_wrap=True)
