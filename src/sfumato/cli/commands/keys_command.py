"""sfumato keys: make the pair of keys that releases are signed and checked with."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sfumato.cli.console import AsJson, answer
from sfumato.cli.options import PassphraseFile
from sfumato.cli.refusals import refusing
from sfumato.errors import ReleaseError
from sfumato.folder.signing import SigningKey, fingerprint, is_encrypted, load_public_key, load_signing_key, new_keys

keys = typer.Typer(help="Keys to sign releases with.", no_args_is_help=True)


@keys.callback()
def group() -> None:
    """Keys to sign releases with."""


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
