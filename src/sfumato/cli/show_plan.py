"""The sections of a plan on a console: within 80 columns, with colours where there are any."""

from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sfumato.cli.console import table_of
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
    table = table_of(*grid.headings, numbers=grid.numbers)
    for row in grid.rows:
        table.add_row(*map(escape, row))
    return table
