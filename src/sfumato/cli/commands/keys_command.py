"""sfumato keys and sfumato verify: the pair of keys that releases are signed and checked with, and the check, without the data."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from sfumato.cli.console import AsJson, Quiet, answer, progress
from sfumato.cli.options import PassphraseFile
from sfumato.cli.refusals import NOT_VERIFIED, refusing
from sfumato.errors import ReleaseError
from sfumato.folder.signing import SigningKey, fingerprint, is_encrypted, load_public_key, load_signing_key, new_keys
from sfumato.verification.verifying import Verification
from sfumato.verification.verifying import verify as verify_release

keys = typer.Typer(no_args_is_help=True)


@keys.command(epilog="Example: sfumato keys new statistics-office")
@refusing
def new(
    name: Annotated[Path, typer.Argument(help="NAME.key and NAME.pub are made.")],
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Ask for a passphrase that protects NAME.key.")
    ] = False,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a private key, to sign with, and a public key, to hand to whoever checks."""
    secret = read_passphrase(passphrase_file)
    if secret is None and passphrase:
        secret = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=True, err=True).encode()
    private, public = new_keys(name, passphrase=secret)
    payload = {
        "private": str(private),
        "public": str(public),
        "fingerprint": fingerprint(load_public_key(public)),
        "encrypted": secret is not None,
    }

    def show(console: Console) -> None:
        console.print(f"{private}: keep it to yourself. It signs: sfumato release ... --sign {private}", markup=False)
        console.print(f"{public}: hand it out. It checks: sfumato verify RELEASE --signer {public}", markup=False)
        console.print(f"fingerprint {payload['fingerprint']}", markup=False)

    answer(payload, as_json=as_json, show=show)


def signing_key(path: Path | None, passphrase_file: Path | None) -> SigningKey | None:
    """The key to sign with, asking for its passphrase where it needs one: before any private row is read."""
    if path is None:
        return None
    passphrase = read_passphrase(passphrase_file)
    if passphrase is None and is_encrypted(path):
        passphrase = typer.prompt(f"Passphrase of {path}", hide_input=True, err=True).encode()
    return load_signing_key(path, passphrase=passphrase)


def read_passphrase(file: Path | None) -> bytes | None:
    """The first line of a file."""
    if file is None:
        return None
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise ReleaseError(f"the passphrase file {file} cannot be read ({error.strerror}).") from None
    if not lines or not lines[0]:
        raise ReleaseError(f"the passphrase file {file} is empty. Its first line is the passphrase.")
    return lines[0]


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
    facts = ("ok", "epsilon", "delta", "replayed_epsilon", "claim")
    rest = ("different", "signature", "checked", "declared", "problems", "warnings")
    payload = {"release": str(release), **{key: getattr(found, key) for key in facts}}
    payload |= {"rebuilt": found.different is not None, **{key: getattr(found, key) for key in rest}}
    answer(payload, as_json=as_json, show=lambda console: _show(console, found))
    if not found.ok:
        raise typer.Exit(NOT_VERIFIED)


def _show(console: Console, found: Verification) -> None:
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
