"""sfumato methods: every mechanism, what it takes, and how it did in the benchmark."""

from typing import Any

from rich.console import Console
from rich.text import Text

from sfumato.cli.console import AsJson, answer, table_of
from sfumato.cli.refusals import refusing


@refusing
def methods(as_json: AsJson = False) -> None:
    """List all mechanisms: what they release, which data they take, and what they reached in the committed benchmark.

    Whichever is chosen, a release costs the epsilon that was asked for, and not more.
    """
    from sfumato.outlook.method_list import methods as every

    found = every()

    def show(console: Console) -> None:
        for title, releases in (
            ("Rows: sfumato release --method NAME", "rows"),
            ("Models: sfumato train --learner NAME", "a model"),
        ):
            console.print(Text(title, style="bold"))
            table = table_of("name", "what it does", "takes", "reached")
            for one in found:
                if one.releases == releases:
                    table.add_row(one.name, one.about, _in_short(one.takes), _reached(one.figures))
            console.print(table)
            console.print()
        console.print("auto is 3a-table for tables and 3a-image for images.")

    answer({"methods": [one.to_json() for one in found]}, as_json=as_json, show=show)


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


def _reached(figures: dict[str, dict[str, Any]]) -> str:
    return ", ".join(f"{dataset} {figure['value']:.3f}" for dataset, figure in figures.items())
