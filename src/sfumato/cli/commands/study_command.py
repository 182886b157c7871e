"""sfumato study: a published experiment as it was published, beside what is sound."""

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sfumato.cli.console import AsJson, Quiet, answer, progress, table_of
from sfumato.lab.benchmark.datasets import BenchmarkError
from sfumato.lab.studies.common.study import HEADINGS, Found, Study, carry_out
from sfumato.lab.studies.shelf import STUDIES


def study(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(STUDIES)}.")],
    out: Annotated[
        Path, typer.Option(help="A folder for the page, its pictures and its figures. A later run goes on there.")
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Few points at a reduced size: about 90 seconds on two cores.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Run this point alone, by the name that the page gives it; repeat it for several."),
    ] = None,
    minutes: Annotated[float, typer.Option(help="Begin no point later than that.", min=0.0)] = math.inf,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Run a published experiment as published (NOT private: it reads a public dataset without the doors) and made sound."""
    if name not in STUDIES:
        raise BenchmarkError(f"there is no study {name!r}. Known: {', '.join(STUDIES)}.")
    chosen = STUDIES[name]
    with progress(title="study", quiet=quiet) as step:
        found = carry_out(chosen, folder=out, quick=quick, only=only, minutes=minutes, on_step=step)
    lines = [dict(zip(("what", *HEADINGS[1:]), cells, strict=True)) for cells in chosen.lines(found)]
    told = {
        "study": name,
        "page": str(out / f"{name}.md"),
        "table": lines,
        "points": found.figures,
        "missing": found.missing,
    }
    answer(told, as_json=as_json, show=lambda console: _show(console, chosen, found, out))


def _show(console: Console, chosen: Study, found: Found, out: Path) -> None:
    console.print(f"[bold]{chosen.title}[/bold]\n")
    console.print(table_of(HEADINGS, chosen.lines(found)))
    console.print("\nResearch on a public dataset: what is called as published protects nobody.")
    if found.missing:
        console.print(f"Points of the full run that are still to be run: {len(found.missing)}.")
    console.print(f"The page: {out / f'{chosen.name}.md'}", soft_wrap=True)
