"""sfumato check: a dry run for the custodian alone, which reads rows without privacy and writes nothing."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from sfumato.cli.console import AsJson, Quiet, answer, progress, table_of
from sfumato.cli.refusals import FAULTS_FOUND, refusing
from sfumato.lab.dry_run.finding import NOT_PRIVATE, Finding
from sfumato.lab.dry_run.reading import DryRun, dry_run
from sfumato.public.schema.schema_file import load_schema


@refusing
def check(
    data: Annotated[Path, typer.Argument(help="CSV, Parquet, npz, IDX, or a folder of pictures.")],
    schema_file: Annotated[Path, typer.Option("--schema", help="The schema.toml.")],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Tell the custodian what a release would map, cut or leave out in silence. NOT private: it reads the rows as they are.

    Nothing is written. The exit code is 0 where nothing is wrong, and 4 where something should be mended first.
    """
    schema = load_schema(schema_file)
    with progress(title="check", quiet=quiet) as step:
        step("reading all rows, without privacy")
        checked = dry_run(data, schema)
    payload = {"data": str(data), "schema": str(schema_file), **checked.to_json()}
    answer(payload, as_json=as_json, show=lambda console: _show(console, checked))
    if checked.faults:
        raise typer.Exit(FAULTS_FOUND)


def _show(console: Console, checked: DryRun) -> None:
    warning = Text(f"NOT PRIVATE. {NOT_PRIVATE}", style="bold red")
    console.print(warning)
    console.print()
    if checked.findings:
        table = table_of("", "column", "found", "remedy")
        for finding in checked.findings:
            mark = Text("fault", style="red") if finding.is_fault else Text("note", style="dim")
            table.add_row(mark, Text(finding.column or "-"), Text(_found(finding)), Text(finding.remedy))
        console.print(table)
        console.print()
    if checked.left_out:
        shown = ", ".join(checked.left_out[:10]) + (", ..." if len(checked.left_out) > 10 else "")
        console.print(f"Not in the schema, so not released: {shown}", markup=False)
    n_faults, n_notes = len(checked.faults), len(checked.findings) - len(checked.faults)
    console.print(f"{checked.rows:,} rows read; faults: {n_faults}, notes: {n_notes}.", style="bold")
    console.print(warning)


def _found(finding: Finding) -> str:
    share = f"{finding.share:.1%}" if finding.share >= 0.001 else "under 0.1%"
    examples = f" ({', '.join(map(repr, finding.examples))})" if finding.examples else ""
    return f"{finding.rows:,} ({share}): {finding.what}{examples}"
