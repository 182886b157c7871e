"""sfumato demo: the whole story on an embedded population."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sfumato.cli.console import AsJson, Quiet, answer, progress, table_of, warn
from sfumato.cli.options import Force
from sfumato.cli.written import grid_as_table
from sfumato.folder.disk import check_file_target, whole_file
from sfumato.folder.releasing import check_target
from sfumato.lab.demo.story import Story, stages, tell
from sfumato.outlook.sections import steps_grid
from sfumato.outlook.warnings import verdict_on

PAGE = "demo-report.html"


def demo(
    out: Annotated[
        Path, typer.Option(help="The release folder to make; the page is put beside it.", metavar="DIR")
    ] = Path("demo-release"),
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Release an embedded population at epsilon 1, verify it, and compare a learner on real and synthetic rows."""
    page = out.parent / PAGE
    check_target(out, force=force)
    check_file_target(page, force=force)
    with progress(title="demo", stages=stages(), quiet=quiet) as step:
        story = tell(out=out, on_step=step)
        with whole_file(page) as file:
            file.write(story.page.encode())
    claim, rows, scores = story.fitted.certificate.claim, story.lesson["rows"], story.lesson["scores"]
    payload = {
        "release": str(out),
        "page": str(page),
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "claim": claim.in_words,
        "replayed_epsilon": story.verification.replayed_epsilon,
        "verified": story.verification.ok,
        "rows": {"train": rows["real"], "synthetic": rows["synthetic"], "test": rows["test"]},
        "learner": story.lesson["learner"],
        "auc": {"real": scores["real"], "synthetic": scores["synthetic"], "coin": scores["guess"]},
        "warnings": list(story.warnings),
    }
    for sentence in story.warnings:
        warn(sentence)
    answer(payload, as_json=as_json, show=lambda console: _show(console, story, out=out, page=page))


def _show(console: Console, story: Story, *, out: Path, page: Path) -> None:
    console.print(f"[bold]Every access to private rows[/bold], by {story.fitted.mechanism.name}\n")
    console.print(grid_as_table(steps_grid(story.fitted.plan)))
    console.print()
    console.print(story.verification.claim, markup=False)
    if verdict := verdict_on(story.warnings):
        console.print(f"[yellow]{verdict}[/yellow]")
    console.print(f"[green]recomputed[/green] by independent code: epsilon {story.verification.replayed_epsilon:.4f}\n")
    rows, scores = story.lesson["rows"], story.lesson["scores"]
    console.print(f"[bold]Who has diabetes?[/bold] {story.lesson['learner']}, tested on {rows['test']:,} others\n")
    learned = (
        ("real people (not private)", f"{rows['real']:,}", f"{scores['real']:.3f}"),
        ("synthetic people (epsilon 1)", f"{rows['synthetic']:,}", f"{scores['synthetic']:.3f}"),
        ("a coin", "-", f"{scores['guess']:.3f}"),
    )
    console.print(table_of(("trained on", "rows", "AUC"), learned, numbers=2))
    console.print(f"\nrelease: {out}\npage:    {page}", markup=False, soft_wrap=True)
