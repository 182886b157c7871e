"""What is told of a folder that was written: to a program, and to a person."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from sfumato.folder.releasing import REPORT, Release
from sfumato.outlook.warnings import verdict_on

#: The stage that comes after all others.
WRITING = "writing the folder"


def describe_release(written: Release) -> dict[str, Any]:
    """The public facts of a release folder, as plain values."""
    certificate = written.certificate
    return {
        "release": str(written.path),
        "status": certificate.status,
        "mechanism": {"name": certificate.mechanism.name, "parameters": certificate.mechanism.parameters},
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "spent_epsilon": certificate.claim.spent_epsilon,
        "accountant": certificate.claim.accountant,
        "claim": certificate.claim.in_words,
        "warnings": list(certificate.warnings),
        "notes": list(certificate.notes),
        "rows": None if certificate.rows is None else written.n_rows,
        "load": {} if certificate.rows is None else written.load_lines(),
        "seed": certificate.seed,
        "files": sorted(file.name for file in written.path.iterdir()),
    }


def show_written(console: Console, payload: Mapping[str, Any], *, done: str, what: str, out: Path) -> None:
    """What was done to what, in green only where no warning speaks against it; then the claim and the notes."""
    verdict = verdict_on(payload["warnings"])
    colour = "green" if verdict is None else "yellow"
    console.print(f"[{colour}]{done}[/{colour}] {what}", soft_wrap=True)
    if verdict is not None:
        console.print(f"[yellow]{verdict}[/yellow] ({escape(str(out / REPORT))})", soft_wrap=True)
    console.print(payload["claim"], markup=False)
    for sentence in payload["notes"]:
        console.print(f"note: {sentence}", style="dim", markup=False)


def how_to_check(out: Path) -> str:
    """The command that the receiver runs."""
    return f"Anyone can check it, without the data: sfumato verify {out}"
