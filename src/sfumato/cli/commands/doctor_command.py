"""sfumato doctor: a leak panel for the synthetic table of any tool."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from sfumato.cli.console import AsJson, Quiet, answer, progress, table_of
from sfumato.cli.refusals import FAULTS_FOUND
from sfumato.lab.doctor.panel import Diagnosis, examine

_NOT_PRIVATE = (
    "This was computed from real rows WITHOUT privacy. It is for whoever may see them, and not to be published."
)
_MARKS = {
    "leak": "[bold red]LEAK[/bold red]",
    "clear": "[green]clear[/green]",
    "note": "[yellow]note[/yellow]",
    "not tested": "[yellow]not tested[/yellow]",
}


def doctor(
    real: Annotated[Path, typer.Option(help="The rows that it was made from: CSV or Parquet.", metavar="FILE")],
    synthetic: Annotated[Path, typer.Option(help="The synthetic table, by any tool.", metavar="FILE")],
    holdout: Annotated[
        Path | None,
        typer.Option(
            help="Rows of the same population that it was not made from. Most tests need them.", metavar="FILE"
        ),
    ] = None,
    tool: Annotated[
        str | None, typer.Option(help="What made it: its known faults are listed, with sources.", metavar="NAME")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="What an honest release may leak.", min=1e-3)] = 1.0,
    sensitive: Annotated[
        str | None, typer.Option(help="The column to guess about people. Default: the last.", metavar="COLUMN")
    ] = None,
    schema_file: Annotated[
        Path | None,
        typer.Option("--schema", help="The schema.toml: values are compared as it means them.", metavar="FILE"),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Look for leaks in a synthetic table. Reads real rows without privacy; ends with 0: nothing found, 4: a leak.

    That nothing is found proves nothing: only a guarantee does. Each test raises a false alarm less than once in 1,000.
    """
    with progress(title="doctor", quiet=quiet) as step:
        found = examine(
            real,
            synthetic,
            holdout=holdout,
            tool=tool,
            epsilon=epsilon,
            sensitive=sensitive,
            schema=schema_file,
            on_step=step,
        )
    payload = {"warning": _NOT_PRIVATE, **found.to_json()}
    answer(payload, as_json=as_json, show=lambda console: _show(console, found))
    if found.leaks:
        raise typer.Exit(FAULTS_FOUND)


def _show(console: Console, found: Diagnosis) -> None:
    console.print(Text(f"NOT PRIVATE. {_NOT_PRIVATE}\n", style="bold red"))
    rows = [
        (_MARKS[f.verdict], f.check, "-" if f.p_value is None else f"{f.p_value:.1g}", Text(f.sentence))
        for f in found.findings
    ]
    console.print(table_of(("", "test", "chance", "what was seen"), rows))
    if found.attribute is not None:
        of_members, of_others = found.attribute.of_members.value, found.attribute.of_others.value
        console.print(
            f"\nFrom the rest of a row, {found.attribute.column} is guessed for {of_members:.1%} of real rows and for "
            f"{of_others:.1%} of others: only a difference is a leak.",
            markup=False,
        )
    if found.closest is not None:
        console.print(
            f"Distance to the closest record, a sanity figure that proves nothing: AUC {found.closest.auc.value:.3f}.",
            markup=False,
        )
    for fault in found.faults:
        console.print("\n[bold]Known fault[/bold]: ", end="")
        console.print(f"{fault.fault} ({fault.source}).", markup=False)
    if found.columns_left_out:
        console.print(f"\nNot in all tables, and left out: {', '.join(found.columns_left_out)}.", markup=False)
    if found.leaks:
        names = ", ".join(finding.check for finding in found.leaks)
        console.print(f"\n[bold red]leaks found[/bold red]: {names}.")
    else:
        console.print("\n[bold]nothing found[/bold], which proves nothing: only a guarantee does.")
