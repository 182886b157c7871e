"""sfumato data: the benchmark datasets that are known by name."""

import os

import typer
from rich.console import Console

from sfumato.cli.console import AsJson, answer, table_of
from sfumato.cli.refusals import refusing
from sfumato.lab.benchmark.datasets import CATALOGUE, DATA_VARIABLE, is_found

data = typer.Typer(help="Benchmark datasets that are known by name.", no_args_is_help=True)


@data.command("list", epilog="Example: SFUMATO_DATA=~/datasets sfumato data list")
@refusing
def list_datasets(as_json: AsJson = False) -> None:
    """Show which benchmark datasets are found under $SFUMATO_DATA."""
    folder = os.environ.get(DATA_VARIABLE) or None
    rows = [
        {
            "name": entry.name,
            "kind": entry.kind,
            "rows": entry.rows,
            "target": entry.target,
            "files": list(entry.files),
            "found": is_found(entry),
        }
        for entry in CATALOGUE
    ]

    def show(console: Console) -> None:
        table = table_of("name", "kind", "target", "found", "rows", numbers=1)
        for row in rows:
            mark = "[green]yes[/green]" if row["found"] else "no"
            table.add_row(str(row["name"]), str(row["kind"]), str(row["target"]), mark, f"{row['rows']:,}")
        console.print(table)
        if folder is None:
            console.print(f"Set {DATA_VARIABLE} to the folder that holds them.")

    answer({"folder": folder, "datasets": rows}, as_json=as_json, show=show)
