"""sfumato methods and sfumato data: every mechanism with what it takes and reached, and the benchmark datasets that are known by name."""

import os

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sfumato.cli.console import AsJson, answer, table_of
from sfumato.cli.non_private import baselines, say_not_private
from sfumato.cli.refusals import refusing
from sfumato.lab.benchmark.datasets import CATALOGUE, DATA_VARIABLE, is_found
from sfumato.outlook.method_list import Method
from sfumato.outlook.method_list import methods as every

_TITLES = {"Rows: sfumato release --method NAME": "rows", "Models: sfumato train --learner NAME": "a model"}
_AUTO = "auto is 3a-table for tables, moments for those of more than a hundred numbers, and 3a-image for images."


def methods(as_json: AsJson = False) -> None:
    """List all mechanisms: what they release, which data they take, and what they reached in the committed benchmark.

    Whichever mechanism is chosen, a release costs the epsilon that was asked for, and not more. Baselines promise nothing.
    """
    found, not_private = every(), baselines()

    def show(console: Console) -> None:
        for title, releases in _TITLES.items():
            console.print(Text(title, style="bold"))
            console.print(_listed([one for one in found if one.releases == releases]))
            console.print()
        console.print(f"{_AUTO}\n")
        console.print(Text("Baselines, not private: sfumato release --method NAME --non-private", style="bold red"))
        console.print(_listed(not_private))
        say_not_private(console)

    payload = {
        "methods": [vars(one) for one in found],
        "baselines": [{**vars(one), "status": "non_private"} for one in not_private],
    }
    answer(payload, as_json=as_json, show=show)


def _listed(found: list[Method]) -> Table:
    rows = []
    for one in found:
        reached = ", ".join(f"{dataset} {figure['value']:.3f}" for dataset, figure in one.figures.items())
        rows.append((one.name, one.about, _in_short(one.takes), reached))
    return table_of(("name", "what it does", "takes", "reached"), rows)


def _in_short(takes: tuple[str, ...]) -> str:
    """Kinds of data that differ in their target alone, named once.

    >>> _in_short(("tables with classes", "tables without a target", "images alone"))
    'tables with classes, without a target; images alone'
    """
    whole = {"tables": 3, "images": 2}
    found = {kind: [t.removeprefix(f"{kind} ") for t in takes if t.startswith(kind)] for kind in whole}
    return "; ".join(
        f"all {kind}" if len(targets) == whole[kind] else f"{kind} {', '.join(targets)}"
        for kind, targets in found.items()
        if targets
    )


data = typer.Typer(no_args_is_help=True)


@data.command("list", epilog="Example: SFUMATO_DATA=~/datasets sfumato data list")
@refusing
def list_datasets(as_json: AsJson = False) -> None:
    """Show which benchmark datasets are found under $SFUMATO_DATA."""
    folder = os.environ.get(DATA_VARIABLE) or None
    facts = ("name", "kind", "rows", "target", "files")
    rows = [{**{key: getattr(entry, key) for key in facts}, "found": is_found(entry)} for entry in CATALOGUE]

    def show(console: Console) -> None:
        marks = {True: "[green]yes[/green]", False: "no"}
        cells = [(e.name, e.kind, str(e.target), marks[is_found(e)], f"{e.rows:,}") for e in CATALOGUE]
        console.print(table_of(("name", "kind", "target", "found", "rows"), cells, numbers=1))
        if folder is None:
            console.print(f"Set {DATA_VARIABLE} to the folder that holds them.")

    answer({"folder": folder, "datasets": rows}, as_json=as_json, show=show)
