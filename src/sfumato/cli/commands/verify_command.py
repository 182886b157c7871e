"""sfumato verify: check a release without the data."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from sfumato.cli.console import AsJson, answer, progress
from sfumato.cli.refusals import NOT_VERIFIED, refusing
from sfumato.verification.verifying import Verification
from sfumato.verification.verifying import verify as verify_release

_CHECKS = (
    "the release is certified: made by the package's doors, with secret randomness",
    "every file is the one that the certificate was made for (SHA-256)",
    "schema and unit of privacy are those of the certificate",
    "the accounted events are those that the listed steps cause, on the grid of their noise",
    "the accounting, replayed by independent code, bears out the claim",
)
_REBUILT = "the synthetic rows are a function of the noisy measurements and of nothing else"
_ROUNDED = "{share:.2g} of their cells differ when they are built here, as another processor's rounding explains"


@refusing
def verify(
    release: Annotated[Path, typer.Argument(help="A release folder.")],
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Also build the model again, and compare its rows.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a release: files, schema, plan, and the accounting by independent code. No data needed."""
    with progress(title="verify") as step:
        step("replaying the account")
        found = verify_release(release, rebuild=rebuild)
    payload = {
        "release": str(release),
        "ok": found.ok,
        "epsilon": found.epsilon,
        "delta": found.delta,
        "replayed_epsilon": found.replayed_epsilon,
        "claim": found.claim,
        "rebuilt": rebuild,
        "different": found.different,
        "problems": list(found.problems),
    }
    answer(payload, as_json=as_json, show=lambda console: show_verification(console, found, rebuild=rebuild))
    if not found.ok:
        raise typer.Exit(NOT_VERIFIED)


def show_verification(console: Console, found: Verification, *, rebuild: bool) -> None:
    """The list of checks, or what is wrong."""
    if not found.ok:
        for problem in found.problems:
            console.print("[red]✗[/red]", end=" ")
            console.print(problem, markup=False)
        console.print(
            f"[bold red]not verified[/bold red]: do not rely on the claim of {escape(str(found.path))}.", soft_wrap=True
        )
        return
    for check in (*_CHECKS, _REBUILT) if rebuild else _CHECKS:
        console.print(f"[green]✓[/green] {check}")
    if found.different:
        console.print(f"  {_ROUNDED.format(share=found.different)}")
    console.print(found.claim, markup=False)
    if found.replayed_epsilon is not None:
        console.print(f"Replayed epsilon: {found.replayed_epsilon:.4f} at delta {found.delta:g}.")
    console.print(f"[bold green]verified[/bold green] {escape(str(found.path))}", soft_wrap=True)
