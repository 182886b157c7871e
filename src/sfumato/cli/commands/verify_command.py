"""sfumato verify: check a release without the data."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from sfumato.cli.console import AsJson, Quiet, answer, progress
from sfumato.cli.refusals import NOT_VERIFIED, refusing
from sfumato.verification.verifying import Verification
from sfumato.verification.verifying import verify as verify_release


@refusing
def verify(
    release: Annotated[Path, typer.Argument(help="A release folder.")],
    rebuild: Annotated[
        bool | None,
        typer.Option(
            "--rebuild/--no-rebuild", help="Build the model again, and compare its rows. Default: if it takes seconds."
        ),
    ] = None,
    signer: Annotated[
        Path | None, typer.Option(help="The public key (NAME.pub) of whoever must have signed.", metavar="FILE")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Check a release: everything that can be recomputed from the folder, and no word about the rest. No data needed."""
    with progress(title="verify", quiet=quiet) as step:
        step("recomputing the release")
        found = verify_release(release, rebuild=rebuild, signer=signer)
    payload = {
        "release": str(release),
        "ok": found.ok,
        "epsilon": found.epsilon,
        "delta": found.delta,
        "replayed_epsilon": found.replayed_epsilon,
        "claim": found.claim,
        "rebuilt": found.different is not None,
        "different": found.different,
        "signature": found.signature,
        "checked": list(found.checked),
        "declared": list(found.declared),
        "problems": list(found.problems),
        "warnings": list(found.warnings),
    }
    answer(payload, as_json=as_json, show=lambda console: show_verification(console, found))
    if not found.ok:
        raise typer.Exit(NOT_VERIFIED)


def show_verification(console: Console, found: Verification) -> None:
    """What was recomputed, what is only declared, what is wrong. The claim is shown where nothing is wrong."""
    for heading, mark, sentences in (
        ("Recomputed from the folder", "[green]✓[/green]", found.checked),
        ("Declared by the publisher, beyond any check", "[yellow]–[/yellow]", found.declared),
        ("Wrong", "[red]✗[/red]", found.problems),
    ):
        if sentences:
            console.print(f"[bold]{heading}[/bold]")
            for sentence in sentences:
                console.print(mark, end=" ")
                console.print(sentence, markup=False)
    if not found.ok:
        console.print(
            f"[bold red]not verified[/bold red]: do not rely on the claim of {escape(str(found.path))}.", soft_wrap=True
        )
        return
    for sentence in found.warnings:
        console.print("[bold red]warning:[/bold red]", end=" ")
        console.print(sentence, markup=False)
    console.print(found.claim, markup=False)
    if found.replayed_epsilon is not None:
        console.print(f"Replayed epsilon: {found.replayed_epsilon:.4f} at delta {found.delta:g}.")
    console.print(f"[bold green]verified[/bold green] {escape(str(found.path))}{found.reserve}", soft_wrap=True)
